//! Tests that a ledger whose past is in doubt does not write, and reports why.

use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::{Class, Ledger, Standing};
use setpoint_ledger_sql::{OpenError, Options, SqlLedger};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::scene::{Place, at, batch, entry, lease, origin, request, signer};

async fn written(place: &Place, subjects: &[&str]) {
    let ledger = place.open().await;
    let lease = lease(&ledger, "a").await;
    let entries = subjects.iter().map(|subject| entry(subject)).collect();
    ledger.append(batch(&lease, entries)).await.expect("appended");
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
}

async fn refused(options: Options) -> OpenError {
    SqlLedger::open(options).await.expect_err("it must not open")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_76_a_log_its_anchor_never_saw_is_read_only() {
    let (place, other) = (Place::new(), Place::new());
    written(&place, &["one", "two"]).await;
    written(&other, &["one", "other"]).await;
    std::fs::copy(other.anchor(), place.anchor()).expect("the anchor of another ledger");
    let ledger = place.open().await;
    let loaded = ledger.load(&origin("a")).await.expect("reading works");
    assert_eq!(loaded.head.standing, Standing::Forked { anchored: 2 });
    assert_eq!(ledger.records(&origin("a"), 0..2).await.expect("reading works").len(), 2);
    let error = ledger.acquire(request("a", at(5))).await.expect_err("it must not write");
    assert_eq!(error.class(), Class::ReadOnly);
    assert!(error.to_string().contains("record the gap"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_lost_even_its_first_record_is_read_only() {
    let place = Place::new();
    written(&place, &["one"]).await;
    std::fs::remove_dir_all(place.data()).expect("the data folder is lost");
    let ledger = place.open().await;
    let head = ledger.head(&origin("a")).await.expect("a head");
    assert_eq!(head.standing, Standing::Behind { anchored: 1, present: 0 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_anchor_that_cannot_be_believed_stops_the_start() {
    let place = Place::new();
    written(&place, &["one"]).await;
    let stranger = Signer::new(origin("setpoint.test"), &[9; 32]);
    let forged = Checkpoint::sign(origin("a"), 1, 1, setpoint_core::digest::Digest::of(b""), &stranger);
    std::fs::write(place.anchor(), forged.text).expect("written");
    assert!(matches!(refused(place.options()).await, OpenError::AnchorForged { .. }));
    let of_b = Checkpoint::sign(origin("b"), 1, 1, setpoint_core::digest::Digest::of(b""), &signer());
    std::fs::write(place.anchor(), of_b.text).expect("written");
    assert!(matches!(refused(place.options()).await, OpenError::AnchorOfAnotherLog { .. }));
    let folder = Options::new(place.data(), signer()).with_anchor(origin("a"), AnchorFile::new(place.root.path()));
    assert!(matches!(refused(folder).await, OpenError::AnchorUnreadable { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_the_newest_checkpoint_shows_stops_the_start() {
    for damage in [
        "DELETE FROM records WHERE seq = 1",
        "UPDATE records SET bytes = x'7b7d' WHERE seq = 0",
        "UPDATE checkpoints SET text = replace(text, 'epoch 1', 'epoch 2')",
    ] {
        let place = Place::new();
        written(&place, &["one", "two"]).await;
        let options = SqliteConnectOptions::new().filename(place.database());
        let mut connection = options.connect().await.expect("the database opens");
        connection.execute(damage).await.expect("damaged");
        connection.close().await.expect("closed");
        assert!(matches!(refused(place.options()).await, OpenError::Damaged { .. }), "{damage}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_database_is_not_taken_for_a_ledger() {
    let place = Place::new();
    written(&place, &["one"]).await;
    for (statement, newer) in [("PRAGMA user_version = 99", true), ("PRAGMA application_id = 7", false)] {
        let mut connection =
            SqliteConnectOptions::new().filename(place.database()).connect().await.expect("the database opens");
        connection.execute(statement).await.expect("changed");
        connection.close().await.expect("closed");
        let error = refused(place.options()).await;
        assert_eq!(matches!(error, OpenError::TooNew { found: 99, .. }), newer, "{error:?}");
        assert_eq!(matches!(error, OpenError::NotALedger { .. }), !newer, "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checkpoints_from_before_a_key_rotation_are_believed_with_the_former_key() {
    let place = Place::new();
    written(&place, &["one"]).await;
    let next = Signer::new(origin("setpoint.test"), &[8; 32]);
    let anchor = AnchorFile::new(place.anchor());
    let rotated = Options::new(place.data(), next).with_anchor(origin("a"), anchor);
    assert!(matches!(refused(rotated.clone()).await, OpenError::Damaged { .. }));
    let ledger = crate::scene::opened(&rotated.with_former_keys(vec![signer().public()])).await;
    assert_eq!(ledger.head(&origin("a")).await.expect("a head").standing, Standing::Sound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_in_doubt_does_not_move_its_anchor_back() {
    let place = Place::new();
    written(&place, &["one"]).await;
    let copy = place.root.path().join("copy.db");
    std::fs::copy(place.database(), &copy).expect("copied");
    written(&place, &["two", "three"]).await;
    let anchored = place.anchor_text();
    std::fs::copy(copy, place.database()).expect("an older copy is restored");
    for _ in 0..2 {
        let ledger = place.open().await;
        let standing = ledger.head(&origin("a")).await.expect("a head").standing;
        assert_eq!(standing, Standing::Behind { anchored: 3, present: 1 });
        ledger.acquire(request("a", at(5))).await.expect_err("it must not write");
        ledger.checkpoint(&origin("a")).await.expect("what was signed is still there");
        ledger.close().await.expect("closed");
        drop(ledger);
        place.settle();
        assert_eq!(place.anchor_text(), anchored);
    }
}
