//! Records as the verifier reads them: borrowed from the stored bytes, not serialised again.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One record. Unknown fields are an error, because they could not be verified.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields that are only required to be there and of the right type")]
pub(crate) struct Record<'a> {
    pub(crate) v: u8,
    #[serde(borrow)]
    pub(crate) origin: Cow<'a, str>,
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    scope: Cow<'a, str>,
    #[serde(borrow)]
    subject: Cow<'a, str>,
    #[serde(borrow)]
    actor: Cow<'a, str>,
    time: u64,
    #[serde(borrow)]
    pub(crate) data: &'a RawValue,
    #[serde(borrow)]
    pub(crate) changes: Vec<Change<'a>>,
    #[serde(borrow, default)]
    pub(crate) body: Option<Cow<'a, str>>,
}

/// One change of the facts, with the fields of all kinds of changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change<'a> {
    #[serde(borrow)]
    pub(crate) change: Cow<'a, str>,
    pub(crate) at: Option<u64>,
    #[serde(borrow)]
    pub(crate) claim: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) from: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) target: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) app: Option<Cow<'a, str>>,
    /// The whole intent when it is opened; its id when it is closed.
    #[serde(borrow)]
    pub(crate) intent: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) facts: Option<&'a RawValue>,
    #[serde(borrow, rename = "end")]
    pub(crate) _end: Option<&'a RawValue>,
}

/// The fields that identify a claim or an intent.
#[derive(Debug, Deserialize)]
pub(crate) struct About<'a> {
    #[serde(borrow)]
    pub(crate) target: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) app: Cow<'a, str>,
    /// The id; only of an intent.
    #[serde(borrow, default)]
    pub(crate) id: Option<Cow<'a, str>>,
}

/// The data of an `override` that documents an erased body.
#[derive(Debug, Deserialize)]
pub(crate) struct Erasure {
    pub(crate) erased: Option<u64>,
}

/// The data of a `ledger.gap` that name the anchor.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Gap {
    pub(crate) anchor_size: u64,
    pub(crate) anchor_root: String,
}

/// The facts of an app, reduced to the accepted bundle.
#[derive(Debug, Deserialize)]
pub(crate) struct AppFacts {
    pub(crate) accepted: Option<Accepted>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Accepted {
    pub(crate) bundle: String,
}
