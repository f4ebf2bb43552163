//! Detects that a server shows an older state than before: its etcd was restored from a backup.
//!
//! A stream that resumes at a version which the server does not have yet is silent until the server
//! reaches it, and misses every change before. Also, a version of an object may come back with
//! another content. So the server is asked for its state before a stream resumes. Once that state
//! has gone back, everything is listed again and compared, whatever its version is.

use setpoint_core::mutant::Mutant;

use super::StreamId;
use crate::cluster::Cluster;
use crate::requests::{Collection, Failure};

/// The message about a restore, for people.
pub(super) const RESTORED: &str =
    "the server's state is older than before: its storage was restored, and all objects are compared again";

impl Cluster {
    /// Reports whether the server has lost the state up to this version. If the agent may not list
    /// the kind, the state is not known to be lost.
    pub(super) async fn has_gone_back(&self, collection: &Collection, from: &str) -> Result<bool, Failure> {
        if Mutant::ResumeUnchecked.is_on() {
            return Ok(false);
        }
        match self.api.state(collection).await {
            Ok(state) => Ok(state.is_some_and(|state| is_before(&state, from))),
            Err(failure) if failure.code() == Some(403) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Compares a list's version with the newest one of our records. If it is older, objects whose
    /// state was judged by their version have to be read.
    pub(super) fn compare_if_before(&self, id: &StreamId, state: &str, newest: Option<u64>) {
        let is_before = newest.zip(number(state)).is_some_and(|(newest, state)| state < newest);
        if is_before {
            self.records.forget_versions(&id.class, &id.namespace);
            self.records.keys_of(&id.class, &id.namespace).iter().for_each(|key| self.suspect(key));
        }
    }
}

/// Reports whether one state comes before another. This is unknown for servers whose versions are
/// not numbers.
pub(super) fn is_before(state: &str, other: &str) -> bool {
    number(state).zip(number(other)).is_some_and(|(state, other)| state < other)
}

fn number(state: &str) -> Option<u64> {
    state.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_compared_as_numbers_and_others_not_at_all() {
        assert!(is_before("999", "1000"));
        assert!(!is_before("1000", "1000") && !is_before("1001", "1000"));
        assert!(!is_before("", "1000") && !is_before("a", "b"));
    }
}
