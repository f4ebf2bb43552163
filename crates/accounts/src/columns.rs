//! Converts values to and from SQLite's types. A value that does not fit is damage, and is not
//! replaced by a default.

use setpoint_core::time::{Span, Timestamp};

use crate::errors::AccountsError;

/// Converts a time. One beyond SQLite's integers is stored as the largest, which is as far in the
/// future as any.
pub(crate) fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn timestamp(millis: i64) -> Result<Timestamp, AccountsError> {
    u64::try_from(millis).map(Timestamp::from_millis).map_err(|_| AccountsError::damaged("time"))
}

pub(crate) fn optional_timestamp(millis: Option<i64>) -> Result<Option<Timestamp>, AccountsError> {
    millis.map(timestamp).transpose()
}

pub(crate) fn array<const N: usize>(bytes: &[u8], what: &'static str) -> Result<[u8; N], AccountsError> {
    bytes.try_into().map_err(|_| AccountsError::damaged(what))
}

pub(crate) fn groups_text(groups: &[String]) -> String {
    serde_json::to_string(groups).expect("a list of texts has a JSON form")
}

pub(crate) fn groups(text: &str) -> Result<Vec<String>, AccountsError> {
    serde_json::from_str(text).map_err(|_| AccountsError::damaged("list of groups"))
}

/// Returns the time `span` before `now`, as SQLite stores it.
pub(crate) fn before(now: Timestamp, span: Span) -> i64 {
    millis(now - span)
}
