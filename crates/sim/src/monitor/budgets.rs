//! The delete budgets, against the number of owned objects at the time of the decision.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use setpoint_core::claim::ClaimOrigin;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::{Intent, Verb};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, Uid};
use setpoint_core::prune::{app_budget, fleet_budget};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::Entry;

use super::{DAY, Ledgered, MINUTE, Monitor};

/// The number of owned objects may change between a plan and the intent of its last delete; this is
/// the maximum time.
const PLAN: u64 = 5 * MINUTE;

/// The monitor's memory of deletes.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgets {
    /// Deletes that count for their app, with the world's time.
    deletes: Vec<(u64, AppId)>,
    /// Deletes that count for the fleet, including those of retired apps.
    fleet: Vec<FleetDelete>,
    paid: BTreeSet<(Key, Uid)>,
    owned: BTreeMap<AppId, Recent>,
    fleet_owned: Recent,
}

/// A delete that counts for the fleet, at an instant of its writer's clock.
#[derive(Clone, Debug)]
struct FleetDelete {
    at: Timestamp,
    by: AppId,
    /// Set if the app was forgotten since.
    forgotten: bool,
}

/// A number and its recent values, each with the time in the world at which it began.
#[derive(Clone, Debug, Default)]
struct Recent(VecDeque<(u64, u32)>);

impl Recent {
    fn note(&mut self, now: u64, number: u32) {
        if self.0.back().is_none_or(|(_, last)| *last != number) {
            self.0.push_back((now, number));
        }
        while self.0.get(1).is_some_and(|(since, _)| since + PLAN < now) {
            self.0.pop_front();
        }
    }

    /// Returns the highest value at any time when a present plan may have been made.
    fn most(&self, now: u64) -> u32 {
        let ended = |n: usize| self.0.get(n + 1).is_some_and(|(since, _)| since + PLAN < now);
        let lately = self.0.iter().enumerate().filter(|(n, _)| !ended(*n));
        lately.map(|(_, (_, number))| *number).max().unwrap_or(0)
    }
}

impl Monitor {
    /// Checks an intended delete: a person allowed it, or it is within the budgets.
    pub(super) fn delete_paid(&mut self, scene: &Ledgered<'_>, entry: &Entry, intent: &Intent) {
        let uid = intent.expect.as_ref().map(|expect| expect.uid.clone());
        // A declared object is deleted only to be replaced. That costs nothing, except the
        // permission if the object was there before us.
        if intent.declared.is_some() {
            if is_adopted(entry, &intent.key) {
                self.take_permission(intent);
            }
            return;
        }
        let first = uid.is_none_or(|uid| self.budgets.paid.insert((intent.key.clone(), uid)));
        if !first || self.take_permission(intent) {
            return;
        }
        let retiring = scene.facts.apps.get(&intent.app).is_some_and(|facts| facts.retiring);
        // Retiring the whole app is declared: that lifts the app's own budget, but not the fleet's.
        if !retiring {
            self.app_deletes(scene.now, &intent.app);
        }
        self.fleet_deletes(scene.now, &intent.app, intent.at);
    }

    fn app_deletes(&mut self, now: u64, app: &AppId) {
        self.budgets.deletes.push((now, app.clone()));
        let since = now.saturating_sub(DAY);
        let spent = self.budgets.deletes.iter().filter(|(at, by)| *at >= since && by == app).count() as u32;
        let budget = app_budget(self.budgets.owned.get(app).map_or(0, |owned| owned.most(now)));
        self.holds("S3", spent <= budget, || format!("{app} deletes {spent} within a day, allowed are {budget}"));
    }

    /// Counts by the writers' own clocks: one that starts hours ahead ends the hour early, which
    /// cannot be prevented.
    fn fleet_deletes(&mut self, now: u64, app: &AppId, at: Timestamp) {
        self.budgets.fleet.push(FleetDelete { at, by: app.clone(), forgotten: false });
        let lately = |delete: &&FleetDelete| at.since(delete.at) < Span::hours(1);
        let spent = self.budgets.fleet.iter().filter(lately).count() as u32;
        let budget = fleet_budget(self.budgets.fleet_owned.most(now));
        self.holds("S3", spent <= budget, || format!("the fleet deletes {spent} within an hour, allowed are {budget}"));
    }

    /// Counts the owned objects after claims have changed.
    pub(super) fn count_owned(&mut self, now: u64, facts: &Facts) {
        let mut owned: BTreeMap<&AppId, u32> = BTreeMap::new();
        for claim in facts.claims.iter() {
            *owned.entry(&claim.app).or_default() += 1;
        }
        for (app, recent) in &mut self.budgets.owned {
            recent.note(now, owned.remove(app).unwrap_or(0));
        }
        for (app, count) in owned {
            self.budgets.owned.entry(app.clone()).or_default().note(now, count);
        }
        self.budgets.fleet_owned.note(now, facts.claims.len() as u32);
    }

    /// Forgets the deletes of an app. A later app of that name is another one, with its own budget.
    pub(super) fn deletes_forgotten(&mut self, app: &AppId) {
        self.budgets.deletes.retain(|(_, by)| by != app);
        self.budgets.fleet.iter_mut().filter(|delete| delete.by == *app).for_each(|delete| delete.forgotten = true);
    }

    /// Forgets the deletes of forgotten apps. What is durable about a retired app is removed with
    /// it, and a new writer knows only what is durable.
    pub(super) fn forgotten_apps_cost_nothing(&mut self) {
        self.budgets.fleet.retain(|delete| !delete.forgotten);
    }
}

/// Reports whether an entry claims a key as an object that was there before us.
fn is_adopted(entry: &Entry, key: &Key) -> bool {
    entry.changes.iter().any(|change| {
        matches!(change, Change::PutClaim { claim, .. } if claim.key == *key && claim.origin == ClaimOrigin::Adopted)
    })
}

/// Returns the intent of a change that is a delete.
pub(super) fn intended_delete(change: &Change) -> Option<&Intent> {
    match change {
        Change::OpenIntent { intent } if intent.verb == Verb::Delete => Some(intent),
        _ => None,
    }
}
