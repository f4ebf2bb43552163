//! The limits of sign-ins: delays, never locks.
//!
//! Each limit is a bucket that refills within minutes. A sign-in from an address that has not
//! signed in to the account before must pass three of them: of the address, of the account, and of
//! all such sign-ins together. A sign-in from an address that has signed in to the account before
//! has a bucket of its own and passes none of the three: no number of other clients can keep its
//! owner out (CVE-2024-21662). All names have the same limits, administrators and names without an
//! account too, so that a limit reveals nothing about a name.
//!
//! A refused attempt charges no bucket and creates none. So the limit of all sign-ins together also
//! bounds the memory, and no flood can displace the bucket of an attacker.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use setpoint_core::time::{Span, Timestamp};

use crate::client::Network;

/// A number of attempts at once, and the time after which one more is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub refill: Span,
}

/// The limits of sign-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For each IPv4 address and each /64 of IPv6 addresses.
    pub address: Rate,
    /// For each name, with or without an account.
    pub account: Rate,
    /// For all sign-ins from addresses that are new to their account.
    pub global: Rate,
    /// For each account and address that has signed in to it before.
    pub known: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address: Rate { burst: 10, refill: Span::seconds(30) },
            account: Rate { burst: 20, refill: Span::seconds(6) },
            // A quarter of one processor at most, with hashes of 50 ms.
            global: Rate { burst: 60, refill: Span::millis(200) },
            known: Rate { burst: 10, refill: Span::seconds(15) },
        }
    }
}

/// The most buckets of one kind. The default limits never need as many.
const MOST: usize = 10_000;

/// An attempt to sign in.
#[derive(Clone, Debug)]
pub(crate) enum Attempt {
    /// From an address that has signed in to the account before: the keyed hash of both.
    Known { pair: [u8; 32] },
    /// The name as a keyed hash: a person may have typed a password into its field.
    New { name: [u8; 32], network: Network },
}

/// A bucket: the time at which it is full again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    full_at: Timestamp,
}

impl Bucket {
    /// Returns the time until the bucket has an attempt left; zero if it has one.
    fn wait(self, rate: Rate, now: Timestamp) -> Span {
        let tolerance = Span::millis(rate.refill.as_millis().saturating_mul(u64::from(rate.burst.max(1)) - 1));
        self.within(rate, now).full_at.since(now + tolerance)
    }

    fn charge(&mut self, rate: Rate, now: Timestamp) {
        self.full_at = self.within(rate, now).full_at.max(now) + rate.refill;
    }

    fn refund(&mut self, rate: Rate) {
        self.full_at = self.full_at - rate.refill;
    }

    /// Returns the bucket as empty at most: after a clock went backwards, its time may be far in
    /// the future.
    fn within(self, rate: Rate, now: Timestamp) -> Self {
        let empty = now + Span::millis(rate.refill.as_millis().saturating_mul(u64::from(rate.burst)));
        Self { full_at: self.full_at.min(empty) }
    }
}

/// The buckets of one kind.
#[derive(Debug)]
struct Buckets<K>(BTreeMap<K, Bucket>);

impl<K: Ord> Buckets<K> {
    fn wait(&mut self, key: &K, rate: Rate, now: Timestamp) -> Span {
        if let Some(bucket) = self.0.get(key) {
            return bucket.wait(rate, now);
        }
        if self.0.len() >= MOST {
            self.0.retain(|_, bucket| bucket.within(rate, now).full_at > now);
        }
        if self.0.len() >= MOST { rate.refill } else { Span::ZERO }
    }

    fn charge(&mut self, key: K, rate: Rate, now: Timestamp) {
        self.0.entry(key).or_default().charge(rate, now);
    }

    fn refund(&mut self, key: &K, rate: Rate) {
        if let Some(bucket) = self.0.get_mut(key) {
            bucket.refund(rate);
        }
    }
}

/// The state of all limits, in memory: a restart forgets at most one burst of each bucket.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    global: Bucket,
    addresses: Buckets<Network>,
    accounts: Buckets<[u8; 32]>,
    known: Buckets<[u8; 32]>,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State {
            global: Bucket::default(),
            addresses: Buckets(BTreeMap::new()),
            accounts: Buckets(BTreeMap::new()),
            known: Buckets(BTreeMap::new()),
        };
        Self { limits, state: Mutex::new(state) }
    }

    /// Charges the buckets of an attempt, or returns the time to wait.
    pub(crate) fn admit(&self, attempt: &Attempt, now: Timestamp) -> Result<(), Span> {
        let limits = &self.limits;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = match attempt {
            Attempt::Known { pair } => state.known.wait(pair, limits.known, now),
            Attempt::New { name, network } => {
                let address = state.addresses.wait(network, limits.address, now);
                let account = state.accounts.wait(name, limits.account, now);
                address.max(account).max(state.global.wait(limits.global, now))
            }
        };
        if wait > Span::ZERO {
            return Err(wait);
        }
        match attempt {
            Attempt::Known { pair } => state.known.charge(*pair, limits.known, now),
            Attempt::New { name, network } => {
                state.addresses.charge(*network, limits.address, now);
                state.accounts.charge(*name, limits.account, now);
                state.global.charge(limits.global, now);
            }
        }
        Ok(())
    }

    /// Returns the attempt of a correct sign-in to its account and address, so that the users of
    /// one office do not limit each other. Earlier failures stay: an attacker cannot remove them by
    /// signing in to an account of their own. The cost of the hash stays charged to all.
    pub(crate) fn succeeded(&self, attempt: &Attempt) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Attempt::New { name, network } = attempt {
            state.addresses.refund(network, self.limits.address);
            state.accounts.refund(name, self.limits.account);
        }
    }

    /// Returns the number of buckets in memory.
    pub(crate) fn size(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.addresses.0.len() + state.accounts.0.len() + state.known.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::secrets::fingerprint;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn from(name: &str, address: u32) -> Attempt {
        let network = Network::of(Ipv4Addr::from_bits(address).into());
        Attempt::New { name: fingerprint(name), network }
    }

    #[test]
    fn a_bucket_allows_its_burst_and_then_one_attempt_per_refill() {
        let rate = Rate { burst: 3, refill: Span::seconds(10) };
        let mut bucket = Bucket::default();
        for _ in 0..3 {
            assert_eq!(bucket.wait(rate, NOW), Span::ZERO);
            bucket.charge(rate, NOW);
        }
        assert_eq!(bucket.wait(rate, NOW), Span::seconds(10));
        assert_eq!(bucket.wait(rate, NOW + Span::seconds(4)), Span::seconds(6));
        assert_eq!(bucket.wait(rate, NOW + Span::seconds(10)), Span::ZERO);
        bucket.refund(rate);
        assert_eq!(bucket.wait(rate, NOW), Span::ZERO);
    }

    #[test]
    fn a_clock_that_went_backwards_delays_by_one_refill_at_most() {
        let rate = Rate { burst: 3, refill: Span::seconds(10) };
        let mut bucket = Bucket::default();
        bucket.charge(rate, NOW + Span::hours(1_000));
        assert_eq!(bucket.wait(rate, NOW), Span::seconds(10));
    }

    #[test]
    fn a_flood_of_names_and_addresses_occupies_little_memory() {
        let limiter = Limiter::new(Limits::default());
        // 100 attempts a second for 1,000 seconds, each with a new name and a new address.
        let admitted = (0..100_000u32)
            .filter(|n| {
                let now = NOW + Span::millis(u64::from(*n) * 10);
                limiter.admit(&from(&format!("name-{n}"), *n), now).is_ok()
            })
            .count();
        assert!((5_000..5_100).contains(&admitted), "{admitted}");
        assert!(limiter.size() <= 2 * MOST, "{}", limiter.size());
    }

    #[test]
    fn buckets_of_one_kind_have_a_bound_whatever_the_limits() {
        let rate = Rate { burst: u32::MAX, refill: Span::seconds(1) };
        let limiter = Limiter::new(Limits { address: rate, account: rate, global: rate, known: rate });
        let admitted = (0..MOST as u32 + 100).filter(|n| limiter.admit(&from("ada", *n), NOW).is_ok()).count();
        assert_eq!((admitted, limiter.size()), (MOST, MOST + 1));
        assert!(limiter.admit(&from("ada", 0xffff), NOW + Span::seconds(2)).is_ok(), "full buckets are removed");
    }

    #[test]
    fn success_returns_one_attempt_and_not_the_failures_before_it() {
        let limiter = Limiter::new(Limits::default());
        for n in 0..9 {
            limiter.admit(&from(&format!("name-{n}"), 1), NOW).unwrap();
        }
        limiter.admit(&from("own", 1), NOW).unwrap();
        limiter.succeeded(&from("own", 1));
        limiter.admit(&from("ada", 1), NOW).unwrap();
        assert_eq!(limiter.admit(&from("ada", 1), NOW), Err(Span::seconds(30)));
    }
}
