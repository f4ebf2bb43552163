//! The [`Store`] trait: the operations that the engine needs of a store of versions.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::name::VersionId;
use setpoint_core::observed::Observed;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;

use crate::error::StoreError;
use crate::path::shown;
use crate::tree::Tree;

/// The pending result of a store operation.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The author or committer of a version, as the version names them. Anyone can write any name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
    pub at: Timestamp,
}

/// One `Key: value` line at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    pub key: String,
    pub value: String,
}

/// A version's signature, unverified, for a gate to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub bytes: Arc<[u8]>,
    /// Exactly the signed bytes, never a re-encoding of their parsed form.
    pub payload: Arc<[u8]>,
}

/// The metadata that a version contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    pub author: Person,
    pub committer: Person,
    pub message: String,
    pub trailers: Vec<Trailer>,
    pub signature: Option<Signature>,
}

/// A place that holds versions.
///
/// The engine relies on these guarantees:
///
/// 1. **A version never changes.** [`open`](Self::open) returns the same content for one id on
///    every call, on every machine.
/// 2. **Errors are `Unknown`.** [`poll`](Self::poll) never reports an older or an empty store
///    because of a failure.
/// 3. **A polled version can be opened**, as long as the store is not rewritten and the local copy
///    of it is not lost.
/// 4. **[`ancestry`](Self::ancestry) never guesses**: an undecidable relation is
///    [`Ancestry::Unknown`].
/// 5. **Nothing of a store is executed**: no hook, no filter, no program it names.
pub trait Store: Send + Sync + fmt::Debug {
    /// Finds the newest version, and fetches it if it is new.
    fn poll(&self, now: Timestamp) -> Answer<'_, Observed<VersionId>>;

    /// Opens one version. The whole version is inspected before any of it can be read.
    fn open<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<Arc<dyn Tree>, StoreError>>;

    /// Determines the relation of an offered version to the one that was accepted before.
    fn ancestry<'a>(
        &'a self,
        accepted: &'a VersionId,
        offered: &'a VersionId,
    ) -> Answer<'a, Result<Ancestry, StoreError>>;

    /// Finds a version by its full id, or by a prefix that only one of the store's versions has.
    fn find<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>>;

    /// Finds a version among everything that the store offers, including versions outside its
    /// branch or tag, and fetches it. This serves the plan of a change that may be merged later.
    /// Such a version must not be accepted.
    fn find_offered<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
        self.find(name)
    }

    /// Returns the author, the time and the message of a version.
    fn describe<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<VersionInfo, StoreError>>;

    /// Takes the notices for people since the last call, a line each. The store works in spite of
    /// them.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Returns the one version that a name refers to.
pub fn only_one(name: &str, mut found: Vec<VersionId>) -> Result<VersionId, StoreError> {
    match (found.pop(), found.len()) {
        (Some(version), 0) => Ok(version),
        (Some(_), _) => {
            Err(StoreError::refused(format!("several versions begin with `{}`", shown(name)), "add more of the id"))
        }
        (None, _) => Err(StoreError::vanished(
            format!("version `{}`", shown(name)),
            "name a commit of the store's branch or tag by its id",
        )),
    }
}
