//! A connection to a target, and what an agent provides for it.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::time::Timestamp;

use crate::cache::Cache;
use crate::contract::Target;
use crate::kinds::Kinds;

/// What an agent provides for its targets.
#[derive(Clone)]
pub struct Agent {
    /// Returns the current time of the engine's clock.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The key of the installation, for digests of values that must not be shown.
    pub digest_key: DigestKey,
    /// The data directory. Its lock makes the agent the only process of its installation.
    pub data: PathBuf,
    /// The files and directories that the agent itself needs: no app may declare them.
    pub own: Vec<PathBuf>,
    /// The name of the installation: short, and valid as a label.
    pub installation: Arc<str>,
    /// Receives messages for the log.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
    pub cache: Arc<dyn Cache>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("installation", &self.installation).finish_non_exhaustive()
    }
}

/// A task that must run as long as its target is connected.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connected target.
pub struct Connection {
    pub target: Arc<dyn Target>,
    pub kinds: Arc<dyn Kinds + Send + Sync>,
    pub tasks: Vec<Task>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("target", &self.target).finish_non_exhaustive()
    }
}
