//! Values as SQLite holds them, and back. A value that does not fit is damage, not a default.

use setpoint_core::digest::Digest;
use setpoint_core::time::Timestamp;
use setpoint_ledger::LedgerError;

/// SQLite's integers are signed. A time or number beyond them is stored as the largest: it is as
/// far away as any.
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

/// Reading failed: whether anything is there is not known.
pub(crate) fn unread(error: sqlx::Error) -> LedgerError {
    LedgerError::unavailable("the database did not answer", error)
}
