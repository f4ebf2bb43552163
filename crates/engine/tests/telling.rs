//! Notes to people are repeated when the matter comes back.

use std::collections::BTreeSet;

use setpoint_core::name::TargetIdentity;
use setpoint_engine::{AppControl, Controls, Mode, NoteKind};

use crate::holding::{absent, stands};
use crate::stage::{Before, Stage, app, document};

fn at_rest(names: &[&str]) -> Stage {
    let mut before = Before::new();
    for name in names {
        let facts = before.held(name, &[name]);
        before.app(name, facts, Some(document(Mode::Auto)));
    }
    let mut stage = before.begin();
    stage.offer_known("v1");
    stage.look_at_all();
    stage
}

fn told(stage: &mut Stage, kind: NoteKind) -> usize {
    stage.notes().iter().filter(|note| note.kind == kind).count()
}

/// Another writer removes the object this many times.
fn fight(stage: &mut Stage, times: usize) {
    for _ in 0..times {
        stage.hint();
        let now = stage.now;
        stage.record();
        let looks = stage.looks();
        let (ticket, ..) = looks.first().expect("it is looked at");
        stage.see(*ticket, [(crate::holding::key("shop"), absent(now))]);
        stage.record();
        for (ticket, _) in stage.executed() {
            stage.succeed(ticket, [Some("shop")]);
        }
        stage.look(|name| stands(name, now));
        stage.wait(2);
    }
}

#[test]
fn a_second_fight_is_told_like_the_first() {
    let mut stage = at_rest(&["shop"]);
    fight(&mut stage, 3);
    assert_eq!(told(&mut stage, NoteKind::Fight), 1);
    fight(&mut stage, 1);
    assert_eq!(told(&mut stage, NoteKind::Fight), 0, "it goes on");
    for _ in 0..25 {
        stage.wait(30);
        stage.offer_known("v1");
        stage.look_again();
    }
    fight(&mut stage, 3);
    assert_eq!(told(&mut stage, NoteKind::Fight), 1);
}

fn change(controls: &mut Controls, name: &str, change: impl FnOnce(&mut AppControl)) {
    let mut control = document(Mode::Auto);
    change(&mut control);
    controls.apps.insert(app(name), control.into());
}

#[test]
fn a_target_that_moves_a_second_time_is_told_like_the_first() {
    let mut stage = at_rest(&["shop"]);
    for _ in 0..2 {
        let elsewhere = TargetIdentity::new("cluster-2").expect("a valid identity");
        for _ in 0..2 {
            let target = elsewhere.clone();
            stage.control(|controls| change(controls, "shop", |control| control.target = target));
        }
        assert_eq!(told(&mut stage, NoteKind::TargetMoved), 1);
        stage.control(|controls| change(controls, "shop", |_| {}));
        assert_eq!(told(&mut stage, NoteKind::TargetMoved), 0);
    }
}

#[test]
fn a_dependency_cycle_that_comes_back_is_told_again() {
    let mut stage = at_rest(&["one", "two"]);
    let depend = |controls: &mut Controls, name: &str, on: &[&str]| {
        let on: BTreeSet<_> = on.iter().map(|name| app(name)).collect();
        change(controls, name, |control| control.depends_on = on);
    };
    for _ in 0..2 {
        stage.control(|controls| {
            depend(controls, "one", &["two"]);
            depend(controls, "two", &["one"]);
        });
        assert_eq!(told(&mut stage, NoteKind::DependencyCycle), 1);
        stage.control(|controls| depend(controls, "two", &[]));
        assert_eq!(told(&mut stage, NoteKind::DependencyCycle), 0);
    }
}
