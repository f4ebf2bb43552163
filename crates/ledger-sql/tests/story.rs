//! A ledger with all kinds of content, for tests that damage or verify one.

use std::sync::Arc;

use serde_json::json;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change};
use setpoint_core::intent::IntentEnd;
use setpoint_core::name::{Actor, AppId, Scope, TargetIdentity};
use setpoint_ledger::{Entry, Erasure, Kind, Ledger};

use crate::scene::{Place, at, batch, entry, lease, origin};

/// The number of batches in the whole story, of about four records each: more than a segment.
const ROUNDS: u64 = 300;

fn app(n: u64) -> AppId {
    format!("web/app-{}", n % 7).parse().expect("an app's name")
}

fn target() -> TargetIdentity {
    TargetIdentity::new("machine-1").expect("a target")
}

fn claim(n: u64) -> Change {
    let claim = json!({ "target": "machine-1", "key": format!("file::/etc/{n}"), "app": app(n), "origin": "created" });
    Change::PutClaim { claim: serde_json::from_value(claim).expect("a claim"), from: None }
}

fn open(epoch: u64, n: u64) -> Change {
    let digest = Digest::of(b"bundle");
    let intent = json!({
        "id": format!("{epoch}-{n}"), "app": app(n), "target": "machine-1", "key": format!("file::/etc/{n}"),
        "verb": "create", "plan": digest, "bundle": digest, "at": at(0), "leave_by": at(5), "land_by": at(35),
    });
    Change::OpenIntent { intent: serde_json::from_value(intent).expect("an intent") }
}

fn accepted(n: u64) -> Change {
    let mut facts = AppFacts::new(target());
    let accepted = json!({ "bundle": Digest::of(b"bundle"), "sequence": n, "revision": {}, "at": at(0) });
    facts.accepted = serde_json::from_value(accepted).ok();
    Change::PutApp { app: app(n), facts: Arc::new(facts) }
}

fn of(kind: Kind, subject: &str) -> Entry {
    Entry { kind, ..entry(subject) }
}

/// Returns one batch of the story: a plan, an intent with its claim, its result, and sometimes
/// more.
pub(crate) fn round(epoch: u64, n: u64) -> Vec<Entry> {
    let intent = format!("{epoch}-{n}").parse().expect("an intent's name");
    let done = Change::CloseIntent { intent, end: IntentEnd::Done };
    let mut entries = vec![
        of(Kind::Plan, "plan").with_data("step", n).with_body(format!("why {n}")),
        of(Kind::Intent, "intent").with_change(claim(n)).with_change(open(epoch, n)),
        of(Kind::AppState, "app").with_change(accepted(n)),
    ];
    if !n.is_multiple_of(9) {
        entries.push(of(Kind::EffectResult, "done").with_change(done));
    }
    entries
}

/// Writes only the first chapter, and closes the ledger.
pub(crate) async fn write_half(place: &Place) {
    write_chapters(place, 0..1).await;
}

/// Writes the story: two epochs, claims, open intents, apps, bodies, a bundle, an erasure,
/// checkpoints and an anchor.
pub(crate) async fn write(place: &Place) {
    let ledger = place.open().await;
    let begun = ledger.head(&origin("a")).await.expect("a head").size > 0;
    drop(ledger);
    write_chapters(place, u64::from(begun)..2).await;
}

async fn write_chapters(place: &Place, chapters: std::ops::Range<u64>) {
    let ledger = place.open().await;
    for chapter in chapters {
        let lease = lease(&ledger, "a").await;
        for n in 0..ROUNDS / 2 {
            let mut batch = batch(&lease, round(lease.epoch, chapter * 1_000 + n));
            batch.bundles.insert(Digest::of(b"bundle"), b"bundle".to_vec());
            ledger.append(batch).await.expect("appended");
            if n % 40 == 39 {
                ledger.checkpoint(&origin("a")).await.expect("signed");
            }
        }
        if chapter == 0 {
            ledger.erase_body(erasure(lease.epoch)).await.expect("erased");
        }
    }
    ledger.close().await.expect("closed");
    drop(ledger);
    place.settle();
}

pub(crate) fn erasure(epoch: u64) -> Erasure {
    Erasure {
        origin: origin("a"),
        epoch,
        now: at(1),
        seq: 0,
        scope: Scope::default_scope(),
        actor: Actor::new("ada").expect("an actor"),
        reason: "asked for".to_owned(),
    }
}
