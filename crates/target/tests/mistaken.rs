//! Targets that break one promise each. The suite must find every one of them, by the check that
//! names the promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Presence};
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::conformance::failures;
use setpoint_target::{
    Answer, Asker, Capabilities, Fence, Hint, MemoryOptions, MemoryTarget, Outcome, Refusal, RefusalClass, Settlement,
    Target, Unidentifiable, Wanted, Work,
};

use crate::conforming::InMemory;
use crate::scene::{at_once, identity, value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    RemembersIdentity,
    ReadsErrorsAsAbsent,
    AnswersKnownKeysOnly,
    KeysByCounting,
    PreviewsByDoing,
    IgnoresVersions,
    IgnoresIncarnations,
    IgnoresLateness,
    IgnoresEpochs,
    StopsAtTheFirstRefusal,
    RefusesWhatItDid,
    SettlesByDoing,
    TakesEveryIntentForDone,
    TakesEveryIntentForNotDone,
}

/// Each mistake with a check that must find it. Others may find it too.
const FOUND_BY: &[(Mistake, &str)] = &[
    (Mistake::RemembersIdentity, "the_system_itself_says_who_it_is"),
    (Mistake::ReadsErrorsAsAbsent, "what_cannot_be_read_is_unknown_never_absent"),
    (Mistake::AnswersKnownKeysOnly, "what_cannot_be_read_is_unknown_never_absent"),
    (Mistake::KeysByCounting, "a_key_follows_from_the_declaration_alone"),
    (Mistake::PreviewsByDoing, "a_preview_changes_nothing"),
    (Mistake::IgnoresVersions, "an_update_or_delete_of_another_version_is_refused"),
    (Mistake::IgnoresIncarnations, "an_update_or_delete_of_another_incarnation_is_refused"),
    (Mistake::IgnoresLateness, "an_effect_that_is_late_never_leaves"),
    (Mistake::IgnoresEpochs, "an_effect_of_an_epoch_that_is_over_is_refused"),
    (Mistake::StopsAtTheFirstRefusal, "each_step_has_its_own_outcome_in_order"),
    (Mistake::RefusesWhatItDid, "an_effect_that_is_late_never_leaves"),
    (Mistake::SettlesByDoing, "settling_changes_nothing"),
    (Mistake::TakesEveryIntentForDone, "what_was_refused_is_never_settled_as_done"),
    (Mistake::TakesEveryIntentForNotDone, "a_create_that_happened_is_never_settled_as_not_done"),
];

#[derive(Debug)]
struct Mistaken {
    mistake: Mistake,
    inner: MemoryTarget,
    calls: AtomicU64,
}

impl Mistaken {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// Replaces the expectation of a step by the present object under its key.
    fn expect_what_is_there(&self, work: &mut Work) {
        let key = &work.step.key;
        let live = self.inner.with_world(|world| {
            world.objects().find(|(standing, _)| *standing == key).map(|(_, object)| object.live.clone())
        });
        if let (Some(expect), Some(live)) = (&mut work.step.expect, live) {
            expect.uid = live.uid;
            expect.version = None;
        }
    }

    fn spoil(&self, work: &mut [Work], fence: &mut Fence) {
        match self.mistake {
            Mistake::IgnoresVersions => {
                work.iter_mut().filter_map(|work| work.step.expect.as_mut()).for_each(|expect| expect.version = None);
            }
            Mistake::IgnoresIncarnations => work.iter_mut().for_each(|work| self.expect_what_is_there(work)),
            Mistake::IgnoresLateness => fence.leave_by = fence.land_by,
            Mistake::IgnoresEpochs => fence.epoch = u64::MAX,
            _ => {}
        }
    }
}

impl Target for Mistaken {
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>> {
        if self.makes(Mistake::RemembersIdentity) {
            return Box::pin(async { Ok(identity()) });
        }
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let key = self.inner.key(api_version, kind, body)?;
        if self.makes(Mistake::KeysByCounting) {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            return Ok(Key::new(key.class(), key.namespace(), &format!("{}-{call}", key.name())).expect("a valid key"));
        }
        Ok(key)
    }

    fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Answer<'_, Observation> {
        Box::pin(async move {
            let mut seen = self.inner.observe(wanted, asker, now).await;
            if self.makes(Mistake::AnswersKnownKeysOnly) {
                seen.states.retain(|_, state| state.is_known());
            }
            if self.makes(Mistake::ReadsErrorsAsAbsent) {
                let unknown = seen.states.values_mut().filter(|state| !state.is_known());
                unknown.for_each(|state| *state = Observed::known(Presence::Absent, now));
            }
            seen
        })
    }

    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        if self.makes(Mistake::PreviewsByDoing) {
            let value = Arc::clone(&resource.body);
            self.inner.with_world(|world| world.edit(&resource.key, &value, "preview"));
        }
        self.inner.preview(resource, asker)
    }

    fn execute(&self, mut work: Vec<Work>, mut fence: Fence) -> Answer<'_, Vec<Outcome>> {
        self.spoil(&mut work, &mut fence);
        Box::pin(async move {
            if self.makes(Mistake::RefusesWhatItDid) && work.len() == 1 {
                // The suite leaves a minute between the two instants of a fence unless it is a late
                // one.
                let late = fence.land_by.since(fence.leave_by) > Span::seconds(60);
                let refusal = Refusal { class: RefusalClass::Fenced, detail: "late".to_owned(), retry_after: None };
                fence.leave_by = fence.land_by;
                let outcomes = self.inner.execute(work, fence).await;
                return if late { vec![Outcome::Refused { refusal }] } else { outcomes };
            }
            let mut outcomes = self.inner.execute(work, fence).await;
            if self.makes(Mistake::StopsAtTheFirstRefusal) {
                let refused = outcomes.iter().position(|outcome| matches!(outcome, Outcome::Refused { .. }));
                outcomes.truncate(refused.map_or(outcomes.len(), |place| place + 1));
            }
            outcomes
        })
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        match self.mistake {
            Mistake::SettlesByDoing => {
                self.inner.with_world(|world| world.edit(&intent.key, &value(intent.key.name(), 9), "settle"));
            }
            Mistake::TakesEveryIntentForDone => return Box::pin(async { Settlement::Done { live: None } }),
            Mistake::TakesEveryIntentForNotDone => return Box::pin(async { Settlement::NotDone }),
            _ => {}
        }
        self.inner.settle(intent, declared)
    }

    fn hints(&self) -> Answer<'_, Hint> {
        self.inner.hints()
    }
}

fn mistaken(mistake: Mistake) -> InMemory<Mistaken> {
    let InMemory { target, memory, marks } = InMemory::new(MemoryOptions::default());
    InMemory { target: Mistaken { mistake, inner: target, calls: AtomicU64::new(0) }, memory, marks }
}

#[test]
fn the_suite_finds_every_mistake_by_the_check_that_names_it() {
    for (mistake, check) in FOUND_BY {
        let failures = at_once(failures(async || mistaken(*mistake)));
        assert!(failures.iter().any(|failure| failure.check == *check), "{mistake:?} was found by {failures:#?}");
    }
}

#[test]
fn a_failure_says_which_check_failed_and_what_was_seen() {
    let failures = at_once(failures(async || mistaken(Mistake::RemembersIdentity)));
    let told: Vec<_> = failures.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the_system_itself_says_who_it_is: another system was given the identity of the first"]);
}
