//! Erases the body of a record, to which a person may have a right: the record stays, and another
//! one records that its body is gone.

use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::Span;
use setpoint_ledger::{Erasure, LeaseRequest, Ledger, LedgerError, Record};

use super::opening::{Alone, OpeningError, open_alone};
use super::{AgentOptions, HOLDER};

/// Long enough for one record.
const LEASE: Span = Span::minutes(1);

/// A person's request to erase a body.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The number of its record.
    pub seq: u64,
    pub actor: Actor,
    pub reason: String,
}

/// The reason why nothing was erased.
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

/// Erases the body of a record. Returns the number of the record of the erasure. Must not be called
/// while the agent runs.
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
    // Even if the erasure failed, the agent must not have to wait for the lease.
    ledger.release(&lease).await?;
    ledger.close().await?;
    Ok(erased?.seqs.start)
}

/// Returns the scope of a record: everyone who may read the record may read that it was erased.
async fn scope_of(ledger: &dyn Ledger, origin: &setpoint_ledger::Origin, seq: u64) -> Result<Scope, LedgerError> {
    let records = ledger.records(origin, seq..seq + 1).await?;
    let record = records.first().ok_or_else(|| LedgerError::input(format!("there is no record {seq}")))?;
    Ok(Record::from_bytes(record)?.scope)
}
