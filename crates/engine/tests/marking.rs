//! What the machine reports as changed: no more than an event can have changed. The simulator checks
//! that it is no less.

use std::collections::BTreeSet;

use setpoint_core::name::AppId;
use setpoint_engine::machine::Changes;
use setpoint_engine::{AppControl, Event, Mode, Order};
use setpoint_target::Hint;

use crate::holding::{key, target};
use crate::stage::{Before, START, Stage, app, at, document, store};

/// Four apps at rest, each with an object of its own: as many as are rendered at once. Changes are
/// collected from now on.
fn at_rest() -> Stage {
    let mut before = Before::new();
    for name in ["a", "b", "c", "d"] {
        let held = before.held(name, &[name]);
        before.app(name, held, Some(document(Mode::Auto)));
    }
    let mut stage = before.begin();
    stage.offer_known("v1");
    stage.look_at_all();
    stage.machine.watch_changes(true);
    assert!(stage.machine.take_changes().all, "at the beginning nothing is known");
    stage
}

fn marked(stage: &mut Stage) -> BTreeSet<AppId> {
    let Changes { all, apps, .. } = stage.machine.take_changes();
    assert!(!all);
    apps
}

#[test]
fn an_event_marks_the_apps_that_it_is_about_and_no_others() {
    let mut stage = at_rest();
    stage.step(Event::Hinted { target: target(), hint: Hint::Changed { keys: [key("b")].into() } });
    stage.look_at_all();
    let changes = stage.machine.take_changes();
    assert_eq!((changes.apps, changes.recorded), ([app("b")].into(), [].into()), "nothing is recorded about it");
    stage.order(1, "c", "a reason", Order::Suspend { until: at(START + 100) });
    stage.record();
    let changes = stage.machine.take_changes();
    assert_eq!((changes.apps, changes.recorded), ([app("c")].into(), [app("c")].into()));
}

#[test]
fn a_poll_without_a_new_head_marks_the_store_alone() {
    let mut stage = at_rest();
    stage.wait(1);
    stage.offer("v1");
    let changes = stage.machine.take_changes();
    assert_eq!(changes, Changes { stores: [store()].into(), ..Changes::default() });
    stage.offer("v2");
    assert_eq!(marked(&mut stage).len(), 4, "a new head is rendered for all of its apps");
}

#[test]
fn the_same_documents_mark_nothing_and_another_one_marks_its_app() {
    let mut stage = at_rest();
    stage.control(|_| {});
    assert_eq!(stage.machine.take_changes(), Changes::default());
    stage.control(|controls| {
        let observed = AppControl { mode: Mode::Observe, ..document(Mode::Auto) };
        controls.apps.insert(app("d"), observed.into());
    });
    assert_eq!(marked(&mut stage), [app("d")].into());
}

#[test]
fn nothing_is_collected_before_someone_reads_the_changes_and_after_that() {
    let mut stage = at_rest();
    stage.machine.watch_changes(false);
    stage.look_again();
    assert_eq!(stage.machine.take_changes(), Changes::default());
    stage.machine.watch_changes(true);
    assert!(stage.machine.take_changes().all);
}

#[test]
fn the_status_of_all_apps_is_read_in_portions() {
    let stage = at_rest();
    let first = stage.machine.statuses_after(None, 2);
    assert_eq!(first.iter().map(|(app, _)| app.clone()).collect::<Vec<_>>(), [app("a"), app("b")]);
    let rest = stage.machine.statuses_after(Some(&app("b")), 100);
    assert_eq!(rest.len(), 2);
    assert!(stage.machine.statuses_after(Some(&app("d")), 100).is_empty());
    let some = stage.machine.statuses(&[app("c"), app("gone"), app("a")], 2);
    assert_eq!(some, [(app("c"), stage.machine.status(&app("c"))), (app("gone"), None)]);
}
