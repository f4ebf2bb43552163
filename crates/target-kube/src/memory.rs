//! What a target may remember beyond its own life. Disposable: losing it costs requests, never
//! truth.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use setpoint_core::name::TargetIdentity;

/// Nothing is remembered, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was remembered cannot be used: {detail}")]
pub struct Forgotten {
    pub detail: String,
}

/// Bytes by name.
pub type Remembered = Vec<(String, Vec<u8>)>;

/// What to remember under which name; without bytes, what to forget.
pub type Changes = Vec<(String, Option<Vec<u8>>)>;

/// Bytes by name for each cluster, in whatever the caller keeps such things in.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Everything remembered of a cluster.
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> BoxFuture<'a, Result<Remembered, Forgotten>>;

    /// Remembers these, and forgets those without bytes.
    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: Changes) -> BoxFuture<'a, Result<(), Forgotten>>;
}

/// Remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn load<'a>(&'a self, _: &'a TargetIdentity) -> BoxFuture<'a, Result<Remembered, Forgotten>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn store<'a>(&'a self, _: &'a TargetIdentity, _: Changes) -> BoxFuture<'a, Result<(), Forgotten>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Remembers for as long as it lives: for tests and the simulator.
#[derive(Debug, Default)]
pub struct ShortMemory(Mutex<BTreeMap<(TargetIdentity, String), Vec<u8>>>);

impl ShortMemory {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<(TargetIdentity, String), Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for ShortMemory {
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> BoxFuture<'a, Result<Remembered, Forgotten>> {
        let known = self.locked();
        let of_target = known.iter().filter(|((owner, _), _)| owner == target);
        let all = of_target.map(|((_, name), bytes)| (name.clone(), bytes.clone())).collect();
        Box::pin(std::future::ready(Ok(all)))
    }

    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: Changes) -> BoxFuture<'a, Result<(), Forgotten>> {
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
