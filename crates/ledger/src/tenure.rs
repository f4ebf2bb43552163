//! The rules of leases and epochs, the same for every implementation.

use setpoint_core::mutant::Mutant;
use setpoint_core::time::{Span, Timestamp};

use crate::contract::{Lease, LeaseRequest};
use crate::error::LedgerError;
use crate::origin::Origin;

/// The number of epochs that may have been used since an anchor was written. An anchor is updated
/// with the next signature, and not at all while it cannot be written. A log that lost its records
/// must not use any of these epochs again: they are part of the ids of intents.
pub const UNSEEN_EPOCHS: u64 = 1_000_000;

/// The state of a log's lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenure {
    /// The newest acquired epoch; 0 before the first.
    pub epoch: u64,
    /// The holder of that epoch and the time when its lease expires. `None` once released.
    pub holder: Option<(String, Timestamp)>,
}

impl Tenure {
    /// Begins a new epoch, above every earlier one and above `past`, the newest epoch that an
    /// anchor remembers.
    pub fn acquire(&mut self, request: &LeaseRequest, past: u64) -> Result<Lease, LedgerError> {
        if let Some((holder, until)) = &self.holder
            && *holder != request.holder
            && request.now < *until
        {
            return Err(LedgerError::Held { origin: request.origin.clone(), holder: holder.clone(), until: *until });
        }
        let expires = request.now + request.length;
        self.epoch = self.epoch.max(past) + 1;
        self.holder = Some((request.holder.clone(), expires));
        Ok(Lease { origin: request.origin.clone(), holder: request.holder.clone(), epoch: self.epoch, expires })
    }

    /// Extends the current lease. Never shortens it: its holder may rely on the time it got.
    pub fn renew(&mut self, lease: &Lease, now: Timestamp, length: Span) -> Result<Lease, LedgerError> {
        self.admit(&lease.origin, lease.epoch, now)?;
        let expires = lease.expires.max(now + length);
        self.holder = Some((lease.holder.clone(), expires));
        Ok(Lease { expires, ..lease.clone() })
    }

    /// Releases a lease. Releasing one that is over changes nothing.
    pub fn release(&mut self, lease: &Lease) {
        if self.epoch == lease.epoch {
            self.holder = None;
        }
    }

    /// Refuses a writer of an earlier epoch and one whose lease has expired.
    pub fn admit(&self, origin: &Origin, epoch: u64, now: Timestamp) -> Result<(), LedgerError> {
        match &self.holder {
            _ if Mutant::IgnoreEpoch.is_on() => Ok(()),
            Some((_, expires)) if epoch == self.epoch && now < *expires => Ok(()),
            Some((_, expires)) if epoch == self.epoch => {
                Err(LedgerError::Expired { origin: origin.clone(), epoch, expired: *expires })
            }
            _ => Err(LedgerError::Fenced { origin: origin.clone(), epoch, current: self.epoch }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(holder: &str, now: u64) -> LeaseRequest {
        let origin = Origin::new("test").unwrap();
        LeaseRequest { origin, holder: holder.to_owned(), now: Timestamp::from_millis(now), length: Span::millis(10) }
    }

    #[test]
    fn a_lease_excludes_others_until_it_runs_out() {
        let mut tenure = Tenure::default();
        let first = tenure.acquire(&request("a", 0), 0).unwrap();
        assert!(tenure.acquire(&request("b", 9), 0).is_err());
        let second = tenure.acquire(&request("b", 10), 0).unwrap();
        assert!(second.epoch > first.epoch);
        assert!(tenure.admit(&first.origin, first.epoch, Timestamp::from_millis(10)).is_err());
        assert!(tenure.admit(&first.origin, second.epoch, Timestamp::from_millis(10)).is_ok());
    }

    #[test]
    fn the_same_holder_returns_at_once_in_a_new_epoch_above_the_anchor_s() {
        let mut tenure = Tenure::default();
        tenure.acquire(&request("a", 0), 0).unwrap();
        assert_eq!(tenure.acquire(&request("a", 1), 41).unwrap().epoch, 42);
    }

    #[test]
    fn a_lease_that_ran_out_or_was_released_admits_nothing_and_cannot_be_renewed() {
        let mut tenure = Tenure::default();
        let lease = tenure.acquire(&request("a", 0), 0).unwrap();
        assert!(tenure.renew(&lease, Timestamp::from_millis(10), Span::millis(5)).is_err());
        let longer = tenure.renew(&lease, Timestamp::from_millis(9), Span::millis(10)).unwrap();
        assert_eq!(longer.expires, Timestamp::from_millis(19));
        tenure.release(&longer);
        assert!(tenure.admit(&lease.origin, lease.epoch, Timestamp::from_millis(9)).is_err());
    }
}
