//! The host itself: the state that all calls share, and the check that it is still the same
//! machine.

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
    /// Directories without remains of earlier processes. Locked while one is being swept, so that
    /// no other thread writes there meanwhile.
    pub(crate) swept: Mutex<BTreeSet<String>>,
}

/// A cache that may be dropped at any time.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The parsed declaration most recently observed under each key.
    known: BTreeMap<Key, Arc<Known>>,
    /// Observations that may be reused for the next one.
    pub(crate) trusted: BTreeMap<Key, Trusted>,
}

impl Memory {
    /// Drops the entries of a key that is no longer declared.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.known.remove(key);
        self.trusted.remove(key);
    }
}

/// An observation, with the stamp that proves it still valid.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) stamp: Stamp,
    pub(crate) known: Arc<Known>,
    pub(crate) live: Live,
}

/// A declaration, parsed once, with the derived values that each comparison needs.
#[derive(Debug)]
pub(crate) struct Known {
    resource: Arc<Resource>,
    pub(crate) declared: HostResource,
    pub(crate) value: Arc<Value>,
    pub(crate) fingerprint: Digest,
    /// The form of the declared content that goes into a version.
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

    /// Opens the root, if it still belongs to the expected machine.
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
        // Entries are complete before they are stored, and may be lost.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parses a declaration, or returns it from the cache.
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
