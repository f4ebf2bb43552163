//! The vocabulary of scripts. Its queries read the true world, that is targets, stores and ledger,
//! not the engine's belief. Resources are named by their app and the position of their key in the
//! app's list; the last two positions are shared with the other apps of the target.

use std::ops::Range;

use setpoint_core::claim::Claim;
use setpoint_core::key::Key;
use setpoint_engine::{Controls, Event, NoteKind, Order};
use setpoint_target::memory::Object;

use super::MINUTE;
use crate::fault::{Fault, Swarm};
use crate::store::{Declared, Folder};
use crate::world::{Happening, Recipient, World, reason_name};

/// The first key that apps of one target share.
pub(super) const SHARED: usize = 10;

/// Acts.
impl World {
    pub(super) fn key(&self, app: usize, n: usize) -> &Key {
        &self.universe.keys[app][n]
    }

    /// Commits these keys, and nothing else, with one content.
    pub(super) fn declare(&mut self, app: usize, keys: impl IntoIterator<Item = usize>, content: u32) {
        let folder = self.declaration(app, keys, content);
        self.commit(app, folder);
    }

    /// Does the same with a rewritten history.
    pub(super) fn force_push(&mut self, app: usize, keys: impl IntoIterator<Item = usize>, content: u32) {
        let folder = self.declaration(app, keys, content);
        let store = self.universe.store_of(app);
        self.stores[store].rewrite(self.now, &self.universe.apps[app], folder);
    }

    fn declaration(&self, app: usize, keys: impl IntoIterator<Item = usize>, content: u32) -> Folder {
        Folder::Declares(keys.into_iter().map(|n| (self.key(app, n).clone(), content)).collect::<Declared>())
    }

    /// Lets these faults strike from now on whenever they can, and no others.
    pub(super) fn suffer(&mut self, faults: &[Fault]) {
        self.swarm = Swarm::certain(faults);
    }

    pub(super) fn recover(&mut self) {
        self.swarm = Swarm::none();
    }

    /// Overwrites an object as a stranger.
    pub(super) fn meddle_with(&mut self, app: usize, n: usize) {
        let (target, key) = (self.universe.target_of(app), self.key(app, n).clone());
        self.edit(target, &key, 90, "ada");
        self.hint(target);
    }

    /// Replaces an object by a stranger's own.
    pub(super) fn put_strangers(&mut self, app: usize, keys: Range<usize>, content: u32) {
        let target = self.universe.target_of(app);
        for n in keys {
            let key = self.key(app, n).clone();
            self.recreate(target, &key, content, "grace");
        }
        self.hint(target);
    }

    pub(super) fn let_control(&mut self, app: usize, n: usize) {
        let (target, key) = (self.universe.target_of(app), self.key(app, n).clone());
        self.set_controlled(target, &key, true);
        self.hint(target);
    }

    /// Puts changed controls into force, and informs every instance.
    pub(crate) fn control(&mut self, change: impl FnOnce(&mut Controls)) {
        change(&mut self.universe.controls);
        for instance in 0..self.instances.len() {
            let to = Recipient { instance, life: self.instances[instance].life };
            let event = Box::new(Event::Controls(self.universe.controls.clone()));
            self.after(10, Happening::Deliver { to, event });
        }
    }

    /// Puts a finalizer on an object of a cluster as a stranger, or removes all of them.
    pub(super) fn hold_with_finalizer(&mut self, app: usize, n: usize, holds: bool) {
        let (target, key) = (self.universe.target_of(app), self.key(app, n).clone());
        self.finalize_on_cluster(target, &key, holds);
    }

    /// Lets a person approve the head of the store.
    pub(super) fn bless(&mut self, app: usize) {
        let order = self.blessing(app);
        self.give(app, order);
    }

    /// Lets a person suspend an app until a minute of the first instance's clock.
    pub(super) fn suspend(&mut self, app: usize, until_minute: u64) {
        let until = self.instances[0].clock(until_minute * MINUTE);
        self.give(app, Order::Suspend { until });
    }

    /// Lets renders return only so many of a directory's resources from now on, without an error.
    pub(super) fn lose_resources(&mut self, keeps: usize) {
        self.script.render_keeps = Some(keeps);
        self.monitor.renders_lie = true;
    }

    /// Lets a stranger undo our changes of an object, for so many minutes.
    pub(super) fn fight_over(&mut self, app: usize, n: usize, minutes: u64) {
        let (target, key) = (self.universe.target_of(app), self.key(app, n).clone());
        self.fights.push((target, key, self.now + minutes * MINUTE));
        self.meddle_with(app, n);
    }

    /// Hides an object from all observations from now on.
    pub(super) fn hide(&mut self, app: usize, n: usize) {
        self.script.hidden.insert(self.key(app, n).clone());
    }

    /// Ends the hiding of objects.
    pub(super) fn show_all(&mut self) {
        self.script.hidden.clear();
    }

    /// Disconnects a target, for so many minutes.
    pub(super) fn cut_off(&mut self, target: usize, minutes: u64) {
        self.outages[target] = Some((Fault::Partition, self.now + minutes * MINUTE));
    }

    /// Removes all data of the engine, and installs it again.
    pub(super) fn reinstall(&mut self) {
        self.lose_data();
        for instance in 0..self.instances.len() {
            self.crash(instance);
        }
    }

    /// Sends a webhook: the engine polls an app's store for its head now.
    pub(super) fn hint_store(&mut self, app: usize) {
        let store = self.universe.stores[self.universe.store_of(app)].clone();
        for instance in 0..self.instances.len() {
            let to = Recipient { instance, life: self.instances[instance].life };
            self.after(1, Happening::Deliver { to, event: Box::new(Event::StoreHinted { store: store.clone() }) });
        }
    }

    /// Sets the branch of an app's store back by one commit.
    pub(super) fn set_back(&mut self, app: usize) {
        let store = self.universe.store_of(app);
        self.stores[store].set_back(self.now);
    }

    /// Pauses an instance.
    pub(super) fn pause(&mut self, instance: usize, seconds: u64) {
        self.instances[instance].paused_until = self.now + seconds * 1_000;
    }
}

/// Queries.
impl World {
    pub(super) fn object(&self, app: usize, n: usize) -> Option<&Object> {
        let key = self.key(app, n);
        let mut objects = self.targets[self.universe.target_of(app)].objects();
        objects.find(|(at, _)| *at == key).map(|(_, object)| object)
    }

    /// Reports whether all of these objects exist with this content.
    pub(super) fn stand(&self, app: usize, keys: impl IntoIterator<Item = usize>, content: u32) -> bool {
        let as_declared = |n| {
            let declared = self.universe.body(self.key(app, n), content);
            self.object(app, n).is_some_and(|object| *object.live.value == declared)
        };
        keys.into_iter().all(as_declared)
    }

    /// Returns how many of these objects exist, whatever their content.
    pub(super) fn standing(&self, app: usize, keys: Range<usize>) -> usize {
        keys.filter(|n| self.object(app, *n).is_some()).count()
    }

    /// Reports whether exactly one object exists under each of these keys.
    pub(super) fn single(&self, app: usize, keys: Range<usize>) -> bool {
        let target = &self.targets[self.universe.target_of(app)];
        keys.into_iter().all(|n| target.instances(self.key(app, n)) == 1)
    }

    /// Returns the number of objects that we deleted.
    pub(super) fn deletes(&self) -> usize {
        self.monitor.deleted.len()
    }

    pub(super) fn claim(&self, app: usize, n: usize) -> Option<&Claim> {
        let target = self.targets[self.universe.target_of(app)].identity();
        self.ledger.facts(&self.origin).claims.get(target, self.key(app, n)).map(AsRef::as_ref)
    }

    /// Reports whether the ledger knows the app.
    pub(super) fn is_known(&self, app: usize) -> bool {
        self.ledger.facts(&self.origin).apps.contains_key(&self.universe.apps[app])
    }

    /// Returns the number of changes whose result is unknown.
    pub(super) fn open_intents(&self) -> usize {
        self.ledger.facts(&self.origin).intents.len()
    }

    /// Reports whether the app's document is gone according to the ledger.
    pub(super) fn is_frozen(&self, app: usize) -> bool {
        let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
        facts.is_some_and(|facts| facts.frozen)
    }

    /// Returns the number of accepted bundles of the app.
    pub(super) fn acceptances(&self, app: usize) -> u64 {
        let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
        facts.and_then(|facts| facts.accepted.as_ref()).map_or(0, |accepted| accepted.sequence)
    }

    /// Reports whether the target that no scope may use was never changed.
    pub(super) fn vault_is_empty(&self) -> bool {
        self.targets[self.universe.grounds..].iter().all(|target| target.change_count() == 0)
    }

    /// Reports whether the app is suspended according to the ledger.
    pub(super) fn is_suspended(&self, app: usize) -> bool {
        let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
        facts.is_some_and(|facts| facts.suspension.is_some())
    }

    /// Returns the number of notes of a kind that reached people.
    pub(super) fn notes(&self, kind: NoteKind) -> u32 {
        self.monitor.notes.get(&kind).copied().unwrap_or(0)
    }

    pub(super) fn is_held(&self, app: usize) -> bool {
        let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
        facts.is_some_and(|facts| facts.hold.is_some())
    }

    /// Formats the instances' reports of everything that they do not do, for people.
    pub(super) fn reports_of_all(&self) -> String {
        let apps = self.universe.apps.iter();
        let says = |app| self.instances.iter().filter_map(move |instance| Some((app, instance.machine.status(app)?)));
        let reports = apps
            .flat_map(says)
            .map(|(app, status)| format!("{app}: {:?}, hold {:?}", status.report, status.facts.hold));
        reports.collect::<Vec<_>>().join("; ")
    }

    /// Reports whether an instance gives this reason for something that it does not do.
    pub(super) fn reports(&self, app: usize, reason: &str) -> bool {
        let reports = self.instances.iter().filter_map(|instance| instance.machine.status(&self.universe.apps[app]));
        reports.flat_map(|status| status.report).any(|withheld| reason_name(&withheld.why) == reason)
    }
}
