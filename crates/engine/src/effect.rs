//! Effects: what the machine wants done. Each that carries a ticket is answered by the event that
//! carries it back.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::intent::Intent;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_ledger::Entry;
use setpoint_target::{Asker, Fence, Sightings, Wanted, Work};

use crate::event::OrderId;

/// Names one request of the machine. Never used twice, so a late answer cannot be taken for
/// another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Why an order does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// The order itself is wrong.
    Invalid(&'static str),
    /// It cannot be carried out as things stand.
    Refused(&'static str),
    /// Nothing can be recorded now: the same order may count later.
    NotRecorded,
}

/// Something to be done outside of the machine.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Become the writer of the log. Opens the ledger again if it had failed.
    Acquire {
        length: Span,
    },
    Renew {
        epoch: u64,
        length: Span,
    },
    /// Read the facts and the bundles they name.
    Load {
        epoch: u64,
    },
    /// Record all of it or nothing, durably. Appends are recorded, and answered, in the order in
    /// which they are given: later ones rest on earlier ones.
    Append {
        ticket: Ticket,
        epoch: u64,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
    },
    /// Ask a store for its head.
    Poll {
        ticket: Ticket,
        store: StoreName,
    },
    /// Render an app from a revision, if what it reads differs from what `accepted` was made from.
    /// Ancestry is asked against `descends_from`: what was accepted, or what a person said is right
    /// instead. `documents` are the control documents to render by: whoever has taken up others by
    /// now fails instead.
    Render {
        ticket: Ticket,
        app: AppId,
        revision: Revision,
        accepted: Option<Accepted>,
        descends_from: Option<Revision>,
        documents: Option<Digest>,
    },
    /// Read the stores' heads and render once more, without any cache.
    RenderAfresh {
        ticket: Ticket,
        app: AppId,
        documents: Option<Digest>,
    },
    Observe {
        ticket: Ticket,
        target: TargetIdentity,
        wanted: Wanted,
        asker: Asker,
    },
    Preview {
        ticket: Ticket,
        target: TargetIdentity,
        resource: Arc<Resource>,
        asker: Asker,
    },
    /// Would the target take it as a new object? Answered like the other.
    PreviewReplacement {
        ticket: Ticket,
        target: TargetIdentity,
        resource: Arc<Resource>,
        asker: Asker,
    },
    Execute {
        ticket: Ticket,
        target: TargetIdentity,
        work: Vec<Work>,
        fence: Fence,
    },
    Settle {
        ticket: Ticket,
        target: TargetIdentity,
        intent: Box<Intent>,
        declared: Option<Arc<Resource>>,
    },
    /// Ask a target's audit trail who did what was seen.
    Attribute {
        ticket: Ticket,
        target: TargetIdentity,
        seen: Sightings,
    },
    /// Work out the controls of the accepted control documents and give them back as
    /// [`Event::Controls`](crate::Event::Controls). `known` is where apps are held, should a target
    /// not say who it is now.
    Control {
        bundle: Arc<Bundle>,
        known: BTreeMap<AppId, TargetIdentity>,
    },
    /// Tell a person.
    Notify {
        ticket: Ticket,
        note: Note,
    },
    /// Tell the person who gave an order whether it is recorded; what is not recorded has not been
    /// ordered.
    Ordered {
        id: OrderId,
        outcome: Result<(), Declined>,
    },
    /// Call [`step`](crate::Machine::step) with [`Event::Woke`](crate::Event::Woke) then, if not
    /// before. Every step asks anew: only the last one counts.
    WakeAt {
        at: Timestamp,
    },
}

/// A message to people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub kind: NoteKind,
    /// What it is about: an app, a target, an intent.
    pub subject: String,
    pub text: String,
}

/// What a note says. One of a kind per subject is enough until the matter changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// An app did not converge by its deadline.
    NotConverged,
    /// An app was rolled back to its last good bundle.
    RolledBack,
    /// History was rewritten; the app is held.
    Rewritten,
    /// A version was refused.
    Refused,
    /// Someone else keeps changing what we declare.
    Fight,
    /// The outcome of a change cannot be told; a person has to look.
    Unsettled,
    /// A store has not answered for long.
    StoreStale,
    /// A target failed too often.
    BreakerOpen,
    /// An app's document names another target than the one it is held on.
    TargetMoved,
    /// Apps depend on each other in a circle.
    DependencyCycle,
    /// A plan broke a rule that no plan may break.
    RuleBroken,
}

impl NoteKind {
    /// Whether it reports something that happened, which is worth knowing when it is over too.
    pub(crate) fn is_event(self) -> bool {
        matches!(self, Self::Fight | Self::RolledBack | Self::RuleBroken)
    }

    /// Whether it is about one app.
    pub(crate) fn is_of_app(self) -> bool {
        !matches!(self, Self::Unsettled | Self::StoreStale | Self::BreakerOpen)
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotConverged => "not-converged",
            Self::RolledBack => "rolled-back",
            Self::Rewritten => "history-rewritten",
            Self::Refused => "version-refused",
            Self::Fight => "fight",
            Self::Unsettled => "outcome-unknown",
            Self::StoreStale => "store-stale",
            Self::BreakerOpen => "target-failing",
            Self::TargetMoved => "target-moved",
            Self::DependencyCycle => "dependency-cycle",
            Self::RuleBroken => "rule-broken",
        })
    }
}
