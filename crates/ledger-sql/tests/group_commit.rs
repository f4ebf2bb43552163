//! Many appends share one sync, and none of them suffers for another.

use std::sync::Arc;

use setpoint_core::facts::Change;
use setpoint_ledger::{Class, Ledger, Record};
use tokio::task::JoinSet;

use crate::scene::{Place, at, batch, entry, lease, origin};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_appends_each_get_their_own_answer() {
    let place = Place::new();
    let ledger = Arc::new(place.open().await);
    let lease = lease(&*ledger, "a").await;
    let mut appends = JoinSet::new();
    for n in 0..400_u64 {
        let mut entries = vec![entry(&format!("app-{n}"))];
        if n % 5 == 0 {
            // Closing what was never opened does not fit: this batch, and only this one, is refused.
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
                let facts = Box::new(setpoint_core::facts::AppFacts::new(target));
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
