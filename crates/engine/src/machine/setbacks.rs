//! Failures and fights, and until when their resources are left alone.
//!
//! A failure is remembered with the declaration that failed: the same input is not tried over and
//! over (incident 22), a new one is tried at once. A fight with another writer slows us down, it
//! never switches us off (incident 24).

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::mutant::Mutant;
use setpoint_core::report::Setback;
use setpoint_core::snapshot::BackOff;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::{Refusal, RefusalClass};

const FIRST: Span = Span::seconds(1);
const LONGEST: Span = Span::minutes(5);
const LONGEST_BUSY: Span = Span::minutes(1);
/// The number of times that a conflicting write is read and decided on again at once: controllers
/// write an object right after its spec was edited, and finish soon.
const AT_ONCE: u32 = 4;
/// The first pause after that; it doubles with each further conflict.
const FIRST_AFTER_CONFLICTS: Span = Span::millis(100);
/// The number of failures of one input after which it is tried only once in a while.
const ENOUGH: u32 = 8;
const RARELY: Span = Span::hours(1);
const MOST_FAILURES: usize = 1_000;
/// The number of heals of one resource within the window that count as a fight.
const PATIENT_HEALS: u32 = 3;
pub(super) const FIGHT_WINDOW: Span = Span::minutes(10);

#[derive(Debug, Default)]
pub(super) struct Setbacks {
    /// Failures by resource and failed declaration (`None` for a delete): going back to an old
    /// input does not make it new.
    failures: BTreeMap<(Key, Option<Digest>), Failure>,
    heals: BTreeMap<Key, Heals>,
}

#[derive(Debug)]
struct Failure {
    times: Times,
    until: Timestamp,
    /// The class of the last refusal.
    class: RefusalClass,
    /// The target's own text.
    problem: Arc<str>,
}

/// The number of refusals of each kind. They are counted apart, because eight lost races say
/// nothing about a declaration that is denied once.
#[derive(Debug, Default)]
struct Times {
    /// Another writer was faster.
    conflicts: u32,
    /// The target cannot take the change now.
    delays: u32,
    /// The target does not take this declaration.
    rejections: u32,
}

#[derive(Debug)]
struct Heals {
    /// The declaration that was healed to: a new declaration is no fight.
    input: Option<Digest>,
    times: u32,
    last: Timestamp,
    until: Timestamp,
}

impl Setbacks {
    /// Records a refused step. Returns until when the resource is left alone.
    pub(super) fn failed(&mut self, key: &Key, refusal: &Refusal, input: Option<Digest>, now: Timestamp) -> Timestamp {
        self.forget_old(now);
        let class = refusal.class;
        let failure = self.failures.entry((key.clone(), input)).or_insert(Failure {
            times: Times::default(),
            until: now,
            class,
            problem: Arc::default(),
        });
        let times = failure.times.of(class);
        let pause = match class {
            RefusalClass::Conflict if *times < AT_ONCE => Span::ZERO,
            RefusalClass::Conflict => FIRST_AFTER_CONFLICTS.doubled(*times - AT_ONCE, LONGEST_BUSY),
            // The declaration is fine. But a target that considers us late, or an older holder, may
            // do so for long.
            RefusalClass::Fenced | RefusalClass::Contested | RefusalClass::Unavailable | RefusalClass::Unready => {
                FIRST.doubled(*times, LONGEST_BUSY)
            }
            RefusalClass::Invalid | RefusalClass::Immutable | RefusalClass::Denied if *times >= ENOUGH => RARELY,
            RefusalClass::Invalid | RefusalClass::Immutable | RefusalClass::Denied => FIRST.doubled(*times, LONGEST),
        };
        *times += 1;
        failure.class = class;
        failure.problem = refusal.detail.as_str().into();
        failure.until = now + pause.max(refusal.retry_after.unwrap_or(Span::ZERO));
        if Mutant::ForgetFailures.is_on() {
            failure.until = now;
        }
        failure.until
    }

    pub(super) fn succeeded(&mut self, key: &Key, input: Option<Digest>) {
        self.failures.remove(&(key.clone(), input));
    }

    /// Forgets refusals because of immutable fields once the object is gone: a new object was never
    /// refused anything.
    pub(super) fn forget_gone(&mut self, is_gone: impl Fn(&Key) -> bool) {
        self.failures.retain(|(key, _), failure| failure.class != RefusalClass::Immutable || !is_gone(key));
    }

    /// Forgets old failures, because memory is bounded: they may be tried again.
    fn forget_old(&mut self, now: Timestamp) {
        if self.failures.len() >= MOST_FAILURES {
            self.failures.retain(|_, failure| now < failure.until + RARELY);
        }
    }

    /// Records a heal of drift. Returns `true` if it is now a fight.
    pub(super) fn healed(&mut self, key: &Key, input: Option<Digest>, now: Timestamp) -> bool {
        self.heals.retain(|_, heals| now.since(heals.last) <= FIGHT_WINDOW);
        let heals = self.heals.entry(key.clone()).or_insert(Heals { input, times: 0, last: now, until: now });
        heals.input = input;
        heals.times += 1;
        heals.last = now;
        if Mutant::CountHealAsProgress.is_on() {
            heals.times = 1;
        }
        if heals.times < PATIENT_HEALS {
            return false;
        }
        heals.until = now + FIRST.doubled(heals.times - PATIENT_HEALS, LONGEST);
        heals.times == PATIENT_HEALS
    }

    /// Returns the resources to be left alone now, with the reason and the end. Failures of an older
    /// declaration do not count.
    pub(super) fn backing_off(
        &self,
        now: Timestamp,
        declared: impl Fn(&Key) -> Option<Digest>,
    ) -> BTreeMap<Key, BackOff> {
        let failures = self
            .failures
            .iter()
            .filter(|((key, input), _)| *input == declared(key))
            .map(|((key, _), failure)| (key, failure.until, Some(&failure.problem)));
        let heals = self.heals.iter().filter(|(key, heals)| heals.input == declared(key));
        let heals = heals.map(|(key, heals)| (key, heals.until, None));
        let mut pauses = BTreeMap::<Key, BackOff>::new();
        for (key, until, problem) in failures.chain(heals).filter(|(_, until, _)| *until > now) {
            if pauses.get(key).is_none_or(|pause| pause.until < until) {
                let setback = problem.map_or(Setback::Fight, |problem| Setback::Failure { problem: problem.clone() });
                pauses.insert(key.clone(), BackOff { until, setback });
            }
        }
        pauses
    }

    /// Returns the last failure or the fight that a person has to know of before this declaration
    /// is applied, even if the pause after it is over. A lost race says nothing about the next one.
    pub(super) fn last(&self, key: &Key, input: Option<Digest>, now: Timestamp) -> Option<BackOff> {
        let failure = self.failures.get(&(key.clone(), input));
        let failure = failure.filter(|failure| failure.class != RefusalClass::Conflict || now < failure.until);
        let fight = || self.heals.get(key).filter(|heals| heals.input == input && now < heals.until);
        match failure {
            Some(Failure { until, problem, .. }) => {
                Some(BackOff { until: *until, setback: Setback::Failure { problem: problem.clone() } })
            }
            None => fight().map(|heals| BackOff { until: heals.until, setback: Setback::Fight }),
        }
    }
}

impl Times {
    /// Returns the count that a refusal of this class belongs to.
    fn of(&mut self, class: RefusalClass) -> &mut u32 {
        match class {
            RefusalClass::Conflict => &mut self.conflicts,
            RefusalClass::Fenced | RefusalClass::Contested | RefusalClass::Unavailable | RefusalClass::Unready => {
                &mut self.delays
            }
            RefusalClass::Invalid | RefusalClass::Immutable | RefusalClass::Denied => &mut self.rejections,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("file", "", "/a").unwrap()
    }

    fn refusal(class: RefusalClass) -> Refusal {
        Refusal { class, detail: format!("{class:?}"), retry_after: None }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0) + Span::seconds(seconds)
    }

    #[test]
    fn the_same_input_is_tried_ever_more_rarely_and_a_new_one_at_once() {
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let mut setbacks = Setbacks::default();
        let pauses: Vec<_> = (0..10)
            .map(|_| setbacks.failed(&key(), &refusal(RefusalClass::Invalid), Some(old), at(0)).as_millis() / 1000)
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 3600, 3600]);
        let pause = &setbacks.backing_off(at(0), |_| Some(old))[&key()];
        assert_eq!(pause.setback, Setback::Failure { problem: "Invalid".into() });
        assert!(setbacks.backing_off(at(0), |_| Some(new)).is_empty());
        assert_eq!(setbacks.failed(&key(), &refusal(RefusalClass::Denied), Some(new), at(0)), at(1));
        let back = setbacks.failed(&key(), &refusal(RefusalClass::Invalid), Some(old), at(0));
        assert_eq!(back, at(3600), "an old input is not new again");
    }

    #[test]
    fn a_conflict_is_decided_again_at_once_a_few_times_and_then_ever_later() {
        let mut setbacks = Setbacks::default();
        let mut pause = |class| setbacks.failed(&key(), &refusal(class), None, at(0)).as_millis();
        let pauses: Vec<_> = (0..16).map(|_| pause(RefusalClass::Conflict)).collect();
        assert_eq!(pauses[..8], [0, 0, 0, 0, 100, 200, 400, 800]);
        assert_eq!(pauses[14..], [60_000, 60_000]);
        let mut setbacks = Setbacks::default();
        assert_eq!(setbacks.failed(&key(), &refusal(RefusalClass::Contested), None, at(0)), at(1));
    }

    #[test]
    fn lost_races_do_not_lengthen_the_pause_after_a_denied_request() {
        let mut setbacks = Setbacks::default();
        let mut pause = |class| setbacks.failed(&key(), &refusal(class), None, at(0));
        for _ in 0..ENOUGH {
            pause(RefusalClass::Conflict);
            pause(RefusalClass::Unavailable);
        }
        assert_eq!(pause(RefusalClass::Denied), at(1));
        assert_eq!(pause(RefusalClass::Denied), at(2));
    }

    #[test]
    fn who_is_late_again_and_again_tries_ever_more_rarely() {
        let mut setbacks = Setbacks::default();
        let mut pause = || setbacks.failed(&key(), &refusal(RefusalClass::Fenced), None, at(0)).as_millis() / 1000;
        let pauses: Vec<_> = (0..8).map(|_| pause()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        setbacks.succeeded(&key(), None);
        assert_eq!(setbacks.failed(&key(), &refusal(RefusalClass::Fenced), None, at(0)), at(1));
    }

    #[test]
    fn what_could_not_be_changed_is_made_at_once_when_it_is_gone() {
        let declared = Some(Digest::of(b"new"));
        let mut setbacks = Setbacks::default();
        setbacks.failed(&key(), &refusal(RefusalClass::Immutable), declared, at(0));
        setbacks.forget_gone(|_| false);
        assert!(setbacks.backing_off(at(0), |_| declared).contains_key(&key()));
        setbacks.forget_gone(|gone| *gone == key());
        assert!(setbacks.backing_off(at(0), |_| declared).is_empty());
        setbacks.failed(&key(), &refusal(RefusalClass::Denied), declared, at(0));
        setbacks.forget_gone(|_| true);
        assert!(setbacks.backing_off(at(0), |_| declared).contains_key(&key()), "a create that is denied waits");
    }

    #[test]
    fn a_fight_slows_us_down_and_is_told_once() {
        let mut setbacks = Setbacks::default();
        let told: Vec<_> = (0..14).map(|n| setbacks.healed(&key(), None, at(n))).collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        assert!(told[2]);
        let pause = &setbacks.backing_off(at(13), |_| None)[&key()];
        assert_eq!((pause.until.since(at(13)), &pause.setback), (LONGEST, &Setback::Fight));
        assert!(!setbacks.healed(&key(), None, at(10_000)), "long ago is forgotten");
    }
}
