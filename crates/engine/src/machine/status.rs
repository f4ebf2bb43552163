//! What may be asked of the machine: how things stand, and what it would do. Asking changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::decide::{Decision, Drift};
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation};
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::report::Withheld;
use setpoint_core::snapshot::{Preview, Question};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;
use setpoint_target::{Asker, Priority, Unwatched, Wanted};

use super::{Awaited, Machine};
use crate::controls::Mode;

/// How an app stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppStatus {
    pub facts: Arc<AppFacts>,
    pub converged: bool,
    /// Differences are reported, and never written.
    pub observed: bool,
    /// The system that its document leads to, where that is another one than the one that holds
    /// what it owns. The app is frozen until that changes.
    pub moved_to: Option<TargetIdentity>,
    pub busy: bool,
    /// It is busy, or will be without anything else happening: a version is to be rendered, a look
    /// is due.
    pub pending: bool,
    pub health: Health,
    /// Everything that is not being done, and why.
    pub report: Vec<Withheld>,
    pub drifts: Vec<Drift>,
    /// What stands undeclared on what is in place, and is left alone.
    pub remarks: Vec<Drift>,
    /// What it is held at, and how many resources that has.
    pub bundle: Option<(Digest, usize)>,
    /// The newest version that was refused, while none was accepted after it.
    pub refused: Option<Refused>,
    /// What its stores offer now, where that is older than what was accepted. It is not followed.
    pub set_back: Option<Revision>,
    /// Why the newest version could not be rendered so far. It is tried again.
    pub unrendered: Option<String>,
    /// Changes whose outcome is not known.
    pub unsettled: Vec<IntentId>,
    /// Until when its target is left alone, which failed too often. Later than that, nothing is
    /// deleted there before one full look.
    pub left_alone_until: Option<Timestamp>,
    /// Changes of something it declares or owns are not noticed now: all that is said here is as
    /// old as that.
    pub unwatched: Option<Unwatched>,
    /// Its stores that have not answered for so long that nobody knows what they declare now. What
    /// was accepted stays.
    pub stale: Vec<StoreName>,
}

/// A version that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub revision: Revision,
    pub problem: String,
    pub at: Timestamp,
}

/// How a store stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    pub head: Option<VersionId>,
    /// When it last answered; `None` if it never did.
    pub answered: Option<Timestamp>,
    pub stale: bool,
    /// Polls in a row that failed, and why the last one did.
    pub failures: u32,
    pub problem: Option<String>,
}

/// How everything stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// This machine is the writer of the log.
    pub holding: bool,
    /// Steps that were done, and that were refused or never answered for, since the process began.
    pub steps_done: u64,
    pub steps_failed: u64,
    /// The controls of the accepted documents are in force.
    pub controlled: bool,
    pub apps: BTreeMap<AppId, AppStatus>,
    pub stores: BTreeMap<StoreName, StoreStatus>,
    /// Targets that failed too often, and until when they are left alone.
    pub left_alone: BTreeMap<TargetIdentity, Timestamp>,
}

/// What is under way for all apps, gathered once: there may be as much of it as there are apps.
struct UnderWay<'a> {
    /// Something about them is on its way into the ledger, and something follows from it.
    recorded: BTreeSet<&'a AppId>,
    unsettled: BTreeMap<&'a AppId, Vec<IntentId>>,
}

impl Machine {
    /// What is not being done for an app, and why.
    pub fn withheld(&self, app: &AppId) -> &[Withheld] {
        self.apps.get(app).map_or(&[], |kept| &kept.report)
    }

    /// Until when a target that failed too often is left alone. Longer than that, until one full
    /// look at it, nothing is deleted there.
    pub fn left_alone_until(&self, target: &TargetIdentity) -> Option<Timestamp> {
        self.breakers.get(target)?.open_until()
    }

    /// What an app is held at.
    pub fn bundle(&self, app: &AppId) -> Option<Arc<Bundle>> {
        self.bundle_of(app)
    }

    /// How an app stands; `None` for one the engine has never heard of.
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
            unrendered: kept.unrendered.clone(),
            unsettled: under_way.unsettled.get(app).cloned().unwrap_or_default(),
            left_alone_until: self.left_alone_until(&kept.sent.target),
            unwatched,
            stale: self.stale_stores_of(app),
        })
    }

    /// What the app owns.
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

    pub fn standing(&self) -> Standing {
        let under_way = self.under_way();
        let status = |app: &AppId| Some((app.clone(), self.status_among(app, &under_way)?));
        Standing {
            holding: self.tenure.is_holding(),
            steps_done: self.steps_done,
            steps_failed: self.steps_failed,
            controlled: self.controls.root.is_none() || self.controls.of.is_some() && self.are_in_force(),
            apps: self.apps.keys().filter_map(status).collect(),
            stores: self.stores.iter().map(|(name, store)| (name.clone(), self.status_of(name, store))).collect(),
            left_alone: self.breakers.iter().filter_map(|(to, it)| Some((to.clone(), it.open_until()?))).collect(),
        }
    }

    /// Where an app is held, what has to be looked at to plan for it with this bundle, and on whose
    /// behalf; `None` for an unknown app.
    pub fn wanted_for(&self, app: &AppId, bundle: &Bundle) -> Option<(TargetIdentity, Wanted, Asker)> {
        let target = self.apps.get(app)?.sent.target.clone();
        let owned = self.holdings.claims_of(app).keys().map(|key| (key.clone(), None));
        let declared = bundle.resources().iter();
        let declared = declared.map(|(key, declared)| (key.clone(), Some(Arc::clone(&declared.resource))));
        // A person asks for a plan.
        let asker = Asker { priority: Priority::Person, ..self.asker(app) };
        Some((target, owned.chain(declared).collect(), asker))
    }

    /// What would be decided for an app that has been seen like this, were it to be held at this
    /// bundle; of one that is only observed, were it not. Whoever shows it asks the target about
    /// every step: so what has to be asked before anything is taken over counts as answered.
    pub fn what_if(&mut self, app: &AppId, bundle: &Arc<Bundle>, observation: &Observation) -> Option<Decision> {
        let keys = observation.states.keys().cloned().collect();
        let mut decide = |previews| {
            let decided = self.decide_for(app, bundle, &keys, observation, Some(previews));
            decided.map(|(decision, _)| decision)
        };
        let decision = decide(BTreeMap::new())?;
        let supposed: BTreeMap<Key, Preview> = decision.questions.iter().filter_map(supposed).collect();
        if supposed.is_empty() { Some(decision) } else { decide(supposed) }
    }
}

/// A question about taking something over, answered with yes.
fn supposed(question: &Question) -> Option<(Key, Preview)> {
    let Question::Preview { key, version, declared } = question else { return None };
    Some((key.clone(), Preview { version: version.clone(), declared: *declared, verdict: Ok(()) }))
}

/// The app that something follows for once what is awaited is in the ledger.
fn recorded(awaited: &Awaited) -> Option<&AppId> {
    let Awaited::Append(append) = awaited else { return None };
    append.then.app()
}
