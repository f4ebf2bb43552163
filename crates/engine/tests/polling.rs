//! The intervals at which stores are polled.

use std::collections::BTreeSet;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::name::{StoreName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::{BundleCache, Controls, Effect, Event, Machine, Settings, StoreControl, Ticket};

const INTERVAL: Span = Span::seconds(30);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + millis)
}

fn store(name: &str) -> StoreName {
    StoreName::new(name).expect("a name")
}

/// Controls with these stores and their sources.
fn controls(stores: &[(&str, &str)]) -> Controls {
    let control = |(name, repository): &(&str, &str)| {
        (store(name), StoreControl { interval: INTERVAL, repository: Digest::of(repository.as_bytes()) })
    };
    Controls { stores: stores.iter().map(control).collect(), ..Controls::default() }
}

/// A machine that holds the log, and its effects when it got these stores.
fn holding(stores: &[(&str, &str)]) -> (Machine, Vec<Effect>) {
    let mut machine = Machine::new(Settings::default());
    machine.step(at(0), Event::Started);
    machine.step(at(0), Event::LeaseGranted { epoch: 1, expires: at(3_600_000) });
    let mut facts = Facts::default();
    facts.apply(&Change::Installed { at: at(0) }).expect("it fits");
    machine.step(at(0), Event::Loaded { epoch: 1, facts: Box::new(facts), bundles: BundleCache::default() });
    let mut effects = machine.step(at(0), Event::Controls(controls(stores)));
    effects.extend(machine.step(at(0), Event::Woke));
    (machine, effects)
}

fn polls(effects: &[Effect]) -> Vec<(Ticket, StoreName)> {
    let poll = |effect: &Effect| match effect {
        Effect::Poll { ticket, store } => Some((*ticket, store.clone())),
        _ => None,
    };
    effects.iter().filter_map(poll).collect()
}

fn head() -> Observed<VersionId> {
    Observed::known(VersionId::new("0123abcd").expect("a version"), at(0))
}

/// Returns when the store is polled again, to the tenth of a second.
fn asked_again(machine: &mut Machine) -> u64 {
    let asked = |at_tenth: &u64| !polls(&machine.step(at(at_tenth * 100), Event::Woke)).is_empty();
    (1..1_000).find(asked).expect("it is asked again")
}

#[test]
fn stores_of_one_repository_are_asked_once_and_all_learn_the_head() {
    let (mut machine, effects) = holding(&[("apps", "one"), ("base", "one"), ("other", "two")]);
    let asked = polls(&effects);
    let names: Vec<_> = asked.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["apps", "other"]);

    machine.step(at(10), Event::Polled { ticket: asked[0].0, head: head() });
    let standing = machine.standing();
    assert_eq!(standing.stores[&store("base")].head, standing.stores[&store("apps")].head);
    assert!(standing.stores[&store("base")].head.is_some() && standing.stores[&store("other")].head.is_none());
}

#[test]
fn a_repository_that_does_not_answer_is_told_of_every_store_that_reads_it() {
    let (mut machine, effects) = holding(&[("apps", "one"), ("base", "one")]);
    let (ticket, _) = polls(&effects)[0];
    let head = Observed::unknown(UnknownReason::Unreachable { detail: "no route".into() });
    machine.step(at(10), Event::Polled { ticket, head });
    let failures: Vec<_> = machine.standing().stores.values().map(|store| store.failures).collect();
    assert_eq!(failures, [1, 1]);
}

#[test]
fn a_store_whose_document_goes_while_it_is_asked_leaves_the_other_polled() {
    let (mut machine, _) = holding(&[("apps", "one"), ("base", "one")]);
    machine.step(at(10), Event::Controls(controls(&[("base", "one")])));
    assert!(asked_again(&mut machine) <= 600, "the store that is left is asked by itself");
}

#[test]
fn a_store_that_is_read_from_elsewhere_is_asked_at_once_and_has_no_head_until_it_answers() {
    let (mut machine, effects) = holding(&[("apps", "tag one"), ("base", "branch")]);
    for (ticket, _) in polls(&effects) {
        machine.step(at(10), Event::Polled { ticket, head: head() });
    }
    let mut effects = machine.step(at(20), Event::Controls(controls(&[("apps", "tag two"), ("base", "branch")])));
    effects.extend(machine.step(at(20), Event::Woke));
    let asked: Vec<_> = polls(&effects).into_iter().map(|(_, name)| name).collect();
    assert_eq!(asked, [store("apps")]);
    let standing = machine.standing();
    assert!(standing.stores[&store("apps")].head.is_none() && standing.stores[&store("base")].head.is_some());
}

#[test]
fn a_head_that_was_asked_for_elsewhere_is_not_taken_for_that_of_the_store() {
    let (mut machine, effects) = holding(&[("apps", "tag one"), ("base", "tag one")]);
    let (ticket, asked) = polls(&effects)[0].clone();
    assert_eq!(asked, store("apps"));
    machine.step(at(20), Event::Controls(controls(&[("apps", "tag two"), ("base", "tag one")])));
    machine.step(at(30), Event::Polled { ticket, head: head() });
    let standing = machine.standing();
    assert!(standing.stores[&store("apps")].head.is_none() && standing.stores[&store("base")].head.is_some());
}

#[test]
fn stores_are_asked_again_after_their_interval_and_not_all_at_one_instant() {
    let again = |name: &str| {
        let (mut machine, effects) = holding(&[(name, name)]);
        machine.step(at(10), Event::Polled { ticket: polls(&effects)[0].0, head: head() });
        asked_again(&mut machine)
    };
    let instants: BTreeSet<u64> = ["a", "b", "c", "d", "e", "f"].map(again).into();
    assert!(instants.iter().all(|tenth| (300..=331).contains(tenth)), "{instants:?}");
    assert!(instants.len() > 2, "all of them at {instants:?}");
}
