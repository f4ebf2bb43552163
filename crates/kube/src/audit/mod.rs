//! The author of a change, according to the server's audit events (`audit.k8s.io/v1`).
//!
//! - [`event`]: events as the server writes them to a log or sends them to a webhook, bounded;
//!   malformed ones are counted.
//! - [`own`]: recognition of our own events. Names prove nothing: our requests bear audit ids that
//!   no one else can create.
//! - [`explain`]: matching of events with an observed change.

pub mod event;
pub mod explain;
pub mod own;

pub use event::{AuditEvent, Malformed, ObjectName, Read, Verb};
pub use explain::{Change, Explanation, Sighting, explain};
pub use own::Signature;
