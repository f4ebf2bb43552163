//! The host itself: what every call shares, and the check that it is still the machine it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::{Digest, DigestKey};
use setpoint_core::key::Key;
use setpoint_core::live::Live;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;

use crate::declaration::{Content, HostResource, check_resource};
use crate::disk::Disk;
use crate::identity::{NoIdentity, Source};
use crate::options::{Clock, HostOptions, Secrets};
use crate::own::OwnPlaces;
use crate::resolve::Root;
use crate::stamp::{Stamp, content_text};
use crate::under_way::UnderWay;
use crate::watch::Watch;

pub(crate) struct Host {
    pub(crate) source: Source,
    /// The machine this target was opened on.
    pub(crate) expected: TargetIdentity,
    clock: Clock,
    pub(crate) digest_key: DigestKey,
    pub(crate) secrets: Option<Arc<dyn Secrets>>,
    pub(crate) trust_stat: bool,
    pub(crate) run_commands: bool,
    pub(crate) own: OwnPlaces,
    pub(crate) alone: bool,
    pub(crate) under_way: UnderWay,
    pub(crate) disk: Disk,
    pub(crate) watch: Watch,
    memory: Mutex<Memory>,
    /// Folders that hold nothing an earlier process left there. Held while one is swept, so that
    /// nobody writes there meanwhile.
    pub(crate) swept: Mutex<BTreeSet<String>>,
}

/// What may be forgotten at any time.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The declaration last seen under each key, read.
    known: BTreeMap<Key, Arc<Known>>,
    /// Looks that may stand for the next one.
    pub(crate) trusted: BTreeMap<Key, Trusted>,
}

impl Memory {
    /// What is no longer declared need not be remembered.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.known.remove(key);
        self.trusted.remove(key);
    }
}

/// What a look found, and by what it is known to hold still.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) stamp: Stamp,
    pub(crate) known: Arc<Known>,
    pub(crate) live: Live,
}

/// A declaration, read once, with what comparing it needs each time.
#[derive(Debug)]
pub(crate) struct Known {
    resource: Arc<Resource>,
    pub(crate) declared: HostResource,
    pub(crate) value: Arc<Value>,
    pub(crate) fingerprint: Digest,
    /// How the declared content enters a version.
    pub(crate) content: String,
}

impl Host {
    pub(crate) fn open(options: HostOptions) -> Result<Self, NoIdentity> {
        let own = OwnPlaces::seen_from(options.root.as_deref(), &options.own);
        let source = Source { machine_id: options.machine_id, data: options.data, root: options.root };
        let (_, expected) = source.open()?;
        let disk = Disk::new(options.probe);
        Ok(Self {
            source,
            expected,
            clock: options.clock,
            digest_key: options.digest_key,
            secrets: options.secrets,
            trust_stat: options.trust_stat,
            run_commands: options.run_commands,
            own,
            alone: options.alone,
            under_way: UnderWay::default(),
            watch: Watch::new(&disk, options.complaint),
            disk,
            memory: Mutex::default(),
            swept: Mutex::default(),
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Opens the root, if it is still that of the machine we know.
    pub(crate) fn visit(&self) -> Result<Root, UnknownReason> {
        let (root, found) =
            self.source.open().map_err(|error| UnknownReason::Unreachable { detail: error.to_string() })?;
        if found != self.expected {
            let (expected, found) = (self.expected.to_string(), found.to_string());
            return Err(UnknownReason::OtherIdentity { expected, found });
        }
        Ok(root)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        // What is in it was complete before it was put there, and may be lost.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a declaration, or remembers that it did.
    pub(crate) fn known(&self, memory: &mut Memory, resource: &Arc<Resource>) -> Result<Arc<Known>, String> {
        if let Some(known) = memory.known.get(&resource.key)
            && (Arc::ptr_eq(&known.resource, resource) || known.resource == *resource)
        {
            return Ok(Arc::clone(known));
        }
        let known = Arc::new(Known::read(resource, &self.digest_key)?);
        memory.known.insert(resource.key.clone(), Arc::clone(&known));
        Ok(known)
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("source", &self.source).field("expected", &self.expected).finish_non_exhaustive()
    }
}

impl Known {
    pub(crate) fn read(resource: &Arc<Resource>, key: &DigestKey) -> Result<Self, String> {
        let declared = check_resource(resource)?;
        let content = match &declared {
            HostResource::File(file) => match &file.content {
                Content::Sealed(reference) => reference.digest.to_string(),
                content => content_text(key, content.bytes().unwrap_or_default()),
            },
            HostResource::Symlink(link) => content_text(key, link.target.as_bytes()),
            HostResource::Directory(_) | HostResource::Command(_) => String::new(),
        };
        let value = Arc::clone(&resource.body);
        let fingerprint = Live::fingerprint_of(&value);
        Ok(Self { resource: Arc::clone(resource), declared, value, fingerprint, content })
    }
}
