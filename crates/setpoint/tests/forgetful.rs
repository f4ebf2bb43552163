//! A ledger that loses a bundle. An app without its bundle would look like one that declares
//! nothing, so nothing is loaded.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use setpoint::interpreter::Opening;
use setpoint_core::digest::Digest;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::Checkpoint;
use setpoint_ledger::proof::{Consistency, Inclusion};
use setpoint_ledger::{
    Answer, Appended, Batch, Body, Erasure, Gap, Head, Lease, LeaseRequest, Ledger, Loaded, MemoryLedger, Origin,
};

use crate::scene::{Scene, app, body, key, origin, resources, until, until_converged};

/// The damage done to bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Lost,
    Altered,
}

/// A ledger whose bundles are damaged until they are restored.
#[derive(Clone, Debug)]
struct Forgetful {
    inner: MemoryLedger,
    damage: Damage,
    damaged: Arc<AtomicBool>,
    /// The number of times that facts were loaded.
    loads: Arc<AtomicUsize>,
}

impl Ledger for Forgetful {
    fn bundle(&self, digest: &Digest) -> Answer<'_, Option<Vec<u8>>> {
        let digest = *digest;
        Box::pin(async move {
            let bytes = self.inner.bundle(&digest).await?;
            Ok(match self.damage {
                _ if !self.damaged.load(Ordering::Relaxed) => bytes,
                Damage::Lost => None,
                Damage::Altered => bytes.map(|bytes| [&bytes[..], b" "].concat()),
            })
        })
    }

    fn load(&self, origin: &Origin) -> Answer<'_, Loaded> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.inner.load(origin)
    }

    fn acquire(&self, request: LeaseRequest) -> Answer<'_, Lease> {
        self.inner.acquire(request)
    }

    fn renew(&self, lease: &Lease, now: Timestamp, length: Span) -> Answer<'_, Lease> {
        self.inner.renew(lease, now, length)
    }

    fn release(&self, lease: &Lease) -> Answer<'_, ()> {
        self.inner.release(lease)
    }

    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        self.inner.append(batch)
    }

    fn head(&self, origin: &Origin) -> Answer<'_, Head> {
        self.inner.head(origin)
    }

    fn records(&self, origin: &Origin, range: Range<u64>) -> Answer<'_, Vec<Vec<u8>>> {
        self.inner.records(origin, range)
    }

    fn body(&self, origin: &Origin, seq: u64) -> Answer<'_, Body> {
        self.inner.body(origin, seq)
    }

    fn erase_body(&self, erasure: Erasure) -> Answer<'_, Appended> {
        self.inner.erase_body(erasure)
    }

    fn checkpoint(&self, origin: &Origin) -> Answer<'_, Option<Checkpoint>> {
        self.inner.checkpoint(origin)
    }

    fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Answer<'_, Inclusion> {
        self.inner.prove_inclusion(origin, seq, size)
    }

    fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Answer<'_, Consistency> {
        self.inner.prove_consistency(origin, old, new)
    }

    fn record_gap(&self, gap: Gap) -> Answer<'_, Lease> {
        self.inner.record_gap(gap)
    }

    fn replay_check(&self, origin: &Origin) -> Answer<'_, Option<String>> {
        self.inner.replay_check(origin)
    }

    fn close(&self) -> Answer<'_, ()> {
        self.inner.close()
    }
}

async fn nothing_is_held_until_the_bundle_is_back(damage: Damage) {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    drop(handle);
    scene.target.with_world(|world| world.edit(&key(&shop, 3), &Arc::new(body(&shop, 3, 666)), "mallory"));

    let (damaged, loads) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let inner = scene.ledger.clone();
    let forgetful = Forgetful { inner, damage, damaged: Arc::clone(&damaged), loads: Arc::clone(&loads) };
    let open_ledger = move || -> Opening {
        let opened: Arc<dyn Ledger> = Arc::new(forgetful.clone());
        Box::pin(std::future::ready(Ok(opened)))
    };
    let size = scene.ledger.log().head(&origin()).size;
    let mut handle = scene.start_with(Box::new(open_ledger), Arc::new(scene.target.clone()), &[&shop]).await;
    let tried = async {
        while loads.load(Ordering::Relaxed) < 3 {
            handle.stepped().await.expect("it runs");
        }
    };
    tokio::time::timeout(Duration::from_secs(3_600), tried).await.expect("it goes on trying");
    assert_eq!(handle.status(&shop).await.expect("it runs"), None, "nothing was taken up");
    let trouble = handle.trouble().expect("a person can find out why");
    assert!(trouble.starts_with("bundle ") && trouble.contains("restore a copy"), "{trouble}");
    assert_eq!(scene.ledger.log().head(&origin()).size, size, "nothing was recorded");

    damaged.store(false, Ordering::Relaxed);
    until(&mut handle, &shop, |status| {
        status.converged && scene.standing()[&key(&shop, 3).to_string()] == body(&shop, 3, 1)
    })
    .await;
    assert_eq!(handle.trouble(), None);
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_is_lost_keeps_everything_from_being_loaded() {
    nothing_is_held_until_the_bundle_is_back(Damage::Lost).await;
}

#[tokio::test(start_paused = true)]
async fn a_bundle_with_other_bytes_than_its_digest_says_keeps_everything_from_being_loaded() {
    nothing_is_held_until_the_bundle_is_back(Damage::Altered).await;
}
