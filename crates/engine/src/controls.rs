//! What the accepted control documents say, as the machine needs it, and the machine's own
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::Granularity;

/// The accepted control documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// The app whose resources are the control documents. Its own control comes from the bootstrap,
    /// never from a store.
    pub root: Option<AppId>,
    /// The root app's bundle that the rest was worked out from; `None` while only the bootstrap is
    /// known.
    pub of: Option<Digest>,
    /// Ask for them anew by then: windows were worked out up to an instant, or a target was not
    /// reached.
    pub valid_until: Option<Timestamp>,
    /// Shared with the apps that are held by them.
    pub apps: BTreeMap<AppId, Arc<AppControl>>,
    /// Apps whose target has not said who it is yet, with their documents. They are not among
    /// `apps`, but their documents are not gone.
    pub unreached: BTreeMap<AppId, Digest>,
    pub stores: BTreeMap<StoreName, StoreControl>,
    pub targets: BTreeMap<TargetIdentity, TargetControl>,
}

/// One app's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppControl {
    /// The document this was worked out from: another one is another source, though nothing below
    /// differs.
    pub document: Digest,
    pub target: TargetIdentity,
    /// The stores it is rendered from.
    pub stores: BTreeSet<StoreName>,
    pub rules: Rules,
    /// In whose name its changes are made on the target, where not in the agent's.
    pub acting_as: Option<Arc<ActingAs>>,
    pub mode: Mode,
    /// Take the app down: delete what it made, then forget it.
    pub retire: bool,
    pub depends_on: BTreeSet<AppId>,
    /// When declared changes must wait, as far ahead as it was worked out.
    pub closed: Vec<(Timestamp, Timestamp)>,
    /// How long a new bundle may take to converge before people are told.
    pub deadline: Span,
    pub on_failure: OnFailure,
    /// Another program renders it, which may take long: no other app waits for that.
    pub renders_apart: bool,
}

/// Who lets changes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Auto,
    Manual,
    Observe,
}

/// What happens when an app does not converge by its deadline. People are told in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    Rollback,
    Hold,
    Alert,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreControl {
    /// How often its head is asked for.
    pub interval: Span,
    /// What the head is read from. Stores that share it have one head, which is asked for once.
    pub repository: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetControl {
    pub granularity: Granularity,
    /// What it shows includes its own latest writes.
    pub fresh_reads: bool,
    /// It has an audit trail to be asked who did something.
    pub attributes: bool,
}

/// How the machine paces itself. The defaults are for production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub lease: Span,
    /// An effect leaves within this of its intent…
    pub leave_within: Span,
    /// …and has landed or never will within this of leaving.
    pub land_within: Span,
    /// How far clocks of two holders may be apart.
    pub skew: Span,
    /// Targets whose identity begins with this are changed by the process itself, and a lock sees
    /// to it that there is one process only: what a predecessor had under way on them ended with
    /// it, so nothing is waited for. `None` where that is not certain.
    pub own_hands: Option<String>,
    /// Targets whose identity begins with this refuse a change whose object is in another version
    /// than it was decided on, and settling sees to it that the object is: nothing is waited for
    /// but creates, and those alone.
    pub fencing: Option<String>,
    /// Nothing is deleted for this long after installation.
    pub quarantine: Span,
    /// Every app is looked at again at least this often.
    pub sweep: Span,
    /// How long an answer may take before it is given up.
    pub patience: Span,
    /// Apps that may be busy at once.
    pub most_busy: usize,
    /// Renders that may run at once.
    pub most_renders: usize,
    /// A store that has not answered for this many intervals is stale.
    pub stale_after: u32,
    /// Calls to a target within half a minute before its failures are judged.
    pub breaker_calls: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Span::seconds(15),
            leave_within: Span::seconds(5),
            land_within: Span::seconds(30),
            skew: Span::seconds(5),
            own_hands: None,
            fencing: None,
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
