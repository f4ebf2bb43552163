//! Shared by the tests: a data directory with an anchor next to it, and entries to write.

use std::path::PathBuf;

use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{Batch, Entry, Kind, Lease, LeaseRequest, Ledger, Origin};
use setpoint_ledger_sql::{OpenError, Options, SqlLedger};
use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a folder for the test") }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("ledger.db")
    }

    pub(crate) fn anchor(&self) -> PathBuf {
        self.root.path().join("anchor")
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.data(), signer()).with_anchor(origin("a"), AnchorFile::new(self.anchor()))
    }

    pub(crate) fn anchor_text(&self) -> String {
        std::fs::read_to_string(self.anchor()).expect("an anchor was written")
    }

    /// Waits until a dropped ledger has closed its files.
    pub(crate) fn settle(&self) {
        let lock = std::fs::File::open(self.data().join("lock")).expect("the folder was used");
        tokio::task::block_in_place(|| lock.lock()).expect("the writer ends");
    }

    pub(crate) async fn open(&self) -> SqlLedger {
        opened(&self.options()).await
    }
}

/// Opens a ledger that may just have been dropped: its writer unlocks the directory when it ends.
pub(crate) async fn opened(options: &Options) -> SqlLedger {
    loop {
        match SqlLedger::open(options.clone()).await {
            Ok(ledger) => return ledger,
            Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

pub(crate) fn signer() -> Signer {
    Signer::new(origin("setpoint.test"), &[7; 32])
}

pub(crate) fn origin(name: &str) -> Origin {
    Origin::new(name).expect("a valid origin")
}

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000) + Span::seconds(seconds)
}

pub(crate) fn request(name: &str, now: Timestamp) -> LeaseRequest {
    LeaseRequest { origin: origin(name), holder: "test".to_owned(), now, length: Span::hours(1_000) }
}

pub(crate) async fn lease(ledger: &dyn Ledger, name: &str) -> Lease {
    ledger.acquire(request(name, at(0))).await.expect("the lease is free")
}

/// Returns the signer's public key in the verifier's own type.
pub(crate) fn key() -> setpoint_ledger_verify::Key {
    signer().public().to_text().parse().expect("a verification key")
}

pub(crate) fn entry(subject: &str) -> Entry {
    let actor = Actor::new("test").expect("a valid actor");
    Entry::new(Kind::StoreSeen, Scope::default_scope(), subject, actor, at(0))
}

pub(crate) fn batch(lease: &Lease, entries: Vec<Entry>) -> Batch {
    Batch::new(lease, at(1), entries)
}
