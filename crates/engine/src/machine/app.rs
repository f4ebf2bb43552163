//! One app as the machine keeps it in memory. All of it can be lost: what must not be is in the
//! facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::decide::Drift;
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::key::Key;
use setpoint_core::live::{Baseline, Health, Writer};
use setpoint_core::name::TargetIdentity;
use setpoint_core::report::Withheld;
use setpoint_core::snapshot::Answers;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;

use crate::controls::AppControl;
use crate::effect::Ticket;

use super::act::Batch;
use super::queue::Priority;
use super::setbacks::Setbacks;
use super::status::Refused;

#[derive(Debug)]
pub(super) struct App {
    /// Its document; `None` once it is gone from the store, and while it cannot be followed.
    pub(super) control: Option<Arc<AppControl>>,
    /// The system that its document leads to, where that is another one than the one that holds
    /// what it owns: its document is not followed.
    pub(super) moved_to: Option<TargetIdentity>,
    /// Its facts as last *sent* to the ledger. New facts are made from these, so that two changes
    /// on their way do not undo each other; decisions rest on the durable ones.
    pub(super) sent: Arc<AppFacts>,
    pub(super) phase: Phase,
    /// Something happened while the app was busy: look again afterwards.
    pub(super) again: Option<Priority>,
    /// How urgent what it is busy with is.
    pub(super) priority: Priority,
    /// The next look is to read every object, whatever is remembered of it.
    pub(super) sweeping: bool,
    pub(super) baselines: BTreeMap<Key, Baseline>,
    /// Since when each key was seen without the object we own there, look after look.
    pub(super) missing_since: BTreeMap<Key, Timestamp>,
    pub(super) answers: Answers,
    pub(super) setbacks: Setbacks,
    /// The newest revision that was rendered, whatever came of it.
    pub(super) considered: Option<Revision>,
    /// The bundle whose keys are in the index of declared keys, and these. Not the bundle itself:
    /// it would be open for good.
    pub(super) indexed: Option<(Digest, Box<[Key]>)>,
    pub(super) rendering: bool,
    pub(super) render_failures: u32,
    /// Why the last render came to nothing, which is no word on the version.
    pub(super) unrendered: Option<String>,
    /// Looks in a row that did not see everything.
    pub(super) look_failures: u32,
    /// The bundle whose failure people were told of.
    pub(super) failed: Option<Digest>,
    /// Everything declared was seen in place and healthy.
    pub(super) converged: bool,
    pub(super) health: Health,
    pub(super) report: Vec<Withheld>,
    pub(super) drifts: Vec<Drift>,
    /// What stands undeclared on what is in place, and is left alone.
    pub(super) remarks: Vec<Drift>,
    /// Who did some of the drift, where a target's audit trail has told since.
    pub(super) writers: BTreeMap<Key, Writer>,
    /// The last plan, parent of the next.
    pub(super) last_plan: Option<Digest>,
    /// The newest version that was refused, while none was accepted after it.
    pub(super) refused: Option<Refused>,
    /// What its stores offer now, where that is older than what was accepted.
    pub(super) set_back: Option<Revision>,
}

/// What an app is busy with.
#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    Looking {
        /// What was declared when the look began.
        bundle: Digest,
        /// What changed hands meanwhile: what is seen of it may be older than that.
        outdated: BTreeSet<Key>,
        /// It reads everything, whatever is remembered.
        sweeping: bool,
    },
    Asking(BTreeSet<Ticket>),
    /// Bookkeeping that must be durable before the next look.
    Noting,
    Acting(Box<Batch>),
}

impl Phase {
    pub(super) fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(super) fn batch(&mut self) -> Option<&mut Batch> {
        match self {
            Self::Acting(batch) => Some(batch),
            _ => None,
        }
    }
}

impl App {
    pub(super) fn new(sent: Arc<AppFacts>) -> Self {
        Self {
            control: None,
            moved_to: None,
            sent,
            phase: Phase::Idle,
            again: None,
            priority: Priority::Sweep,
            sweeping: false,
            baselines: BTreeMap::new(),
            missing_since: BTreeMap::new(),
            answers: Answers::default(),
            setbacks: Setbacks::default(),
            considered: None,
            indexed: None,
            rendering: false,
            look_failures: 0,
            render_failures: 0,
            unrendered: None,
            failed: None,
            converged: false,
            health: Health::Unknown,
            report: Vec::new(),
            drifts: Vec::new(),
            remarks: Vec::new(),
            writers: BTreeMap::new(),
            last_plan: None,
            refused: None,
            set_back: None,
        }
    }
}

impl App {
    /// History was rewritten, and nobody has said what is right: it is no use to render it.
    pub(super) fn is_undecided(&self) -> bool {
        let rewritten = |hold: &Hold| matches!(hold.why, HoldReason::Rewritten { .. });
        self.sent.hold.as_ref().is_some_and(rewritten) && self.sent.blessed.is_none()
    }
}
