//! Tests that many appends share one sync, and that a failed one does not affect the others.

use std::sync::Arc;

use serde_json::json;
use setpoint_core::claim::Claim;
use setpoint_core::facts::Change;
use setpoint_ledger::{Body, Class, Ledger, Record};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::task::JoinSet;

use crate::scene::{Place, at, batch, entry, lease, origin, request};
use crate::story;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_appends_each_get_their_own_answer() {
    let place = Place::new();
    let ledger = Arc::new(place.open().await);
    let lease = lease(&*ledger, "a").await;
    let mut appends = JoinSet::new();
    for n in 0..400_u64 {
        let mut entries = vec![entry(&format!("app-{n}"))];
        if n % 5 == 0 {
            // Closing an intent that was never opened does not fit: only this batch is refused.
            let intent = format!("9-{n}").parse().expect("an intent's name");
            let end = setpoint_core::intent::IntentEnd::Done;
            entries.push(entry("misfit").with_change(Change::CloseIntent { intent, end }));
        }
        let (ledger, batch) = (Arc::clone(&ledger), batch(&lease, entries));
        appends.spawn(async move { (n, ledger.append(batch).await) });
    }
    while let Some(done) = appends.join_next().await {
        match done.expect("no append panics") {
            (n, Ok(appended)) => {
                assert_ne!(n % 5, 0);
                let stored = ledger.records(&origin("a"), appended.seqs).await.expect("it is there");
                assert_eq!(Record::from_bytes(&stored[0]).expect("a record").subject, format!("app-{n}"));
            }
            (n, Err(error)) => assert_eq!((n % 5, error.class()), (0, Class::Input)),
        }
    }
    assert_eq!(ledger.head(&origin("a")).await.expect("a head").size, 320);
    assert_eq!(ledger.replay_check(&origin("a")).await.expect("it can be replayed"), None);
}

#[tokio::test]
async fn loading_while_others_write_answers_one_moment() {
    let place = Place::new();
    let ledger = Arc::new(place.open().await);
    let lease = lease(&*ledger, "a").await;
    let writer = {
        let (ledger, lease) = (Arc::clone(&ledger), lease.clone());
        async move {
            for n in 0..200 {
                let app = format!("web/app-{n}").parse().expect("an app's name");
                let target = setpoint_core::name::TargetIdentity::new("machine").expect("a target");
                let facts = Arc::new(setpoint_core::facts::AppFacts::new(target));
                let known = entry("app").with_change(Change::PutApp { app, facts });
                let mut batch = batch(&lease, vec![known]);
                batch.now = at(2);
                ledger.append(batch).await.expect("appended");
            }
        }
    };
    let reader = async {
        for _ in 0..50 {
            let loaded = ledger.load(&origin("a")).await.expect("it can be loaded");
            assert_eq!(loaded.facts.apps.len() as u64, loaded.head.size);
        }
    };
    tokio::join!(writer, reader);
}

#[tokio::test]
async fn a_body_is_erased_once_however_many_ask_for_it_at_once() {
    let place = Place::new();
    let ledger = place.open().await;
    let lease = lease(&ledger, "a").await;
    let told = entry("told").with_body("what was said");
    let seq = ledger.append(batch(&lease, vec![told])).await.expect("appended").seqs.start;
    let erasure = story::erasure(lease.epoch);
    assert_eq!(erasure.seq, seq);
    // Both are queued before the writer can run, so they share a transaction.
    let (first, second) = (ledger.erase_body(erasure.clone()), ledger.erase_body(erasure));
    first.await.expect("there is a body to erase");
    assert_eq!(second.await.expect_err("it is gone").class(), Class::Input);
    assert_eq!(ledger.head(&origin("a")).await.expect("a head").size, 2);
    assert_eq!(ledger.body(&origin("a"), seq).await.expect("it is known"), Body::Erased);
}

#[tokio::test]
async fn a_log_whose_first_request_is_refused_was_never_there() {
    let place = Place::new();
    let ledger = place.open().await;
    let mut nobody = lease(&ledger, "a").await;
    nobody.origin = origin("b");
    // In one transaction: the request for `b` is refused and must not use up the number that `c`
    // gets.
    let refused = ledger.append(batch(&nobody, vec![entry("too early")]));
    let granted = ledger.acquire(request("c", at(0)));
    assert_eq!(refused.await.expect_err("nobody holds `b`").class(), Class::Fenced);
    let lease = granted.await.expect("the lease is free");
    ledger.append(batch(&lease, vec![entry("first")])).await.expect("appended");
    let again = ledger.acquire(request("b", at(0))).await.expect("the lease is free");
    ledger.append(batch(&again, vec![entry("first"), entry("second")])).await.expect("appended");
    drop(ledger);
    let ledger = place.open().await;
    for (name, size) in [("a", 0), ("b", 2), ("c", 1)] {
        assert_eq!(ledger.head(&origin(name)).await.expect("a head").size, size, "{name}");
    }
}

#[tokio::test]
async fn a_claim_that_the_table_gives_to_another_log_stops_the_ledger() {
    let place = Place::new();
    let ledger = place.open().await;
    let lease = lease(&ledger, "a").await;
    let claim = json!({ "target": "machine", "key": "file::/a", "app": "web/shop", "origin": "created" });
    let claim: Arc<Claim> = serde_json::from_value(claim).expect("a claim's stored form");
    let put = entry("claim").with_change(Change::PutClaim { claim: claim.clone(), from: None });
    ledger.append(batch(&lease, vec![put])).await.expect("appended");
    let mut other_hand = SqliteConnectOptions::new().filename(place.database()).connect().await.expect("a connection");
    other_hand.execute("UPDATE claims SET log = 99").await.expect("it is changed");
    let again = entry("claim").with_change(Change::PutClaim { claim, from: None });
    let error = ledger.append(batch(&lease, vec![again])).await.expect_err("the table and the facts differ");
    assert_eq!(error.class(), Class::NotDurable);
    let holder: i64 = sqlx::query_scalar("SELECT log FROM claims").fetch_one(&mut other_hand).await.expect("a row");
    assert_eq!(holder, 99, "it is not taken over unseen");
}

#[tokio::test]
async fn a_claim_that_was_refused_leaves_nothing_behind() {
    let place = Place::new();
    let ledger = place.open().await;
    let (first, second) = (lease(&ledger, "a").await, lease(&ledger, "b").await);
    let claim = |key: &str, app: &str| -> Arc<Claim> {
        let text = json!({ "target": "machine", "key": key, "app": app, "origin": "created" });
        serde_json::from_value(text).expect("a claim's stored form")
    };
    let put = |claim: &Arc<Claim>| entry("claim").with_change(Change::PutClaim { claim: claim.clone(), from: None });
    let (ours, theirs, more) =
        (claim("file::/a", "web/shop"), claim("file::/a", "web/blog"), claim("file::/b", "web/blog"));
    ledger.append(batch(&first, vec![put(&ours)])).await.expect("it is free");
    let refused = ledger.append(batch(&second, vec![put(&more), put(&theirs)])).await.expect_err("it is taken");
    assert_eq!(refused.class(), Class::Conflict);
    let drop = Change::DropClaim { target: ours.target.clone(), key: ours.key.clone(), app: ours.app.clone() };
    ledger.append(batch(&first, vec![entry("claim").with_change(drop)])).await.expect("it is ours");
    // The refused log owns neither of the two, and another app of that log may claim them.
    let (theirs, more) = (claim("file::/a", "web/wiki"), claim("file::/b", "web/wiki"));
    ledger.append(batch(&second, vec![put(&theirs), put(&more)])).await.expect("both are free");
    assert_eq!(ledger.replay_check(&origin("b")).await.expect("it can be replayed"), None);
}
