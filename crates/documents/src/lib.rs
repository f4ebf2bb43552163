//! Strict reading, schema and reference of the `setpoint.dev/v1` documents, and reading of plain
//! manifests.
//!
//! - `declaration`: the macros that generate struct, reader, schema and reference.
//! - `kinds`: the declarations. `text`, `duration`, `cron`: the types of their fields.
//! - `reader`, `suggest`: strict reading, with a remedy for every mistake.
//! - `document`: a file of documents. `manifest`, `value`: a file of resources.
//! - `field`: problems by field path.
//! - `schema`: the declarations as text.

#![forbid(unsafe_code)]

mod cron;
mod declaration;
mod document;
mod duration;
mod field;
mod kinds;
mod manifest;
mod reader;
mod schema;
mod suggest;
mod text;
mod value;

pub use cron::Cron;
pub use document::{API_VERSION, Document, Metadata, Spec, check_unique, read_documents};
pub use duration::{Duration, read_span};
pub use field::FieldProblem;
pub use kinds::{
    ActAs, AdditionAction, AdditionRule, Anchor, AppSpec, AuditSenders, AuditTrail, AuditWebhook, BootstrapSpec,
    BootstrapStore, Check, CoOwner, Credentials, External, HealthRule, HttpCheck, IgnoreRule, Input, Integer,
    Kustomize, LoadRestrictor, Mode, NotifierFormat, NotifierSpec, OnFailure, Parameters, PolicySpec, Reference,
    Renderer, ReplaceRule, ScopeSpec, Shadow, StoreCredentials, StoreSpec, Sync, TargetFamily, TargetSpec, Undeclared,
    Window, WindowTime,
};
pub use manifest::{Manifest, check_unique_resources, read_resources, read_resources_with};
pub use schema::{FieldLine, KindPage, UnknownKind, kind_pages, reference_markdown, schema};
pub use suggest::nearest;
pub use text::{
    AbsolutePath, Branch, Commit, Expression, FieldPath, GroupKind, InvalidText, Label, Line, NamePattern, Principal,
    ProgramDigest, RelativePath, RepositoryLocation, Tag, Url, Zone,
};
pub use value::read_value;
