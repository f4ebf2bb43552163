//! Effects are sent soon after their intents or not at all, and depend on observations made after a
//! claim changed hands.

use setpoint_core::facts::AppFacts;
use setpoint_core::intent::Verb;
use setpoint_engine::{AppControl, Mode};
use setpoint_ledger::Kind;

use crate::holding::{absent, key, stands, target};
use crate::stage::{Before, app, document};

#[test]
fn effects_whose_intents_took_too_long_to_record_do_not_leave() {
    for (seconds, leaves) in [(5, true), (6, false)] {
        let mut before = Before::new();
        let accepted = Some(before.version(&app("shop"), 1, &["a"]));
        before.app("shop", AppFacts { accepted, ..AppFacts::new(target()) }, Some(document(Mode::Auto)));
        let mut stage = before.begin();
        stage.record();
        let (ticket, ..) = stage.looks().remove(0);
        let now = stage.now;
        stage.see(ticket, [(key("a"), absent(now))]);
        let append = stage.appends().remove(0);
        stage.wait(seconds);
        stage.durable(append);
        assert_eq!(!stage.executed().is_empty(), leaves, "after {seconds} s");
        stage.record();
        let results = stage.recorded.iter().filter(|entry| entry.kind == Kind::EffectResult);
        let refused = results.filter(|entry| entry.data.get("outcome").is_some_and(|outcome| outcome == "refused"));
        assert_eq!(refused.count(), usize::from(!leaves), "an intent that is not carried out is closed");
    }
}

#[test]
fn what_was_looked_at_before_a_claim_changed_is_no_ground_for_taking_it_over() {
    let mut before = Before::new();
    for name in ["old", "new"] {
        let accepted = Some(before.version(&app(name), 1, &["a"]));
        before.app(name, AppFacts { accepted, ..AppFacts::new(target()) }, Some(document(Mode::Auto)));
    }
    let mut stage = before.begin();
    stage.record();
    let mut looks = stage.looks();
    looks.sort_by_key(|(_, app, _)| app.clone());
    let [(of_new, ..), (of_old, ..)] = looks.as_slice() else { panic!("both look: {looks:?}") };
    let gone = [(key("a"), absent(stage.now))];
    stage.see(*of_old, gone.clone());
    stage.record();
    let executed = stage.executed();
    let [(ticket, steps)] = executed.as_slice() else { panic!("it is made: {executed:?}") };
    assert_eq!(*steps, [(Verb::Create, "a".to_owned())]);
    stage.succeed(*ticket, [Some("a")]);
    stage.record();

    // The old one gives up, while the new one still waits for its first observation.
    let retired = AppControl { retire: true, ..document(Mode::Auto) };
    stage.control(|controls| drop(controls.apps.insert(app("old"), retired.into())));
    stage.see(*of_new, gone);
    stage.record();
    assert_eq!(stage.intents().len(), 1, "it is not made a second time");
    let now = stage.now;
    stage.wait(5);
    stage.look(|name| stands(name, now));
    assert_eq!(stage.machine.owned(&app("new")).len(), 1, "it is taken over once it was seen");
    assert_eq!(stage.intents().len(), 1);
}
