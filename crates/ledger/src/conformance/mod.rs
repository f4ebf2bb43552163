//! The conformance suite of ledgers: an implementation provides a [`Harness`] and runs all
//! [`CASES`].
//!
//! Each case states one sentence of the [`Ledger`] contract. The suite needs no runtime: it only
//! awaits.

use std::future::Future;
use std::pin::Pin;

use serde_json::json;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Change;
use setpoint_core::intent::{IntentEnd, IntentId};
use setpoint_core::key::Key;
use setpoint_core::name::{Actor, AppId, Scope, TargetIdentity};
use setpoint_core::time::{Span, Timestamp};

use crate::contract::{Batch, Lease, LeaseRequest, Ledger};
use crate::origin::Origin;
use crate::record::{Entry, Kind};

#[expect(clippy::unwrap_used, reason = "a test suite, though other crates run it")]
mod evidence;
#[expect(clippy::unwrap_used, reason = "a test suite, though other crates run it")]
mod writing;

type Finished<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Opens, backs up and restores the ledger under test. One harness holds the data of one ledger,
/// empty at first.
pub trait Harness {
    /// Opens the ledger over the durable data. The suite has dropped the previous ledger, closed or
    /// not.
    fn open(&self) -> Finished<'_, Box<dyn Ledger>>;
    /// Copies the data of the closed ledger.
    fn back_up(&self);
    /// Replaces the data with the copy. Anchors stay unchanged.
    fn restore(&self);
}

/// One sentence of the contract and its test.
pub struct Case {
    pub name: &'static str,
    pub run: for<'a> fn(&'a dyn Harness) -> Finished<'a, ()>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! cases {
    ($($module:ident :: $name:ident),* $(,)?) => {
        /// All cases.
        pub const CASES: &[Case] =
            &[$(Case { name: stringify!($name), run: |harness| Box::pin($module::$name(harness)) }),*];
    };
}

cases![
    writing::an_answered_append_is_there_after_opening_again,
    writing::a_batch_whose_last_change_does_not_fit_leaves_nothing,
    writing::records_are_numbered_without_gaps_and_epochs_never_fall,
    writing::appends_are_recorded_in_the_order_of_the_calls,
    writing::an_earlier_epoch_and_an_expired_lease_record_nothing,
    writing::a_log_has_one_holder_at_a_time,
    writing::facts_are_the_fold_of_the_records,
    writing::a_claim_has_one_holder_among_all_logs,
    writing::a_bundle_comes_with_its_batch_and_must_match_its_digest,
    writing::a_batch_that_cannot_be_recorded_is_refused,
    writing::nothing_is_recorded_after_closing,
    evidence::an_erased_body_is_gone_and_its_erasure_is_recorded,
    evidence::proofs_lead_to_the_signed_root,
    evidence::a_checkpoint_is_made_only_after_new_records,
    evidence::a_person_s_decision_is_checkpointed_at_once,
    evidence::asking_beyond_the_log_is_an_error_not_an_empty_answer,
    evidence::a_restored_copy_is_read_only_until_its_gap_is_recorded,
];

fn origin(name: &str) -> Origin {
    Origin::new(name).expect("a valid origin")
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000) + Span::seconds(seconds)
}

fn request(name: &str, holder: &str, seconds: u64) -> LeaseRequest {
    LeaseRequest { origin: origin(name), holder: holder.to_owned(), now: at(seconds), length: Span::seconds(30) }
}

async fn lease(ledger: &dyn Ledger, name: &str) -> Lease {
    ledger.acquire(request(name, "suite", 0)).await.expect("the lease is free")
}

fn entry(kind: Kind, subject: &str) -> Entry {
    let actor = Actor::new("suite").expect("a valid actor");
    Entry::new(kind, Scope::default_scope(), subject, actor, at(0))
}

fn batch(lease: &Lease, entries: Vec<Entry>) -> Batch {
    Batch::new(lease, at(1), entries)
}

fn seen(n: usize) -> Vec<Entry> {
    (0..n).map(|i| entry(Kind::StoreSeen, &format!("store-{i}"))).collect()
}

fn target() -> TargetIdentity {
    TargetIdentity::new("machine-1").expect("a valid identity")
}

fn key(n: u64) -> Key {
    Key::new("file", "", &format!("/etc/{n}")).expect("a valid key")
}

fn app() -> AppId {
    "web/shop".parse().expect("a valid app")
}

/// Builds the claim from its stored form: the suite tests that facts persist, not which fields they
/// have.
fn put_claim(n: u64) -> Change {
    let claim = json!({ "target": target(), "key": key(n), "app": app(), "origin": "created" });
    Change::PutClaim { claim: serde_json::from_value(claim).expect("a claim's stored form"), from: None }
}

fn drop_claim(n: u64) -> Change {
    Change::DropClaim { target: target(), key: key(n), app: app() }
}

fn open_intent(epoch: u64, number: u64) -> Change {
    let intent = json!({
        "id": IntentId { epoch, number },
        "app": app(),
        "target": target(),
        "key": key(number),
        "verb": "create",
        "plan": Digest::of(b"plan"),
        "bundle": Digest::of(b"bundle"),
        "at": at(0),
        "leave_by": at(5),
        "land_by": at(35),
    });
    Change::OpenIntent { intent: serde_json::from_value(intent).expect("an intent's stored form") }
}

fn close_intent(epoch: u64, number: u64) -> Change {
    Change::CloseIntent { intent: IntentId { epoch, number }, end: IntentEnd::Done }
}
