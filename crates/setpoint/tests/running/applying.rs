//! The agent as a process: run once in pipelines, with its exit codes, and run until it is stopped.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::lab::{Lab, file_document};
use crate::setpoint::{Run, command};

fn apply(lab: &Lab) -> Run {
    let config = lab.bootstrap().display().to_string();
    lab.command(&["apply", "--once", "--config", &config])
}

#[test]
fn applying_once_says_by_its_exit_code_what_came_of_it() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").app("other").file("other", "other", "x\n");
    lab.commit();
    let first = apply(&lab);
    assert_eq!(first.code, Some(2), "changed: {first:?}");
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    let again = apply(&lab);
    assert_eq!(again.code, Some(0), "nothing to do: {again:?}");

    let misspelt = file_document("greeting", "Bye\n").replace("content:", "contents:");
    lab.write("apps/hello/greeting.yaml", &misspelt).commit();
    let refused = apply(&lab);
    assert_eq!(refused.code, Some(4), "refused: {refused:?}");
    assert!(refused.output.contains("apps/hello/greeting.yaml:6:"), "{refused:?}");
    lab.file("other", "other", "y\n").commit();
    let both = apply(&lab);
    assert_eq!(both.code, Some(6), "changed and refused: {both:?}");
    assert_eq!((lab.text("greeting").as_deref(), lab.text("other").as_deref()), (Some("Hello\n"), Some("y\n")));

    let nowhere = lab.command(&["apply", "--once", "--config", "/nonexistent/bootstrap.yaml"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.complaints.contains("setpoint init"), "{nowhere:?}");
}

#[test]
fn an_app_without_resources_is_as_declared_and_a_branch_that_is_set_back_is_not() {
    let mut lab = Lab::new();
    let empty = lab.app("empty").write("apps/empty/README.md", "nothing yet\n").commit();
    let applied = apply(&lab);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert!(applied.output.contains("default/empty: as declared"), "{applied:?}");

    lab.file("empty", "greeting", "Hello\n").commit();
    assert_eq!(apply(&lab).code, Some(2));
    lab.repository().git(&["update-ref", "refs/heads/main", &empty], b"");
    let set_back = apply(&lab);
    assert_eq!(set_back.code, Some(4), "{set_back:?}");
    assert!(set_back.output.contains("setpoint release default/empty --accept"), "{set_back:?}");
}

#[test]
fn a_running_agent_keeps_others_away_and_ends_well_when_told_to() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
    let mut agent = command(&["run", "--config", &config, "--data", &data]);
    let mut child = agent.stdout(Stdio::piped()).spawn().expect("the binary was built with these tests");
    let mut lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
    let mut line = || lines.next().expect("it says something").expect("it is text");
    assert!(line().starts_with("holding; data in "));

    let second = apply(&lab);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.complaints.contains("in use by another process"), "{second:?}");

    kill_process(Pid::from_child(&child), Signal::TERM).expect("it is ours");
    assert!(line().starts_with("stopping"));
    assert_eq!(child.wait().expect("it is ours").code(), Some(0));
    // The lease was released: the next process need not wait for it.
    assert!(matches!(apply(&lab).code, Some(0 | 2)));
}
