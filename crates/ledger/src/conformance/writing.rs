//! Cases about writing: durability, all or nothing, order, fencing, facts, claims, bundles.

use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change, Facts};
use setpoint_core::time::Span;

use super::{
    Harness, app, at, batch, close_intent, drop_claim, entry, lease, open_intent, origin, put_claim, request, seen,
    target,
};
use crate::error::Class;
use crate::record::{Kind, Record};

pub(super) async fn an_answered_append_is_there_after_opening_again(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let claimed = vec![entry(Kind::Intent, "shop").with_change(put_claim(1)).with_body("why")];
    let appended = ledger.append(batch(&holder, claimed)).await.unwrap();
    assert_eq!(appended.seqs, 0..1);
    let before = ledger.load(&origin("a")).await.unwrap();
    drop(ledger);
    let ledger = harness.open().await;
    let after = ledger.load(&origin("a")).await.unwrap();
    assert_eq!(after.facts, before.facts);
    assert_eq!((after.head.size, after.head.root, after.head.epoch), (1, before.head.root, before.head.epoch));
    assert_eq!(ledger.body(&origin("a"), 0).await.unwrap(), crate::Body::Bytes(b"why".to_vec()));
}

pub(super) async fn a_batch_whose_last_change_does_not_fit_leaves_nothing(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let busy = entry(Kind::Intent, "shop").with_change(open_intent(1, 7));
    ledger.append(batch(&holder, [seen(2), vec![busy]].concat())).await.unwrap();
    let before = ledger.load(&origin("a")).await.unwrap();
    let mut misfit = batch(
        &holder,
        vec![
            entry(Kind::Intent, "shop").with_change(put_claim(1)).with_change(close_intent(1, 7)).with_body("body"),
            entry(Kind::Intent, "shop").with_change(open_intent(1, 7)).with_change(drop_claim(2)),
        ],
    );
    misfit.bundles.insert(Digest::of(b"bundle"), b"bundle".to_vec());
    assert_eq!(ledger.append(misfit).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.load(&origin("a")).await.unwrap(), before);
    assert_eq!(ledger.bundle(&Digest::of(b"bundle")).await.unwrap(), None);
    assert_eq!(ledger.append(batch(&holder, seen(1))).await.unwrap().seqs, 3..4);
    assert_eq!(ledger.replay_check(&origin("a")).await.unwrap(), None);
}

pub(super) async fn records_are_numbered_without_gaps_and_epochs_never_fall(harness: &dyn Harness) {
    let ledger = harness.open().await;
    for round in 0..4 {
        let holder = lease(&*ledger, "a").await;
        assert_eq!(holder.epoch, round + 1);
        ledger.append(batch(&holder, seen(round as usize + 1))).await.unwrap();
    }
    let stored = ledger.records(&origin("a"), 0..10).await.unwrap();
    let records: Vec<_> = stored.iter().map(|bytes| Record::from_bytes(bytes).unwrap()).collect();
    assert!(records.iter().map(|record| record.seq).eq(0..10));
    assert!(records.is_sorted_by_key(|record| record.epoch));
    assert_eq!(ledger.records(&origin("a"), 4..6).await.unwrap(), stored[4..6]);
}

pub(super) async fn appends_are_recorded_in_the_order_of_the_calls(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let opened = vec![entry(Kind::Intent, "shop").with_change(open_intent(1, 1))];
    let closed = vec![entry(Kind::EffectResult, "shop").with_change(close_intent(1, 1))];
    let first = ledger.append(batch(&holder, opened));
    drop(ledger.append(batch(&holder, seen(2))));
    let third = ledger.append(batch(&holder, closed));
    assert_eq!(third.await.unwrap().seqs, 3..4, "it rests on the first, although it is awaited before it");
    assert_eq!(first.await.unwrap().seqs, 0..1);
}

pub(super) async fn an_earlier_epoch_and_an_expired_lease_record_nothing(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let first = ledger.acquire(request("a", "one", 0)).await.unwrap();
    let mut late = batch(&first, seen(1));
    late.now = at(30);
    assert_eq!(ledger.append(late).await.unwrap_err().class(), Class::Fenced, "the lease ran out");
    assert_eq!(ledger.renew(&first, at(30), Span::seconds(30)).await.unwrap_err().class(), Class::Fenced);
    let second = ledger.acquire(request("a", "two", 30)).await.unwrap();
    let mut stale = batch(&first, seen(1));
    stale.now = at(31);
    assert_eq!(ledger.append(stale).await.unwrap_err().class(), Class::Fenced, "another epoch writes");
    assert_eq!(ledger.append(batch(&second, seen(1))).await.unwrap().seqs, 0..1);
    ledger.release(&second).await.unwrap();
    assert_eq!(ledger.append(batch(&second, seen(1))).await.unwrap_err().class(), Class::Fenced, "it was released");
}

pub(super) async fn a_log_has_one_holder_at_a_time(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let first = ledger.acquire(request("a", "one", 0)).await.unwrap();
    assert_eq!(ledger.acquire(request("a", "two", 29)).await.unwrap_err().class(), Class::Conflict);
    let renewed = ledger.renew(&first, at(20), Span::seconds(30)).await.unwrap();
    assert_eq!((renewed.epoch, renewed.expires), (first.epoch, at(50)));
    drop(ledger);
    let ledger = harness.open().await;
    assert_eq!(ledger.acquire(request("a", "two", 49)).await.unwrap_err().class(), Class::Conflict, "it is durable");
    ledger.release(&renewed).await.unwrap();
    let second = ledger.acquire(request("a", "two", 49)).await.unwrap();
    assert!(second.epoch > first.epoch);
}

pub(super) async fn facts_are_the_fold_of_the_records(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let changes = [
        Change::Installed { at: at(0) },
        put_claim(1),
        put_claim(2),
        open_intent(1, 1),
        open_intent(1, 2),
        close_intent(1, 1),
        drop_claim(1),
        Change::PutApp { app: app(), facts: Arc::new(AppFacts::new(target())) },
        Change::PutApp { app: "web/old".parse().unwrap(), facts: Arc::new(AppFacts::new(target())) },
        Change::ForgetApp { app: "web/old".parse().unwrap() },
    ];
    let mut expected = Facts::default();
    for change in changes {
        expected.apply(&change).unwrap();
        ledger.append(batch(&holder, vec![entry(Kind::AppState, "shop").with_change(change)])).await.unwrap();
        assert_eq!(ledger.load(&origin("a")).await.unwrap().facts, expected);
    }
    for again in [Change::Installed { at: at(1) }, open_intent(1, 2), close_intent(1, 1), drop_claim(1)] {
        let refused = ledger.append(batch(&holder, vec![entry(Kind::AppState, "shop").with_change(again)])).await;
        assert_eq!(refused.unwrap_err().class(), Class::Input);
    }
    assert_eq!(ledger.replay_check(&origin("a")).await.unwrap(), None);
    drop(ledger);
    let ledger = harness.open().await;
    assert_eq!(ledger.load(&origin("a")).await.unwrap().facts, expected);
}

pub(super) async fn a_claim_has_one_holder_among_all_logs(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let (a, b) = (lease(&*ledger, "a").await, lease(&*ledger, "b").await);
    let claim = |n| vec![entry(Kind::Intent, "shop").with_change(put_claim(n))];
    ledger.append(batch(&a, claim(1))).await.unwrap();
    let refused = ledger.append(batch(&b, [seen(1), claim(1)].concat())).await;
    assert_eq!(refused.unwrap_err().class(), Class::Conflict);
    let facts_of_b = ledger.load(&origin("b")).await.unwrap();
    assert_eq!((facts_of_b.head.size, facts_of_b.facts), (0, Facts::default()));
    ledger.append(batch(&a, vec![entry(Kind::EffectResult, "shop").with_change(drop_claim(1))])).await.unwrap();
    ledger.append(batch(&b, claim(1))).await.unwrap();
    for name in ["a", "b"] {
        assert_eq!(ledger.replay_check(&origin(name)).await.unwrap(), None);
    }
}

pub(super) async fn a_bundle_comes_with_its_batch_and_must_match_its_digest(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let digest = Digest::of(b"bundle");
    let mut forged = batch(&holder, seen(1));
    forged.bundles.insert(digest, b"other".to_vec());
    assert_eq!(ledger.append(forged).await.unwrap_err().class(), Class::Input);
    for _ in 0..2 {
        let mut honest = batch(&holder, seen(1));
        honest.bundles.insert(digest, b"bundle".to_vec());
        ledger.append(honest).await.unwrap();
    }
    assert_eq!(ledger.bundle(&digest).await.unwrap().as_deref(), Some(&b"bundle"[..]));
    assert_eq!(ledger.bundle(&Digest::of(b"never")).await.unwrap(), None);
}

pub(super) async fn a_batch_that_cannot_be_recorded_is_refused(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let inexact = vec![entry(Kind::Plan, "shop"), entry(Kind::Plan, "shop").with_data("ratio", 0.5)];
    for entries in [Vec::new(), inexact] {
        assert_eq!(ledger.append(batch(&holder, entries)).await.unwrap_err().class(), Class::Input);
    }
    assert_eq!(ledger.head(&origin("a")).await.unwrap().size, 0);
}

pub(super) async fn nothing_is_recorded_after_closing(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    ledger.append(batch(&holder, seen(2))).await.unwrap();
    ledger.close().await.unwrap();
    assert_eq!(ledger.append(batch(&holder, seen(1))).await.unwrap_err().class(), Class::NotDurable);
    drop(ledger);
    let ledger = harness.open().await;
    let head = ledger.head(&origin("a")).await.unwrap();
    assert_eq!((head.size, head.checkpointed), (2, 2), "closing signs what was not signed");
}
