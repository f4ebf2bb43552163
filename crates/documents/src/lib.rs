//! Strict reading, schema and reference of the `setpoint.dev/v1` documents, and reading of plain
//! manifests.
//!
//! - [`declaration`]: the macros that generate struct, reader, schema and reference.
//! - `target_kind`: the kinds of targets with their own fields, which other crates declare.
//! - `kinds`: the declarations. `text`, `labels`, `duration`, `cron`: the types of their fields.
//! - `reader`, `suggest`: strict reading, with a remedy for every mistake.
//! - `document`: a file of documents. `manifest`, `value`: a file of resources.
//! - `field`: problems by field path.
//! - `schema`: the declarations as text.

#![forbid(unsafe_code)]

mod cron;
pub mod declaration;
mod document;
mod duration;
mod field;
mod kinds;
mod labels;
mod manifest;
mod reader;
mod schema;
mod suggest;
mod target_kind;
mod text;
mod value;

pub use cron::Cron;
pub use document::{API_VERSION, Document, Metadata, Spec, check_unique, read_documents};
pub use duration::{DAY, Duration, MINUTE, read_span};
pub use field::FieldProblem;
pub use kinds::{
    AccessRule, AccessSpec, AccessSubject, AccessVerb, AccessWho, ActAs, AdditionAction, AdditionRule, Anchor, AppSpec,
    BootstrapSpec, BootstrapStore, Check, CoOwner, Credentials, External, HttpCheck, IdentityProvider, IgnoreRule,
    Input, Integer, Kustomize, LoadRestrictor, MetricsAccess, Mode, NotifierFormat, NotifierSpec, OnFailure,
    Parameters, PolicySpec, Reference, Renderer, ReplaceRule, ScopeSpec, Server, ServerCertificate, Shadow,
    StoreCredentials, StoreSpec, Sync, TargetSpec, Undeclared, Webhook, WebhookSender, Window, WindowTime,
};
pub use labels::Labels;
pub use manifest::{Manifest, check_unique_resources, read_resources, read_resources_with};
pub use schema::{FieldLine, KindPage, UnknownKind, kind_pages, reference_markdown, schema};
pub use suggest::nearest;
pub use target_kind::{Section, TargetKind, TargetKinds};
pub use text::{
    AbsolutePath, Address, Branch, Commit, Expression, FieldPath, GroupKind, InvalidText, IpAddress, Label, Line,
    NamePattern, Principal, ProgramDigest, RelativePath, RepositoryLocation, Tag, Url, Zone,
};
pub use value::read_value;
