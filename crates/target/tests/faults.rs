//! Tests the faults of the in-memory target through the trait, as an engine meets them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_target::conformance::Steps;
use setpoint_target::memory::Fault;
use setpoint_target::{
    Asker, Hint, MemoryOptions, MemoryTarget, Outcome, RefusalClass, Settlement, Target, Wanted, Work,
};

use crate::scene::{at, at_once, fence, identity, poll, resource, value, world};

fn target() -> (MemoryTarget, Steps) {
    let target = MemoryTarget::new(world(MemoryOptions::default()));
    target.set_now(at(0));
    (target, Steps::new(identity()))
}

fn execute(target: &MemoryTarget, work: &Work) -> Outcome {
    at_once(target.execute(vec![work.clone()], fence())).pop().expect("one outcome")
}

fn settle(target: &MemoryTarget, steps: &Steps, work: &Work) -> Settlement {
    let intent = steps.intent(work, fence().land_by);
    at_once(target.settle(&intent, work.step.resource.as_deref()))
}

#[test]
fn a_timeout_before_the_effect_settles_as_not_done_once_it_cannot_land_any_more() {
    let (target, steps) = target();
    let work = steps.create(&resource("a", 1));
    target.fail_next_execute(Fault::TimeoutBefore);
    assert!(matches!(execute(&target, &work), Outcome::Unknown { .. }));
    assert_eq!(target.with_world(|world| world.change_count()), 0);
    target.set_now(fence().land_by);
    assert!(matches!(settle(&target, &steps, &work), Settlement::Unknown { .. }), "it may still land");
    target.set_now(fence().land_by + Span::millis(1));
    assert_eq!(settle(&target, &steps, &work), Settlement::NotDone);
}

#[test]
fn a_timeout_after_the_effect_settles_as_done() {
    let (target, steps) = target();
    let work = steps.create(&resource("a", 1));
    target.fail_next_execute(Fault::TimeoutAfter);
    assert!(matches!(execute(&target, &work), Outcome::Unknown { .. }));
    let Settlement::Done { live: Some(live) } = settle(&target, &steps, &work) else {
        panic!("the object is there");
    };
    assert_eq!(execute(&target, &work), Outcome::Done { live: Some(live) }, "the create is idempotent");
    assert_eq!(target.with_world(|world| world.change_count()), 1);
}

#[test]
fn a_busy_target_says_how_long_to_leave_it_alone_and_recovers() {
    let (target, steps) = target();
    let work = steps.create(&resource("a", 1));
    target.fail_next_execute(Fault::Unavailable { retry_after: Some(Span::seconds(3)) });
    let Outcome::Refused { refusal } = execute(&target, &work) else { panic!("it is busy") };
    assert_eq!((refusal.class, refusal.retry_after), (RefusalClass::Unavailable, Some(Span::seconds(3))));
    assert_eq!(target.with_world(|world| world.change_count()), 0);
    assert!(matches!(execute(&target, &work), Outcome::Done { .. }));
}

#[test]
fn faults_strike_one_call_each_in_the_order_they_were_injected() {
    let (target, steps) = target();
    target.fail_next_execute(Fault::TimeoutBefore);
    target.fail_next_execute(Fault::Unavailable { retry_after: None });
    let work = vec![steps.create(&resource("a", 1)), steps.create(&resource("b", 1))];
    let unknown = at_once(target.execute(work.clone(), fence()));
    assert!(unknown.iter().all(|outcome| matches!(outcome, Outcome::Unknown { .. })));
    let refused = at_once(target.execute(work.clone(), fence()));
    assert!(refused.iter().all(|outcome| matches!(outcome, Outcome::Refused { .. })));
    let done = at_once(target.execute(work, fence()));
    assert!(done.iter().all(|outcome| matches!(outcome, Outcome::Done { .. })));
    assert_eq!([unknown.len(), refused.len(), done.len()], [2, 2, 2]);
}

#[test]
fn a_hidden_key_is_unknown_for_the_given_reason_until_it_is_revealed() {
    let (target, _) = target();
    let (hidden, seen) = (resource("a", 1).key, resource("b", 1).key);
    let reason = UnknownReason::Partial { detail: "page 2 was lost".to_owned() };
    target.hide(&hidden, reason.clone());
    let wanted = Wanted::from([(hidden.clone(), None), (seen.clone(), None)]);
    let observation = at_once(target.observe(wanted.clone(), Asker::default(), at(0)));
    assert_eq!(observation.states[&hidden], Observed::unknown(reason));
    assert!(observation.states[&seen].is_known());
    let preview = at_once(target.preview(&resource("a", 1), &Asker::default()));
    assert_eq!(preview.expect_err("nobody can tell").class, RefusalClass::Unavailable);
    target.reveal_all();
    assert!(at_once(target.observe(wanted, Asker::default(), at(0))).is_complete());
}

#[test]
fn another_identity_blinds_and_refuses_with_both_names() {
    let (target, steps) = target();
    let work = steps.create(&resource("a", 1));
    target.with_world(|world| world.become_another(TargetIdentity::new("machine-2").expect("a valid identity")));
    let key = work.step.key.clone();
    let observation = at_once(target.observe(Wanted::from([(key.clone(), None)]), Asker::default(), at(0)));
    let (expected, found) = ("machine-1".to_owned(), "machine-2".to_owned());
    assert_eq!(observation.states[&key], Observed::unknown(UnknownReason::OtherIdentity { expected, found }));
    let Outcome::Refused { refusal } = execute(&target, &work) else { panic!("it is not our system") };
    assert!(refusal.detail.contains("machine-1") && refusal.detail.contains("machine-2"), "{refusal}");
    assert_eq!(target.with_world(|world| world.objects().count()), 0);
}

#[test]
fn a_hint_names_every_key_changed_since_the_last_and_then_waits() {
    let (target, steps) = target();
    assert_eq!(poll(target.hints()), None);
    execute(&target, &steps.create(&resource("a", 1)));
    target.with_world(|world| world.recreate(&resource("b", 1).key, value("b", 1), "someone"));
    let keys = BTreeSet::from([resource("a", 1).key, resource("b", 1).key]);
    assert_eq!(poll(target.clone().hints()), Some(Hint::Changed { keys }));
    assert_eq!(poll(target.hints()), None);
}

#[test]
fn lost_events_are_told_as_lost_and_never_named() {
    let (target, steps) = target();
    execute(&target, &steps.create(&resource("a", 1)));
    target.lose_events();
    assert_eq!(poll(target.hints()), Some(Hint::Lost));
    assert_eq!(poll(target.hints()), None);
}

#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn whoever_waits_for_a_hint_is_woken_once_by_the_change() {
    let (target, _) = target();
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&counted));
    let mut hint = pin!(target.hints());
    for _ in 0..2 {
        assert!(hint.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let key = resource("a", 1).key;
    target.with_world(|world| world.recreate(&key, value("a", 1), "someone"));
    assert_eq!(counted.0.load(Ordering::Relaxed), 1);
    let woken = hint.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!(woken, Poll::Ready(Hint::Changed { keys: BTreeSet::from([key]) }));
}
