//! The circuit breaker: leaves a failing target alone. After it opened nothing is deleted until a
//! complete and fresh observation has succeeded.

use std::collections::VecDeque;

use setpoint_core::live::Observation;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::{Outcome, RefusalClass};

use crate::effect::NoteKind;

use super::queue::Priority;
use super::timers::Timer;

const WINDOW: Span = Span::seconds(30);
const SHORTEST: Span = Span::seconds(30);
const LONGEST: Span = Span::minutes(10);

#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// The calls of the last half minute, and whether they succeeded.
    calls: VecDeque<(Timestamp, bool)>,
    /// The number of failed calls among them.
    failures: usize,
    open_until: Option<Timestamp>,
    /// The number of times it opened in a row.
    times: u32,
}

impl Breaker {
    /// Reports whether it opened and there has been no complete observation since.
    pub(super) fn is_open(&self) -> bool {
        self.open_until.is_some()
    }

    pub(super) fn open_until(&self) -> Option<Timestamp> {
        self.open_until
    }

    /// Reports whether the target is to be left alone altogether.
    pub(super) fn is_closed_to_calls(&self, now: Timestamp) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    /// Notes a call. Returns `true` if this one opens the breaker.
    fn note(&mut self, now: Timestamp, well: bool, fewest: u32) -> bool {
        self.calls.push_back((now, well));
        self.failures += usize::from(!well);
        while let Some((_, well)) = self.calls.pop_front_if(|(at, _)| now.since(*at) > WINDOW) {
            self.failures -= usize::from(!well);
        }
        let most_fail = self.failures * 2 >= self.calls.len();
        let opens = !self.is_closed_to_calls(now) && self.calls.len() >= fewest as usize && most_fail;
        if opens {
            self.open_until = Some(now + SHORTEST.doubled(self.times, LONGEST));
            self.times += 1;
            self.calls.clear();
            self.failures = 0;
        }
        opens
    }

    fn close(&mut self) {
        self.open_until = None;
        self.times = 0;
    }
}

/// Returns whether the outcome of a step shows a healthy target. `None` if it shows neither,
/// because only this step was refused: the mistakes of one app must not block the other apps on the
/// target.
pub(super) fn health_shown_by(outcome: &Outcome) -> Option<bool> {
    match outcome {
        Outcome::Done { .. } => Some(true),
        Outcome::Unknown { .. } => Some(false),
        Outcome::Refused { refusal } => match refusal.class {
            RefusalClass::Unavailable => Some(false),
            // The target compared the object with the one that the step names.
            RefusalClass::Conflict | RefusalClass::Contested | RefusalClass::Immutable => Some(true),
            RefusalClass::Invalid | RefusalClass::Denied | RefusalClass::Unready | RefusalClass::Fenced => None,
        },
    }
}

/// Reports whether an observation failed because of its target, and not because of the object,
/// missing permissions, or a declaration that has changed since.
fn is_of_the_target(reason: &UnknownReason) -> bool {
    !matches!(reason, UnknownReason::Denied { .. } | UnknownReason::Unobservable { .. } | UnknownReason::NotLooked)
}

impl super::Machine {
    /// Notes the result of a call to a target.
    pub(super) fn note_call(&mut self, target: &TargetIdentity, well: bool) {
        let fewest = self.settings.breaker_calls;
        let breaker = self.breakers.entry(target.clone()).or_default();
        if breaker.note(self.now, well, fewest) {
            let until = breaker.open_until.expect("it has just opened");
            self.timers.set(Timer::Breaker(target.clone()), until);
            self.mark_target(target);
            let text = format!(
                "at least half of the calls to target {target} failed; Setpoint leaves it alone for {}",
                until.since(self.now)
            );
            self.tell(NoteKind::BreakerOpen, target.to_string(), text);
        }
    }

    /// Notes an observation. A complete, fresh one closes the breaker; one without any known state
    /// counts as a failed call. If no state is known because of the objects themselves (missing
    /// permissions, a command whose check fails), it counts as neither: the target responded, and
    /// the mistakes of one app must not block the others on it.
    pub(super) fn note_look(&mut self, target: &TargetIdentity, observation: &Observation) {
        let blind = observation.states.values().all(|state| !state.is_known()) && !observation.states.is_empty();
        let mut reasons = observation.states.values().filter_map(Observed::blindness);
        if !blind || reasons.any(is_of_the_target) {
            self.note_call(target, !blind);
        }
        let now = self.now;
        if let Some(breaker) = self.breakers.get_mut(target) {
            let after_opening = breaker.open_until.is_some_and(|until| observation.at >= until && now >= until);
            let whole = after_opening && observation.states.values().all(Observed::is_known);
            if whole || Mutant::CloseBreakerOnAnyLook.is_on() && breaker.is_open() {
                let was_open = breaker.is_open();
                breaker.close();
                if was_open {
                    self.mark_target(target);
                }
                self.is_over(NoteKind::BreakerOpen, &target.to_string());
            }
        }
    }

    /// Ends the pause of a failing target that responds again. Returns whether there was a pause.
    /// Until one complete observation nothing is deleted there all the same.
    pub(super) fn end_pause(&mut self, target: &TargetIdentity) -> bool {
        let now = self.now;
        let Some(breaker) = self.breakers.get_mut(target).filter(|breaker| breaker.is_closed_to_calls(now)) else {
            return false;
        };
        breaker.open_until = Some(now);
        self.mark_target(target);
        self.timers.cancel(&Timer::Breaker(target.clone()));
        true
    }

    /// Observes all apps on a target after its pause.
    pub(super) fn breaker_may_close(&mut self, target: &TargetIdentity) {
        for app in self.apps_on(target) {
            self.wants_look(&app, Priority::Sweep);
        }
    }
}
