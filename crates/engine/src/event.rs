//! Events: what happened. Answers to effects carry the ticket of the request; one that comes late
//! finds its ticket gone.

use std::collections::BTreeMap;

use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Writer};
use setpoint_core::name::{Actor, AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_ledger::Class;
use setpoint_target::{Hint, Outcome, Refusal, Settlement};

use crate::controls::Controls;
use crate::effect::Ticket;
use crate::machine::BundleCache;

/// Something that happened outside of the machine.
#[derive(Debug)]
pub enum Event {
    Started,
    /// The instant of a [`WakeAt`](crate::Effect::WakeAt) has come.
    Woke,
    LeaseGranted {
        epoch: u64,
        expires: Timestamp,
    },
    /// Someone else writes the log, or the ledger is not to be had.
    LeaseRefused {
        until: Option<Timestamp>,
        detail: String,
    },
    LeaseRenewed {
        epoch: u64,
        expires: Timestamp,
    },
    /// The lease could not be renewed. It may still run until it expires.
    LeaseNotRenewed {
        epoch: u64,
    },
    Loaded {
        epoch: u64,
        facts: Box<Facts>,
        bundles: BundleCache,
    },
    LoadFailed {
        epoch: u64,
        detail: String,
    },
    Appended {
        ticket: Ticket,
    },
    AppendFailed {
        ticket: Ticket,
        class: Class,
        detail: String,
    },
    Polled {
        ticket: Ticket,
        head: Observed<VersionId>,
    },
    Rendered {
        ticket: Ticket,
        outcome: RenderOutcome,
    },
    RenderedAfresh {
        ticket: Ticket,
        bundle: Result<Digest, UnknownReason>,
    },
    Observed {
        ticket: Ticket,
        observation: Observation,
    },
    Previewed {
        ticket: Ticket,
        verdict: Result<(), Refusal>,
    },
    Executed {
        ticket: Ticket,
        outcomes: Vec<Outcome>,
    },
    Settled {
        ticket: Ticket,
        settlement: Settlement,
    },
    Notified {
        ticket: Ticket,
        delivered: bool,
    },
    /// Who did what was asked about, as far as that is known now; with nobody once no more is to be
    /// expected.
    Attributed {
        ticket: Ticket,
        writers: BTreeMap<Key, Writer>,
    },
    Hinted {
        target: TargetIdentity,
        hint: Hint,
    },
    /// A store may have moved: a webhook. Never a statement about what it holds.
    StoreHinted {
        store: StoreName,
    },
    /// The accepted control documents, all of them.
    Controls(Controls),
    /// A person wants something.
    Command(Command),
}

/// What came of a render.
#[derive(Clone, Debug)]
pub enum RenderOutcome {
    /// Everything the last accepted render read, listed or missed resolves the same.
    Unchanged,
    Rendered {
        resources: Vec<Resource>,
        ancestry: Ancestry,
    },
    /// The declaration is wrong; it will be wrong the same way until the store moves.
    Refused {
        problems: Vec<String>,
    },
    /// The store could not be read, or other documents are taken up than those it was to be
    /// rendered by.
    Failed {
        reason: UnknownReason,
    },
}

/// Names an order within one process, so that its giver can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(pub u64);

/// A person's order for one app. Always answered, by [`Effect::Ordered`](crate::Effect::Ordered).
#[derive(Clone, Debug)]
pub struct Command {
    pub id: OrderId,
    pub app: AppId,
    pub by: Actor,
    pub reason: String,
    pub order: Order,
}

/// The longest reason of an order, in bytes. A reason becomes part of the app's facts, which every
/// later record carries.
pub const LONGEST_REASON: usize = 4 * 1024;
/// The longest suspension. One that outlives everyone's memory of it is a change that no one
/// declared.
pub const LONGEST_SUSPENSION: Span = Span::hours(24 * 30);

impl Command {
    /// Returns what is wrong with the order itself, at whichever app it is directed.
    pub fn problem(&self, now: Timestamp) -> Option<&'static str> {
        if self.reason.len() > LONGEST_REASON {
            return Some("the reason is longer than 4,096 bytes: shorten it, or give a link");
        }
        match self.order {
            Order::Suspend { until } if until <= now => Some("the suspension has no length: give one from 1s to 30d"),
            Order::Suspend { until } if until.since(now) > LONGEST_SUSPENSION => {
                Some("the suspension is longer than 30 days: give a length from 1s to 30d")
            }
            _ => None,
        }
    }
}

/// What a person may order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Let the accepted bundle through and look now; `allow_prune` more deletes than the budget are
    /// fine for it.
    Sync {
        allow_prune: u32,
    },
    Suspend {
        until: Timestamp,
    },
    Resume,
    /// Stay at the bundle the app is at.
    Hold,
    /// A person looked: the change of unknown outcome happened, or it did not.
    Settle {
        intent: IntentId,
        done: bool,
    },
    /// Let go of a hold; after a rewrite `accept` names the versions that are right.
    Release {
        accept: Option<Revision>,
    },
}
