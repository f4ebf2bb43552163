//! `setpoint ledger` on a real ledger in SQLite: a sound one, a modified one, and a file that is no
//! ledger.

use std::fs;
use std::path::PathBuf;

use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{Batch, Entry, Kind, LeaseRequest, Ledger, Origin};
use setpoint_ledger_sql::{Options, SqlLedger};
use tempfile::TempDir;

use crate::setpoint::{Run, run};

/// A closed ledger of four records, with its anchor next to it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let place = Self { folder };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(place.fill());
        place
    }

    async fn fill(&self) {
        let options = Options::new(self.folder.path().join("data"), signer())
            .with_anchor(origin(), AnchorFile::new(self.folder.path().join("anchor")));
        let ledger = SqlLedger::open(options).await.expect("it opens");
        let now = Timestamp::from_millis(1_700_000_000_000);
        let request = LeaseRequest { origin: origin(), holder: "test".to_owned(), now, length: Span::hours(1) };
        let lease = ledger.acquire(request).await.expect("nobody else holds it");
        let actor = Actor::new("erika").expect("a valid actor");
        let entry = |n: u64| {
            Entry::new(Kind::StoreSeen, Scope::default_scope(), format!("store-{n}"), actor.clone(), now)
                .with_data("head", n)
        };
        ledger.append(Batch::new(&lease, now, (0..4).map(entry).collect())).await.expect("it is recorded");
        ledger.close().await.expect("it closes");
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("data/ledger.db")
    }

    /// Runs `setpoint ledger …` with the ledger and the key of this place.
    fn run(&self, command: &str, more: &[&str]) -> Run {
        let (database, key) = (self.database(), signer().public().to_text());
        let path = database.to_str().expect("a plain path");
        let keyed = [&["ledger", command, path, "--key", &key][..], more].concat();
        let plain = [&["ledger", command, path][..], more].concat();
        run(if command == "export" { &plain } else { &keyed })
    }

    fn anchor(&self) -> String {
        self.folder.path().join("anchor").to_str().expect("a plain path").to_owned()
    }

    /// Changes a record, as with a hex editor.
    fn tamper(&self) {
        let mut bytes = fs::read(self.database()).expect("it is there");
        let place = bytes.windows(7).position(|window| window == b"store-2").expect("the record is in the file");
        bytes[place + 6] = b'9';
        fs::write(self.database(), bytes).expect("it can be written");
    }
}

fn origin() -> Origin {
    Origin::new("setpoint.test").expect("a valid origin")
}

fn signer() -> Signer {
    Signer::new(origin(), &[7; 32])
}

#[test]
fn the_key_of_a_data_folder_is_the_one_that_verifies_its_ledger() {
    let place = Place::new();
    let folder = place.folder.path().join("data");
    let told = run(&["ledger", "key", folder.to_str().expect("a plain path")]);
    assert_eq!((told.code, told.complaints.as_str()), (Some(0), ""));
    assert_eq!(told.output, include_str!("golden/ledger-key.txt"));
    let path = place.database();
    let verified = run(&["ledger", "verify", path.to_str().expect("a plain path"), "--key", told.output.trim()]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn every_command_finds_the_ledger_of_the_data_folder() {
    let place = Place::new();
    let folder = place.folder.path().join("data").display().to_string();
    let key = signer().public().to_text();
    let keyed = ["--key", key.as_str(), "--data", folder.as_str()];
    let log = ["--log", "setpoint.test"];
    for (arguments, output) in [
        (vec!["ledger", "key", "--data", &folder], include_str!("golden/ledger-key.txt")),
        ([&["ledger", "prove", "--record", "2"], &log[..], &keyed].concat(), include_str!("golden/ledger-prove.txt")),
        ([&["ledger", "export", "--data", &folder], &log[..]].concat(), include_str!("golden/ledger-export.jsonl")),
    ] {
        let run = run(&arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(0), output), "{arguments:?}: {}", run.complaints);
    }
    let verified = run(&[&["ledger", "verify"], &keyed[..]].concat());
    assert!(verified.code == Some(0) && verified.output.ends_with("sound\n"), "{verified:?}");
    place.tamper();
    assert_eq!(run(&[&["ledger", "verify"], &keyed[..]].concat()).code, Some(4));
}

#[test]
fn a_folder_without_keys_or_with_half_a_key_is_exit_1() {
    let place = Place::new();
    let folder = place.folder.path().join("data");
    let path = folder.to_str().expect("a plain path");
    for content in ["", "setpoint.test+0011"] {
        fs::write(folder.join("ledger.keys"), content).expect("it can be written");
        let run = run(&["ledger", "key", path]);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{run:?}");
    }
    fs::remove_file(folder.join("ledger.keys")).expect("it can be removed");
    let run = run(&["ledger", "key", path]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.contains("pass the data directory"), "{}", run.complaints);
}

#[test]
fn the_help_of_verify_teaches_where_the_key_comes_from() {
    let run = run(&["ledger", "verify", "--help"]);
    for part in ["setpoint ledger key data", "store it elsewhere", "--anchor"] {
        assert!(run.output.contains(part), "no `{part}` in:\n{}", run.output);
    }
}

#[test]
fn a_sound_ledger_is_exit_0() {
    let place = Place::new();
    let run = place.run("verify", &["--anchor", &place.anchor()]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, include_str!("golden/ledger-verify.txt"));
}

#[test]
fn a_program_reads_the_same_as_json() {
    let run = Place::new().run("verify", &["--output", "json"]);
    assert_eq!(run.code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&run.output).expect("JSON");
    assert_eq!(report["sound"], true);
    assert_eq!((&report["logs"][0]["records"], &report["logs"][0]["anchored"]), (&4.into(), &0.into()));
    assert_eq!(report["findings"], serde_json::json!([]));
}

#[test]
fn a_changed_record_is_exit_4_and_named() {
    let place = Place::new();
    place.tamper();
    let run = place.run("verify", &["--output", "json"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.output).expect("JSON");
    assert_eq!(report["sound"], false);
    assert!(!report["findings"].as_array().expect("a list").is_empty());
    let text = place.run("verify", &[]);
    assert_eq!(text.code, Some(4));
    assert!(text.output.contains("NOT SOUND:\n  setpoint.test"), "{}", text.output);
}

#[test]
fn a_key_that_signed_nothing_is_exit_4() {
    let place = Place::new();
    let stranger = Signer::new(origin(), &[8; 32]).public().to_text();
    let path = place.database();
    let run = run(&["ledger", "verify", path.to_str().expect("a plain path"), "--key", &stranger]);
    assert_eq!(run.code, Some(4), "{run:?}");
}

#[test]
fn a_proof_can_be_recomputed_from_its_text() {
    let run = Place::new().run("prove", &["--log", "setpoint.test", "--record", "2"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, include_str!("golden/ledger-prove.txt"));
}

#[test]
fn a_record_that_is_not_signed_cannot_be_proven() {
    let run = Place::new().run("prove", &["--log", "setpoint.test", "--record", "4"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
    assert_eq!(run.complaints, "error: record 4 cannot be proven: only the first 4 records are signed yet\n");
}

#[test]
fn an_export_is_the_records_as_stored() {
    let run = Place::new().run("export", &["--log", "setpoint.test"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, include_str!("golden/ledger-export.jsonl"));
}

#[test]
fn a_log_that_is_not_there_is_exit_1() {
    let run = Place::new().run("export", &["--log", "another"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert_eq!(run.complaints, "error: the log `another` is not in this ledger\n");
}

#[test]
fn a_wrong_path_is_exit_1_and_a_file_that_is_no_ledger_exit_4() {
    let place = Place::new();
    fs::write(place.database(), b"this is no database").expect("it can be written");
    assert_eq!(place.run("verify", &[]).code, Some(4));
    fs::remove_file(place.database()).expect("it can be removed");
    let run = place.run("verify", &[]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.contains("cannot read the ledger"), "{}", run.complaints);
}

#[test]
fn a_bad_key_is_wrong_usage() {
    let run = run(&["ledger", "verify", "ledger.db", "--key", "nonsense"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.contains("is not a verification key"), "{}", run.complaints);
}
