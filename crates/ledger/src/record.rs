//! Entries, which the engine appends, and records, which are entries with their place in a log, as
//! bytes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Change;
use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::canonical;
use crate::error::LedgerError;
use crate::merkle::leaf_hash;
use crate::origin::Origin;

/// The format of records. A reader refuses an unknown version.
pub const VERSION: u8 = 1;
/// The longest record. Longer data belongs into the body.
pub const LONGEST_RECORD: usize = 1 << 20;
/// The longest body.
pub const LONGEST_BODY: usize = 64 << 20;

/// The subject matter of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    #[serde(rename = "store.seen")]
    StoreSeen,
    #[serde(rename = "version.accepted")]
    VersionAccepted,
    #[serde(rename = "version.refused")]
    VersionRefused,
    #[serde(rename = "gate.decision")]
    GateDecision,
    #[serde(rename = "plan")]
    Plan,
    #[serde(rename = "intent")]
    Intent,
    #[serde(rename = "effect.result")]
    EffectResult,
    #[serde(rename = "drift.observed")]
    DriftObserved,
    #[serde(rename = "drift.attributed")]
    DriftAttributed,
    /// A difference that was reported and not corrected no longer exists.
    #[serde(rename = "drift.over")]
    DriftOver,
    #[serde(rename = "approval")]
    Approval,
    #[serde(rename = "override")]
    Override,
    /// An account, a session, a token or another matter of access changed.
    #[serde(rename = "access.changed")]
    AccessChanged,
    #[serde(rename = "config.changed")]
    ConfigChanged,
    #[serde(rename = "key.rotated")]
    KeyRotated,
    #[serde(rename = "notify.sent")]
    NotifySent,
    #[serde(rename = "app.state")]
    AppState,
    #[serde(rename = "ledger.anchored")]
    LedgerAnchored,
    #[serde(rename = "ledger.gap")]
    LedgerGap,
}

impl Kind {
    /// Reports whether a record of this kind gets a checkpoint at once: a person's decision is safe
    /// only when signed.
    pub fn is_signed_at_once(self) -> bool {
        matches!(self, Self::Approval | Self::Override | Self::AccessChanged | Self::KeyRotated | Self::LedgerGap)
    }
}

/// A record before the ledger gives it a place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub scope: Scope,
    /// The subject: an app, a store, a target, a key.
    pub subject: String,
    pub actor: Actor,
    pub time: Timestamp,
    /// Integers, text, lists and maps. Must not hold secrets or personal data, because it can never
    /// be erased.
    pub data: Map<String, Value>,
    /// The changes of the facts, made in the same transaction.
    pub changes: Vec<Change>,
    /// Data that is large, or may have to be erased by law. It is stored next to the log, which
    /// holds its salted digest.
    pub body: Option<Vec<u8>>,
}

impl Entry {
    /// An entry without data, changes and body.
    pub fn new(kind: Kind, scope: Scope, subject: impl Into<String>, actor: Actor, time: Timestamp) -> Self {
        let subject = subject.into();
        Self { kind, scope, subject, actor, time, data: Map::new(), changes: Vec::new(), body: None }
    }

    #[must_use]
    pub fn with_data(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn with_change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// An entry in its place in a log. The fields are declared in the order in which they are written,
/// so that they need not be sorted each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub actor: Actor,
    /// The SHA-256 of salt and body. The salt is erased with the body: without it, the digest of a
    /// short text reveals nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<Digest>,
    pub changes: Vec<Change>,
    pub data: Map<String, Value>,
    pub epoch: u64,
    pub kind: Kind,
    pub origin: Origin,
    pub scope: Scope,
    /// The sequence number, which is also the index in the Merkle tree.
    pub seq: u64,
    pub subject: String,
    pub time: Timestamp,
    pub v: u8,
}

impl Record {
    /// Parses stored bytes. Refuses a record of another version or with unknown fields, rather than
    /// understand half of it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LedgerError> {
        let record: Self = serde_json::from_slice(bytes)
            .map_err(|source| LedgerError::corrupt("a stored record cannot be read", source))?;
        if record.v == VERSION {
            Ok(record)
        } else {
            Err(LedgerError::Corrupt {
                what: format!("record {} has unknown version {}", record.seq, record.v),
                source: None,
            })
        }
    }
}

/// The salt of a body. Sixteen random bytes would be enough; thirty-two cost nothing.
pub type Salt = [u8; 32];

/// A body with the salt of its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaltedBody {
    pub salt: Salt,
    pub bytes: Vec<u8>,
}

impl SaltedBody {
    pub fn digest(&self) -> Digest {
        Digest::from_bytes(Sha256::new().chain_update(self.salt).chain_update(&self.bytes).finalize().into())
    }
}

/// A record ready to be stored.
#[derive(Clone, Debug)]
pub struct Sealed {
    pub seq: u64,
    /// The canonical bytes, hashed as stored.
    pub bytes: Vec<u8>,
    pub leaf: Digest,
    pub body: Option<SaltedBody>,
    pub kind: Kind,
    pub time: Timestamp,
}

/// Gives `entry` its place and its bytes. Calls `salt` only if there is a body.
pub fn seal(
    entry: Entry,
    origin: &Origin,
    epoch: u64,
    seq: u64,
    salt: impl FnOnce() -> Result<Salt, LedgerError>,
) -> Result<Sealed, LedgerError> {
    if entry.body.as_ref().is_some_and(|body| body.len() > LONGEST_BODY) {
        return Err(LedgerError::input(format!("the body of `{}` is longer than 64 MiB", entry.subject)));
    }
    let body = entry.body.map(|bytes| Ok::<_, LedgerError>(SaltedBody { salt: salt()?, bytes })).transpose()?;
    let record = Record {
        v: VERSION,
        origin: origin.clone(),
        epoch,
        seq,
        kind: entry.kind,
        scope: entry.scope,
        subject: entry.subject,
        actor: entry.actor,
        time: entry.time,
        data: entry.data,
        changes: entry.changes,
        body: body.as_ref().map(SaltedBody::digest),
    };
    let bytes = canonical_bytes(&record)?;
    if bytes.len() > LONGEST_RECORD {
        return Err(LedgerError::input(format!(
            "the record of `{}` is longer than 1 MiB: move its data into the body",
            record.subject
        )));
    }
    Ok(Sealed { seq, leaf: leaf_hash(&bytes), bytes, body, kind: record.kind, time: record.time })
}

/// Returns the canonical bytes of a value: a record, or a row of the facts that are stored next to
/// it.
pub fn canonical_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, LedgerError> {
    canonical::to_bytes(value).map_err(|error| LedgerError::input(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let actor = Actor::new("engine").unwrap();
        Entry::new(Kind::StoreSeen, Scope::default_scope(), "platform", actor, Timestamp::from_millis(7))
            .with_data("z", 1)
            .with_data("a", "ä")
    }

    #[test]
    fn the_bytes_of_a_record_are_fixed() {
        let origin = Origin::new("test").unwrap();
        let sealed = seal(entry().with_body("personal"), &origin, 3, 9, || Ok([1; 32])).unwrap();
        let digest = sealed.body.unwrap().digest();
        assert_eq!(
            String::from_utf8(sealed.bytes.clone()).unwrap(),
            format!(
                "{{\"actor\":\"engine\",\"body\":\"{digest}\",\"changes\":[],\"data\":{{\"a\":\"ä\",\"z\":1}},\"epoch\":3,\
                 \"kind\":\"store.seen\",\"origin\":\"test\",\"scope\":\"default\",\"seq\":9,\"subject\":\"platform\",\
                 \"time\":7,\"v\":1}}"
            )
        );
        assert_eq!(Record::from_bytes(&sealed.bytes).unwrap().body, Some(digest));
    }

    #[test]
    fn equal_bodies_have_different_digests() {
        let body = |salt| SaltedBody { salt, bytes: b"yes".to_vec() }.digest();
        assert_ne!(body([1; 32]), body([2; 32]));
    }

    #[test]
    fn a_record_of_another_version_or_with_unknown_fields_is_refused() {
        let sealed = seal(entry(), &Origin::new("test").unwrap(), 1, 0, || Ok([0; 32])).unwrap();
        let text = String::from_utf8(sealed.bytes).unwrap();
        for other in [text.replace("\"v\":1", "\"v\":2"), text.replace("\"v\":1", "\"v\":1,\"w\":1"), String::new()] {
            assert!(Record::from_bytes(other.as_bytes()).is_err(), "{other}");
        }
    }

    #[test]
    fn a_record_longer_than_its_limit_is_refused() {
        let long = entry().with_data("long", "x".repeat(LONGEST_RECORD));
        assert!(seal(long, &Origin::new("test").unwrap(), 1, 0, || Ok([0; 32])).is_err());
    }
}
