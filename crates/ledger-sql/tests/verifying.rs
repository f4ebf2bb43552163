//! Tests that the independent verifier agrees with the writer's data, and reports usefully.

use setpoint_ledger::{Gap, Ledger};
use setpoint_ledger_verify::{export, prove, verify};

use crate::scene::{Place, at, batch, entry, key, lease, origin, request};
use crate::story;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untouched_ledger_is_sound() {
    let place = Place::new();
    story::write(&place).await;
    let report = verify(&place.database(), &[place.anchor_text()], &[key()]).await.expect("it can be judged");
    assert_eq!(report.findings, []);
    let log = &report.logs[0];
    assert!(log.records > 1_024, "more than a segment: {}", log.records);
    assert_eq!((log.signed, log.anchored, log.erased), (log.records, log.records, 1));
    assert!(log.checkpoints > 4 && log.bodies > 100, "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_is_verified_while_it_is_written() {
    let place = Place::new();
    let ledger = place.open().await;
    let lease = lease(&ledger, "a").await;
    for n in 0..20 {
        ledger.append(batch(&lease, story::round(lease.epoch, n))).await.expect("appended");
        let report = verify(&place.database(), &[], &[key()]).await.expect("it can be judged");
        // The bundle of these rounds was never stored: that is the only finding.
        assert!(report.findings.iter().all(|finding| finding.what.contains("bundle")), "{:?}", report.findings);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_can_be_recomputed_from_its_own_text() {
    let place = Place::new();
    story::write(&place).await;
    let text = prove(&place.database(), "a", 700, &[key()]).await.expect("it is signed");
    let record = text.lines().find(|line| line.starts_with('{')).expect("the record");
    let leaf = setpoint_ledger::merkle::leaf_hash(record.as_bytes());
    assert!(text.contains(&format!("00, the record\n    = {leaf}\n")), "{text}");
    assert!(text.contains(&place.anchor_text()), "the checkpoint that signs it is part of the text");
    assert!(prove(&place.database(), "a", 1_000_000, &[key()]).await.is_err());
    assert!(prove(&place.database(), "other", 0, &[key()]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_holds_every_record_as_stored() {
    let place = Place::new();
    story::write(&place).await;
    let mut out = Vec::new();
    let written = export(&place.database(), "a", &mut out).await.expect("exported");
    let ledger = place.open().await;
    let stored = ledger.records(&origin("a"), 0..written).await.expect("the records");
    assert!(out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).eq(stored.iter().map(Vec::as_slice)));
    assert_eq!(ledger.head(&origin("a")).await.expect("a head").size, written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_gap_answers_the_anchor_it_names() {
    let place = Place::new();
    let ledger = place.open().await;
    let first = lease(&ledger, "a").await;
    ledger.append(batch(&first, vec![entry("one"), entry("two")])).await.expect("appended");
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
    let copy = std::fs::read(place.database()).expect("a copy");
    let ledger = place.open().await;
    let second = lease(&ledger, "a").await;
    ledger.append(batch(&second, vec![entry("three")])).await.expect("appended");
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
    let old_anchor = place.anchor_text();
    std::fs::write(place.database(), copy).expect("restored");
    let report =
        verify(&place.database(), std::slice::from_ref(&old_anchor), &[key()]).await.expect("it can be judged");
    assert_eq!(report.findings[0].seq, Some(2), "the first missing record is named");

    let ledger = place.open().await;
    let gap = Gap {
        lease: request("a", at(5)),
        actor: setpoint_core::name::Actor::new("ada").expect("an actor"),
        reason: "the disk was replaced".to_owned(),
        lost: 2..3,
    };
    ledger.record_gap(gap).await.expect("recorded");
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
    let anchors = [old_anchor, place.anchor_text()];
    let report = verify(&place.database(), &anchors, &[key()]).await.expect("it can be judged");
    assert_eq!((report.findings, report.logs[0].gaps), (vec![], 1));
}
