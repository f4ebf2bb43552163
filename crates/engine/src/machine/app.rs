//! One app in the machine's memory. All of it can be lost; everything that must not be lost is in
//! the facts.

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
    /// The system that the app's document names, if it is not the one with the app's objects: then
    /// the document is not followed.
    pub(super) moved_to: Option<TargetIdentity>,
    /// The app's facts as last *sent* to the ledger. New facts are derived from these, so that two
    /// changes under way do not undo each other. Decisions are based on the durable facts.
    pub(super) sent: Arc<AppFacts>,
    pub(super) phase: Phase,
    /// Set if an event arrived while the app was busy: observe it again afterwards.
    pub(super) again: Option<Priority>,
    /// The priority of the current work.
    pub(super) priority: Priority,
    /// Set if the next observation must read every object, whatever is remembered of it.
    pub(super) sweeping: bool,
    pub(super) baselines: BTreeMap<Key, Baseline>,
    /// The time since which every observation of a key has lacked the object we own there.
    pub(super) missing_since: BTreeMap<Key, Timestamp>,
    pub(super) answers: Answers,
    pub(super) setbacks: Setbacks,
    /// The newest revision that was rendered, whatever the result.
    pub(super) considered: Option<Revision>,
    /// The bundle whose keys are in the index of declared keys, and these keys. Not the bundle
    /// itself: it would stay open for good.
    pub(super) indexed: Option<(Digest, Box<[Key]>)>,
    pub(super) rendering: bool,
    pub(super) render_failures: u32,
    /// The reason why the last render failed, where that is no verdict on the version.
    pub(super) unrendered: Option<String>,
    /// The number of consecutive observations that were incomplete.
    pub(super) look_failures: u32,
    /// The bundle whose failure people were notified of.
    pub(super) failed: Option<Digest>,
    /// Set if every declared object was observed in place and healthy.
    pub(super) converged: bool,
    pub(super) health: Health,
    pub(super) report: Vec<Withheld>,
    pub(super) drifts: Vec<Drift>,
    /// Undeclared fields of objects in place that are left alone.
    pub(super) remarks: Vec<Drift>,
    /// Writers of the drift that a target's audit trail has named since.
    pub(super) writers: BTreeMap<Key, Writer>,
    /// The last plan, parent of the next.
    pub(super) last_plan: Option<Digest>,
    /// The newest version that was refused, while none was accepted after it.
    pub(super) refused: Option<Refused>,
    /// The revision that the stores offer now, if it is older than the accepted one.
    pub(super) set_back: Option<Revision>,
}

/// The current work of an app.
#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    Looking {
        /// The bundle that was declared when the observation began.
        bundle: Digest,
        /// Keys whose claims changed meanwhile: the observation of them may be older than the
        /// change.
        outdated: BTreeSet<Key>,
        /// Set if it reads everything, whatever is remembered.
        sweeping: bool,
    },
    Asking(BTreeSet<Ticket>),
    /// Bookkeeping that must be durable before the next observation.
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
    /// Reports whether history was rewritten and no person has confirmed a version: then rendering
    /// is of no use.
    pub(super) fn is_undecided(&self) -> bool {
        self.is_rewritten() && self.sent.blessed.is_none()
    }

    /// Reports whether the app is held because history was rewritten.
    pub(super) fn is_rewritten(&self) -> bool {
        let rewritten = |hold: &Hold| matches!(hold.why, HoldReason::Rewritten { .. });
        self.sent.hold.as_ref().is_some_and(rewritten)
    }
}
