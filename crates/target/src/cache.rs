//! The cached state of targets, which may outlive a connection and a process. It is disposable:
//! losing it costs requests, never correctness.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::name::TargetIdentity;

use crate::contract::Answer;

/// The reason why the cache cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the stored state of the target: {detail}")]
pub struct CacheError {
    pub detail: String,
}

/// The stored bytes by name.
pub type CachedBytes = Vec<(String, Vec<u8>)>;

/// The bytes to store under each name; `None` deletes the name.
pub type CacheChanges = Vec<(String, Option<Vec<u8>>)>;

/// A store of bytes by name for each target, provided by the caller.
pub trait Cache: Send + Sync + fmt::Debug {
    /// Loads everything that is stored for a target.
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> Answer<'a, Result<CachedBytes, CacheError>>;

    /// Stores these bytes, and deletes the names without bytes.
    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: CacheChanges) -> Answer<'a, Result<(), CacheError>>;
}

/// A cache that stores nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl Cache for NoCache {
    fn load<'a>(&'a self, _: &'a TargetIdentity) -> Answer<'a, Result<CachedBytes, CacheError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn store<'a>(&'a self, _: &'a TargetIdentity, _: CacheChanges) -> Answer<'a, Result<(), CacheError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A cache that lasts as long as the value: for tests and the simulator.
#[derive(Debug, Default)]
pub struct ProcessCache(Mutex<BTreeMap<(TargetIdentity, String), Vec<u8>>>);

impl ProcessCache {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<(TargetIdentity, String), Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache for ProcessCache {
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> Answer<'a, Result<CachedBytes, CacheError>> {
        let known = self.locked();
        let of_target = known.iter().filter(|((owner, _), _)| owner == target);
        let all = of_target.map(|((_, name), bytes)| (name.clone(), bytes.clone())).collect();
        Box::pin(std::future::ready(Ok(all)))
    }

    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: CacheChanges) -> Answer<'a, Result<(), CacheError>> {
        let mut known = self.locked();
        for (name, bytes) in changes {
            let at = (target.clone(), name);
            match bytes {
                Some(bytes) => drop(known.insert(at, bytes)),
                None => drop(known.remove(&at)),
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
