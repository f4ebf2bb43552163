//! Marks of the apps, stores and targets whose status may have become different. Readers of the
//! status compute only the marked ones again.
//!
//! A mark too many costs a reader one comparison; a missing one shows it an old status. The
//! simulator checks after every step that no mark is missing (property R1 of docs/simulator.md).
//! Marks are collected only while a reader takes them.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::facts::Change;
use setpoint_core::intent::IntentId;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::time::Timestamp;

use super::app::App;
use super::status::StoreStatus;
use super::{Awaited, Machine};

/// The number of marks that are kept. With more, everything counts as marked.
const MOST_MARKS: usize = 10_000;

/// Everything whose status may have become different since the last call of
/// [`Machine::take_changes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Set if everything may have become different. Then the lists below may be incomplete.
    pub all: bool,
    /// Apps whose [`AppStatus`](super::AppStatus) may be different, also apps that are gone.
    pub apps: BTreeSet<AppId>,
    /// Stores whose [`StoreStatus`](super::StoreStatus) may be different, also stores that are gone.
    pub stores: BTreeSet<StoreName>,
    /// Targets whose breaker or watches may be different.
    pub targets: BTreeSet<TargetIdentity>,
    /// Apps with new records in the ledger. The status may be the same: drift is often healed before
    /// anyone reads the status in between.
    pub recorded: BTreeSet<AppId>,
}

/// The marks of one kind of thing.
#[derive(Debug)]
pub(super) struct Marks<T> {
    /// Set while a reader takes the marks.
    watched: bool,
    all: bool,
    marked: BTreeSet<T>,
}

impl<T> Default for Marks<T> {
    fn default() -> Self {
        Self { watched: false, all: false, marked: BTreeSet::new() }
    }
}

impl<T: Ord + Clone> Marks<T> {
    pub(super) fn mark(&mut self, one: &T) {
        if !self.watched || self.all || self.marked.contains(one) {
            return;
        }
        self.marked.insert(one.clone());
        if self.marked.len() > MOST_MARKS {
            self.mark_all();
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.all = self.watched;
        self.marked.clear();
    }

    fn watch(&mut self, watched: bool) {
        self.watched = watched;
        self.mark_all();
    }

    /// Returns whether everything is marked, and the single marks.
    fn take(&mut self) -> (bool, BTreeSet<T>) {
        (std::mem::take(&mut self.all), std::mem::take(&mut self.marked))
    }
}

/// Something whose status changes with time alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aging {
    /// The quarantine after the installation, a part of the status of every app.
    Quarantine,
    /// A window of an app, which opens or closes.
    Window(AppId),
    /// A store, which becomes stale.
    Store(StoreName),
}

/// The instants at which a status changes with time alone. They wake nothing: the status is that of
/// the last step.
#[derive(Debug, Default)]
pub(super) struct Moments(BTreeSet<(Timestamp, Aging)>);

impl Machine {
    /// Begins or ends the collection of changes. At its beginning, everything counts as changed.
    pub fn watch_changes(&mut self, watched: bool) {
        if self.watches_changes() == watched {
            return;
        }
        self.apps.marks.watch(watched);
        self.changed_stores.watch(watched);
        self.changed_targets.watch(watched);
        self.recorded.watch(watched);
        let windows = self.apps.iter().filter(|_| watched).filter_map(|(app, kept)| self.next_edge(app, kept));
        self.moments = Moments(windows.collect());
        self.note_quarantine();
        self.note_store_moments();
    }

    /// Reports whether changes are collected.
    pub fn watches_changes(&self) -> bool {
        self.apps.marks.watched
    }

    /// Returns everything that may have become different since the last call.
    pub fn take_changes(&mut self) -> Changes {
        let ((all_apps, apps), (all_stores, stores)) = (self.apps.marks.take(), self.changed_stores.take());
        let ((all_targets, targets), (all_recorded, recorded)) = (self.changed_targets.take(), self.recorded.take());
        Changes { all: all_apps || all_stores || all_targets || all_recorded, apps, stores, targets, recorded }
    }

    /// Marks everything.
    pub(super) fn mark_all(&mut self) {
        self.apps.marks.mark_all();
        self.changed_stores.mark_all();
        self.changed_targets.mark_all();
    }

    /// Marks a target and all apps on it.
    pub(super) fn mark_target(&mut self, target: &TargetIdentity) {
        if self.watches_changes() {
            self.changed_targets.mark(target);
            self.apps_on(target).iter().for_each(|app| self.apps.marks.mark(app));
        }
    }

    /// Marks a store.
    pub(super) fn mark_store(&mut self, store: &StoreName) {
        self.changed_stores.mark(store);
    }

    /// Marks the apps that are rendered from a store.
    pub(super) fn mark_readers(&mut self, store: &StoreName) {
        if self.watches_changes() && !Mutant::ForgetReadersOfStore.is_on() {
            self.apps_reading(store).iter().for_each(|app| self.apps.marks.mark(app));
        }
    }

    /// Marks the apps whose status contains a fact that is about to change.
    pub(super) fn mark_change(&mut self, change: &Change) {
        if !self.watches_changes() {
            return;
        }
        match change {
            Change::Installed { .. } => self.mark_all(),
            Change::PutClaim { claim, from } => {
                self.mark_recorded(&claim.app);
                from.iter().for_each(|app| self.mark_recorded(app));
            }
            Change::OpenIntent { intent } => self.mark_recorded(&intent.app),
            Change::CloseIntent { intent, .. } => {
                let intent = self.holdings.facts().intents.get(intent);
                if let Some(app) = intent.map(|intent| intent.app.clone()) {
                    self.mark_recorded(&app);
                }
            }
            Change::DropClaim { app, .. } | Change::PutApp { app, .. } | Change::ForgetApp { app } => {
                self.mark_recorded(app);
            }
        }
    }

    /// Marks an app with a new record.
    pub(super) fn mark_recorded(&mut self, app: &AppId) {
        self.apps.marks.mark(app);
        self.recorded.mark(app);
    }

    /// Marks the app of an open intent.
    pub(super) fn mark_intent(&mut self, intent: IntentId) {
        if let Some(intent) = self.holdings.facts().intents.get(&intent) {
            self.apps.marks.mark(&intent.app);
        }
    }

    /// Marks the app that waits for a record, which is sent or answered.
    pub(super) fn mark_awaited(&mut self, awaited: &Awaited) {
        if let Awaited::Append(append) = awaited
            && let Some(app) = append.then.app()
        {
            self.apps.marks.mark(app);
        }
    }

    /// Notes when a window of an app next opens or closes.
    pub(super) fn note_window(&mut self, app: &AppId) {
        if self.watches_changes() {
            let next = self.apps.get(app).and_then(|kept| self.next_edge(app, kept));
            self.moments.0.extend(next);
        }
    }

    fn next_edge(&self, app: &AppId, kept: &App) -> Option<(Timestamp, Aging)> {
        let closed = kept.control.iter().flat_map(|control| &control.closed);
        let edges = closed.flat_map(|(from, until)| [*from, *until]).filter(|edge| *edge > self.now);
        edges.min().map(|next| (next, Aging::Window(app.clone())))
    }

    /// Notes when the quarantine ends.
    pub(super) fn note_quarantine(&mut self) {
        let until = self.quarantine_until();
        if self.watches_changes() && until > self.now {
            self.moments.0.insert((until, Aging::Quarantine));
        }
    }

    /// Notes when each store becomes stale, unless it responds before.
    fn note_store_moments(&mut self) {
        let stores: Vec<_> = self.stores.keys().cloned().collect();
        stores.iter().for_each(|store| self.note_store_moment(store));
    }

    pub(super) fn note_store_moment(&mut self, store: &StoreName) {
        if let Some(at) = self.stale_at(store).filter(|at| self.watches_changes() && *at > self.now) {
            self.moments.0.insert((at, Aging::Store(store.clone())));
        }
    }

    /// Returns the status of all stores, to compare it after a change of the controls.
    pub(super) fn watched_stores(&self) -> BTreeMap<StoreName, StoreStatus> {
        if self.watches_changes() { self.store_statuses() } else { BTreeMap::new() }
    }

    /// Marks the stores that differ from before, and the apps that are rendered from them.
    pub(super) fn mark_other_stores(&mut self, before: &BTreeMap<StoreName, StoreStatus>) {
        let now = self.watched_stores();
        for store in before.keys().chain(now.keys()).filter(|store| before.get(*store) != now.get(*store)) {
            self.mark_store(store);
            self.mark_readers(store);
        }
        self.note_store_moments();
    }

    pub(super) fn forget_moments(&mut self) {
        self.moments.0.clear();
    }

    /// Marks everything that has changed with time alone.
    pub(super) fn mark_aged(&mut self) {
        while self.moments.0.first().is_some_and(|(at, _)| *at <= self.now) {
            let Some((_, aging)) = self.moments.0.pop_first() else { return };
            if Mutant::ForgetPassedTime.is_on() {
                continue;
            }
            match aging {
                Aging::Quarantine => self.apps.marks.mark_all(),
                Aging::Window(app) => {
                    self.apps.marks.mark(&app);
                    self.note_window(&app);
                }
                Aging::Store(store) => {
                    self.mark_store(&store);
                    self.mark_readers(&store);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_marked_without_a_reader() {
        let mut marks = Marks::default();
        marks.mark(&1);
        marks.mark_all();
        assert_eq!(marks.take(), (false, BTreeSet::new()));
    }

    #[test]
    fn too_many_marks_become_all() {
        let mut marks = Marks::default();
        marks.watch(true);
        assert_eq!(marks.take(), (true, BTreeSet::new()), "at the beginning nothing is known");
        (0..MOST_MARKS).for_each(|one| marks.mark(&one));
        assert_eq!(marks.take().1.len(), MOST_MARKS);
        (0..=MOST_MARKS).for_each(|one| marks.mark(&one));
        assert_eq!(marks.take(), (true, BTreeSet::new()));
        marks.mark(&7);
        assert_eq!(marks.take(), (false, BTreeSet::from([7])));
    }
}
