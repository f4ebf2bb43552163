//! A sign-in that is under way. Its state is in a cookie of the browser, sealed, so that strangers
//! who begin any number of sign-ins use no memory here. Each attempt ends once.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use setpoint_core::secret::Secret;
use setpoint_core::time::{Span, Timestamp};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::randomness::{self, NoRandomness};

/// The time in which a sign-in must end.
pub const VALIDITY: Span = Span::minutes(10);

/// The longest page to return to. A cookie has room for about 4,000 characters.
const LONGEST_NEXT: usize = 1_024;

/// The longest cookie that is opened.
const LONGEST_COOKIE: usize = 4_096;

/// The most ended attempts that are remembered. Providers accept a code once, too, so forgetting
/// the oldest is harmless.
const MOST_ENDED: usize = 10_000;

/// A sign-in that is under way.
pub(crate) struct Attempt {
    pub(crate) provider: String,
    pub(crate) state: Secret<String>,
    pub(crate) nonce: Secret<String>,
    /// The secret of PKCE: a stolen code cannot be used without it.
    pub(crate) verifier: Secret<String>,
    /// The page to open afterwards, as the caller has passed it.
    pub(crate) next: String,
    began: Timestamp,
}

/// The content of the cookie, before it is sealed.
#[derive(Serialize, Deserialize)]
struct Content {
    provider: String,
    state: String,
    nonce: String,
    verifier: String,
    next: String,
    began: Timestamp,
}

impl Attempt {
    pub(crate) fn begin(provider: &str, next: &str, now: Timestamp) -> Result<Self, NoRandomness> {
        Ok(Self {
            provider: provider.to_owned(),
            state: randomness::text()?,
            nonce: randomness::text()?,
            verifier: randomness::text()?,
            next: if next.len() <= LONGEST_NEXT { next.to_owned() } else { String::new() },
            began: now,
        })
    }

    /// Reports whether a response belongs to this attempt, and in time.
    pub(crate) fn accepts(&self, provider: &str, state: &str, now: Timestamp) -> bool {
        let is_equal: bool = self.state.open().as_bytes().ct_eq(state.as_bytes()).into();
        // A clock that was set back must not prolong it.
        let in_time = now >= self.began && now.since(self.began) <= VALIDITY;
        is_equal && self.provider == provider && in_time
    }

    /// Returns the text that the provider compares with the verifier.
    pub(crate) fn challenge(&self) -> String {
        BASE64URL_NOPAD.encode(&Sha256::digest(self.verifier.open().as_bytes()))
    }
}

/// The key that seals attempts. It lives as long as the process: a sign-in that is under way when
/// the process ends must begin again.
pub(crate) struct Seal(RandomizedNonceKey);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl Seal {
    pub(crate) fn new() -> Result<Self, NoRandomness> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, &randomness::bytes()?);
        Ok(Self(key.expect("the key has the length of the algorithm")))
    }

    /// Returns the value of the cookie.
    pub(crate) fn close(&self, attempt: &Attempt) -> Result<Secret<String>, NoRandomness> {
        let content = Content {
            provider: attempt.provider.clone(),
            state: attempt.state.open().clone(),
            nonce: attempt.nonce.open().clone(),
            verifier: attempt.verifier.open().clone(),
            next: attempt.next.clone(),
            began: attempt.began,
        };
        let mut bytes = serde_json::to_vec(&content).expect("texts and numbers have a JSON form");
        let nonce = self.0.seal_in_place_append_tag(Aad::empty(), &mut bytes).map_err(|_| NoRandomness)?;
        let sealed = [nonce.as_ref().as_slice(), &bytes].concat();
        Ok(Secret::new(BASE64URL_NOPAD.encode(&sealed)))
    }

    /// Returns the attempt of a cookie that this process has sealed.
    pub(crate) fn open(&self, cookie: &str) -> Option<Attempt> {
        if cookie.len() > LONGEST_COOKIE {
            return None;
        }
        let sealed = BASE64URL_NOPAD.decode(cookie.as_bytes()).ok()?;
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let (nonce, mut sealed) = (Nonce::try_assume_unique_for_key(nonce).ok()?, sealed.to_vec());
        let content = self.0.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?;
        let Content { provider, state, nonce, verifier, next, began } = serde_json::from_slice(content).ok()?;
        let (state, nonce, verifier) = (Secret::new(state), Secret::new(nonce), Secret::new(verifier));
        Some(Attempt { provider, state, nonce, verifier, next, began })
    }
}

/// The attempts that have ended, so that none ends twice.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    known: BTreeSet<[u8; 32]>,
    in_order: VecDeque<(Timestamp, [u8; 32])>,
}

impl Ended {
    /// Records the end of an attempt. Returns whether it had not ended before.
    pub(crate) fn record(&mut self, attempt: &Attempt, now: Timestamp) -> bool {
        let is_over = |(at, _): &(Timestamp, [u8; 32])| now.since(*at) > VALIDITY;
        while self.in_order.len() >= MOST_ENDED || self.in_order.front().is_some_and(is_over) {
            let Some((_, oldest)) = self.in_order.pop_front() else { break };
            self.known.remove(&oldest);
        }
        let fingerprint: [u8; 32] = Sha256::digest(attempt.state.open().as_bytes()).into();
        let is_new = self.known.insert(fingerprint);
        if is_new {
            self.in_order.push_back((now, fingerprint));
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn attempt() -> Attempt {
        Attempt::begin("corporate", "/apps", NOW).expect("random numbers")
    }

    #[test]
    fn a_cookie_is_opened_by_the_key_that_sealed_it() {
        let (seal, attempt) = (Seal::new().unwrap(), attempt());
        let cookie = seal.close(&attempt).unwrap();
        let opened = seal.open(cookie.open()).expect("it is ours");
        assert_eq!((opened.verifier.open(), opened.next.as_str()), (attempt.verifier.open(), "/apps"));
        assert!(Seal::new().unwrap().open(cookie.open()).is_none(), "another process");
        let mut changed = cookie.open().clone().into_bytes();
        changed[30] ^= 1;
        assert!(seal.open(std::str::from_utf8(&changed).unwrap()).is_none(), "a bit of it was changed");
        for text in ["", "AAAA", &"A".repeat(5_000)] {
            assert!(seal.open(text).is_none());
        }
    }

    #[test]
    fn the_longest_cookie_fits_into_a_browser() {
        let next = format!("/{}", "a".repeat(LONGEST_NEXT - 1));
        let attempt = Attempt::begin(&"p".repeat(63), &next, NOW).unwrap();
        assert_eq!(attempt.next.len(), LONGEST_NEXT);
        assert!(Seal::new().unwrap().close(&attempt).unwrap().open().len() < 2_500);
        assert_eq!(Attempt::begin("p", &format!("{next}a"), NOW).unwrap().next, "");
    }

    #[test]
    fn an_attempt_accepts_its_own_state_for_ten_minutes() {
        let attempt = attempt();
        let state = attempt.state.open().as_str();
        assert!(attempt.accepts("corporate", state, NOW));
        assert!(attempt.accepts("corporate", state, NOW + VALIDITY));
        assert!(!attempt.accepts("corporate", state, NOW + VALIDITY + Span::millis(1)));
        assert!(!attempt.accepts("corporate", state, NOW - Span::millis(1)), "a clock was set back");
        assert!(!attempt.accepts("partner", state, NOW));
        assert!(!attempt.accepts("corporate", "", NOW));
        assert!(!attempt.accepts("corporate", attempt.nonce.open(), NOW));
    }

    #[test]
    fn an_attempt_ends_once() {
        let (mut ended, one, other) = (Ended::default(), attempt(), attempt());
        assert!(ended.record(&one, NOW) && ended.record(&other, NOW));
        assert!(!ended.record(&one, NOW + VALIDITY), "as long as it would be accepted");
        for _ in 0..MOST_ENDED {
            ended.record(&attempt(), NOW);
        }
        assert_eq!((ended.known.len(), ended.in_order.len()), (MOST_ENDED, MOST_ENDED));
    }

    #[test]
    fn nothing_of_an_attempt_can_be_printed() {
        let seal = Seal::new().unwrap();
        let cookie = seal.close(&attempt()).unwrap();
        assert_eq!(format!("{seal:?} {cookie:?}"), "Seal(…) Secret(…)");
    }
}
