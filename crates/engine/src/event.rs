//! Events: inputs of the machine. Answers to effects carry the ticket of the request. The ticket of
//! a late one is gone.

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
use setpoint_ledger::{Class, Entry};
use setpoint_target::{Hint, Outcome, Refusal, Settlement};

use crate::controls::Controls;
use crate::effect::Ticket;
use crate::machine::BundleCache;

/// An event outside of the machine.
#[derive(Debug)]
pub enum Event {
    Started,
    /// The instant of a [`WakeAt`](crate::Effect::WakeAt) has come.
    Woke,
    LeaseGranted {
        epoch: u64,
        expires: Timestamp,
    },
    /// Another process writes the log, or the ledger is unavailable.
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
    /// The writers of the changes that were asked about, as far as they are known now. Empty once
    /// no more can be expected.
    Attributed {
        ticket: Ticket,
        writers: BTreeMap<Key, Writer>,
    },
    Hinted {
        target: TargetIdentity,
        hint: Hint,
    },
    /// A webhook reports that a store may have a new head. Never a statement about its content.
    StoreHinted {
        store: StoreName,
    },
    /// The accepted control documents, all of them.
    Controls(Controls),
    /// The settings that control documents are evaluated with have changed: request the controls
    /// again.
    SettingsChanged,
    /// An order of a person.
    Command(Command),
    /// A record about something outside of the machine.
    Statement(Statement),
}

/// The result of a render.
#[derive(Clone, Debug)]
pub enum RenderOutcome {
    /// All paths that the last accepted render read, listed or missed resolve to the same content.
    Unchanged,
    Rendered {
        resources: Vec<Resource>,
        ancestry: Ancestry,
    },
    /// The declaration is wrong, and will be wrong in the same way until the store's head moves.
    Refused {
        problems: Vec<String>,
    },
    /// The store could not be read, or the loaded documents are not those to render by.
    Failed {
        reason: UnknownReason,
    },
}

/// The name of an order within one process, so that its outcome can be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(pub u64);

/// A person's order for one app. Always answered, by [`Effect::Ordered`](crate::Effect::Ordered).
#[derive(Clone, Debug)]
pub struct Command {
    pub id: OrderId,
    pub app: AppId,
    pub by: Actor,
    /// The way in which the person was identified, such as `password`.
    pub via: String,
    pub reason: String,
    pub order: Order,
}

/// A record about something that the machine does not decide, such as a sign-in. It changes no facts.
/// Always answered, like an order.
#[derive(Clone, Debug)]
pub struct Statement {
    pub id: OrderId,
    /// An entry without changes. The machine sets its time.
    pub entry: Entry,
}

/// The longest reason of an order, in bytes. A reason becomes part of the app's facts, which every
/// later record carries.
pub const LONGEST_REASON: usize = 4 * 1024;
/// The longest suspension. A longer one would end when no one remembers it: a change that no one
/// declared.
pub const LONGEST_SUSPENSION: Span = Span::hours(24 * 30);

impl Command {
    /// Returns the problem with the order itself, for any app.
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

/// An order that a person may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Let the accepted bundle through and observe now. `allow_prune` is the number of deletes
    /// beyond the budget that are allowed for it.
    Sync {
        allow_prune: u32,
    },
    Suspend {
        until: Timestamp,
    },
    Resume,
    /// Stay at the bundle the app is at.
    Hold,
    /// A person checked whether the change of unknown outcome happened.
    Settle {
        intent: IntentId,
        done: bool,
    },
    /// Release a hold. After a rewrite, `accept` names the versions that are right.
    Release {
        accept: Option<Revision>,
    },
}
