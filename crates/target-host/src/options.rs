//! What a host target is given: where to look, which clock to go by, how to open secrets.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::secret::{Secret, SecretRef};
use setpoint_core::time::Timestamp;

use crate::disk::Probe;

/// Reads the clock the engine goes by.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Takes what is worth a line in the log.
pub type Complaint = Arc<dyn Fn(&str) + Send + Sync>;

/// Opens what bundles hold sealed. Asked at the moment bytes are written, and at no other.
pub trait Secrets: Send + Sync + fmt::Debug {
    /// `None`: nothing is sealed under this name for this target.
    fn open(&self, reference: &SecretRef) -> Option<Secret<Vec<u8>>>;
}

/// How a host is held. Made with [`HostOptions::new`], then adjusted.
#[derive(Clone)]
pub struct HostOptions {
    /// The folder all paths are seen from and never leave; the whole host if `None`.
    pub root: Option<PathBuf>,
    /// A folder of Setpoint's own, for the generated id of a machine that has none.
    pub data: PathBuf,
    /// What Setpoint itself runs from: no app changes it. The data folder, if nothing is added.
    pub own: Vec<PathBuf>,
    /// Where the machine says what it is.
    pub machine_id: PathBuf,
    pub clock: Clock,
    /// The installation's key: contents are compared and shown by digests made with it.
    pub digest_key: DigestKey,
    pub secrets: Option<Arc<dyn Secrets>>,
    /// Believe that a file whose inode, size, mode, owner and times are as they were holds what it
    /// held, as git does. A look is several times faster; whoever can set a file's time of change
    /// unseen (a restored block device) is not noticed.
    pub trust_stat: bool,
    /// Whether commands are run. They are not confined to `root`, so that a target with a root
    /// refuses them if unsaid.
    pub run_commands: bool,
    /// No other process changes the machine in the name of this installation (its data folder is
    /// locked): an effect that is not under way here is over, and what became of it can be told at
    /// once.
    pub alone: bool,
    /// Takes what people should know about how this target is held.
    pub complaint: Option<Complaint>,
    /// Sees every call to the disk.
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
