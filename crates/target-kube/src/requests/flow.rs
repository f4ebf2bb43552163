//! Adaptive concurrency: as many requests at once as the server answers quickly, and no fixed rate.
//!
//! The number of requests in flight grows by one for each round of quick responses, and halves when
//! the server is slow, fails or reports that it is busy. Waiting requests go in the order of their
//! urgency, but none waits for ever behind more urgent ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::Priority;

/// The urgency of a request, which decides the order when not all can be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A person waits for the response.
    People,
    /// The rollout of a new bundle.
    Bundle,
    /// The read of a drifted object, and its heal.
    Drift,
    /// The regular observation, which no caller waits for.
    Sweep,
    Prune,
}

impl From<Priority> for Urgency {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::Person => Self::People,
            Priority::NewBundle => Self::Bundle,
            Priority::Drift => Self::Drift,
            Priority::Sweep => Self::Sweep,
        }
    }
}

impl Urgency {
    /// Returns how many later requests may go first. Requests of people always go first: a fifth of
    /// the capacity is reserved for them.
    fn lets_pass(self) -> u64 {
        match self {
            Self::People | Self::Bundle => 0,
            Self::Drift => 100,
            Self::Sweep => 1_000,
            Self::Prune => 10_000,
        }
    }
}

const FIRST: f64 = 16.0;
const MOST: f64 = 128.0;
const LEAST: f64 = 1.0;
/// A response that took longer means that too many requests are in flight.
const QUICK: Span = Span::seconds(1);
/// A slow moment shows in many responses: the limit is halved once for all of them.
const ONCE_PER: Span = Span::seconds(1);
/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Span = Span::minutes(5);

/// The server's reaction to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Answered {
        after: Span,
    },
    /// The server is busy (429), failing (5xx) or silent.
    Burdened {
        retry_after: Option<Span>,
    },
}

/// The limiter of one cluster. Clones share their state.
#[derive(Clone, Debug)]
pub struct Flow(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    limit: f64,
    in_flight: usize,
    waiting: BTreeMap<Place, oneshot::Sender<Turn>>,
    came: u64,
    halved_at: Option<Timestamp>,
    pause_until: Timestamp,
}

/// The position of a waiting request. Positions sort in the order in which requests go; each
/// request goes eventually, however many more urgent ones there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Requests of people come before all others.
    is_other: bool,
    /// The number of arrivals after which the request goes.
    after: u64,
    number: u64,
    urgency: Urgency,
}

/// A slot among the requests in flight, held until it is dropped.
#[derive(Debug)]
pub struct Turn(Option<Flow>);

impl Default for Flow {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State {
            limit: FIRST,
            in_flight: 0,
            waiting: BTreeMap::new(),
            came: 0,
            halved_at: None,
            pause_until: Timestamp::default(),
        })))
    }
}

impl Flow {
    /// Waits for a slot.
    pub async fn take(&self, urgency: Urgency) -> Turn {
        let turn = {
            let mut state = self.state();
            let (sender, receiver) = oneshot::channel();
            let number = state.came;
            state.came += 1;
            let place = Place {
                is_other: urgency != Urgency::People,
                after: number.saturating_add(urgency.lets_pass()),
                number,
                urgency,
            };
            state.waiting.insert(place, sender);
            receiver
        };
        self.let_through();
        turn.await.expect("whoever waits is kept until the flow itself is gone")
    }

    /// Returns how long the server still wants clients to wait.
    pub fn pause(&self, now: Timestamp) -> Span {
        self.state().pause_until.since(now)
    }

    /// Adjusts the limit by the server's reaction to a request.
    pub fn learn(&self, taken: RequestOutcome, now: Timestamp) {
        let mut state = self.state();
        match taken {
            RequestOutcome::Answered { after } if after <= QUICK => {
                state.limit = (state.limit + 1.0 / state.limit).min(MOST);
            }
            RequestOutcome::Answered { .. } => state.halve(now),
            RequestOutcome::Burdened { retry_after } => {
                state.halve(now);
                if let Some(span) = retry_after {
                    state.pause_until = state.pause_until.max(now + span.min(LONGEST_PAUSE));
                }
            }
        }
        drop(state);
        self.let_through();
    }

    fn let_through(&self) {
        loop {
            // The lock is released before the slot is sent: a slot that its waiter abandoned is
            // returned.
            let next = self.state().next();
            let Some(sender) = next else { return };
            drop(sender.send(Turn(Some(self.clone()))));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the next waiter that may go, and takes its slot.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        loop {
            let entry = self.waiting.first_entry()?;
            if entry.get().is_canceled() {
                entry.remove();
                continue;
            }
            if self.in_flight >= room(self.limit, entry.key().urgency) {
                return None;
            }
            self.in_flight += 1;
            return Some(entry.remove());
        }
    }

    fn halve(&mut self, now: Timestamp) {
        if self.halved_at.is_none_or(|at| now.since(at) >= ONCE_PER) {
            self.limit = (self.limit / 2.0).max(LEAST);
            self.halved_at = Some(now);
        }
    }
}

/// Returns how many requests may be in flight. A fifth of the limit is reserved for people.
fn room(limit: f64, urgency: Urgency) -> usize {
    let share = if urgency == Urgency::People { limit } else { limit * 0.8 };
    // The value is between 1 and 128, so the cast loses nothing.
    (share as usize).max(1)
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(flow) = self.0.take() {
            flow.state().in_flight -= 1;
            flow.let_through();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn room_of(flow: &Flow) -> usize {
        room(flow.state().limit, Urgency::People)
    }

    #[test]
    fn quick_answers_let_more_through_and_a_busy_server_halves_it_once_a_second() {
        let flow = Flow::default();
        for _ in 0..40 {
            flow.learn(RequestOutcome::Answered { after: Span::millis(5) }, START);
        }
        assert_eq!(room_of(&flow), 18);
        for _ in 0..10 {
            flow.learn(RequestOutcome::Burdened { retry_after: None }, START);
        }
        assert_eq!(room_of(&flow), 9);
        flow.learn(RequestOutcome::Answered { after: Span::seconds(3) }, START + Span::seconds(1));
        assert_eq!(room_of(&flow), 4);
        for second in 2..20 {
            flow.learn(RequestOutcome::Burdened { retry_after: None }, START + Span::seconds(second));
        }
        assert_eq!(room_of(&flow), 1);
    }

    #[test]
    fn a_server_that_asks_for_it_is_left_alone_for_a_while() {
        let flow = Flow::default();
        flow.learn(RequestOutcome::Burdened { retry_after: Some(Span::seconds(7)) }, START);
        assert_eq!(flow.pause(START + Span::seconds(2)), Span::seconds(5));
        assert_eq!(flow.pause(START + Span::seconds(8)), Span::ZERO);
        flow.learn(RequestOutcome::Burdened { retry_after: Some(Span::hours(9)) }, START);
        assert_eq!(flow.pause(START), LONGEST_PAUSE);
    }

    #[test]
    fn the_more_urgent_goes_first_and_who_has_gone_away_keeps_no_place() {
        let flow = Flow::default();
        flow.state().limit = 1.0;
        let first = flow.take(Urgency::Sweep).now_or_never().expect("nobody else is there");
        let (mut prune, mut gone, mut people) = (
            Box::pin(flow.take(Urgency::Prune)),
            Box::pin(flow.take(Urgency::Bundle)),
            Box::pin(flow.take(Urgency::People)),
        );
        for waiting in [&mut prune, &mut gone, &mut people] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(gone);
        drop(first);
        assert!((&mut prune).now_or_never().is_none());
        let turn = (&mut people).now_or_never().expect("people go first");
        drop(turn);
        assert!((&mut prune).now_or_never().is_some());
    }

    #[test]
    fn who_lets_others_pass_does_not_wait_for_ever() {
        let flow = Flow::default();
        flow.state().limit = 1.0;
        let mut turn = flow.take(Urgency::Bundle).now_or_never().expect("nobody else is there");
        let mut sweep = Box::pin(flow.take(Urgency::Sweep));
        assert!((&mut sweep).now_or_never().is_none());
        let mut passed = 0;
        // A more urgent request is always waiting already when a slot is returned.
        loop {
            let mut bundle = Box::pin(flow.take(Urgency::Bundle));
            assert!((&mut bundle).now_or_never().is_none());
            drop(turn);
            match (&mut bundle).now_or_never() {
                Some(next) => turn = next,
                None => break,
            }
            passed += 1;
        }
        assert!((&mut sweep).now_or_never().is_some());
        assert!((500..2_000).contains(&passed), "{passed}");
    }
}
