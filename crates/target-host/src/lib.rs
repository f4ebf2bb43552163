//! Manages the machine that Setpoint runs on: the files, directories, links and commands of
//! `host.setpoint.dev/v1`.
//!
//! Reading order:
//!
//! - [`declaration`]: the documents a host accepts.
//! - `stamp`: the meaning of UID and version on a host.
//! - `look`: observing the current state.
//! - `act`: making a batch of steps durable.
//! - `settling`, `watch`.
//! - `family`: what the accept plane and the agent know of hosts.
//!
//! `disk` is the seam to the file system. `resolve` opens directories without following links that
//! other users could have planted. `command` is the only module that starts child processes.
//!
//! A host target promises, in addition to the contract of [`setpoint_target::Target`]:
//!
//! - Files are replaced as a whole: readers get the old or the new one, and so does a machine after
//!   a power loss.
//! - Nothing is deleted that no app has claimed: a directory is deleted only when it is empty.
//! - With a root, nothing outside of it is read, written or reached through links.
//! - Sensitive content is never shown; digests of contents are keyed.

pub mod declaration;
pub mod disk;

mod accounts;
mod act;
mod command;
mod family;
mod host;
mod identity;
mod look;
mod options;
mod own;
mod path;
mod resolve;
mod settling;
mod stamp;
mod target;
mod under_way;
mod watch;

pub use declaration::{API_VERSION, COMMAND_CLASS, FieldDoc, HostResource, KINDS, KindDoc, METADATA, Problem, check};
pub use family::{Host, HostSection};
pub use identity::NoIdentity;
pub use options::{Clock, Complaint, HostOptions, Secrets};
pub use path::{BadPath, FILE_CLASS, HostPath, implied_dependencies};
pub use target::HostTarget;
pub use watch::Watching;
