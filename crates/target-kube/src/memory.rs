//! State that a target may remember beyond its own life. It is disposable: losing it costs
//! requests, never correctness.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use setpoint_core::name::TargetIdentity;

/// The reason why nothing is remembered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the stored state of the target: {detail}")]
pub struct Forgotten {
    pub detail: String,
}

/// The stored bytes by name.
pub type Remembered = Vec<(String, Vec<u8>)>;

/// The bytes to store under each name; `None` deletes the name.
pub type Changes = Vec<(String, Option<Vec<u8>>)>;

/// A store of bytes by name for each cluster, provided by the caller.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Loads everything that is stored for a cluster.
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> BoxFuture<'a, Result<Remembered, Forgotten>>;

    /// Stores these bytes, and deletes the names without bytes.
    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: Changes) -> BoxFuture<'a, Result<(), Forgotten>>;
}

/// A memory that stores nothing.
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

/// A memory that lasts as long as the value: for tests and the simulator.
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
