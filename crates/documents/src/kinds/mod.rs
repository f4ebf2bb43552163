//! The documents of `setpoint.dev/v1`, one file per kind. The schema and the reference are
//! generated from these declarations.

mod access;
mod app;
mod bootstrap;
mod identity_provider;
mod notifier;
mod policy;
mod scope;
mod store;
mod target;

pub use access::{AccessRule, AccessSpec, AccessSubject, AccessVerb, AccessWho};
pub use app::{
    AdditionAction, AdditionRule, AppSpec, Check, CoOwner, External, HttpCheck, IgnoreRule, Input, Kustomize,
    LoadRestrictor, Mode, OnFailure, Parameters, ReplaceRule, Shadow, Sync, Undeclared, Window, WindowTime,
};
pub use bootstrap::{
    Anchor, BootstrapSpec, BootstrapStore, MetricsAccess, Renderer, Server, ServerCertificate, Webhook, WebhookSender,
};
pub use identity_provider::IdentityProvider;
pub use notifier::{NotifierFormat, NotifierSpec};
pub use policy::{Integer, PolicySpec};
pub use scope::{ActAs, ScopeSpec};
pub use store::{Credentials, Reference, StoreCredentials, StoreSpec};
pub use target::TargetSpec;
