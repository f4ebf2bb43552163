//! Notices for the next page of a session: what an order did, after the browser was redirected.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use setpoint_accounts::SessionId;

/// The number of notices that wait to be shown. A session that never opens another page must not
/// fill the memory.
const MOST: usize = 1_000;

/// The notices that wait.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<BTreeMap<SessionId, String>>);

impl Notices {
    pub(super) fn put(&self, session: &SessionId, notice: String) {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() >= MOST {
            notices.pop_first();
        }
        notices.insert(session.clone(), notice);
    }

    pub(super) fn take(&self, session: &SessionId) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session)
    }
}
