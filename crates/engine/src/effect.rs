//! Effects: the machine's requests to the outside. An effect with a ticket is answered by the event
//! with the same ticket.

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

/// The name of one request of the machine. Never used twice, so a late response cannot be mistaken
/// for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The reason why an order is declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// The order itself is wrong.
    Invalid(&'static str),
    /// The order cannot be carried out in the current state.
    Refused(&'static str),
    /// Nothing can be recorded now: the same order may be accepted later.
    NotRecorded,
}

/// An action to be taken outside of the machine.
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
    /// Record all entries or none, durably. Appends are recorded, and answered, in the order in
    /// which they are given: later ones build on earlier ones.
    Append {
        ticket: Ticket,
        epoch: u64,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
    },
    /// Read the head of a store.
    Poll {
        ticket: Ticket,
        store: StoreName,
    },
    /// Render an app from a revision, if its inputs differ from those that `accepted` was rendered
    /// from. Ancestry is checked against `descends_from`: the accepted versions, or those that a
    /// person confirmed instead. `documents` are the control documents to render by: a renderer
    /// that has loaded other ones by then fails instead.
    Render {
        ticket: Ticket,
        app: AppId,
        revision: Revision,
        accepted: Option<Accepted>,
        descends_from: Option<Revision>,
        documents: Option<Digest>,
    },
    /// Read the stores' heads and render again, without any cache.
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
    /// Check whether the target would accept the resource as a new object. Answered like a preview.
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
    /// Read from a target's audit trail who made the observed changes.
    Attribute {
        ticket: Ticket,
        target: TargetIdentity,
        seen: Sightings,
    },
    /// Compute the controls of the accepted control documents and return them as
    /// [`Event::Controls`](crate::Event::Controls). `known` contains the targets on which apps are
    /// held, for targets that do not report their identity now.
    Control {
        bundle: Arc<Bundle>,
        known: BTreeMap<AppId, TargetIdentity>,
    },
    /// Notify people.
    Notify {
        ticket: Ticket,
        note: Note,
    },
    /// Report to the person who gave an order whether it is recorded. An order that is not recorded
    /// has no effect.
    Ordered {
        id: OrderId,
        outcome: Result<(), Declined>,
    },
    /// Call [`step`](crate::Machine::step) with [`Event::Woke`](crate::Event::Woke) at this
    /// instant, if not before. Every step requests this again: only the last one counts.
    WakeAt {
        at: Timestamp,
    },
}

/// A message to people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub kind: NoteKind,
    /// The subject of the message: an app, a target, an intent.
    pub subject: String,
    pub text: String,
}

/// The kind of a note. One of a kind per subject is enough until the matter changes.
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
    /// Another writer keeps changing a declared object.
    Fight,
    /// The outcome of a change cannot be determined; a person has to check.
    Unsettled,
    /// A store has not responded for a long time.
    StoreStale,
    /// A target failed too often.
    BreakerOpen,
    /// An app's document names another target than the one the app is held on.
    TargetMoved,
    /// Apps depend on each other in a circle.
    DependencyCycle,
    /// A plan broke a rule that no plan may break.
    RuleBroken,
}

impl NoteKind {
    /// Reports whether a note of this kind is about a past event, which is worth knowing even when
    /// it is over.
    pub(crate) fn is_event(self) -> bool {
        matches!(self, Self::Fight | Self::RolledBack | Self::RuleBroken)
    }

    /// Reports whether a note of this kind is about one app.
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
