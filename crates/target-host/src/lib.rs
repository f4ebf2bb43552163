//! This machine as a target: files, folders, links and commands of `host.setpoint.dev/v1`.
//!
//! Reading order: [`declaration`] (what may be declared), `stamp` (what UID and version mean on a
//! host), `look` (what is there), `act` (how a batch of steps becomes durable), `settling`,
//! `watch`. `disk` is the seam to the file system, `resolve` the way to a folder that no planted
//! link can bend, `command` the door of child processes.
//!
//! What a host target promises beyond the contract of [`setpoint_target::Target`]:
//!
//! - Files are replaced as a whole: readers, and a machine that lost power, see the old or the new
//!   one.
//! - Nothing is deleted that no app has claimed: a folder goes only when it is empty.
//! - With a root, nothing outside of it is read, written or followed to.
//! - What is sensitive is never shown; digests of contents are keyed.

pub mod declaration;
pub mod disk;

mod accounts;
mod act;
mod command;
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
pub use identity::NoIdentity;
pub use options::{Clock, Complaint, HostOptions, Secrets};
pub use path::{BadPath, FILE_CLASS, HostPath, implied_dependencies};
pub use target::HostTarget;
pub use watch::Watching;
