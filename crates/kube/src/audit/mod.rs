//! Who did it, by the server's own account: audit events (`audit.k8s.io/v1`).
//!
//! - [`event`]: events as they are written to a log or sent to a webhook, bounded, the malformed
//!   ones told.
//! - [`own`]: which of them are ours. Names prove nothing: our requests bear audit ids that nobody
//!   else can make.
//! - [`explain`]: which of them explain what was seen of an object.

pub mod event;
pub mod explain;
pub mod own;

pub use event::{AuditEvent, Malformed, ObjectName, Read, Verb};
pub use explain::{Change, Explanation, Sighting, explain};
pub use own::Signature;
