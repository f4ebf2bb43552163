//! Options of a host target: its root, its clock, and the reader of its sealed secrets.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::secret::{Secret, SecretRef};
use setpoint_core::time::Timestamp;

use crate::disk::Probe;

/// Returns the current time of the engine's clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Receives messages for the log.
pub type Complaint = Arc<dyn Fn(&str) + Send + Sync>;

/// Opens the sealed values of bundles. Called only at the moment when their bytes are written.
pub trait Secrets: Send + Sync + fmt::Debug {
    /// Returns `None` if no value is sealed under this name for this target.
    fn open(&self, reference: &SecretRef) -> Option<Secret<Vec<u8>>>;
}

/// The settings of a host target. Created with [`HostOptions::new`], then adjusted.
#[derive(Clone)]
pub struct HostOptions {
    /// The directory that all paths are relative to and never leave; `None` for the whole host.
    pub root: Option<PathBuf>,
    /// A directory of Setpoint, for the generated ID of a machine that has none.
    pub data: PathBuf,
    /// The files and directories that Setpoint itself needs: no app may change them. Default: the
    /// data directory.
    pub own: Vec<PathBuf>,
    /// The path of the machine ID.
    pub machine_id: PathBuf,
    pub clock: Clock,
    /// The key of the installation. Contents are compared and shown by digests made with it.
    pub digest_key: DigestKey,
    pub secrets: Option<Arc<dyn Secrets>>,
    /// Trusts `stat`, as git does: a file whose inode, size, mode, owner and times are unchanged is
    /// assumed to have the same content. Observing is several times faster, but a change that keeps
    /// the file's change time (such as restoring the block device) goes unnoticed.
    pub trust_stat: bool,
    /// Allows commands. They are not confined to `root`, so a target with a root refuses them by
    /// default.
    pub run_commands: bool,
    /// No other process changes the machine for this installation, because its data directory is
    /// locked. An effect that is not under way in this process has therefore ended, and can be
    /// settled at once.
    pub alone: bool,
    /// Receives messages for people about how well this target can be managed.
    pub complaint: Option<Complaint>,
    /// Is called before every call to the disk.
    pub probe: Option<Arc<dyn Probe>>,
}

impl HostOptions {
    pub fn new(root: Option<PathBuf>, data: PathBuf, clock: Clock, digest_key: DigestKey) -> Self {
        Self {
            run_commands: root.is_none(),
            root,
            own: vec![data.clone()],
            data,
            machine_id: PathBuf::from("/etc/machine-id"),
            clock,
            digest_key,
            secrets: None,
            trust_stat: false,
            alone: false,
            complaint: None,
            probe: None,
        }
    }
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptions")
            .field("root", &self.root)
            .field("data", &self.data)
            .field("machine_id", &self.machine_id)
            .field("trust_stat", &self.trust_stat)
            .field("run_commands", &self.run_commands)
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}
