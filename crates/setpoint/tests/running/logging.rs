//! The log of an agent: changes and failures with their causes, one line each.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use setpoint_api::answer::AppDetail;
use setpoint_testbed::GitServer;

use super::lab::{Agent, Lab, file_document};
use crate::setpoint::command;

/// Returns the first line that contains all parts, and waits for it.
async fn line(agent: &mut Agent, parts: &[&str]) -> String {
    let find = async |agent: &Agent| agent.said().into_iter().find(|line| parts.iter().all(|part| line.contains(part)));
    agent.until(&format!("a log line with {parts:?}"), find).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_changes_and_drift_are_logged() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    line(&mut agent, &["INFO  lease of the ledger acquired"]).await;
    line(&mut agent, &["INFO  target connected", "target=machine"]).await;
    line(&mut agent, &["INFO  new version in the store", "store=bootstrap", &head]).await;
    line(&mut agent, &["INFO  version accepted", "app=default/hello", &head[..12], "resources=2"]).await;
    line(&mut agent, &["INFO  changes made", "app=default/hello", "target=machine", "created=2"]).await;
    line(&mut agent, &["INFO  converged", "app=default/hello"]).await;

    fs::write(lab.at("greeting"), "Bye\n").expect("anyone may");
    line(&mut agent, &["WARN  drift observed", "app=default/hello", "/greeting"]).await;
    line(&mut agent, &["INFO  drift healed", "app=default/hello", "target=machine", "/greeting"]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_change_and_a_refused_version_are_logged_with_their_reasons() {
    let mut lab = Lab::new();
    lab.app("hello").write("apps/hello/deep.yaml", &file_document("missing/deep", "x\n"));
    lab.commit();
    let mut agent = lab.start().await;
    let failed = line(&mut agent, &["WARN  change failed", "app=default/hello"]).await;
    assert!(failed.contains("object=\"file /missing/deep\"") && failed.contains("does not exist"), "{failed}");
    line(&mut agent, &["WARN  changes failed", "failed=1"]).await;

    lab.write("apps/hello/deep.yaml", "kind: [\n").commit();
    agent.hint().await;
    let refused = line(&mut agent, &["is refused for default/hello", "kind=version-refused"]).await;
    assert!(refused.contains("WARN ") && refused.contains("app=default/hello"), "{refused}");
    assert!(agent.said().iter().all(|line| !line.contains('\n')), "{:?}", agent.said());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_refuses_the_credentials_is_reported_with_this_cause_everywhere() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    lab.reach_by(format!("url: {}, authoritiesFile: {}", server.url("state.git"), server.authority().display()));
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;

    server.require("Basic bm9ib2R5OmtlcHQ=");
    let cause = "authentication failed: HTTP 401, and no credentials are declared; set `credentialsFrom`";
    line(&mut agent, &["WARN  cannot read the store", "store=bootstrap", cause]).await;
    let problem = async |agent: &Agent| agent.overview().await.stores.into_iter().find_map(|store| store.problem);
    assert_eq!(agent.until("the status has the cause", problem).await, cause);
    // After a while people are notified, with the same cause.
    line(&mut agent, &["kind=store-stale", "store=bootstrap", cause]).await;
    let has_cause = |detail: &AppDetail| detail.summary.note.as_ref().is_some_and(|note| note.contains(cause));
    agent.until_app("hello", "has the cause in its note", has_cause).await;
    let why = lab.told(&["why", "hello"]);
    assert!(why.contains("store bootstrap cannot be read: ") && why.contains(cause), "{why}");
    let lines = agent.said().into_iter().filter(|line| line.contains("cannot read the store")).count();
    assert_eq!(lines, 1, "it is logged once, and not for each retry");

    server.mend();
    agent.stop().await;
}

/// Runs an agent in a process of its own until its log has a line with this part, and returns all
/// lines.
fn log_of(lab: &Lab, options: &[&str], until: &str) -> Vec<String> {
    let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
    let mut command = command(&[&["run", "--config", &config, "--data", &data], options].concat());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ended(command.spawn().expect("it was built with these tests"));
    let mut lines = Vec::new();
    for line in BufReader::new(child.0.stderr.take().expect("it was piped")).lines() {
        let line = line.expect("it is text");
        let is_last = line.contains(until);
        lines.push(line);
        if is_last {
            // The rest of the log ends with the process.
            kill_process(Pid::from_child(&child.0), Signal::TERM).expect("it is ours");
        }
    }
    lines
}

/// A process that does not outlive the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_log_of_a_process_is_plain_text_with_times_or_json() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let text = log_of(&lab, &[], "converged app=default/hello");
    for line in &text {
        let (time, rest) = line.split_once(' ').expect("a time and a message");
        assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert!(["ERROR ", "WARN  ", "INFO  "].iter().any(|level| rest.starts_with(level)), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }

    lab.file("hello", "greeting", "Good day\n").commit();
    let values: Vec<Value> = log_of(&lab, &["--log-format", "json"], "\"changes made\"")
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let made = values.iter().find(|value| value["message"] == "changes made").expect("the last line");
    assert_eq!((&made["level"], &made["app"], &made["updated"]), (&"info".into(), &"default/hello".into(), &1.into()));

    lab.file("hello", "greeting", "Good evening\n").write("apps/hello/bad.yaml", "kind: [\n").commit();
    let warnings = log_of(&lab, &["--log-level", "warn"], "version-refused");
    assert!(warnings.iter().all(|line| line.contains(" WARN ")), "{warnings:?}");
}
