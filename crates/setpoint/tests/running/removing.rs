//! A data directory or a ledger that is removed: under a running agent, between two runs, and while
//! two agents start at once. None of these tests has an anchor.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use setpoint_ledger_sql::{DirectoryLock, remembered_in};

use super::lab::{Agent, Lab};
use crate::setpoint::{command, read};

/// Returns a lab whose agent has managed one file, then ended.
async fn held() -> Lab {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    run_once(&mut lab).await;
    lab
}

/// Commits, and lets an agent follow.
async fn run_once(lab: &mut Lab) {
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    agent.stop().await;
}

async fn until_said(agent: &mut Agent, part: &str) {
    let said = async |agent: &Agent| agent.said().iter().any(|line| line.contains(part)).then_some(());
    agent.until(&format!("it says `{part}`"), said).await;
}

fn remove_ledger(data: &Path) {
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        // Only the first always exists.
        let _ = fs::remove_file(data.join(name));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_data_folder_is_removed_changes_nothing_more_and_ends() {
    let lab = held().await;
    let agent = lab.start().await;
    fs::remove_dir_all(lab.data()).expect("it is ours");
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let why = agent.end().await;
    assert!(why.contains("was removed or replaced"), "{why}");
    assert_eq!(lab.text("greeting").as_deref(), Some("by hand\n"), "no change without a record of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_place_another_one_has_taken_leaves_it_alone_and_ends() {
    let lab = held().await;
    let first = lab.start().await;
    let moved = lab.path().join("moved");
    fs::rename(lab.data(), &moved).expect("it is ours");
    let mut second = lab.start().await;
    second.until("the second one holds", async |agent| agent.overview().await.ledger.holding.then_some(())).await;
    let identity = fs::read(lab.data().join("installation.json")).expect("it is installed");
    assert_ne!(identity, fs::read(moved.join("installation.json")).expect("it was moved"));
    // The next action of the first agent must fail, even if it only renews its lease.
    let why = first.end().await;
    assert!(why.contains("was removed or replaced"), "{why}");
    assert_eq!(fs::read(lab.data().join("installation.json")).expect("it is there"), identity);
    second.overview().await;
    second.stop().await;
}

#[test]
fn an_agent_whose_data_folder_is_removed_exits_with_an_error() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let (child, line) = started(&lab);
    assert!(line.starts_with("holding"), "{line}");
    fs::remove_dir_all(lab.data()).expect("it is ours");
    let ended = read(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.complaints.contains("was removed or replaced"), "{ended:?}");
}

/// Starts an agent in a process of its own. Returns its first line of output.
fn started(lab: &Lab) -> (Child, String) {
    let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
    let mut command = command(&["run", "--config", &config, "--data", &data]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it was built with these tests");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("it was piped");
    BufReader::new(output).read_line(&mut line).expect("it is text");
    (child, line)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_identity_is_made_in_a_folder_that_another_process_is_about_to_install_itself_in() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let lock = DirectoryLock::take(&lab.data()).await.expect("it is free");
    for command in [&["run"][..], &["recover", "--reason", "the disk is gone"]] {
        let run = lab.with_config(command);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.complaints.contains("in use"), "{run:?}");
        assert!(!lab.data().join("installation.json").exists(), "{command:?}");
    }
    drop(lock);
}

#[test]
fn of_two_first_starts_at_once_one_installs_itself() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let both = std::thread::scope(|scope| {
        let starts = [(); 2].map(|()| scope.spawn(|| started(&lab)));
        starts.map(|start| start.join().expect("it starts"))
    });
    let mut holding = 0;
    for (mut child, line) in both {
        if line.starts_with("holding") {
            holding += 1;
            child.kill().expect("it is ours");
        }
        child.wait().expect("it is ours");
    }
    assert_eq!(holding, 1);
    // The signing key is the one on disk: the installation continues.
    let (mut child, line) = started(&lab);
    assert!(line.starts_with("holding"), "{line}");
    child.kill().and_then(|()| child.wait()).expect("it is ours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_vanished_is_told_without_an_anchor_and_recovered() {
    let lab = held().await;
    remove_ledger(&lab.data());
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let mut agent = lab.start().await;
    until_said(&mut agent, "start a new ledger with `setpoint recover`").await;
    agent.step(3).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("by hand\n"), "nothing is changed");
    agent.stop().await;
    let gap = lab.with_config(&["ledger", "gap"]);
    assert_eq!(gap.code, Some(4), "{gap:?}");
    assert!(gap.output.contains("newest.checkpoint") && gap.output.contains("setpoint recover"), "{gap:?}");

    // The remembered checkpoint is removed too: the identity still shows that there was a ledger.
    let kept = fs::read(remembered_in(&lab.data())).expect("it is there");
    remove_ledger(&lab.data());
    fs::remove_file(remembered_in(&lab.data())).expect("it is ours");
    for command in [&["run"][..], &["ledger", "gap"]] {
        let refused = lab.with_config(command);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.complaints.contains("is missing") && refused.complaints.contains("setpoint recover"),
            "{refused:?}"
        );
    }
    fs::write(remembered_in(&lab.data()), kept).expect("it is ours");
    let recovered = lab.with_config(&["recover", "--reason", "the database is gone"]);
    assert_eq!((recovered.code, recovered.complaints.as_str()), (Some(0), ""), "{recovered:?}");
    assert!(lab.verify(&[]).contains("recorded gaps 1"), "what was lost is recorded");
    let mut agent = lab.start().await;
    let healed = async |_: &Agent| (lab.text("greeting").as_deref() == Some("Hello\n")).then_some(());
    agent.until("what was recovered is held", healed).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_copy_of_the_ledger_is_told_without_an_anchor() {
    let mut lab = held().await;
    let copy: PathBuf = lab.path().join("older.db");
    fs::copy(lab.data().join("ledger.db"), &copy).expect("both are ours");
    lab.file("hello", "later", "new\n");
    run_once(&mut lab).await;
    let sound = lab.with_config(&["ledger", "gap"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(sound.output.contains("there is no gap"), "{sound:?}");
    remove_ledger(&lab.data());
    fs::copy(&copy, lab.data().join("ledger.db")).expect("both are ours");

    let head = lab.file("hello", "greeting", "Good day\n").commit();
    let mut agent = lab.start().await;
    until_said(&mut agent, "record the gap with `setpoint ledger gap`").await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    agent.stop().await;
    let shown = lab.with_config(&["ledger", "gap", "--output", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.output).expect("JSON");
    let lost = shown["lost"].to_string();
    let recorded = lab.with_config(&["ledger", "gap", "--lost", &lost, "--reason", "restored"]);
    assert_eq!((recorded.code, recorded.complaints.as_str()), (Some(0), ""), "{recorded:?}");
    assert!(lab.verify(&[]).contains("recorded gaps 1"));
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    agent.stop().await;
}
