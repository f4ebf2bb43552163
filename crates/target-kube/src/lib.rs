//! A Kubernetes cluster as a target: server-side apply, drift detection by the server's own record
//! of field owners, and streams instead of polling.
//!
//! Reading order: [`wire`] (the only way out), `requests` (the requests to an API server),
//! `identity`, `discovery` and `origins` (the identity of the cluster, the kinds it serves, and
//! where they come from), `records` (the state that is remembered of each object), `sharing` and
//! `autoscalers` (the fields that others may set), `look`, `dropped`, `act`, `replacing`,
//! `settling` (the calls of the [`Target`](setpoint_target::Target) trait), `watch` (how changes
//! are noticed), `audit`, `audit_log` and `audit_webhook` (who made them), `tree` and `logs` (for
//! people), [`KubeTarget`]. [`document`], `family` and `kinds` are what the accept plane and the
//! agent know of clusters: see [`Family`](setpoint_target::Family). The network is behind the feature `http`; without it the caller
//! provides a [`Wire`](wire::Wire).
//!
//! `setpoint-kube` interprets objects; nothing here interprets a field.

mod absent;
mod act;
mod audit;
#[cfg(feature = "http")]
mod audit_log;
#[cfg(feature = "http")]
mod audit_webhook;
mod autoscalers;
mod cluster;
mod compared;
mod discovery;
pub mod document;
mod dropped;
mod family;
mod following;
#[cfg(feature = "http")]
pub mod http;
mod identity;
mod kinds;
mod latest;
mod logs;
mod look;
mod options;
mod origins;
mod records;
mod remarks;
mod replacing;
mod requests;
mod schemas;
mod settling;
mod sharing;
mod target;
mod tree;
mod turns;
mod watch;
pub mod wire;

pub use audit::Trail;
#[cfg(feature = "http")]
pub use audit_log::Complaint;
#[cfg(feature = "http")]
pub use audit_webhook::{AuditSenders, AuditWebhook};
pub use family::{Kubernetes, OwnCluster};
pub use options::{Clock, KubeOptions};
pub use requests::{Call, Flow, RequestOutcome, Tally, Turn, Urgency};
pub use target::KubeTarget;
pub use watch::Watching;
