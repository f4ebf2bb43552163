//! Commands: the results of their checks, their environment, the output that is shown, and their
//! time limits.

use std::fs;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use setpoint_core::live::Presence;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::{Asker, Fence, Outcome, RefusalClass, Target};

use crate::scene::{Scene, fence, now, refusal, resource};

fn run(script: &str) -> Value {
    Value::map([("command", Value::Seq(["/bin/sh", "-c", script].map(Value::str).to_vec()))])
}

fn command(check: &str, apply: &str, more: &[(&str, Value)]) -> Resource {
    let fields = [("check", run(check)), ("apply", run(apply))];
    resource("Command", "it", Value::map(fields.into_iter().chain(more.iter().cloned())))
}

fn variable(name: &str, value: &str, sensitive: bool) -> Value {
    Value::map([("name", Value::str(name)), ("value", Value::str(value)), ("sensitive", Value::Bool(sensitive))])
}

fn scene() -> Scene {
    Scene::with(|options| options.run_commands = true)
}

/// A check that tests for a file, and an apply that creates it.
fn marker(scene: &Scene) -> Resource {
    let place = scene.at("/marker");
    let check = format!("test -e {} && exit 100; exit 101", place.display());
    command(&check, &format!("echo made > {}", place.display()), &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_brings_about_what_its_check_looks_for() {
    let scene = scene();
    let declared = marker(&scene);
    assert_eq!(scene.look(&declared).await.as_known(), Some(&Presence::Absent));
    let outcome = scene.create(&declared).await;
    assert!(matches!(outcome, Outcome::Done { live: Some(_) }), "{outcome:?}");
    assert_eq!(scene.live(&declared).await.value, declared.body);
    assert!(scene.at("/marker").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_no_longer_declared_leaves_nothing_to_delete() {
    let scene = scene();
    let declared = marker(&scene);
    let live = scene.have(&declared).await;
    let seen = scene.target.observe([(declared.key.clone(), None)].into(), Asker::default(), now()).await;
    assert_eq!(seen.states[&declared.key].as_known(), Some(&Presence::Absent));
    let outcome = scene.execute(vec![scene.steps.delete(&declared.key, &live)]).await.remove(0);
    assert_eq!(outcome, Outcome::Done { live: None });
    assert!(scene.at("/marker").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_tell_is_unknown_and_says_why() {
    let scene = scene();
    for (check, says) in [
        ("echo no database >&2; exit 1", "ended with 1"),
        ("exit 0", "ended with 0"),
        ("kill -9 $$", "signal 9"),
        ("exit 127", "127"),
    ] {
        let reason = scene.blindness(&command(check, "exit 0", &[])).await;
        assert!(matches!(&reason, UnknownReason::Unobservable { detail } if detail.contains(says)), "{reason:?}");
    }
    let missing = Value::map([("command", Value::Seq(vec![Value::str("/no/such/program")]))]);
    let declared = resource("Command", "it", Value::map([("check", missing.clone()), ("apply", missing)]));
    assert!(!scene.look(&declared).await.is_known());
    assert_eq!(refusal(&scene.create(&declared).await).class, RefusalClass::Unready);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_what_is_declared_and_a_path() {
    let scene = scene();
    let place = scene.at("/seen");
    let apply = format!("/usr/bin/env > {}; pwd >> {}", place.display(), place.display());
    let environment = Value::Seq(vec![variable("GREETING", "hello", false)]);
    let check = format!("test -e {} && exit 100; exit 101", place.display());
    scene.have(&command(&check, &apply, &[("environment", environment), ("cwd", Value::str("/usr"))])).await;
    let seen = fs::read_to_string(place).unwrap();
    let mut lines: Vec<_> =
        seen.lines().filter(|line| !line.starts_with("_=") && !line.starts_with("SHLVL=")).collect();
    lines.sort_unstable();
    let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(lines, ["/usr", "GREETING=hello", path, "PWD=/usr"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_shown_and_what_is_long_is_shown_by_its_end() {
    let scene = scene();
    let environment = Value::Seq(vec![variable("TOKEN", "hunter2", true)]);
    let told = scene.blindness(&command("echo token=$TOKEN; exit 3", "exit 0", &[("environment", environment)])).await;
    let told = told.to_string();
    assert!(told.contains("token=[redacted]") && !told.contains("hunter2"), "{told}");
    let hidden = command("echo hunter2; exit 3", "exit 0", &[("sensitive", Value::Bool(true))]);
    assert!(!scene.blindness(&hidden).await.to_string().contains("hunter2"));
    let chatty = command("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 3", "exit 0", &[]);
    let told = scene.blindness(&chatty).await.to_string();
    assert!(told.contains("line 19999") && told.len() < 6_000, "{} bytes", told.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_fails_is_refused_when_the_check_says_that_nothing_came_of_it() {
    let scene = scene();
    let failing = command("exit 101", "echo broken; exit 4", &[]);
    let outcome = scene.create(&failing).await;
    assert_eq!(refusal(&outcome).class, RefusalClass::Unready);
    assert!(refusal(&outcome).detail.contains("ended with 4; it printed: broken"), "{outcome:?}");
    let contradicting = scene.create(&command("exit 101", "exit 0", &[])).await;
    assert_eq!(refusal(&contradicting).class, RefusalClass::Invalid);
    let blind = scene.create(&command("exit 1", "exit 0", &[])).await;
    assert!(matches!(blind, Outcome::Unknown { .. }), "{blind:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_too_long_is_ended_with_everything_it_started() {
    let scene = scene();
    let place = scene.at("/late");
    let apply = format!("(sleep 1; echo late > {}) & sleep 60", place.display());
    let slow = command("exit 101", &apply, &[("timeout", Value::str("100ms"))]);
    let started = now();
    let outcome = scene.create(&slow).await;
    assert!(refusal(&outcome).detail.contains("ran out of time"), "{outcome:?}");
    assert_eq!(refusal(&outcome).class, RefusalClass::Unready, "it does not concern the host");
    assert!(now().since(started) < Span::seconds(20));
    let land_by = now() + Span::millis(200);
    let unlimited = command("exit 101", "sleep 60", &[]);
    let outcome =
        scene.target.execute(vec![scene.steps.create(&unlimited)], Fence { land_by, ..fence() }).await.remove(0);
    assert!(refusal(&outcome).detail.contains("ran out of time"), "{outcome:?}");
    // A process that was left running would have written by the time another command has waited as
    // long.
    let waited = command("sleep 1.2; exit 101", "exit 0", &[]);
    assert!(matches!(scene.look(&waited).await, Observed::Known { .. }));
    assert!(!place.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_ends_with_it() {
    let scene = scene();
    let (pids, marker) = (scene.at("/pids"), scene.at("/marker"));
    let leave = format!("sleep 600 & echo $! >> {}", pids.display());
    let check = format!("{leave}; test -e {} && exit 100; exit 101", marker.display());
    scene.have(&command(&check, &format!("{leave}; echo made > {}", marker.display()), &[])).await;
    let failing = format!("{leave}; exit 4");
    scene.create(&command("exit 101", &failing, &[])).await;
    let left = fs::read_to_string(pids).unwrap();
    assert_eq!(left.lines().count(), 4, "apply, check after it, the observation, and the apply that fails");
    for pid in left.lines().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()) {
        assert!(has_ended(pid), "process {pid:?} outlived its command");
    }
}

/// Reports whether a process ends soon.
fn has_ended(pid: Pid) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap() > 0
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_ran_out_of_time_is_done_where_the_check_says_so() {
    let scene = scene();
    let place = scene.at("/marker");
    let check = format!("test -e {} && exit 100; exit 101", place.display());
    let apply = format!("echo made > {}; sleep 60", place.display());
    let outcome = scene.create(&command(&check, &apply, &[("timeout", Value::str("1s"))])).await;
    assert!(matches!(outcome, Outcome::Done { live: Some(_) }), "{outcome:?}");
}
