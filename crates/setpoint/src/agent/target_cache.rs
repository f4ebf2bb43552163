//! The cached state of targets, in the disposable database.

use std::sync::Arc;

use setpoint_core::name::TargetIdentity;
use setpoint_ledger_sql::{Scratch, ScratchError};
use setpoint_target::{Answer, Cache, CacheChanges, CacheError, CachedBytes, NoCache};

use crate::complaint::told;

/// Returns the cache in a database; without a database, one that stores nothing.
pub(super) fn target_cache(database: Option<Arc<Scratch>>) -> Arc<dyn Cache> {
    match database {
        Some(database) => Arc::new(TargetCache(database)),
        None => Arc::new(NoCache),
    }
}

#[derive(Debug)]
struct TargetCache(Arc<Scratch>);

/// Returns the area of a target. Its name is that of the time when all targets with a cache were
/// clusters: existing databases stay valid.
fn area(target: &TargetIdentity) -> String {
    format!("cluster {target}")
}

fn unusable(error: &ScratchError) -> CacheError {
    CacheError { detail: told(error) }
}

impl Cache for TargetCache {
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> Answer<'a, Result<CachedBytes, CacheError>> {
        Box::pin(async move { self.0.all(&area(target)).await.map_err(|error| unusable(&error)) })
    }

    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: CacheChanges) -> Answer<'a, Result<(), CacheError>> {
        Box::pin(async move { self.0.change(&area(target), changes).await.map_err(|error| unusable(&error)) })
    }
}
