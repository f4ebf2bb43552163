//! Cases about evidence: bodies, checkpoints, proofs, and a log whose past is in doubt.

use setpoint_core::name::{Actor, Scope};

use super::{Harness, at, batch, entry, lease, origin, request, seen};
use crate::contract::{Body, Erasure, Gap, Standing};
use crate::error::Class;
use crate::merkle::leaf_hash;
use crate::record::{Kind, Record};

pub(super) async fn an_erased_body_is_gone_and_its_erasure_is_recorded(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    let entries = vec![entry(Kind::Approval, "shop").with_body("Ada Lovelace"), entry(Kind::Plan, "shop")];
    ledger.append(batch(&holder, entries)).await.unwrap();
    let before = ledger.records(&origin("a"), 0..2).await.unwrap();
    let erasure = |seq| Erasure {
        origin: origin("a"),
        epoch: holder.epoch,
        now: at(2),
        seq,
        scope: Scope::default_scope(),
        actor: Actor::new("dpo").expect("a valid actor"),
        reason: "asked for by the person".to_owned(),
    };
    assert_eq!(ledger.body(&origin("a"), 1).await.unwrap(), Body::None);
    assert_eq!(ledger.erase_body(erasure(1)).await.unwrap_err().class(), Class::Input, "it has no body");
    assert_eq!(ledger.erase_body(erasure(0)).await.unwrap().seqs, 2..3);
    assert_eq!(ledger.body(&origin("a"), 0).await.unwrap(), Body::Erased);
    assert_eq!(ledger.erase_body(erasure(0)).await.unwrap_err().class(), Class::Input, "it is erased already");
    assert_eq!(ledger.records(&origin("a"), 0..2).await.unwrap(), before, "the log itself is as it was");
    let record = Record::from_bytes(&ledger.records(&origin("a"), 2..3).await.unwrap()[0]).unwrap();
    assert_eq!((record.kind, record.data["erased"].as_u64()), (Kind::Override, Some(0)));
}

pub(super) async fn proofs_lead_to_the_signed_root(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    // More than two segments, so that proofs hold stored segment roots and records at both edges.
    let sizes = [1, 700, 1_023, 1_024, 1_025, 2_047, 2_500];
    let mut checkpoints = Vec::new();
    let mut size = 0;
    for next in sizes {
        ledger.append(batch(&holder, seen((next - size) as usize))).await.unwrap();
        size = next;
        checkpoints.push(ledger.checkpoint(&origin("a")).await.unwrap().expect("there are records"));
    }
    for checkpoint in &checkpoints {
        for seq in [0, 1, 699, 1_022, 1_023, 1_024, 2_046, 2_499].into_iter().filter(|seq| *seq < checkpoint.size) {
            let proof = ledger.prove_inclusion(&origin("a"), seq, checkpoint.size).await.unwrap();
            let stored = ledger.records(&origin("a"), seq..seq + 1).await.unwrap();
            assert_eq!(proof.leaf, leaf_hash(&stored[0]));
            assert!(proof.leads_to(&checkpoint.root), "record {seq} of {}", checkpoint.size);
        }
        for older in checkpoints.iter().filter(|older| older.size <= checkpoint.size) {
            let proof = ledger.prove_consistency(&origin("a"), older.size, checkpoint.size).await.unwrap();
            assert!(proof.leads(&older.root, &checkpoint.root), "{} of {}", older.size, checkpoint.size);
        }
    }
}

pub(super) async fn a_checkpoint_is_made_only_after_new_records(harness: &dyn Harness) {
    let ledger = harness.open().await;
    assert_eq!(ledger.checkpoint(&origin("a")).await.unwrap(), None);
    let holder = lease(&*ledger, "a").await;
    ledger.append(batch(&holder, seen(2))).await.unwrap();
    let head = ledger.head(&origin("a")).await.unwrap();
    assert_eq!((head.checkpointed, head.checkpoint_due), (0, Some(at(60))));
    let first = ledger.checkpoint(&origin("a")).await.unwrap().expect("there are records");
    assert_eq!((first.size, first.epoch), (2, holder.epoch));
    assert_eq!(ledger.checkpoint(&origin("a")).await.unwrap(), Some(first), "nothing new, nothing signed");
    ledger.append(batch(&holder, seen(999))).await.unwrap();
    assert_eq!(ledger.head(&origin("a")).await.unwrap().checkpointed, 2);
    ledger.append(batch(&holder, seen(1))).await.unwrap();
    assert_eq!(ledger.head(&origin("a")).await.unwrap().checkpointed, 1_002, "a thousand are due");
}

pub(super) async fn a_person_s_decision_is_checkpointed_at_once(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    for (n, kind) in [Kind::Approval, Kind::Override, Kind::AccessChanged, Kind::KeyRotated].into_iter().enumerate() {
        ledger.append(batch(&holder, vec![entry(kind, "shop")])).await.unwrap();
        assert_eq!(ledger.head(&origin("a")).await.unwrap().checkpointed, n as u64 + 1);
    }
}

pub(super) async fn asking_beyond_the_log_is_an_error_not_an_empty_answer(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    ledger.append(batch(&holder, seen(2))).await.unwrap();
    assert_eq!(ledger.records(&origin("a"), 1..3).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.body(&origin("a"), 2).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.prove_inclusion(&origin("a"), 2, 2).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.prove_inclusion(&origin("a"), 0, 3).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.prove_consistency(&origin("a"), 1, 3).await.unwrap_err().class(), Class::Input);
    assert_eq!(ledger.load(&origin("never")).await.unwrap().head.size, 0);
    assert!(ledger.records(&origin("never"), 0..0).await.unwrap().is_empty());
    assert_eq!(ledger.records(&origin("never"), 0..1).await.unwrap_err().class(), Class::Input);
}

pub(super) async fn a_restored_copy_is_read_only_until_its_gap_is_recorded(harness: &dyn Harness) {
    let ledger = harness.open().await;
    let holder = lease(&*ledger, "a").await;
    ledger.append(batch(&holder, seen(3))).await.unwrap();
    ledger.close().await.unwrap();
    drop(ledger);
    harness.back_up();

    let ledger = harness.open().await;
    let later = lease(&*ledger, "a").await;
    ledger.append(batch(&later, seen(4))).await.unwrap();
    ledger.close().await.unwrap();
    drop(ledger);
    harness.restore();

    let ledger = harness.open().await;
    let loaded = ledger.load(&origin("a")).await.unwrap();
    assert_eq!(loaded.head.standing, Standing::Behind { anchored: 7, present: 3 });
    assert_eq!(ledger.append(batch(&later, seen(1))).await.unwrap_err().class(), Class::ReadOnly);
    assert_eq!(ledger.acquire(request("a", "suite", 9)).await.unwrap_err().class(), Class::ReadOnly);
    let gap = |lost| Gap {
        lease: request("a", "suite", 9),
        actor: Actor::new("ada").expect("a valid actor"),
        reason: "the disk was replaced".to_owned(),
        lost,
    };
    assert_eq!(ledger.record_gap(gap(3..6)).await.unwrap_err().class(), Class::Input, "it must name what was lost");
    let renewed = ledger.record_gap(gap(3..7)).await.unwrap();
    assert!(renewed.epoch > later.epoch + 1_000, "the new epoch is above every lost one, also those no anchor saw");
    ledger.append(batch(&renewed, seen(1))).await.unwrap();
    let record = Record::from_bytes(&ledger.records(&origin("a"), 3..4).await.unwrap()[0]).unwrap();
    assert_eq!((record.kind, record.epoch), (Kind::LedgerGap, renewed.epoch));
    ledger.close().await.unwrap();
    drop(ledger);
    let ledger = harness.open().await;
    assert_eq!(ledger.head(&origin("a")).await.unwrap().standing, Standing::Sound);
    assert_eq!(ledger.record_gap(gap(3..7)).await.unwrap_err().class(), Class::Input, "there is no gap any more");
}
