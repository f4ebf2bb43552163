//! Deletes: their costs, and the apps they wait for.

use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Deletions};
use setpoint_core::intent::Verb;
use setpoint_core::report::{RetentionReason, Why};
use setpoint_core::version::Ancestry;
use setpoint_engine::{Mode, RenderOutcome};

use crate::holding::{resource, target};
use crate::stage::{Before, START, Stage, app, at, document};

const MANY: [&str; 20] =
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];

#[test]
fn a_delete_counts_for_a_day() {
    let ago = |hours: u64| Deletions { at: at(START - hours * 3_600), count: 1 };
    let mut before = Before::new();
    let facts = before.held("shop", &MANY);
    before.owns(&app("shop"), &["old"]);
    let bundle = facts.accepted.as_ref().expect("it is accepted").bundle;
    before.app("shop", AppFacts { deletions: vec![ago(25), ago(23)], ..facts }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.offer_known("v1");
    stage.look_at_all();
    stage.render_afresh(bundle);
    stage.look_at_all();
    assert_eq!(stage.intents(), [(Verb::Delete, "old".to_owned())]);
    let deletions = stage.last_facts("shop").expect("it was paid for").deletions.clone();
    assert_eq!(deletions, [ago(23), Deletions { at: stage.now, count: 1 }]);
}

#[test]
fn what_was_deleted_within_the_day_leaves_so_much_less() {
    let spent = Deletions { at: at(START - 2 * 3_600), count: 2 };
    let mut before = Before::new();
    let facts = before.held("shop", &MANY);
    before.owns(&app("shop"), &["old"]);
    let bundle = facts.accepted.as_ref().expect("it is accepted").bundle;
    before.app("shop", AppFacts { deletions: vec![spent], ..facts }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.offer_known("v1");
    stage.look_at_all();
    stage.render_afresh(bundle);
    stage.look_at_all();
    assert!(
        is_kept_for(&stage, "shop", RetentionReason::OverBudget { budget: 2, spent: 2 }),
        "{:?}",
        stage.status("shop").report
    );
}

fn is_kept_for(stage: &Stage, name: &str, kept: RetentionReason) -> bool {
    stage.status(name).report.iter().any(|withheld| withheld.why == Why::RetentionReason(kept))
}

/// An app that is being retired, its document gone, and one that was declared with the same commit
/// and is not rendered yet.
fn renamed() -> Stage {
    let mut before = Before::new();
    let facts = before.held("old", &["a", "b"]);
    before.app("old", AppFacts { retiring: true, ..facts }, None);
    before.app("new", AppFacts::new(target()), Some(document(Mode::Auto)));
    before.begin()
}

#[test]
fn a_retiring_app_without_a_document_keeps_what_a_neighbour_may_be_about_to_declare() {
    let mut stage = renamed();
    stage.look_at_all();
    assert!(is_kept_for(&stage, "old", RetentionReason::OthersNotConsidered), "the store has not answered yet");
    stage.offer("v1");
    stage.wait(5);
    stage.look_at_all();
    assert!(is_kept_for(&stage, "old", RetentionReason::OthersNotConsidered), "the neighbour is not rendered yet");
    assert_eq!(stage.intents(), []);

    stage.rendered(RenderOutcome::Rendered { resources: vec![resource("a")], ancestry: Ancestry::First });
    stage.record();
    for _ in 0..5 {
        stage.look_at_all();
        stage.wait(5);
    }
    let deleted: Vec<_> = stage.intents().into_iter().filter(|(verb, _)| *verb == Verb::Delete).collect();
    assert_eq!(deleted, [(Verb::Delete, "b".to_owned())]);
    assert_eq!(stage.machine.owned(&app("new")).len(), 1, "the other is the neighbour's now");
}

#[test]
fn a_retiring_app_waits_until_it_is_known_whether_it_has_a_document() {
    let mut before = Before::new();
    let facts = before.held("old", &["a"]);
    before.app("old", AppFacts { retiring: true, ..facts }, None);
    let documents = before.version(&app("root"), 1, &["documents"]);
    let of = Some(documents.bundle);
    before.app("root", AppFacts { accepted: Some(documents), ..AppFacts::new(target()) }, Some(document(Mode::Auto)));
    before.controls.root = Some(app("root"));
    before.controls.of = Some(Digest::of(b"documents of another time"));
    let mut stage = before.begin();
    stage.look_at_all();
    stage.wait(60);
    stage.look_at_all();
    assert_eq!(stage.intents(), [], "its document may have a window");

    stage.control(|controls| controls.of = of);
    for _ in 0..5 {
        stage.look_at_all();
        stage.offer_known("v1");
        stage.wait(5);
    }
    assert_eq!(stage.intents(), [(Verb::Delete, "a".to_owned())], "it has none");
}
