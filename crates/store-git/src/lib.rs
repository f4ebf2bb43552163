//! The store in a Git repository: one branch or tag, read by object id and without a checkout.
//!
//! Reading order: [`options`] (the configuration of a store), [`address`] (the allowed URLs),
//! [`reference`](mod@reference) (the allowed branches, tags and commits), [`store`] (the
//! [`Store`](setpoint_store::Store) itself), [`mirror`] (our bare copy of a remote repository, and
//! its updates), `standing` (detects moved tags), `fetch` (one conversation with a server), `weigh`
//! (measures a pack before it is unpacked), `transport` (https and ssh, with limits on time and
//! bytes), [`repository`] (versions, ancestry and objects of a repository on disk), [`write`] (new
//! versions in a local repository, for `init` and `demo`).
//!
//! Nothing of a repository is executed and nothing around it is trusted: no hooks, filters or
//! programs, no configuration of the system or the user, no environment, no alternates. Secrets are
//! read when they are needed and never shown.

pub mod address;
mod failure;
mod fetch;
pub mod mirror;
pub mod options;
mod pace;
pub mod reference;
pub mod repository;
mod standing;
pub mod store;
mod transport;
mod weigh;
pub mod write;

pub use address::{Address, BadAddress};
pub use mirror::GitCache;
pub use options::{Credentials, Follow, GitLimits, GitOptions, Patience, SshOptions};
pub use reference::{Branch, Reference, Tag};
pub use store::GitStore;
pub use write::{Author, Change, LocalRepository, Parent};
