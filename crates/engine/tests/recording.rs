//! A change that the ledger refuses never happened: neither later, nor as a part of another one.

use std::sync::Arc;

use setpoint_core::canonical;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::facts::{AppFacts, Change};
use setpoint_core::hold::{HoldReason, Suspension};
use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::Span;
use setpoint_core::version::Ancestry;
use setpoint_engine::{
    Declined, Effect, Event, LONGEST_REASON, LONGEST_SUSPENSION, Mode, NoteKind, Order, OrderId, RenderOutcome,
    Statement,
};
use setpoint_ledger::{Class, Entry, Kind};

use crate::holding::{claim, resource};
use crate::stage::{Before, START, Stage, app, at, document, facts_in, revision};

/// An app in place, with nothing under way.
fn at_rest() -> Stage {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    before.app("shop", facts, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.offer_known("v1");
    stage.look_at_all();
    assert!(stage.status("shop").converged);
    stage
}

/// The next commit, which adds an object.
fn commit(stage: &mut Stage) {
    stage.offer("v2");
    let resources = vec![resource("a"), resource("b")];
    stage.rendered(RenderOutcome::Rendered { resources, ancestry: Ancestry::Descendant });
}

const BOTH: [Class; 2] = [Class::Input, Class::Conflict];

#[test]
fn an_order_that_the_ledger_refuses_is_no_part_of_the_next_commit() {
    for class in BOTH {
        let mut stage = at_rest();
        stage.order(1, "shop", "a sale", Order::Hold);
        let append = stage.appends().remove(0);
        assert!(facts_in(&append.1, "shop").is_some_and(|facts| facts.hold.is_some()));
        stage.refused(append, class);
        assert!(matches!(stage.answered()[..], [(1, Err(Declined::Refused(_)))]));

        commit(&mut stage);
        stage.record();
        let facts = stage.last_facts("shop").expect("the commit is accepted");
        assert_eq!(facts.hold, None, "{class:?}");
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.revision.clone()), Some(revision("v2")));
        assert!(stage.status("shop").facts.hold.is_none());
    }
}

#[test]
fn what_was_decided_behind_an_order_that_is_refused_counts_without_it() {
    for class in BOTH {
        let mut stage = at_rest();
        stage.order(1, "shop", "a sale", Order::Suspend { until: stage.now + Span::hours(1) });
        commit(&mut stage);
        stage.order(2, "shop", "no changes", Order::Hold);
        let mut appends = stage.appends();
        assert_eq!(appends.len(), 1, "facts of one app are changed one after the other");
        stage.refused(appends.remove(0), class);

        let mut appends = stage.appends();
        let facts = facts_in(&appends[0].1, "shop").expect("the commit");
        assert!(facts.suspension.is_none() && facts.hold.is_none(), "{facts:?}");
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(2));
        stage.durable(appends.remove(0));
        stage.record();
        let facts = stage.last_facts("shop").expect("the hold");
        assert!(facts.suspension.is_none() && facts.hold.is_some(), "{facts:?}");
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(2));
        let answered = stage.answered();
        assert!(matches!(answered[..], [(1, Err(Declined::Refused(_))), (2, Ok(()))]), "{answered:?}");
    }
}

#[test]
fn a_version_that_was_judged_by_an_order_which_the_ledger_refuses_is_judged_again() {
    for class in BOTH {
        let mut stage = at_rest();
        stage.order(1, "shop", "it is v2", Order::Release { accept: Some(revision("v2")) });
        stage.offer("v2");
        let resources = vec![resource("a"), resource("b")];
        stage.rendered(RenderOutcome::Rendered { resources, ancestry: Ancestry::Same });
        let append = stage.appends().remove(0);
        stage.refused(append, class);

        assert!(stage.appends().iter().all(|(_, entries)| facts_in(entries, "shop").is_none()), "{class:?}");
        let facts = stage.status("shop").facts;
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(1));
        let again: Vec<_> = stage.renders().into_iter().map(|(.., descends_from)| descends_from).collect();
        assert_eq!(again, [Some(revision("v1"))], "it has to descend from what was accepted");
    }
}

#[test]
fn a_commit_that_the_ledger_refuses_is_shown_as_refused_and_the_order_behind_it_counts() {
    let mut stage = at_rest();
    commit(&mut stage);
    stage.order(1, "shop", "no changes", Order::Hold);
    let append = stage.appends().remove(0);
    stage.refused(append, Class::Input);
    stage.record();
    let facts = stage.last_facts("shop").expect("the hold");
    let hold = facts.hold.as_ref().expect("it is held");
    assert_eq!(hold.why, HoldReason::Asked { reason: "no changes".to_owned() });
    assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(1));
    let refused = stage.status("shop").refused.expect("a version that is refused");
    assert_eq!(refused.revision, revision("v2"));
}

#[test]
fn an_order_that_waits_is_declined_when_the_log_is_lost() {
    let mut stage = at_rest();
    stage.order(1, "shop", "a sale", Order::Hold);
    stage.order(2, "shop", "no sale", Order::Release { accept: None });
    let append = stage.appends().remove(0);
    stage.refused(append, Class::Fenced);
    let mut answered = stage.answered();
    answered.sort_by_key(|(id, _)| *id);
    assert_eq!(answered, [(1, Err(Declined::NotRecorded)), (2, Err(Declined::NotRecorded))]);
}

#[test]
fn a_record_without_an_order_that_is_refused_is_reported() {
    let mut stage = at_rest();
    stage.order(1, "shop", "a restore", Order::Suspend { until: stage.now + Span::seconds(10) });
    stage.record();
    stage.wait(10);
    let append = stage.appends().remove(0);
    stage.refused(append, Class::Input);
    let notes = stage.notes();
    assert!(notes.iter().any(|note| note.kind == NoteKind::RuleBroken), "{notes:?}");
    stage.wait(1);
    stage.record();
    assert_eq!(stage.last_facts("shop").expect("its end").suspension, None, "it is tried again");
}

#[test]
fn a_second_record_that_is_refused_is_reported_too() {
    let mut stage = at_rest();
    let refused = |stage: &mut Stage| {
        stage.order(1, "shop", "a restore", Order::Suspend { until: stage.now + Span::seconds(10) });
        stage.record();
        stage.wait(10);
        let append = stage.appends().remove(0);
        stage.refused(append, Class::Input);
        stage.notes().iter().filter(|note| note.kind == NoteKind::RuleBroken).count()
    };
    assert_eq!(refused(&mut stage), 1);
    // The next decision breaks no rule: the matter is over.
    stage.wait(1);
    stage.record();
    stage.look_again();
    assert_eq!(refused(&mut stage), 1);
}

fn statement(id: u64) -> Statement {
    let actor = Actor::new("account:ada").expect("a plain name");
    let entry = Entry::new(Kind::AccessChanged, Scope::default_scope(), "account:ada", actor, at(0));
    Statement { id: OrderId(id), entry: entry.with_data("what", "account:ada signed in by password") }
}

#[test]
fn a_statement_is_answered_once_it_is_recorded() {
    let mut stage = at_rest();
    stage.step(Event::Statement(statement(7)));
    assert_eq!(stage.answered(), []);
    stage.record();
    assert_eq!(stage.answered(), [(7, Ok(()))]);
    let recorded: Vec<_> = stage.recorded.iter().filter(|entry| entry.kind == Kind::AccessChanged).collect();
    assert_eq!(recorded.len(), 1);
    assert_eq!((recorded[0].time, recorded[0].actor.as_str()), (stage.now, "account:ada"));
}

#[test]
fn a_statement_changes_no_facts() {
    let mut stage = at_rest();
    let Statement { id, entry } = statement(7);
    let change = Change::ForgetApp { app: app("shop") };
    stage.step(Event::Statement(Statement { id, entry: entry.with_change(change) }));
    assert!(matches!(stage.answered()[..], [(7, Err(Declined::Invalid(_)))]));
    stage.record();
    assert!(stage.recorded.iter().all(|entry| entry.kind != Kind::AccessChanged));
}

#[test]
fn a_statement_is_declined_while_nothing_can_be_recorded() {
    let mut stage = at_rest();
    stage.step(Event::Statement(statement(7)));
    let append = stage.appends().remove(0);
    stage.refused(append, Class::NotDurable);
    assert_eq!(stage.answered(), [(7, Err(Declined::NotRecorded))]);
    stage.step(Event::Statement(statement(8)));
    assert_eq!(stage.answered(), [(8, Err(Declined::NotRecorded))], "the ledger is not held");
}

#[test]
fn an_order_has_limits_wherever_it_comes_from() {
    let mut stage = at_rest();
    let now = stage.now;
    let long = "x".repeat(LONGEST_REASON + 1);
    let years = Order::Suspend { until: now + Span::hours(24 * 365 * 1_000) };
    stage.order(1, "shop", "for ever", years);
    stage.order(2, "shop", "in the past", Order::Suspend { until: at(1) });
    stage.order(3, "shop", &long, Order::Hold);
    let answered = stage.answered();
    assert_eq!(answered.len(), 3);
    assert!(answered.iter().all(|(_, outcome)| matches!(outcome, Err(Declined::Invalid(_)))), "{answered:?}");
    stage.record();
    assert!(stage.recorded.iter().all(|entry| entry.kind != Kind::Override));

    stage.order(4, "shop", &long[1..], Order::Suspend { until: now + LONGEST_SUSPENSION });
    stage.record();
    assert_eq!(stage.answered(), [(4, Ok(()))]);
}

#[test]
fn an_app_of_any_size_is_released_after_a_recovery_in_records_within_their_limit() {
    let names: Vec<String> = (0..5_000).map(|n| format!("a-rather-long-name-of-an-object-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut before = Before::new();
    let facts = before.held("shop", &names);
    before.app("shop", facts, Some(document(Mode::Auto)));
    for name in &names {
        let recovered = Claim { origin: ClaimOrigin::Recovered, ..claim(&app("shop"), name) };
        before.apply(&Change::PutClaim { claim: Arc::new(recovered), from: None });
    }
    let mut stage = before.begin();
    stage.order(1, "shop", "it is all ours", Order::Release { accept: None });
    let (_, entries) = stage.appends().pop().expect("it is recorded");
    let claims = entries.iter().map(|entry| entry.changes.len()).sum::<usize>() - 1;
    assert_eq!(claims, names.len());
    for entry in entries {
        let size = canonical::to_bytes(&entry.changes).len();
        assert!(size < 1 << 19, "{size} bytes");
    }
}

#[test]
fn a_suspension_that_is_extended_as_it_ends_goes_on() {
    let mut stage = at_rest();
    stage.order(1, "shop", "a restore", Order::Suspend { until: stage.now + Span::seconds(10) });
    stage.record();
    stage.wait(9);
    let until = stage.now + Span::hours(1);
    stage.order(2, "shop", "it takes longer", Order::Suspend { until });
    stage.wait(2);
    stage.record();
    let suspended = |stage: &Stage| stage.last_facts("shop").and_then(|facts| facts.suspension.clone());
    assert_eq!(suspended(&stage).map(|suspension| suspension.until), Some(until));
    stage.wait(3_600);
    stage.record();
    assert_eq!(suspended(&stage), None, "it ends by itself all the same");
}

#[test]
fn a_suspension_whose_extension_is_refused_ends_when_it_was_to() {
    let mut stage = at_rest();
    stage.order(1, "shop", "a restore", Order::Suspend { until: stage.now + Span::seconds(10) });
    stage.record();
    stage.wait(9);
    stage.order(2, "shop", "it takes longer", Order::Suspend { until: stage.now + Span::hours(1) });
    let append = stage.appends().remove(0);
    stage.wait(2);
    stage.refused(append, Class::Input);
    stage.wait(2);
    stage.record();
    assert_eq!(stage.last_facts("shop").and_then(|facts| facts.suspension.clone()), None);
}

#[test]
fn a_suspension_that_was_recorded_before_the_agent_began_ends_by_itself() {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    let by = Actor::new("ada").expect("a plain name");
    let until = at(START + 100);
    let suspension = Suspension { reason: "a restore".to_owned(), by, at: at(START - 10), until };
    before.app("shop", AppFacts { suspension: Some(suspension), ..facts }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.wait(99);
    stage.record();
    assert!(stage.status("shop").facts.suspension.is_some());
    stage.wait(1);
    stage.record();
    assert_eq!(stage.status("shop").facts.suspension, None);
}

#[test]
fn a_document_whose_record_is_refused_is_recorded_later() {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    before.app("shop", AppFacts { frozen: true, ..facts }, None);
    before.controls.root = Some(app("root"));
    let facts = before.held("root", &["b"]);
    before.controls.of = facts.held_at();
    before.app("root", facts, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.record();
    stage.control_unrecorded(|controls| {
        controls.apps.insert(app("shop"), Arc::new(document(Mode::Auto)));
    });
    let append = stage.appends().remove(0);
    stage.refused(append, Class::Input);
    stage.record();
    assert!(stage.status("shop").facts.frozen, "nothing of a refused record counts");
    stage.wait(60);
    let asked = stage.take(|effect| matches!(effect, Effect::Control { .. }).then_some(()));
    assert_eq!(asked.len(), 1, "the documents are loaded again");
    stage.control(|_| {});
    assert!(!stage.status("shop").facts.frozen);
}
