//! The machine's controls, computed from accepted documents.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName};
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::accept::{ReachedTarget, WorkedOut};
use setpoint_engine::{Mode, OnFailure};
use setpoint_target::Granularity;

use crate::scene::{app, documents};

const NOW: Timestamp = Timestamp::from_millis(1_795_000_000_000);

fn id(text: &str) -> AppId {
    text.parse().expect("an app of the test")
}

fn identity(text: &str) -> TargetIdentity {
    TargetIdentity::new(text).expect("an identity of the test")
}

fn reached(targets: &[(&str, &str)]) -> BTreeMap<TargetName, ReachedTarget> {
    let target = |text| ReachedTarget {
        identity: identity(text),
        granularity: Granularity::Resource,
        fresh_reads: true,
        attributes: false,
    };
    targets.iter().map(|(name, id)| (TargetName::new(name).expect("a name of the test"), target(id))).collect()
}

fn known(apps: &[(&str, &str)]) -> BTreeMap<AppId, TargetIdentity> {
    apps.iter().map(|(app, target)| (id(app), identity(target))).collect()
}

fn worked_out(text: &str, targets: &[(&str, &str)], apps: &[(&str, &str)]) -> WorkedOut {
    documents(text).controls(NOW, &reached(targets), &known(apps))
}

#[test]
fn an_app_has_the_control_its_document_says() {
    let more = "  onFailure: hold\n  retire: true\n  sync: { mode: manual, prune: false, adopt: false, dependsOn: [db], deadline: 3m }\n";
    let text = app("shop", more) + "---\n" + &app("db", "");
    let WorkedOut { controls, valid_until, unreached } = worked_out(&text, &[("here", "host-1")], &[]);
    let control = &controls.apps[&id("web/shop")];
    assert_eq!((control.mode, control.on_failure, control.retire), (Mode::Manual, OnFailure::Hold, true));
    assert_eq!((control.rules.prune, control.rules.adopt), (false, false));
    assert_eq!((control.deadline, control.closed.len()), (Span::minutes(3), 0));
    assert_eq!(control.depends_on, BTreeSet::from([id("web/db")]));
    assert_eq!(control.stores, BTreeSet::from([StoreName::new("platform").unwrap()]));
    assert_eq!(controls.apps[&id("web/db")].mode, Mode::Auto);
    assert_eq!(controls.stores[&StoreName::new("platform").unwrap()].interval, Span::seconds(10));
    assert!(controls.targets[&identity("host-1")].fresh_reads);
    assert_eq!((valid_until, unreached.len()), (None, 0), "without windows they hold until documents change");
}

#[test]
fn another_document_is_told_apart_though_the_machine_reads_the_same_from_it() {
    let control = |component: &str| {
        let text = app("shop", "").replace("component: shop", &format!("component: {component}"));
        worked_out(&text, &[("here", "host-1")], &[]).controls.apps[&id("web/shop")].clone()
    };
    assert_eq!(control("shop"), control("shop"));
    assert_ne!(control("shop").document, control("shopping").document);
}

#[test]
fn an_app_whose_target_was_never_reached_waits_and_its_document_is_not_gone() {
    let worked_out = worked_out(&app("shop", ""), &[], &[]);
    assert!(worked_out.controls.apps.is_empty());
    assert_eq!(worked_out.unreached, BTreeMap::from([(id("web/shop"), TargetName::new("here").unwrap())]));
}

#[test]
fn a_target_that_does_not_answer_now_is_what_it_was() {
    let worked_out = worked_out(&app("shop", ""), &[("vault", "host-2")], &[("web/shop", "host-1")]);
    assert_eq!(worked_out.controls.apps[&id("web/shop")].target, identity("host-1"));
    assert!(!worked_out.controls.targets[&identity("host-1")].fresh_reads, "until it says otherwise");
}

#[test]
fn a_target_that_is_another_system_than_the_app_is_held_on_is_asked_again() {
    let valid_until =
        |held_on| worked_out(&app("shop", ""), &[("here", "host-2")], &[("web/shop", held_on)]).valid_until;
    assert_eq!(valid_until("host-1"), Some(NOW + Span::seconds(30)));
    assert_eq!(valid_until("host-2"), None);
}

#[test]
fn an_app_moved_to_a_target_that_does_not_answer_is_not_held_on_the_old_one() {
    let worked_out = worked_out(&app("shop", ""), &[("vault", "host-1")], &[("web/shop", "host-1")]);
    assert_eq!(worked_out.unreached.len(), 1);
}

#[test]
fn windows_are_worked_out_for_longer_than_they_are_valid() {
    let more = "  sync: { windows: [{ deny: '0 * * * *', for: 10m }] }\n";
    let worked_out = worked_out(&app("shop", more), &[("here", "host-1")], &[]);
    let valid_until = worked_out.valid_until.unwrap();
    let control = &worked_out.controls.apps[&id("web/shop")];
    assert!(valid_until > NOW + Span::hours(24));
    let hours = control.closed.iter().filter(|(from, _)| *from < valid_until).count();
    assert!((7 * 24..=7 * 24 + 1).contains(&hours), "{hours}");
    let (from, until) = control.closed[control.closed.len() - 2];
    assert!(from > valid_until && until.since(from) == Span::minutes(10));
}
