//! Converts values to and from SQLite's types. A value that does not fit is corruption, and is not
//! replaced by a default.

use setpoint_core::digest::Digest;
use setpoint_core::time::Timestamp;
use setpoint_ledger::LedgerError;

/// Converts a number to SQLite's signed integers. A larger time or number is stored as the largest,
/// which is as far in the future as any.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn number(integer: i64) -> Result<u64, LedgerError> {
    u64::try_from(integer).map_err(|error| LedgerError::corrupt("a stored number is negative", error))
}

pub(crate) fn timestamp(integer: i64) -> Result<Timestamp, LedgerError> {
    number(integer).map(Timestamp::from_millis)
}

pub(crate) fn digest(bytes: &[u8]) -> Result<Digest, LedgerError> {
    let bytes = bytes.try_into().map_err(|error| LedgerError::corrupt("a stored hash is not 32 bytes", error))?;
    Ok(Digest::from_bytes(bytes))
}

/// Builds the error for a failed read: whether the data exists is unknown.
pub(crate) fn unread(error: sqlx::Error) -> LedgerError {
    LedgerError::unavailable("the database could not be read", error)
}
