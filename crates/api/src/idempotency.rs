//! Idempotency keys: a client that did not get the response to an order sends it again with the
//! same key, and the order is given once.
//!
//! The keys are in memory: a restart of the agent forgets them, and so does an order that was
//! refused, because it had no effect. Nothing runs in the background: if a client disconnects while
//! its order is being recorded, the next request with the key continues to wait for the result.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName};
use setpoint_core::digest::Digest;
use setpoint_core::name::Actor;
use tokio::sync::Mutex;

use crate::agent::{Problem, ProblemKind};
use crate::answer::Ordered;

/// The header with the key.
const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key.
const LONGEST: usize = 255;

/// The time after which a key is forgotten.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of keys; the oldest one makes room for a new one.
const MOST: usize = 10_000;

/// A key of a caller: others may use the same one.
pub(crate) type Key = (Actor, String);

/// An order that is being given.
pub(crate) type Giving = Pin<Box<dyn Future<Output = Result<Ordered, Problem>> + Send>>;

/// Returns the key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let is_valid = (1..=LONGEST).contains(&text.len()) && is_printable && values.next().is_none();
    if !is_valid {
        let message = format!("`Idempotency-Key` must be one text of 1 to {LONGEST} printable characters of ASCII");
        return Err(Problem::new(ProblemKind::Question, message));
    }
    Ok(Some(text.to_owned()))
}

/// Returns the present instant.
#[expect(clippy::disallowed_methods, reason = "the age of keys; no decision about apps depends on it")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The orders that were given with a key.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    known: SyncMutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    entries: BTreeMap<Key, Entry>,
    /// The keys by their number: the oldest one first.
    by_age: BTreeMap<u64, Key>,
    last: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    since: Instant,
    /// The digest of the request.
    request: Digest,
    attempt: Arc<Mutex<Attempt>>,
}

enum Attempt {
    UnderWay(Giving),
    Over(Result<Ordered, Problem>),
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnderWay(_) => f.write_str("UnderWay"),
            Self::Over(result) => f.debug_tuple("Over").field(result).finish(),
        }
    }
}

impl Orders {
    /// Gives an order, or returns the result of the request that gave it with the same key.
    pub(crate) async fn once(
        &self,
        now: Instant,
        key: Key,
        request: Digest,
        give: impl FnOnce() -> Giving,
    ) -> Result<Ordered, Problem> {
        let entry = self.known().entry(now, &key, request, give)?;
        let Ok(mut attempt) = entry.attempt.try_lock() else {
            let message = "the order with this `Idempotency-Key` is being recorded: repeat the request in a moment";
            return Err(Problem::new(ProblemKind::Conflict, message));
        };
        if let Attempt::UnderWay(giving) = &mut *attempt {
            let result = giving.await;
            if result.is_err() {
                self.known().forget(&key, entry.number);
            }
            *attempt = Attempt::Over(result);
        }
        match &*attempt {
            Attempt::Over(result) => result.clone(),
            Attempt::UnderWay(_) => unreachable!("it was awaited above"),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns the entry of a key, which is new if the key is not known.
    fn entry(
        &mut self,
        now: Instant,
        key: &Key,
        request: Digest,
        give: impl FnOnce() -> Giving,
    ) -> Result<Entry, Problem> {
        self.forget_old(now);
        if let Some(entry) = self.entries.get(key) {
            if entry.request == request {
                return Ok(entry.clone());
            }
            let message = "this `Idempotency-Key` was sent with another order: use a new key for each order";
            return Err(Problem::new(ProblemKind::KeyReused, message));
        }
        while self.entries.len() >= MOST {
            self.forget_oldest();
        }
        self.last += 1;
        let attempt = Arc::new(Mutex::new(Attempt::UnderWay(give())));
        let entry = Entry { number: self.last, since: now, request, attempt };
        self.by_age.insert(entry.number, key.clone());
        self.entries.insert(key.clone(), entry.clone());
        Ok(entry)
    }

    fn forget_old(&mut self, now: Instant) {
        let is_old = |entry: &Entry| now.saturating_duration_since(entry.since) >= LIFETIME;
        while let Some((_, key)) = self.by_age.first_key_value()
            && self.entries.get(key).is_some_and(is_old)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_first() {
            self.entries.remove(&key);
        }
    }

    /// Forgets a key, unless it has been given to another request since.
    fn forget(&mut self, key: &Key, number: u64) {
        if self.by_age.remove(&number).is_some() {
            self.entries.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::{pending, ready};
    use tokio::sync::oneshot;

    use super::*;

    fn key_of(name: &str) -> Key {
        ("account:erika".parse().expect("a valid actor"), name.to_owned())
    }

    fn ordered(note: &str) -> Result<Ordered, Problem> {
        Ok(Ordered { app: "web/shop".parse().expect("a valid app"), notes: vec![note.to_owned()] })
    }

    fn request(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    /// Sends an order whose result is there at once; returns it with the number of orders given.
    fn send(orders: &Orders, now: Instant, name: &str, text: &str) -> (Result<Ordered, Problem>, usize) {
        let given = AtomicUsize::new(0);
        let give = || -> Giving {
            given.fetch_add(1, Ordering::Relaxed);
            Box::pin(ready(ordered(text)))
        };
        let result = orders.once(now, key_of(name), request(text), give).now_or_never().expect("nothing to wait for");
        (result, given.into_inner())
    }

    #[test]
    fn a_repeated_order_has_the_first_result_for_a_day() {
        let (orders, start) = (Orders::default(), now());
        assert_eq!(send(&orders, start, "a", "hold"), (ordered("hold"), 1));
        assert_eq!(send(&orders, start + LIFETIME / 2, "a", "hold"), (ordered("hold"), 0));
        assert_eq!(send(&orders, start + LIFETIME, "a", "hold"), (ordered("hold"), 1), "the key is forgotten");
    }

    #[test]
    fn a_key_is_that_of_one_order_and_of_one_caller() {
        let (orders, start) = (Orders::default(), now());
        assert_eq!(send(&orders, start, "a", "hold").1, 1);
        let (result, given) = send(&orders, start, "a", "resume");
        assert_eq!((result.expect_err("it is another order").kind, given), (ProblemKind::KeyReused, 0));
        let other = ("account:max".parse().expect("a valid actor"), "a".to_owned());
        let result = orders.once(start, other, request("resume"), || Box::pin(ready(ordered("max"))));
        assert_eq!(result.now_or_never(), Some(ordered("max")));
    }

    #[test]
    fn a_refused_order_can_be_sent_again() {
        let (orders, start) = (Orders::default(), now());
        let refused = || Err(Problem::new(ProblemKind::Conflict, "not now"));
        let result = orders.once(start, key_of("a"), request("hold"), || Box::pin(ready(refused())));
        assert_eq!(result.now_or_never(), Some(refused()));
        assert_eq!(send(&orders, start, "a", "hold"), (ordered("hold"), 1));
    }

    #[test]
    fn an_order_under_way_is_a_conflict() {
        let (orders, start) = (Orders::default(), now());
        let mut first = Box::pin(orders.once(start, key_of("a"), request("hold"), || Box::pin(pending())));
        assert_eq!(first.as_mut().now_or_never(), None);
        let (result, given) = send(&orders, start, "a", "hold");
        assert_eq!((result.expect_err("it is under way").kind, given), (ProblemKind::Conflict, 0));
    }

    #[test]
    fn an_order_whose_client_disconnects_is_given_once() {
        let (orders, start) = (Orders::default(), now());
        let (recorded, record) = oneshot::channel();
        let give = || -> Giving { Box::pin(async { record.await.expect("it is recorded") }) };
        let mut first = Box::pin(orders.once(start, key_of("a"), request("hold"), give));
        assert_eq!(first.as_mut().now_or_never(), None);
        drop(first);
        recorded.send(ordered("first")).expect("the order is kept");
        assert_eq!(send(&orders, start, "a", "hold"), (ordered("first"), 0));
    }

    #[test]
    fn the_oldest_key_makes_room() {
        let (orders, start) = (Orders::default(), now());
        for number in 0..=MOST {
            assert_eq!(send(&orders, start, &number.to_string(), "hold").1, 1);
        }
        assert_eq!(orders.known().entries.len(), MOST);
        assert_eq!(orders.known().by_age.len(), MOST);
        assert_eq!(send(&orders, start, "1", "hold").1, 0);
        assert_eq!(send(&orders, start, "0", "hold").1, 1, "the oldest is forgotten");
    }

    #[test]
    fn a_key_is_one_short_text() {
        let headers = |values: &[&str]| {
            let pair = |value: &&str| (HEADER, value.parse().expect("a value"));
            key(&values.iter().map(pair).collect())
        };
        assert_eq!(headers(&[]), Ok(None));
        assert_eq!(headers(&["8e03978e-40d5"]), Ok(Some("8e03978e-40d5".to_owned())));
        assert!(headers(&[&"a".repeat(255)]).is_ok());
        for wrong in [&[""][..], &[&"a".repeat(256)], &["é"], &["a\tb"], &["a", "b"]] {
            assert_eq!(headers(wrong).expect_err("it is wrong").kind, ProblemKind::Question, "{wrong:?}");
        }
    }
}
