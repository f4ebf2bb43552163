//! Closed windows: declared changes wait, and meanwhile an app is held at its last good bundle.

use setpoint_core::facts::AppFacts;
use setpoint_core::intent::Verb;
use setpoint_core::live::Observation;
use setpoint_core::modes::State;
use setpoint_core::report::Why;
use setpoint_engine::{AppControl, Mode};

use crate::holding::{absent, key, stands, target};
use crate::stage::{Before, START, Stage, app, at, document};

/// Closed for the first hundred seconds.
fn closed_at_first() -> AppControl {
    AppControl { closed: vec![(at(START - 10), at(START + 100))], ..document(Mode::Auto) }
}

/// An app that converged at one version, and whose next one adds `b`.
fn accepted_while_closed() -> Stage {
    let mut before = Before::new();
    let good = before.held("shop", &["a"]);
    let accepted = Some(before.version(&app("shop"), 2, &["a", "b"]));
    before.app("shop", AppFacts { accepted, ..good }, Some(closed_at_first()));
    before.begin()
}

/// Observes again, with only these objects present. Returns the created ones.
fn made(stage: &mut Stage, there: &[&str]) -> Vec<(Verb, String)> {
    let now = stage.now;
    stage.hint();
    stage.look(|name| if there.contains(&name) { stands(name, now) } else { absent(now) });
    stage.executed().into_iter().flat_map(|(_, steps)| steps).collect()
}

#[test]
fn while_its_window_is_closed_an_app_is_held_at_its_last_good_bundle_and_drift_is_healed() {
    let mut stage = accepted_while_closed();
    let facts = stage.status("shop").facts;
    let good = facts.last_good.as_ref().map(|good| good.bundle).expect("it converged before");
    assert_ne!(facts.accepted.as_ref().map(|accepted| accepted.bundle), Some(good));
    assert_eq!(stage.status("shop").bundle, Some((good, 1)));
    // Another writer removed it: that is no declared change.
    assert_eq!(made(&mut stage, &[]), [(Verb::Create, "a".to_owned())]);
}

#[test]
fn what_was_accepted_while_its_window_was_closed_is_made_once_it_opens() {
    let mut stage = accepted_while_closed();
    assert_eq!(made(&mut stage, &["a"]), []);
    stage.wait(99);
    assert_eq!(made(&mut stage, &["a"]), []);
    stage.wait(10);
    assert_eq!(made(&mut stage, &["a"]), [(Verb::Create, "b".to_owned())]);
}

#[test]
fn an_app_that_never_converged_is_not_made_while_its_window_is_closed() {
    let mut before = Before::new();
    let accepted = Some(before.version(&app("shop"), 1, &["a"]));
    before.app("shop", AppFacts { accepted, ..AppFacts::new(target()) }, Some(closed_at_first()));
    let mut stage = before.begin();
    assert_eq!(made(&mut stage, &[]), []);
    let report = stage.status("shop").report;
    assert!(report.iter().any(|withheld| withheld.why == Why::State { state: State::WindowClosed }), "{report:?}");
    stage.wait(101);
    assert_eq!(made(&mut stage, &[]), [(Verb::Create, "a".to_owned())]);
}

#[test]
fn a_plan_shows_what_waits_for_the_window_and_when_it_opens() {
    let stage = &mut accepted_while_closed();
    assert_eq!(stage.status("shop").window_opens, Some(at(START + 100)));
    let bundle = stage.machine.accepted_bundle(&app("shop")).expect("it is durable");
    let states = [(key("a"), stands("a", stage.now)), (key("b"), absent(stage.now))];
    let observation = Observation { at: stage.now, states: states.into() };
    let shown = stage.machine.what_if(&app("shop"), &bundle, &observation).expect("the app is known");
    let steps: Vec<_> = shown.decision.plan.steps.iter().map(|step| (step.verb, step.key.name())).collect();
    assert_eq!(steps, [(Verb::Create, "b")]);
    assert_eq!(shown.waits, [(key("b"), vec![Why::State { state: State::WindowClosed }])].into());
    stage.wait(101);
    let shown = stage.machine.what_if(&app("shop"), &bundle, &observation).expect("the app is known");
    assert!(shown.waits.is_empty(), "{shown:?}");
}
