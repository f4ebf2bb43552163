//! Queries of the machine: its status. A query changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::decide::Drift;
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::report::Withheld;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;
use setpoint_target::Unwatched;

use super::{Awaited, Machine};
use crate::controls::Mode;

/// The status of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppStatus {
    pub facts: Arc<AppFacts>,
    pub converged: bool,
    /// Set if differences are reported, and never written.
    pub observed: bool,
    /// The system that the app's document names, if it is not the one with the app's objects. The
    /// app is frozen until that changes.
    pub moved_to: Option<TargetIdentity>,
    pub busy: bool,
    /// Set if the app is busy, or will be without any further event: a version is to be rendered,
    /// an observation is due.
    pub pending: bool,
    pub health: Health,
    /// Every change that is withheld, with its reason.
    pub report: Vec<Withheld>,
    pub drifts: Vec<Drift>,
    /// Undeclared fields of objects in place that are left alone.
    pub remarks: Vec<Drift>,
    /// The bundle at which the app is held, and the number of its resources.
    pub bundle: Option<(Digest, usize)>,
    /// The newest version that was refused, while none was accepted after it.
    pub refused: Option<Refused>,
    /// The revision that its stores offer now, if it is older than the accepted one. It is not
    /// followed.
    pub set_back: Option<Revision>,
    /// The revision that its stores offer now, if the app is held because history was rewritten. It
    /// may be newer than the one in the hold.
    pub offered: Option<Revision>,
    /// The reason why the newest version could not be rendered so far. The render is tried again.
    pub unrendered: Option<String>,
    /// Changes whose outcome is unknown.
    pub unsettled: Vec<IntentId>,
    /// Until when its target is left alone because it failed too often. After that nothing is
    /// deleted there before one complete observation.
    pub left_alone_until: Option<Timestamp>,
    /// The end of the time after installation in which nothing is deleted, if it is still to come.
    pub quarantine_until: Option<Timestamp>,
    /// The time when its window opens, if it is closed.
    pub window_opens: Option<Timestamp>,
    /// Set if changes of objects that the app declares or owns are not noticed now: all of this
    /// status is as old as that.
    pub unwatched: Option<Unwatched>,
    /// The app's stores that could not be read for so long that their current content is unknown,
    /// each with the reason of the last failure. The accepted version stays.
    pub stale: Vec<(StoreName, String)>,
}

impl AppStatus {
    /// Returns the number of parts: a measure of the time that a copy takes.
    fn parts(&self) -> usize {
        1 + self.report.len() + self.drifts.len() + self.remarks.len()
    }
}

/// A version that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub revision: Revision,
    pub problem: String,
    pub at: Timestamp,
}

/// The status of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    pub head: Option<VersionId>,
    /// The time of the last response; `None` if there was none.
    pub answered: Option<Timestamp>,
    pub stale: bool,
    /// The number of consecutive failed polls, and the reason of the last one.
    pub failures: u32,
    pub problem: Option<String>,
}

/// The status of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Set if this machine is the writer of the log.
    pub holding: bool,
    /// The number of steps that were done, and that were refused or got no result, since the
    /// process began.
    pub steps_done: u64,
    pub steps_failed: u64,
    /// Set if the controls of the accepted documents are in force.
    pub controlled: bool,
    pub apps: BTreeMap<AppId, AppStatus>,
    pub stores: BTreeMap<StoreName, StoreStatus>,
    /// Targets that failed too often, and until when they are left alone.
    pub left_alone: BTreeMap<TargetIdentity, Timestamp>,
}

/// The work under way for all apps, collected once: there may be as much of it as there are apps.
struct UnderWay<'a> {
    /// Apps with a batch that is being recorded and has a continuation.
    recorded: BTreeSet<&'a AppId>,
    unsettled: BTreeMap<&'a AppId, Vec<IntentId>>,
}

impl Machine {
    /// Returns the changes that are withheld for an app, with their reasons.
    pub fn withheld(&self, app: &AppId) -> &[Withheld] {
        self.apps.get(app).map_or(&[], |kept| &kept.report)
    }

    /// Returns until when a target that failed too often is left alone. After that nothing is
    /// deleted there until one complete observation.
    pub fn left_alone_until(&self, target: &TargetIdentity) -> Option<Timestamp> {
        self.breakers.get(target)?.open_until()
    }

    /// Returns the bundle at which an app is held.
    pub fn bundle(&self, app: &AppId) -> Option<Arc<Bundle>> {
        self.bundle_of(app)
    }

    /// Returns the newest accepted bundle of an app, whether it is held at it or not.
    pub fn accepted_bundle(&self, app: &AppId) -> Option<Arc<Bundle>> {
        let accepted = self.holdings.facts().apps.get(app)?.accepted.as_ref()?;
        self.bundles.get(&accepted.bundle)
    }

    /// Returns the status of an app; `None` for an app unknown to the engine.
    pub fn status(&self, app: &AppId) -> Option<AppStatus> {
        self.status_among(app, &self.under_way())
    }

    fn status_among(&self, app: &AppId, under_way: &UnderWay<'_>) -> Option<AppStatus> {
        let kept = self.apps.get(app)?;
        let busy = !kept.phase.is_idle();
        let facts = self.holdings.facts();
        let unwatched = self.unwatched_of(app).cloned();
        Some(AppStatus {
            facts: facts.apps.get(app).cloned().unwrap_or_else(|| Arc::clone(&kept.sent)),
            converged: kept.converged && unwatched.is_none(),
            observed: kept.control.as_ref().is_some_and(|control| control.mode == Mode::Observe),
            moved_to: kept.moved_to.clone(),
            busy,
            pending: busy || self.queue.holds(app) || self.is_yet_to_consider(app) || under_way.recorded.contains(app),
            health: kept.health,
            report: kept.report.clone(),
            drifts: kept.told_drifts(),
            remarks: kept.remarks.clone(),
            bundle: self.held_at(app).and_then(|digest| Some((digest, self.bundles.size(&digest)?))),
            refused: kept.refused.clone(),
            set_back: kept.set_back.clone(),
            offered: kept.is_rewritten().then(|| self.offered(app)).flatten(),
            unrendered: kept.unrendered.clone(),
            unsettled: under_way.unsettled.get(app).cloned().unwrap_or_default(),
            left_alone_until: self.left_alone_until(&kept.sent.target),
            quarantine_until: Some(self.quarantine_until()).filter(|until| self.now < *until),
            window_opens: self.window_opens(app),
            unwatched,
            stale: self.stale_stores_of(app),
        })
    }

    /// Returns the status of these apps, in this order, as far as they fit into one portion; `None`
    /// for apps unknown to the engine. A portion has this many parts: an app is one, and so is each
    /// line of its report and its drift. It contains at least one app.
    pub fn statuses(&self, apps: &[AppId], parts: usize) -> Vec<(AppId, Option<AppStatus>)> {
        let mut portion = Vec::new();
        let (under_way, mut left) = (self.under_way(), parts);
        for app in apps {
            if left == 0 {
                break;
            }
            let status = self.status_among(app, &under_way);
            left = left.saturating_sub(status.as_ref().map_or(1, AppStatus::parts));
            portion.push((app.clone(), status));
        }
        portion
    }

    /// Returns one portion of the status of all apps, after the given one.
    pub fn statuses_after(&self, after: Option<&AppId>, parts: usize) -> Vec<(AppId, AppStatus)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut portion = Vec::new();
        let (under_way, mut left) = (self.under_way(), parts);
        for (app, _) in self.apps.range::<AppId, _>((from, Bound::Unbounded)) {
            if left == 0 {
                break;
            }
            let Some(status) = self.status_among(app, &under_way) else { continue };
            left = left.saturating_sub(status.parts());
            portion.push((app.clone(), status));
        }
        portion
    }

    /// Returns the keys that the app owns.
    pub fn owned(&self, app: &AppId) -> BTreeSet<Key> {
        self.holdings.claims_of(app).keys().cloned().collect()
    }

    fn under_way(&self) -> UnderWay<'_> {
        let mut unsettled = BTreeMap::<_, Vec<_>>::new();
        for (id, intent) in self.unsettled.keys().filter_map(|id| Some((id, self.holdings.facts().intents.get(id)?))) {
            unsettled.entry(&intent.app).or_default().push(*id);
        }
        let waiting = self.recording.waiting().filter_map(|append| append.then.app());
        UnderWay { recorded: self.awaited.values().filter_map(recorded).chain(waiting).collect(), unsettled }
    }

    /// Reports whether this machine is the writer of the log.
    pub fn is_holding(&self) -> bool {
        self.tenure.is_holding()
    }

    /// Reports whether the controls of the accepted documents are in force.
    fn is_controlled(&self) -> bool {
        self.controls.root.is_none() || self.controls.of.is_some() && self.are_in_force()
    }

    /// Reports whether every store has been read or has failed since the process began. The
    /// accepted documents name the stores, so this waits for them too, unless they cannot be read.
    pub fn has_tried_stores(&self) -> bool {
        let stores = self.store_statuses();
        let failed = stores.values().any(|store| store.failures > 0);
        let root = self.controls.root.as_ref().and_then(|root| self.apps.get(root));
        let known = self.is_controlled() || failed || root.is_some_and(|root| root.refused.is_some());
        known && !stores.is_empty() && stores.values().all(|store| store.head.is_some() || store.failures > 0)
    }

    /// Returns the number of apps that wait to be observed.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    pub fn standing(&self) -> Standing {
        let under_way = self.under_way();
        let status = |app: &AppId| Some((app.clone(), self.status_among(app, &under_way)?));
        Standing {
            holding: self.tenure.is_holding(),
            steps_done: self.steps_done,
            steps_failed: self.steps_failed,
            controlled: self.is_controlled(),
            apps: self.apps.keys().filter_map(status).collect(),
            stores: self.store_statuses(),
            left_alone: self.left_alone(),
        }
    }

    /// Returns the names of all apps.
    pub fn app_names(&self) -> Vec<AppId> {
        self.apps.keys().cloned().collect()
    }

    /// Returns the status of all stores.
    pub fn store_statuses(&self) -> BTreeMap<StoreName, StoreStatus> {
        self.stores.iter().map(|(name, store)| (name.clone(), self.status_of(name, store))).collect()
    }

    /// Returns the status of a store; `None` for a store unknown to the engine.
    pub fn store_status(&self, name: &StoreName) -> Option<StoreStatus> {
        Some(self.status_of(name, self.stores.get(name)?))
    }

    /// Returns the targets that failed too often, and until when they are left alone.
    pub fn left_alone(&self) -> BTreeMap<TargetIdentity, Timestamp> {
        self.breakers.iter().filter_map(|(to, it)| Some((to.clone(), it.open_until()?))).collect()
    }
}

/// Returns the app whose work continues once the awaited batch is in the ledger.
fn recorded(awaited: &Awaited) -> Option<&AppId> {
    let Awaited::Append(append) = awaited else { return None };
    append.then.app()
}
