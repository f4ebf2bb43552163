//! The [`Store`] trait: what the engine may ask of a place where versions live.

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

/// An answer on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who wrote or committed a version, as the version itself says: anyone can write any name.
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

/// A version's signature as it stands, for a gate to judge. Nothing was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub bytes: Arc<[u8]>,
    /// Exactly the bytes that were signed, never a re-encoding of what was understood of them.
    pub payload: Arc<[u8]>,
}

/// What a version says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    pub author: Person,
    pub committer: Person,
    pub message: String,
    pub trailers: Vec<Trailer>,
    pub signature: Option<Signature>,
}

/// Where versions live.
///
/// The engine relies on this:
///
/// 1. **A version never changes.** What [`open`](Self::open) shows under one id is the same on
///    every call, on every machine.
/// 2. **Errors are `Unknown`.** [`poll`](Self::poll) never reports an older or an empty store
///    because something failed.
/// 3. **What was polled can be opened**, as long as the store is not rewritten and our copy of it
///    is not lost.
/// 4. **[`ancestry`](Self::ancestry) guesses nothing**: what cannot be told is
///    [`Ancestry::Unknown`].
/// 5. **Nothing of a store is executed**: no hook, no filter, no program it names.
pub trait Store: Send + Sync + fmt::Debug {
    /// Looks for the newest version, and brings it here if it is new.
    fn poll(&self, now: Timestamp) -> Answer<'_, Observed<VersionId>>;

    /// One version, inspected as a whole before anything of it can be read.
    fn open<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<Arc<dyn Tree>, StoreError>>;

    /// How an offered version relates to the one that was accepted before.
    fn ancestry<'a>(
        &'a self,
        accepted: &'a VersionId,
        offered: &'a VersionId,
    ) -> Answer<'a, Result<Ancestry, StoreError>>;

    /// The version that a person names: by its full id, or by a beginning that only one of the
    /// store's versions has.
    fn find<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>>;

    /// The same among everything that the store offers, also what is not on the branch or tag it
    /// follows, and brings it here: for a plan of what may be merged later. Such a version must not
    /// be accepted.
    fn find_offered<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
        self.find(name)
    }

    /// Who made a version, when and why.
    fn describe<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<VersionInfo, StoreError>>;

    /// What people should know since this was last asked, although the store works on: a line each.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The one version that a name stands for.
pub fn only_one(name: &str, mut found: Vec<VersionId>) -> Result<VersionId, StoreError> {
    match (found.pop(), found.len()) {
        (Some(version), 0) => Ok(version),
        (Some(_), _) => {
            Err(StoreError::refused(format!("several versions begin with `{}`", shown(name)), "give more of the id"))
        }
        (None, _) => Err(StoreError::vanished(
            format!("version `{}`", shown(name)),
            "name a commit of the store's branch or tag by its id",
        )),
    }
}
