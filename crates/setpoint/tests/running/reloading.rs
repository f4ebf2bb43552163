//! SIGHUP: the bootstrap document is read again while the agent runs.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use setpoint_testbed::Item;

use super::lab::{Lab, file_document};
use crate::setpoint::command;

/// An agent in a process of its own, and its log.
struct Process {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Process {
    fn start(lab: &Lab) -> Self {
        let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
        let mut command = command(&["run", "--config", &config, "--data", &data]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it was built with these tests");
        let log = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        Self { child, log }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours");
    }

    /// Reads the log up to a line with this part.
    fn until(&mut self, part: &str) -> String {
        let mut lines = self.log.by_ref().map(|line| line.expect("it is text"));
        lines.find(|line| line.contains(part)).unwrap_or_else(|| panic!("the log ended without `{part}`"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_changed_bootstrap_document_comes_into_force_without_a_restart() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let head = lab.commit();
    let mut process = Process::start(&lab);
    process.until("converged app=default/hello");

    // The next branch continues the first one.
    let greeting = file_document("greeting", "Good day\n");
    let files = lab.files_with("apps/hello/greeting.yaml", &greeting);
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), Item::File(text))).collect();
    lab.repository().commit("next", Some(&head), &files);
    let url = lab.repository().folder().display().to_string();
    lab.reach_by(format!("url: {url}, branch: next"));
    lab.anchor_at(lab.path().join("anchor"));
    lab.bootstrap();
    process.signal(Signal::HUP);
    assert!(process.until("need a restart").contains("fields=anchor"));
    assert!(process.until("bootstrap document reloaded").contains("fields=store"));
    process.until("changes made app=default/hello");
    process.until("converged app=default/hello");
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));

    fs::write(lab.path().join("bootstrap.yaml"), "kind: [\n").expect("the folder is ours");
    process.signal(Signal::HUP);
    assert!(process.until("cannot reload the bootstrap document").contains("ERROR"));
    fs::write(lab.at("greeting"), "Bye\n").expect("anyone may");
    process.until("drift healed app=default/hello");
    process.signal(Signal::TERM);
    assert!(process.child.wait().expect("it ends").success());
}
