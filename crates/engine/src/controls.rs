//! Controls: the accepted control documents in the form the machine needs, and the machine's own
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::{Effects, Granularity};

/// The accepted control documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// The app whose resources are the control documents. Its own control comes from the bootstrap,
    /// never from a store.
    pub root: Option<AppId>,
    /// The root app's bundle from which the controls were computed; `None` while only the bootstrap
    /// is known.
    pub of: Option<Digest>,
    /// The time by which to request new controls: windows were computed up to an instant, or a
    /// target was not reached.
    pub valid_until: Option<Timestamp>,
    /// Shared with the apps that they control.
    pub apps: BTreeMap<AppId, Arc<AppControl>>,
    /// Apps whose target has not reported its identity yet, with their documents. They are not
    /// among `apps`, but their documents are not gone.
    pub unreached: BTreeMap<AppId, Digest>,
    pub stores: BTreeMap<StoreName, StoreControl>,
    pub targets: BTreeMap<TargetIdentity, TargetControl>,
}

/// One app's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppControl {
    /// The document that this control was computed from: another document is another source, even
    /// if no field below differs.
    pub document: Digest,
    pub target: TargetIdentity,
    /// The stores that the app is rendered from.
    pub stores: BTreeSet<StoreName>,
    pub rules: Rules,
    /// The user that the app's changes are made as on the target, if not the agent's.
    pub acting_as: Option<Arc<ActingAs>>,
    pub mode: Mode,
    /// Set if the app is to be retired: its objects are deleted, then it is forgotten.
    pub retire: bool,
    pub depends_on: BTreeSet<AppId>,
    /// The intervals in which declared changes must wait, as far ahead as they were computed.
    pub closed: Vec<(Timestamp, Timestamp)>,
    /// The time a new bundle may take to converge before people are notified.
    pub deadline: Span,
    pub on_failure: OnFailure,
    /// Set if an external program renders the app. That may take long: no other app waits for it.
    pub renders_apart: bool,
}

/// The mode of an app: the condition under which changes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Auto,
    Manual,
    Observe,
}

/// The reaction to an app that does not converge by its deadline. People are notified in every
/// case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    Rollback,
    Hold,
    Alert,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreControl {
    /// The interval at which the head is polled.
    pub interval: Span,
    /// The source of the head. Stores with the same source share one head, which is polled once.
    pub repository: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetControl {
    pub granularity: Granularity,
    /// Set if reads include the target's own latest writes.
    pub fresh_reads: bool,
    /// Set if the target has an audit trail from which writers can be read.
    pub attributes: bool,
}

/// Timing and limits of the machine. The defaults are for production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub lease: Span,
    /// An effect is sent within this time of its intent…
    pub leave_within: Span,
    /// …and has landed within this time of being sent, or never will, unless the target's family
    /// has another limit.
    pub land_within: Span,
    /// The largest difference between the clocks of two holders.
    pub skew: Span,
    /// How changes of targets end, by the word that begins their identities. Nothing is certain
    /// about others.
    pub effects: BTreeMap<String, Effects>,
    /// Nothing is deleted for this long after installation.
    pub quarantine: Span,
    /// Every app is observed again at least this often.
    pub sweep: Span,
    /// The time after which a missing response is given up.
    pub patience: Span,
    /// The number of apps that may be busy at once.
    pub most_busy: usize,
    /// The number of renders that may run at once.
    pub most_renders: usize,
    /// A store that has not responded for this many intervals is stale.
    pub stale_after: u32,
    /// The number of calls to a target within half a minute from which on its failures are judged.
    pub breaker_calls: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Span::seconds(15),
            leave_within: Span::seconds(5),
            land_within: Span::seconds(30),
            skew: Span::seconds(5),
            effects: BTreeMap::new(),
            quarantine: Span::minutes(15),
            sweep: Span::hours(24),
            patience: Span::seconds(60),
            most_busy: 64,
            most_renders: 4,
            stale_after: 3,
            breaker_calls: 20,
        }
    }
}
