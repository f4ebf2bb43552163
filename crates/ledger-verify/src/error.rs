//! The errors of a ledger that cannot be verified. Such a ledger does not count as sound.

use std::path::PathBuf;

/// The reason why a ledger could not be read.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("the ledger {path} cannot be read: it is missing, damaged or not readable by this user")]
    Unreadable { path: PathBuf, source: sqlx::Error },
    #[error("the file {path} is not a ledger of a format this verifier knows")]
    NotALedger { path: PathBuf },
    #[error("`{text}` is not a verification key: expected `name+id+base64`, the form of signed notes")]
    BadKey { text: String },
    #[error("the log `{origin}` is not in this ledger")]
    NoSuchLog { origin: String },
    #[error("record {seq} cannot be proven: {why}")]
    NotProvable { seq: u64, why: String },
    #[error("the result cannot be written: check the output file or pipe")]
    Output { source: std::io::Error },
}
