//! Erasing what a record says in its body, as a person may have a right to: the record stays, and
//! another one says that its body is gone.

use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::Span;
use setpoint_ledger::{Erasure, LeaseRequest, Ledger, LedgerError, Record};

use super::opening::{Alone, OpeningError, open_alone};
use super::{AgentOptions, HOLDER};

/// Long enough for one record.
const LEASE: Span = Span::minutes(1);

/// A person's word that a body is to go.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The number of its record.
    pub seq: u64,
    pub actor: Actor,
    pub reason: String,
}

/// Why nothing was erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("there is no record {seq}: the ledger has {size}, counted from 0; `setpoint history` shows their numbers")]
    NoRecord { seq: u64, size: u64 },
    #[error("nothing was erased")]
    NotErased { source: LedgerError },
}

impl From<LedgerError> for EraseError {
    fn from(source: LedgerError) -> Self {
        Self::NotErased { source }
    }
}

/// Erases the body of a record and answers the number of the one that says so. The agent may not be
/// running.
pub async fn erase(options: AgentOptions, wish: Wish) -> Result<u64, EraseError> {
    let Wish { seq, actor, reason } = wish;
    let Alone { ledger, origin, clock, .. } = open_alone(options).await?;
    let size = ledger.head(&origin).await?.size;
    if seq >= size {
        return Err(EraseError::NoRecord { seq, size });
    }
    let scope = scope_of(&ledger, &origin, seq).await?;
    let now = clock.now();
    let request = LeaseRequest { origin: origin.clone(), holder: HOLDER.to_owned(), now, length: LEASE };
    let lease = ledger.acquire(request).await?;
    let erasure = Erasure { origin, epoch: lease.epoch, now: clock.now(), seq, scope, actor, reason };
    let erased = ledger.erase_body(erasure).await;
    // What could not be erased must not keep the agent waiting for the lease either.
    ledger.release(&lease).await?;
    ledger.close().await?;
    Ok(erased?.seqs.start)
}

/// The scope that the record is of: who may read the one may read that it was erased.
async fn scope_of(ledger: &dyn Ledger, origin: &setpoint_ledger::Origin, seq: u64) -> Result<Scope, LedgerError> {
    let records = ledger.records(origin, seq..seq + 1).await?;
    let record = records.first().ok_or_else(|| LedgerError::input(format!("there is no record {seq}")))?;
    Ok(Record::from_bytes(record)?.scope)
}
