//! Password hashes: argon2id, at most two at a time, counted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::errors::{AccountsError, OpenError};
use crate::randomness;
use crate::secrets::{Password, equal};

/// The cost of one password hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashingCost {
    pub memory_kib: u32,
    pub passes: u32,
}

impl Default for HashingCost {
    /// Returns the first choice of OWASP's cheat sheet for argon2id: 19 MiB, two passes, one lane.
    fn default() -> Self {
        Self { memory_kib: 19_456, passes: 2 }
    }
}

impl HashingCost {
    fn function(self) -> Result<Argon2<'static>, argon2::Error> {
        let params = Params::new(self.memory_kib, self.passes, 1, Some(32))?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// The number of hashes that are computed at a time. More would take the processors and the memory
/// from the agent, which shares the process.
const AT_A_TIME: usize = 2;

/// A stored hash with its salt and its cost.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PasswordHash {
    pub(crate) cost: HashingCost,
    pub(crate) salt: [u8; 16],
    pub(crate) hash: [u8; 32],
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash").field("cost", &self.cost).finish_non_exhaustive()
    }
}

/// Computes and verifies password hashes.
#[derive(Debug)]
pub(crate) struct Hasher {
    cost: HashingCost,
    /// A hash without a password, for names without an account: verifying it costs the same and
    /// never succeeds.
    dummy: PasswordHash,
    turns: Arc<Semaphore>,
    computed: AtomicU64,
}

impl Hasher {
    pub(crate) fn new(cost: HashingCost) -> Result<Self, OpenError> {
        cost.function().map_err(|_| OpenError::Cost)?;
        let dummy = PasswordHash { cost, salt: [0; 16], hash: [0; 32] };
        Ok(Self { cost, dummy, turns: Arc::new(Semaphore::new(AT_A_TIME)), computed: AtomicU64::new(0) })
    }

    /// Returns the number of hashes computed since the start.
    pub(crate) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    pub(crate) async fn hash(&self, password: &Password) -> Result<PasswordHash, AccountsError> {
        let salt = randomness::bytes()?;
        let hash = self.compute(password, salt, self.cost).await?;
        Ok(PasswordHash { cost: self.cost, salt, hash })
    }

    /// Reports whether the password has this hash. Without a hash, the work is the same and the
    /// password is wrong.
    pub(crate) async fn verify(
        &self,
        password: &Password,
        stored: Option<&PasswordHash>,
    ) -> Result<bool, AccountsError> {
        let reference = stored.unwrap_or(&self.dummy);
        let hash = self.compute(password, reference.salt, reference.cost).await?;
        Ok(equal(&hash, &reference.hash) && stored.is_some())
    }

    /// Reports whether a stored hash has another cost than new ones.
    pub(crate) fn is_outdated(&self, stored: &PasswordHash) -> bool {
        stored.cost != self.cost
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the door: a hash takes tens of milliseconds of a processor; two are computed at a time"
    )]
    async fn compute(&self, password: &Password, salt: [u8; 16], cost: HashingCost) -> Result<[u8; 32], AccountsError> {
        let failed = |problem: String| AccountsError::Hashing { problem };
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|error| failed(error.to_string()))?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        let password = password.clone();
        let work = move || {
            // The turn ends with the work: a request that its client gave up does not stop it.
            let _turn = turn;
            let mut hash = [0; 32];
            let function = cost.function()?;
            function.hash_password_into(password.open().as_bytes(), &salt, &mut hash).map(|()| hash)
        };
        let hash = spawn_blocking(work).await.map_err(|error| failed(error.to_string()))?;
        hash.map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn two_hashes_are_computed_at_a_time_and_others_wait() {
        let hasher = Hasher::new(HashingCost { memory_kib: 8, passes: 1 }).unwrap();
        let password = Password::new("a password".to_owned());
        let held = [hasher.turns.acquire().await.unwrap(), hasher.turns.acquire().await.unwrap()];
        let mut third = pin!(hasher.hash(&password));
        let polled = third.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending) && hasher.computed() == 0);
        drop(held);
        let hash = third.await.unwrap();
        assert!(hasher.verify(&password, Some(&hash)).await.unwrap());
        assert!(!hasher.verify(&password, None).await.unwrap());
        assert_eq!(hasher.computed(), 3);
    }

    #[test]
    fn the_function_is_argon2id_as_the_reference_implementation_has_it() {
        // From src/test.c of phc-winner-argon2: version 0x13, 2 passes, 2^8 KiB, 1 lane.
        let function = HashingCost { memory_kib: 256, passes: 2 }.function().unwrap();
        let mut hash = [0; 32];
        function.hash_password_into(b"password", b"somesalt", &mut hash).unwrap();
        let expected = "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe";
        assert_eq!(data_encoding::HEXLOWER.encode(&hash), expected);
    }

    #[test]
    fn the_cost_of_production_is_the_recommended_one() {
        assert_eq!(HashingCost::default(), HashingCost { memory_kib: 19_456, passes: 2 });
        assert!(matches!(Hasher::new(HashingCost { memory_kib: 1, passes: 0 }), Err(OpenError::Cost)));
    }
}
