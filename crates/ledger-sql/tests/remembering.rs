//! Tests that a ledger without an anchor is compared with the checkpoint in its data directory, and
//! with the files it has open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use setpoint_core::name::Actor;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::{Class, Gap, Ledger, LedgerError, Standing};
use setpoint_ledger_sql::{OpenError, Options, SqlLedger, remembered_in};
use setpoint_ledger_verify::verify;

use crate::scene::{Place, at, batch, entry, key, lease, opened, origin, request, signer};

/// Returns the options of an installation without a configured anchor.
fn options(place: &Place) -> Options {
    Options::new(place.data(), signer()).remembering(origin("a")).must_exist()
}

async fn write(place: &Place, options: &Options, subjects: &[&str]) {
    let ledger = opened(options).await;
    let lease = lease(&ledger, "a").await;
    for subject in subjects {
        ledger.append(batch(&lease, vec![entry(subject)])).await.expect("appended");
    }
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
}

/// Writes a ledger with one record, copies it, then writes two more records.
async fn with_older_copy(place: &Place, options: &Options) -> PathBuf {
    write(place, &Options::new(place.data(), signer()).remembering(origin("a")), &["one"]).await;
    let copy = place.root.path().join("copy.db");
    fs::copy(place.database(), &copy).expect("copied");
    write(place, options, &["two", "three"]).await;
    copy
}

async fn standing(options: &Options) -> Standing {
    opened(options).await.head(&origin("a")).await.expect("a head").standing
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_copy_without_an_anchor_is_read_only_until_its_gap_is_recorded() {
    let place = Place::new();
    let options = options(&place);
    let copy = with_older_copy(&place, &options).await;
    let kept = fs::read_to_string(remembered_in(&place.data())).expect("it is remembered");
    fs::copy(copy, place.database()).expect("restored");

    let ledger = opened(&options).await;
    let head = ledger.head(&origin("a")).await.expect("a head");
    assert_eq!(head.standing, Standing::Behind { anchored: 3, present: 1 });
    let error = ledger.acquire(request("a", at(5))).await.expect_err("it must not write");
    assert_eq!(error.class(), Class::ReadOnly);
    assert!(error.to_string().contains("setpoint ledger gap"), "{error}");
    drop(ledger.close().await);
    assert_eq!(fs::read_to_string(remembered_in(&place.data())).expect("it stays"), kept);
    drop(ledger);
    place.settle();

    let ledger = opened(&options).await;
    let actor = Actor::new("ada").expect("a valid actor");
    let gap = Gap { lease: request("a", at(9)), actor, reason: "restored".to_owned(), lost: 1..3 };
    let lease = ledger.record_gap(gap).await.expect("it is recorded");
    assert!(lease.epoch > 1_000, "above every epoch that was lost: {}", lease.epoch);
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
    assert_eq!(standing(&options).await, Standing::Sound);
    let report = verify(&place.database(), &[kept], &[key()]).await.expect("it can be judged");
    assert_eq!((report.findings, report.logs[0].gaps), (vec![], 1), "the former checkpoint is answered for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_went_on_from_an_older_copy_without_its_memory_is_noticed() {
    let place = Place::new();
    let options = options(&place);
    let copy = with_older_copy(&place, &options).await;
    fs::copy(copy, place.database()).expect("restored");
    let forgetful = Options::new(place.data(), signer());
    write(&place, &forgetful, &["other", "other", "other"]).await;
    assert_eq!(standing(&options).await, Standing::Forked { anchored: 3 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_that_anchor_and_memory_show_differently_is_recorded_for_both() {
    let place = Place::new();
    let anchored = options(&place).with_anchor(origin("a"), AnchorFile::new(place.anchor()));
    write(&place, &Options::new(place.data(), signer()).remembering(origin("a")), &["one"]).await;
    let copy = place.root.path().join("copy.db");
    fs::copy(place.database(), &copy).expect("copied");
    write(&place, &anchored, &["two"]).await;
    // Then the disk of the anchor was missing for a while.
    write(&place, &options(&place), &["three", "four"]).await;
    let witnesses = [place.anchor_text(), fs::read_to_string(remembered_in(&place.data())).expect("it is there")];
    fs::copy(copy, place.database()).expect("restored");

    let ledger = opened(&anchored).await;
    let head = ledger.head(&origin("a")).await.expect("a head");
    assert_eq!(head.standing, Standing::Behind { anchored: 4, present: 1 }, "the newest one counts");
    let actor = Actor::new("ada").expect("a valid actor");
    let gap = Gap { lease: request("a", at(9)), actor, reason: "restored".to_owned(), lost: 1..4 };
    ledger.record_gap(gap).await.expect("it is recorded");
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
    assert_eq!(standing(&anchored).await, Standing::Sound);
    let report = verify(&place.database(), &witnesses, &[key()]).await.expect("it can be judged");
    assert_eq!(report.findings, [], "a verifier accepts both former checkpoints");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_vanished_does_not_begin_again_by_itself() {
    for emptied in [false, true] {
        let place = Place::new();
        let options = options(&place);
        with_older_copy(&place, &options).await;
        for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            drop(fs::remove_file(place.data().join(file)));
        }
        if emptied {
            fs::write(place.database(), b"").expect("anyone may");
        }
        assert_eq!(standing(&options).await, Standing::Behind { anchored: 3, present: 0 });
        place.settle();
        // The remembered checkpoint is lost too. Only the existence of the ledger is known.
        fs::remove_file(remembered_in(&place.data())).expect("it is ours");
        fs::remove_file(place.database()).expect("it is ours");
        let error = SqlLedger::open(options.clone()).await.expect_err("it must not begin again");
        assert!(matches!(error, OpenError::Vanished { .. }), "{error:?}");
        assert!(error.to_string().contains("setpoint recover"), "{error}");
        assert!(!place.database().exists(), "nothing was made that looks like a ledger the next time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_remembered_may_lag_behind_the_ledger() {
    let place = Place::new();
    let options = options(&place);
    write(&place, &Options::new(place.data(), signer()).remembering(origin("a")), &["one"]).await;
    let older = fs::read(remembered_in(&place.data())).expect("it is remembered");
    write(&place, &options, &["two"]).await;
    fs::write(remembered_in(&place.data()), older).expect("as after a crash before it was written");
    assert_eq!(standing(&options).await, Standing::Sound);
    place.settle();
    write(&place, &options, &["three"]).await;
    let kept = fs::read_to_string(remembered_in(&place.data())).expect("it is there");
    assert_eq!(kept.lines().nth(1), Some("3"), "{kept}");
    let mode = fs::metadata(remembered_in(&place.data())).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "it is for one user only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_cannot_be_believed_stops_the_start() {
    let place = Place::new();
    let options = options(&place);
    write(&place, &Options::new(place.data(), signer()).remembering(origin("a")), &["one"]).await;
    let signed = |name: &str, signer: &Signer| {
        Checkpoint::sign(origin(name), 1, 9, setpoint_core::digest::Digest::of(b""), signer).text
    };
    let refused = async |text: &str| {
        fs::write(remembered_in(&place.data()), text).expect("written");
        SqlLedger::open(options.clone()).await.expect_err("it must not open")
    };
    let stranger = Signer::new(origin("setpoint.test"), &[9; 32]);
    for forged in [signed("a", &stranger), "half of".to_owned(), String::new()] {
        assert!(matches!(refused(&forged).await, OpenError::MemoryForged { .. }), "{forged}");
    }
    assert!(matches!(refused(&signed("b", &signer())).await, OpenError::MemoryOfAnotherLog { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_whose_files_are_removed_records_nothing_more_and_leaves_the_next_one_alone() {
    let place = Place::new();
    let begin = Options::new(place.data(), signer()).remembering(origin("a"));
    let ledger = opened(&begin).await;
    let holder = lease(&ledger, "a").await;
    ledger.append(batch(&holder, vec![entry("one")])).await.expect("appended");
    fs::remove_dir_all(place.data()).expect("it is ours");
    let error = ledger.append(batch(&holder, vec![entry("two")])).await.expect_err("no one can read it");
    assert!(matches!(error, LedgerError::Removed { .. }), "{error:?}");
    assert_eq!(error.class(), Class::NotDurable);

    // A second process starts at the same path.
    let second = SqlLedger::open(begin.clone()).await.expect("the path is free");
    let newcomer = lease(&second, "a").await;
    second.append(batch(&newcomer, vec![entry("first")])).await.expect("appended");
    second.close().await.expect("closed");
    let kept = fs::read(remembered_in(&place.data())).expect("it is remembered");
    let again = ledger.append(batch(&holder, vec![entry("three")])).await.expect_err("for good");
    assert!(matches!(again, LedgerError::Removed { .. }), "{again:?}");
    drop(ledger.close().await);
    assert_eq!(fs::read(remembered_in(&place.data())).expect("it is there"), kept);
}
