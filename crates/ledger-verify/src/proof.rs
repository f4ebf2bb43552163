//! Proofs that a person can recompute with `sha256sum`, and the export of records.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use data_encoding::HEXLOWER;

use crate::database::{Database, LogRow};
use crate::error::VerifyError;
use crate::note::{self, Checkpoint, Key};
use crate::tree::{Beside, Hash, leaf, node, steps};

/// The number of records read at a time.
const CHUNK: i64 = 2_048;

/// Proves in text and hashes that record `seq` is covered by the newest checkpoint.
pub async fn prove(path: &Path, origin: &str, seq: u64, keys: &[Key]) -> Result<String, VerifyError> {
    let not_provable = |why: String| VerifyError::NotProvable { seq, why };
    let mut database = Database::open(path).await?;
    let log = database.log(origin).await?;
    let sql = "SELECT text FROM checkpoints WHERE log = ? ORDER BY number DESC LIMIT 1";
    let newest: Vec<(String,)> = database.rows(sql, log.id).await?;
    let Some((text,)) = newest.into_iter().next() else {
        return Err(not_provable("nothing was signed yet".to_owned()));
    };
    let checkpoint = note::open(&text, keys).map_err(|why| not_provable(format!("the newest checkpoint: {why}")))?;
    if seq >= checkpoint.size {
        return Err(not_provable(format!("only the first {} records are signed yet", checkpoint.size)));
    }
    let (leaves, record) = leaves(&mut database, &log, seq, checkpoint.size).await?;
    if leaves.len() as u64 != checkpoint.size {
        return Err(not_provable(format!("of {} signed records, {} exist", checkpoint.size, leaves.len())));
    }
    write_proof(origin, seq, &record, &leaves, &checkpoint, &text).map_err(not_provable)
}

/// Returns the hashes of the first `size` records, and the bytes of record `seq`.
async fn leaves(
    database: &mut Database,
    log: &LogRow,
    seq: u64,
    size: u64,
) -> Result<(Vec<Hash>, Vec<u8>), VerifyError> {
    let mut hashes = Vec::new();
    let mut record = Vec::new();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let mut start = 0;
    while start < size {
        let sql = "SELECT seq, bytes FROM records WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq";
        let rows: Vec<(i64, Vec<u8>)> = database.range(sql, log.id, start, size.min(start + CHUNK)).await?;
        for (row, bytes) in rows {
            hashes.push(leaf(&bytes));
            if u64::try_from(row) == Ok(seq) {
                record = bytes;
            }
        }
        start += CHUNK;
    }
    Ok((hashes, record))
}

fn write_proof(
    origin: &str,
    seq: u64,
    record: &[u8],
    leaves: &[Hash],
    checkpoint: &Checkpoint,
    signed: &str,
) -> Result<String, String> {
    let index = usize::try_from(seq).map_err(|error| error.to_string())?;
    let mut hash = leaves[index];
    let mut text = format!(
        "Record {seq} of log {origin}, byte for byte:\n\n{}\n\nEach hash is SHA-256 over the bytes named; 00 and 01 are \
         single bytes.\n\n  00, the record\n    = {}\n",
        String::from_utf8_lossy(record),
        HEXLOWER.encode(&hash)
    );
    for step in steps(leaves, index) {
        let (left, right) = match step {
            Beside::Left(left) => (left, hash),
            Beside::Right(right) => (hash, right),
        };
        hash = node(&left, &right);
        let (left, right, made) = (HEXLOWER.encode(&left), HEXLOWER.encode(&right), HEXLOWER.encode(&hash));
        write!(text, "  01, {left}, {right}\n    = {made}\n").map_err(|error| error.to_string())?;
    }
    if hash != checkpoint.root {
        return Err("the records do not lead to the signed root: run `setpoint ledger verify`".to_owned());
    }
    write!(text, "\nThe last hash is the root, in base64 on the third line of the signed checkpoint:\n\n{signed}")
        .map_err(|error| error.to_string())?;
    Ok(text)
}

/// Writes every record of a log as one line of JSON, exactly as stored. Returns their number.
pub async fn export(path: &Path, origin: &str, out: &mut (dyn io::Write + Send)) -> Result<u64, VerifyError> {
    let mut database = Database::open(path).await?;
    let log = database.log(origin).await?;
    let bounds: Vec<(Option<i64>,)> = database.rows("SELECT max(seq) FROM records WHERE log = ?", log.id).await?;
    let last = bounds.first().and_then(|(last,)| *last).unwrap_or(-1);
    let (mut start, mut written) = (0, 0);
    while start <= last {
        let sql = "SELECT bytes FROM records WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq";
        let rows: Vec<(Vec<u8>,)> = database.range(sql, log.id, start, start + CHUNK).await?;
        for (bytes,) in rows {
            let line = out.write_all(&bytes).and_then(|()| out.write_all(b"\n"));
            line.map_err(|source| VerifyError::Output { source })?;
            written += 1;
        }
        start += CHUNK;
    }
    Ok(written)
}
