//! The anchor of a ledger: an older copy or a lost directory is detected, nothing is changed until
//! a person has confirmed the loss, and an anchor that cannot be written is reported.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use serde_json::Value;
use setpoint_api::answer::AppDetail;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_api::{AskError, ProblemKind};

use super::lab::{Agent, Lab, app, withholds};
use crate::setpoint::Run;

/// Returns a lab with two managed files, whose ledger has an anchor outside of its data directory.
async fn anchored() -> (Lab, PathBuf) {
    let mut lab = Lab::new();
    let anchor = lab.path().join("anchor");
    lab.anchor_at(anchor.clone());
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    run_once(&mut lab).await;
    (lab, anchor)
}

/// Commits, and lets an agent follow.
async fn run_once(lab: &mut Lab) {
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    agent.stop().await;
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("it is not there yet");
    for entry in fs::read_dir(from).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        let copy = to.join(path.file_name().expect("entries have names"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else if path.is_file() {
            fs::copy(&path, &copy).expect("both are ours");
        }
    }
}

fn gap(lab: &Lab, more: &[&str]) -> Run {
    lab.with_config(&[&["ledger", "gap"], more].concat())
}

/// Returns the anchors that were kept when they were replaced.
fn former_anchors(lab: &Lab) -> Vec<PathBuf> {
    let entries = fs::read_dir(lab.path()).expect("it is there").map(|entry| entry.expect("it can be listed").path());
    entries.filter(|path| path.to_string_lossy().contains("anchor.former-")).collect()
}

async fn until_said(agent: &mut Agent, part: &str) {
    let said = async |agent: &Agent| agent.said().iter().any(|line| line.contains(part)).then_some(());
    agent.until(&format!("it says `{part}`"), said).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_older_copy_is_restored_nothing_is_changed_until_the_gap_is_recorded() {
    let (mut lab, anchor) = anchored().await;
    let backup = lab.path().join("backup");
    copy_folder(&lab.data(), &backup);
    lab.file("hello", "later", "new\n");
    run_once(&mut lab).await;
    let none = gap(&lab, &[]);
    assert_eq!((none.code, none.complaints.as_str()), (Some(0), ""), "{none:?}");
    assert!(none.output.contains("there is no gap"), "{}", none.output);
    fs::remove_dir_all(lab.data()).expect("it is ours");
    copy_folder(&backup, &lab.data());

    // There are objects to heal, to create and to delete.
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let head = lab.remove("apps/hello/colours.yaml").file("hello", "more", "more\n").commit();
    let mut agent = lab.start().await;
    until_said(&mut agent, "record the gap with `setpoint ledger gap`").await;
    let run = lab.command(&["status"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let status = run.output;
    assert!(status.contains("in trouble") && status.contains("setpoint ledger gap"), "{status}");
    let request = OrderRequest { app: app("hello"), reason: String::new(), order: OrderKind::Sync { allow_prune: 0 } };
    let refused = agent.client().order(&request).await.expect_err("nothing can be recorded");
    let AskError::Refused(problem) = refused else { panic!("{refused}") };
    assert_eq!(problem.kind, ProblemKind::Unavailable, "{problem}");
    assert!(problem.message.contains("setpoint ledger gap"), "{problem}");
    agent.step(3).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("by hand\n"));
    assert_eq!((lab.text("colours").as_deref(), lab.text("more")), (Some("red\n"), None));
    let in_use = gap(&lab, &[]);
    assert_eq!(in_use.code, Some(1), "{in_use:?}");
    assert!(in_use.complaints.contains("in use"), "{in_use:?}");
    agent.stop().await;

    let before = fs::read_to_string(&anchor).expect("it is there");
    let shown = gap(&lab, &["--output", "json"]);
    assert_eq!(shown.code, Some(4), "{shown:?}");
    let shown: Value = serde_json::from_str(&shown.output).expect("JSON");
    assert_eq!((&shown["standing"], &shown["recorded"]), (&"behind".into(), &false.into()), "{shown}");
    let lost = shown["lost"].as_u64().expect("a number");
    assert_eq!(shown["lostTo"].as_u64(), shown["present"].as_u64().map(|present| present + lost));
    let told = gap(&lab, &[]);
    assert!(told.output.contains(&format!("add `--lost {lost} --reason")), "{told:?}");
    for (arguments, part) in [
        (&["--lost", &(lost + 1).to_string(), "--reason", "x"][..], "nothing was recorded"),
        (&["--lost", &lost.to_string()], "--reason"),
        (&["--lost", &lost.to_string(), "--reason", " "], "a reason is required"),
    ] {
        let refused = gap(&lab, arguments);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.complaints.contains(part), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(&anchor).expect("it is there"), before);
    assert_eq!(former_anchors(&lab), <[PathBuf; 0]>::default());

    let recorded = gap(&lab, &["--lost", &lost.to_string(), "--reason", "Sunday's backup"]);
    assert_eq!((recorded.code, recorded.complaints.as_str()), (Some(0), ""), "{recorded:?}");
    let [former] = &former_anchors(&lab)[..] else { panic!("{recorded:?}") };
    assert_eq!(fs::read_to_string(former).expect("it is kept"), before);
    assert!(gap(&lab, &[]).output.contains("there is no gap"));
    let sound = lab.verify(&[&anchor, former]);
    assert!(sound.contains("recorded gaps 1") && sound.ends_with("sound\n"), "{sound}");

    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    assert_eq!((lab.text("greeting").as_deref(), lab.text("more").as_deref()), (Some("Hello\n"), Some("more\n")));
    assert!(lab.told(&["history"]).contains("Sunday's backup"), "{}", lab.told(&["history"]));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_folder_is_recovered_and_the_anchor_of_what_was_lost_is_kept() {
    let (mut lab, anchor) = anchored().await;
    let before = fs::read_to_string(&anchor).expect("it is there");
    let verified = lab.verify(&[&anchor]);
    let root = verified.lines().find_map(|line| line.trim().strip_prefix("root ")).expect("it is shown");
    fs::remove_dir_all(lab.data()).expect("it is ours");
    let nowhere = gap(&lab, &[]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.complaints.contains("setpoint recover") && !lab.data().exists(), "{nowhere:?}");
    let run = lab.with_config(&["run"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.complaints.contains("start a new ledger with `setpoint recover`"), "{run:?}");
    assert_eq!(fs::read_to_string(&anchor).expect("it is there"), before);

    let recovered = lab.with_config(&["recover", "--reason", "the disk is gone"]);
    assert_eq!((recovered.code, recovered.complaints.as_str()), (Some(0), ""), "{recovered:?}");
    assert!(recovered.output.contains("2 objects of 1 apps are owned again"), "{recovered:?}");
    let [former] = &former_anchors(&lab)[..] else { panic!("{recovered:?}") };
    assert_eq!(fs::read_to_string(former).expect("it is kept"), before);
    assert!(recovered.output.contains(&former.display().to_string()), "{recovered:?}");
    // As if it had been interrupted before it moved the old anchor away.
    fs::copy(former, &anchor).expect("both are ours");
    let again = lab.with_config(&["recover", "--reason", "once more"]);
    assert_eq!((again.code, again.complaints.as_str()), (Some(0), ""), "{again:?}");
    assert_eq!((anchor.exists(), former_anchors(&lab).len()), (false, 1));

    let head = lab.remove("apps/hello/colours.yaml").commit();
    let mut agent = lab.start().await;
    agent.hint().await;
    let kept = |detail: &AppDetail| withholds(detail, "setpoint release");
    agent.until_app("hello", "keeps what was recovered", kept).await;
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));
    lab.told(&["release", "hello", "--reason", "I looked at all of it"]);
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    agent.until_converged("hello", &head).await;
    agent.stop().await;
    let after = fs::read_to_string(&anchor).expect("the new ledger is anchored");
    assert_ne!(after.lines().next(), before.lines().next(), "it is another log's");
    assert!(lab.verify(&[&anchor]).contains("recorded gaps 1"));
    let origin = after.lines().next().expect("an anchor has an origin").to_owned();
    let exported =
        lab.told(&["ledger", "export", &lab.data().join("ledger.db").display().to_string(), "--log", &origin]);
    let lost = exported.lines().find(|line| line.contains("ledger.gap")).expect("what was lost is recorded");
    let lost: Value = serde_json::from_str(lost).expect("JSON");
    assert_eq!(lost["subject"].as_str(), before.lines().next(), "{lost}");
    assert_eq!(lost["data"]["anchorSize"].to_string(), before.lines().nth(1).expect("an anchor has a size"));
    assert_eq!(lost["data"]["anchorRoot"].as_str(), Some(root), "{lost}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_is_lost_beside_its_key_is_recovered_in_a_new_epoch() {
    let (mut lab, anchor) = anchored().await;
    let before = fs::read_to_string(&anchor).expect("it is there");
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let path = lab.data().join(name);
        if path.exists() {
            fs::remove_file(path).expect("it is ours");
        }
    }
    let mut agent = lab.start().await;
    until_said(&mut agent, "start a new ledger with `setpoint recover`").await;
    agent.stop().await;

    let recovered = lab.with_config(&["recover", "--reason", "the database is gone"]);
    assert_eq!((recovered.code, recovered.complaints.as_str()), (Some(0), ""), "{recovered:?}");
    let [former] = &former_anchors(&lab)[..] else { panic!("{recovered:?}") };
    assert_eq!(fs::read_to_string(former).expect("it is kept"), before);
    let epoch = |text: &str| text.lines().find_map(|line| line.strip_prefix("epoch ")?.parse::<u64>().ok());
    let after = fs::read_to_string(&anchor).expect("it is there");
    assert!(epoch(&after) > epoch(&before), "{after}");
    assert!(lab.verify(&[&anchor, former]).contains("recorded gaps 1"));
    lab.file("hello", "greeting", "Good day\n");
    run_once(&mut lab).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_anchor_that_cannot_be_written_is_told_until_it_can_and_work_goes_on() {
    let mut lab = Lab::new();
    let elsewhere = lab.path().join("elsewhere");
    lab.anchor_at(elsewhere.join("anchor"));
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.told(&["suspend", "hello", "--for", "1h", "--reason", "it is signed at once"]);
    lab.told(&["resume", "hello"]);
    until_said(&mut agent, "anchor cannot be written").await;
    let status = lab.told(&["status"]);
    assert!(status.contains("held by this agent, but the anchor"), "{status}");
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.until_converged("hello", &second).await;

    fs::create_dir(&elsewhere).expect("it is ours");
    until_said(&mut agent, "is written again").await;
    assert_eq!(agent.overview().await.ledger.anchor, None);
    assert!(elsewhere.join("anchor").exists());
    agent.stop().await;
}

/// A named pipe without a reader at the path of an anchor: it acts like a disk that does not
/// respond. Dropping it ends that.
struct Silent(PathBuf);

impl Silent {
    fn at(path: PathBuf) -> Self {
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("the folder is ours");
        Self(path)
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("a small flag");
        let reader: File = OpenOptions::new().read(true).custom_flags(flags).open(&self.0).expect("it is ours");
        fs::remove_file(&self.0).expect("it is ours");
        drop(reader);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_anchor_that_never_answers_is_told_and_work_goes_on() {
    let mut lab = Lab::new();
    let anchor = lab.path().join("anchor");
    lab.anchor_at(anchor.clone());
    let silent = Silent::at(lab.path().join("anchor.next"));
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.told(&["suspend", "hello", "--for", "1h", "--reason", "it is signed at once"]);
    lab.told(&["resume", "hello"]);
    until_said(&mut agent, "does not respond").await;
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.until_converged("hello", &second).await;
    assert!(!anchor.exists());

    drop(silent);
    until_said(&mut agent, "is written again").await;
    assert!(anchor.exists());
    agent.stop().await;
}

#[test]
fn an_anchor_in_the_data_folder_is_refused() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    fs::create_dir(lab.data()).expect("it is ours");
    let link = lab.path().join("link");
    std::os::unix::fs::symlink(lab.data(), &link).expect("it is ours");
    for anchor in [lab.data().join("anchor"), lab.data().join("deep/er/anchor"), link.join("anchor")] {
        lab.anchor_at(anchor);
        let run = lab.with_config(&["run"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.complaints.contains("is in the data directory"), "{run:?}");
    }
}
