//! The facts in the machine's memory, with the indexes to search them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use setpoint_core::claim::Claim;
use setpoint_core::facts::{AppFacts, Change, Facts, Misfit};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::time::{Span, Timestamp};

const HOUR: Span = Span::hours(1);
const DAY: Span = Span::hours(24);

#[derive(Debug, Default)]
pub(super) struct Holdings {
    facts: Facts,
    owned: BTreeMap<AppId, BTreeMap<Key, Arc<Claim>>>,
    /// Deletes of all apps, oldest first.
    deletions: VecDeque<(Timestamp, u32)>,
    /// Apps whose durable bundle declares a key.
    declared: BTreeMap<TargetIdentity, BTreeMap<Key, Declarers>>,
}

/// The apps that declare one key. Nearly always it is one: a separate set for each key would be
/// most of the index's memory.
#[derive(Debug)]
#[expect(clippy::box_collection, reason = "almost every key has one, which would take as much room as the set")]
enum Declarers {
    One(Arc<AppId>),
    Several(Box<BTreeSet<AppId>>),
}

impl Declarers {
    fn iter(&self) -> impl Iterator<Item = &AppId> {
        let (one, several) = match self {
            Self::One(app) => (Some(&**app), None),
            Self::Several(apps) => (None, Some(&**apps)),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    fn add(&mut self, app: &AppId) {
        match self {
            Self::One(known) if **known == *app => {}
            Self::One(known) => *self = Self::Several(Box::new([AppId::clone(known), app.clone()].into())),
            Self::Several(apps) => drop(apps.insert(app.clone())),
        }
    }

    /// Removes an app. Returns whether none is left.
    fn remove(&mut self, app: &AppId) -> bool {
        match self {
            Self::One(known) => **known == *app,
            Self::Several(apps) => {
                apps.remove(app);
                apps.is_empty()
            }
        }
    }
}

impl Holdings {
    pub(super) fn new(facts: Facts) -> Self {
        let mut owned = BTreeMap::<AppId, BTreeMap<Key, Arc<Claim>>>::new();
        for claim in facts.claims.iter() {
            owned.entry(claim.app.clone()).or_default().insert(claim.key.clone(), Arc::clone(claim));
        }
        let mut deletions: Vec<_> = facts
            .apps
            .values()
            .flat_map(|app| &app.deletions)
            .map(|deletions| (deletions.at, deletions.count))
            .collect();
        deletions.sort_unstable();
        Self { facts, owned, deletions: deletions.into(), declared: BTreeMap::new() }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Applies a durable change.
    pub(super) fn apply(&mut self, change: &Change, now: Timestamp) -> Result<(), Misfit> {
        if let Change::PutApp { app, facts } = change {
            self.note_deletions(app, facts, now);
        }
        self.facts.apply(change)?;
        match change {
            Change::PutClaim { claim, from } => {
                if let Some(owned) = from.as_ref().and_then(|from| self.owned.get_mut(from)) {
                    owned.remove(&claim.key);
                }
                self.owned.entry(claim.app.clone()).or_default().insert(claim.key.clone(), Arc::clone(claim));
            }
            Change::DropClaim { key, app, .. } => {
                if let Some(owned) = self.owned.get_mut(app) {
                    owned.remove(key);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds to the fleet's deletes those that an app paid for since its facts were last changed.
    fn note_deletions(&mut self, app: &AppId, facts: &AppFacts, now: Timestamp) {
        let before = self.facts.apps.get(app).and_then(|facts| facts.deletions.last());
        if let Some(paid) = facts.deletions.last().filter(|paid| Some(*paid) != before) {
            self.deletions.push_back((now, paid.count));
        }
    }

    pub(super) fn claims_of(&self, app: &AppId) -> &BTreeMap<Key, Arc<Claim>> {
        static NONE: BTreeMap<Key, Arc<Claim>> = BTreeMap::new();
        self.owned.get(app).unwrap_or(&NONE)
    }

    /// Returns the number of deletes of one app in the last day.
    pub(super) fn spent_by(&self, app: &AppId, now: Timestamp) -> u32 {
        let deletions = self.facts.apps.get(app).into_iter().flat_map(|facts| &facts.deletions);
        deletions.filter(|deletions| now.since(deletions.at) < DAY).map(|deletions| deletions.count).sum()
    }

    /// Returns the number of deletes of all apps in the last hour.
    pub(super) fn spent_by_fleet(&mut self, now: Timestamp) -> u32 {
        while self.deletions.front().is_some_and(|(at, _)| now.since(*at) >= HOUR) {
            self.deletions.pop_front();
        }
        self.deletions.iter().map(|(_, count)| count).sum()
    }

    /// Updates the index after the app's durable bundle declares other keys.
    pub(super) fn declares<'a>(
        &mut self,
        app: &AppId,
        target: &TargetIdentity,
        before: impl Iterator<Item = &'a Key>,
        after: impl Iterator<Item = &'a Key>,
    ) {
        let declared = self.declared.entry(target.clone()).or_default();
        for key in before {
            if declared.get_mut(key).is_some_and(|apps| apps.remove(app)) {
                declared.remove(key);
            }
        }
        let shared = Arc::new(app.clone());
        for key in after {
            match declared.get_mut(key) {
                Some(apps) => apps.add(app),
                None => drop(declared.insert(key.clone(), Declarers::One(Arc::clone(&shared)))),
            }
        }
    }

    /// Returns another app that declares the key.
    pub(super) fn declared_by_other(&self, target: &TargetIdentity, key: &Key, app: &AppId) -> Option<&AppId> {
        self.declarers(target, key).find(|other| *other != app)
    }

    /// Returns the apps that own or declare a key.
    pub(super) fn interested_in(&self, target: &TargetIdentity, key: &Key) -> impl Iterator<Item = &AppId> {
        let owner = self.facts.claims.get(target, key).map(|claim| &claim.app);
        owner.into_iter().chain(self.declarers(target, key))
    }

    fn declarers(&self, target: &TargetIdentity, key: &Key) -> impl Iterator<Item = &AppId> {
        self.declared.get(target).and_then(|keys| keys.get(key)).into_iter().flat_map(Declarers::iter)
    }
}
