//! The world in memory behind the [`Target`] trait, shared by its clones, with faults that tests
//! inject.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::{poll_fn, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;

use super::{MemoryWorld, naming, refusal};
use crate::contract::{
    Answer, Asker, Capabilities, Fence, Hint, Outcome, Refusal, RefusalClass, Settlement, Target, Unidentifiable,
    Wanted, Work,
};

/// A fault of one call of [`Target::execute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request never arrived, and the caller gets no response.
    TimeoutBefore,
    /// The effect happened, and the response was lost.
    TimeoutAfter,
    /// The target requires a pause.
    Unavailable { retry_after: Option<Span> },
}

/// Returns the instant at which effects leave and intents are settled.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// [`MemoryWorld`] behind the [`Target`] trait. Clones share it, and a hint reaches one of them.
#[derive(Clone)]
pub struct MemoryTarget(Arc<Mutex<Shared>>);

impl fmt::Debug for MemoryTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryTarget").field(&self.shared().expected).finish()
    }
}

struct Shared {
    world: MemoryWorld,
    /// The system that this target was built for.
    expected: TargetIdentity,
    clock: Clock,
    faults: VecDeque<Fault>,
    hidden: BTreeMap<Key, UnknownReason>,
    events_lost: bool,
    waiting: Vec<Waker>,
}

impl MemoryTarget {
    pub fn new(world: MemoryWorld) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            expected: world.identity().clone(),
            world,
            clock: Arc::new(Timestamp::default),
            faults: VecDeque::new(),
            hidden: BTreeMap::new(),
            events_lost: false,
            waiting: Vec::new(),
        })))
    }

    /// Runs a function on the world itself, then wakes all waiters for hints.
    pub fn with_world<T>(&self, reach: impl FnOnce(&mut MemoryWorld) -> T) -> T {
        let mut shared = self.shared();
        let result = reach(&mut shared.world);
        shared.wake();
        result
    }

    /// Sets the instant at which effects leave and intents are settled, until it is set again.
    pub fn set_now(&self, now: Timestamp) {
        self.follow(Arc::new(move || now));
    }

    /// Uses this clock from now on.
    pub fn follow(&self, clock: Clock) {
        self.shared().clock = clock;
    }

    /// Adds a fault for the next call of `execute` that has none yet.
    pub fn fail_next_execute(&self, fault: Fault) {
        self.shared().faults.push_back(fault);
    }

    /// Makes a key unreadable from now on.
    pub fn hide(&self, key: &Key, why: UnknownReason) {
        self.shared().hidden.insert(key.clone(), why);
    }

    /// Makes every key readable again.
    pub fn reveal_all(&self) {
        self.shared().hidden.clear();
    }

    /// Loses the changes since the last hint; only the loss itself is reported.
    pub fn lose_events(&self) {
        let mut shared = self.shared();
        shared.world.take_changed();
        shared.events_lost = true;
        shared.wake();
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // A panic elsewhere leaves at worst a change without its hint, and the panic itself fails
        // the test.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn observe(&self, wanted: &Wanted, now: Timestamp) -> Observation {
        let mut observation = self.world.observe(wanted.keys(), now);
        for (key, state) in &mut observation.states {
            if let Some(reason) = self.blindness(key) {
                *state = Observed::unknown(reason);
            }
        }
        observation
    }

    fn blindness(&self, key: &Key) -> Option<UnknownReason> {
        if *self.world.identity() != self.expected {
            let (expected, found) = (self.expected.to_string(), self.world.identity().to_string());
            return Some(UnknownReason::OtherIdentity { expected, found });
        }
        self.hidden.get(key).cloned()
    }

    fn execute(&mut self, work: &[Work], fence: Fence) -> Vec<Outcome> {
        let lost = |_: &Work| Outcome::Unknown { detail: "the target did not respond in time".to_owned() };
        match self.faults.pop_front() {
            None => self.execute_all(work, fence),
            Some(Fault::TimeoutBefore) => work.iter().map(lost).collect(),
            Some(Fault::TimeoutAfter) => {
                self.execute_all(work, fence);
                work.iter().map(lost).collect()
            }
            Some(Fault::Unavailable { retry_after }) => {
                let detail = "the target is busy: try again later".to_owned();
                let refusal = Refusal { class: RefusalClass::Unavailable, detail, retry_after };
                work.iter().map(|_| Outcome::Refused { refusal: refusal.clone() }).collect()
            }
        }
    }

    fn execute_all(&mut self, work: &[Work], fence: Fence) -> Vec<Outcome> {
        let now = (self.clock)();
        let outcomes = work.iter().map(|work| self.world.execute_one(work, fence, now)).collect();
        self.wake();
        outcomes
    }

    fn poll_hint(&mut self, context: &Context<'_>) -> Poll<Hint> {
        if std::mem::take(&mut self.events_lost) {
            return Poll::Ready(Hint::Lost);
        }
        let keys = self.world.take_changed();
        if !keys.is_empty() {
            return Poll::Ready(Hint::Changed { keys });
        }
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

fn answer<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(ready(value))
}

impl Target for MemoryTarget {
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>> {
        answer(Ok(self.shared().world.identity().clone()))
    }

    fn capabilities(&self) -> Capabilities {
        self.shared().world.capabilities()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        naming::key_of(api_version, kind, body)
    }

    fn observe(&self, wanted: Wanted, _: Asker, now: Timestamp) -> Answer<'_, Observation> {
        answer(self.shared().observe(&wanted, now))
    }

    fn preview<'a>(&'a self, resource: &'a Resource, _: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        let shared = self.shared();
        answer(match shared.blindness(&resource.key) {
            Some(reason) => Err(refusal(RefusalClass::Unavailable, reason.to_string())),
            None => shared.world.preview(resource),
        })
    }

    fn preview_replacement<'a>(&'a self, resource: &'a Resource, _: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        let shared = self.shared();
        answer(match shared.blindness(&resource.key) {
            Some(reason) => Err(refusal(RefusalClass::Unavailable, reason.to_string())),
            None => shared.world.preview_replacement(resource),
        })
    }

    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>> {
        answer(self.shared().execute(&work, fence))
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        let shared = self.shared();
        answer(match shared.blindness(&intent.key) {
            Some(reason) => Settlement::Unknown { detail: reason.to_string() },
            None => shared.world.settle(intent, declared, (shared.clock)()),
        })
    }

    fn hints(&self) -> Answer<'_, Hint> {
        Box::pin(poll_fn(|context| self.shared().poll_hint(context)))
    }
}
