//! The actors other than the engine: authors who commit, people who order, strangers who interfere,
//! rules that deny.

use std::sync::Arc;

use setpoint_core::claim::ClaimOrigin;
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::name::{Actor, AppId, Uid};
use setpoint_core::time::Span;
use setpoint_core::version::Revision;
use setpoint_engine::{Command, Order, OrderId};
use setpoint_target::memory::{FIXED, MemoryWorld};

use crate::fault::Fault;
use crate::monitor::reason_of;
use crate::repository::root;
use crate::store::{Declared, Folder, may_be_made_anew};
use crate::universe::settings;
use crate::world::{Happening, World};

impl World {
    /// Lets one of them act, and schedules the next act.
    pub(crate) fn act(&mut self) {
        if self.calm {
            return;
        }
        let pause = 5_000 + u64::from(self.tape.pick("act pause", 90)) * 1_000;
        self.after(pause, Happening::Act);
        let app = self.tape.pick("whom", self.universe.folders() as u32) as usize;
        if self.universe.rooted && self.tape.happens("documents change", 300) {
            return self.change_documents(app);
        }
        let target = self.universe.target_of(app);
        if self.is_cluster(target) {
            self.back_up_cluster(target);
            if self.strikes(Fault::Restored, "storage restored") {
                return self.restore_from_backup(target);
            }
            if self.tape.happens("cluster shaken", 120) {
                return self.shake_cluster(target);
            }
        }
        match self.tape.pick("act", 27) {
            0..=5 => self.commit_change(app),
            6..=9 => self.commit_removal(app),
            10 => self.commit_broken(app),
            11 => self.commit_rewritten(app),
            12 => self.commit_empty(app),
            13..=16 => self.meddle(app),
            17 => self.replace_objects(app),
            18 => self.control_an_object(app),
            19 => self.lay_down_rules(app),
            20 => self.sicken(app),
            21 | 22 => self.give_order(app),
            23 => self.fight(app),
            _ => self.err_as_operator(app),
        }
    }

    /// Makes a mistake that only operators can make.
    fn err_as_operator(&mut self, app: usize) {
        if self.strikes(Fault::BranchSetBack, "branch set back") {
            let store = self.universe.store_of(app);
            self.remark("author: sets the branch back");
            self.stores[store].set_back(self.now);
        } else if self.instances.len() == 2 && self.strikes(Fault::StartedTwice, "started twice") {
            let minutes = u64::from(1 + self.tape.pick("second minutes", 4));
            self.start_second(minutes);
        } else if self.clusters.is_empty() && self.strikes(Fault::DataLost, "data lost") {
            self.stop_and_lose_data();
        } else if self.tape.happens("backup made", self.swarm.rate(Fault::BackupRestored)) {
            self.back_up_to_bring_back();
        }
    }

    fn folder(&self, app: usize) -> Declared {
        let store = &self.stores[self.universe.store_of(app)];
        match store.head_folder(&self.universe.apps[app]) {
            Some(Folder::Declares(declared)) => declared.clone(),
            _ => Declared::new(),
        }
    }

    pub(crate) fn commit(&mut self, app: usize, folder: Folder) {
        let store = self.universe.store_of(app);
        if self.timeline.is_some() {
            self.remark(&format!("author: commits {folder:?} for {}", self.universe.apps[app]));
        }
        self.stores[store].commit(self.now, &self.universe.apps[app], folder);
    }

    fn any_key(&mut self, app: usize) -> Key {
        let keys = &self.universe.keys[app];
        keys[self.tape.pick("key", keys.len() as u32) as usize].clone()
    }

    fn commit_change(&mut self, app: usize) {
        let mut declared = self.folder(app);
        for _ in 0..=self.tape.pick("keys changed", 3) {
            let key = self.any_key(app);
            let content = 2 + self.tape.pick("content", 6);
            declared.insert(key, content);
        }
        self.commit(app, Folder::Declares(declared));
    }

    fn commit_removal(&mut self, app: usize) {
        let mut declared = self.folder(app);
        let many = self.tape.happens("remove many", 250);
        let count = if many { declared.len() * 9 / 10 } else { 1 };
        for _ in 0..count {
            let n = self.tape.pick("removed", declared.len().max(1) as u32) as usize;
            let Some(key) = declared.keys().nth(n).cloned() else { break };
            declared.remove(&key);
            // Few objects are pruned in a run, so the ones with a finalizer are drawn among them.
            let target = self.universe.target_of(app);
            if self.is_cluster(target) && self.tape.happens("held by a finalizer", 300) {
                self.finalize_on_cluster(target, &key, true);
            }
        }
        self.commit(app, Folder::Declares(declared));
    }

    fn commit_broken(&mut self, app: usize) {
        self.commit(app, Folder::Broken);
    }

    fn commit_rewritten(&mut self, app: usize) {
        let declared = self.folder(app);
        let store = self.universe.store_of(app);
        self.stores[store].rewrite(self.now, &self.universe.apps[app], Folder::Declares(declared));
    }

    fn commit_empty(&mut self, app: usize) {
        if self.strikes(Fault::StoreEmpty, "store empty") {
            self.commit(app, Folder::Declares(Declared::new()));
        }
    }

    /// Edits or removes an object as a stranger, whether it is ours or not.
    fn meddle(&mut self, app: usize) {
        let (target, key) = (self.universe.target_of(app), self.any_key(app));
        if self.tape.happens("remove it", 350) {
            self.remove(target, &key);
        } else {
            let content = 90 + self.tape.pick("edit", 5);
            if self.is_cluster(target) {
                self.meddle_on_cluster(target, &key, content);
            } else {
                self.edit(target, &key, content, "ada");
            }
        }
        self.hint(target);
    }

    /// Replaces our present or future objects by a stranger's own. A target that assigns ids itself
    /// has no such conflict.
    fn replace_objects(&mut self, app: usize) {
        let target = self.universe.target_of(app);
        if !self.universe.targets[target].options.idempotent_create {
            return;
        }
        for _ in 0..=self.tape.pick("replaced", 3) {
            let key = self.any_key(app);
            self.recreate(target, &key, 80, "grace");
        }
        self.hint(target);
    }

    fn control_an_object(&mut self, app: usize) {
        let (target, key) = (self.universe.target_of(app), self.any_key(app));
        let controlled = !self.tape.happens("let go", 300);
        self.set_controlled(target, &key, controlled);
        self.hint(target);
    }

    fn lay_down_rules(&mut self, app: usize) {
        let target = self.universe.target_of(app);
        for key in self.universe.keys[app].clone() {
            if self.tape.happens("lift", 300) {
                self.allow(target, &key);
            } else if self.strikes(Fault::DeleteDenied, "delete denied") {
                self.deny_delete(target, &key);
            } else if self.tape.happens("invalid", 60) {
                self.find_invalid(target, &key);
            } else if !self.is_cluster(target) && may_be_made_anew(&key) && self.tape.happens("create denied", 400) {
                self.targets[target].deny_create(&key);
            }
        }
    }

    fn sicken(&mut self, app: usize) {
        let (target, key) = (self.universe.target_of(app), self.any_key(app));
        let health = [Health::Degraded, Health::Healthy, Health::Progressing, Health::Unknown];
        let health = health[self.tape.pick("health", 4) as usize];
        self.set_health(target, &key, health);
        self.hint(target);
    }

    fn give_order(&mut self, app: usize) {
        let order = match self.tape.pick("order", 7) {
            0 => Order::Sync { allow_prune: self.tape.pick("allowed", 3) },
            1 => {
                let minutes = u64::from(1 + self.tape.pick("suspend minutes", 20));
                // An order contains an instant of the writer's clock; here all instances get the
                // same.
                let until = self.instances[0].clock(self.now) + Span::minutes(minutes);
                Order::Suspend { until }
            }
            2 => Order::Resume,
            3 => Order::Hold,
            4 => Order::Release { accept: None },
            5 => self.blessing(app),
            _ => return self.extend_suspension(app),
        };
        if self.strikes(Fault::TooLong, "order too long") {
            return self.give_too_long(app, order);
        }
        self.give(app, order);
    }

    /// Extends a suspension at the very moment at which it ends.
    fn extend_suspension(&mut self, app: usize) {
        let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
        let Some(until) = facts.and_then(|facts| facts.suspension.as_ref()).map(|suspension| suspension.until) else {
            return;
        };
        let ahead = u64::from(11 + self.tape.pick("ahead of the end", 40));
        let delay = self.instances[0].until(until, self.now).saturating_sub(ahead);
        let order = Order::Suspend { until: until + Span::minutes(5) };
        let command = self.command(self.universe.apps[app].clone(), order);
        self.after(delay, Happening::Order { command: Box::new(command) });
    }

    /// Gives an order with a reason that is too long to be recorded.
    pub(crate) fn give_too_long(&mut self, app: usize, order: Order) {
        let mut command = self.command(self.universe.apps[app].clone(), order);
        command.reason = format!("{} {}", command.reason, "x".repeat(600_000));
        self.order(&command);
    }

    /// Returns a person's order that accepts the store's head, whatever its history.
    pub(crate) fn blessing(&mut self, app: usize) -> Order {
        self.blessing_of(self.universe.store_of(app))
    }

    pub(crate) fn blessing_of(&mut self, store: usize) -> Order {
        let head = self.stores[store].head();
        Order::Release { accept: Some(Revision::of(&self.universe.stores[store], &head)) }
    }

    pub(crate) fn give(&mut self, app: usize, order: Order) {
        self.give_to(self.universe.apps[app].clone(), order);
    }

    pub(crate) fn give_to(&mut self, app: AppId, order: Order) {
        let command = self.command(app, order);
        self.order(&command);
    }

    fn command(&mut self, app: AppId, order: Order) -> Command {
        let by = Actor::new("ada").expect("a plain name");
        self.orders += 1;
        let id = OrderId(self.orders);
        Command { id, app, by, via: "password".to_owned(), reason: reason_of(id), order }
    }

    /// Lets a stranger undo our changes of an object immediately, for a while.
    fn fight(&mut self, app: usize) {
        let (target, key) = (self.universe.target_of(app), self.any_key(app));
        self.fights.push((target, key, self.now + 15 * 60_000));
    }

    /// Stops every actor: the engine must now come to rest at the state that the stores declare.
    pub(crate) fn make_peace(&mut self) {
        self.calm = true;
        self.fights.clear();
        self.store_down_until.fill(0);
        self.outages.fill(None);
        self.end_second();
        self.record_gap();
        self.restore_clusters();
        for app in 0..self.universe.apps.len() {
            let target = self.universe.target_of(app);
            for key in self.universe.keys[app].clone() {
                self.allow(target, &key);
                if !self.adopts(app) && !self.is_ours(app, &key) {
                    // A person removes an object that we may not take over.
                    self.remove(target, &key);
                }
                self.set_controlled(target, &key, false);
                self.set_health(target, &key, Health::Healthy);
            }
            self.hint(target);
        }
        self.mend_documents();
        self.open_windows();
        // The last commit of each author: something valid that no other app declares.
        for app in 0..self.universe.folders() {
            let own = self.universe.keys[app].len() - 2;
            let declared: Declared =
                self.universe.keys[app][..own].iter().take(5).map(|key| (key.clone(), 50)).collect();
            self.commit(app, Folder::Declares(declared));
        }
    }

    /// Opens all windows. If there are documents, the corrected ones do that.
    fn open_windows(&mut self) {
        let has_windows = self.universe.controls.apps.values().any(|control| !control.closed.is_empty());
        if has_windows && !self.universe.rooted {
            self.control(|controls| {
                controls.apps.values_mut().for_each(|control| Arc::make_mut(control).closed.clear());
            });
        }
    }

    fn adopts(&self, app: usize) -> bool {
        let control = self.universe.controls.apps.get(&self.universe.apps[app]);
        control.is_none_or(|control| control.rules.adopt)
    }

    /// Removes, as a person, objects that a retired app left behind and may not take over after its
    /// return.
    pub(crate) fn remove_what_was_let_go(&mut self) {
        for app in (0..self.universe.apps.len()).filter(|app| !self.adopts(*app)).collect::<Vec<_>>() {
            let target = self.universe.target_of(app);
            for (key, _) in self.folder(app) {
                let was_let_go = |uid: &Uid| self.monitor.let_go.contains(&(key.clone(), uid.clone()));
                let in_the_way =
                    self.targets[target].objects().any(|(at, object)| *at == key && was_let_go(&object.live.uid));
                if in_the_way && !self.is_ours(app, &key) {
                    self.remove(target, &key);
                    self.hint(target);
                }
            }
        }
    }

    /// Removes, as a person, objects with immutable differences that the engine may not replace:
    /// the app does not allow it, the object was there before us, or a slow clock prolongs the
    /// quarantine. Apps that are held at another bundle are left out, since they would recreate the
    /// object.
    pub(crate) fn remove_what_cannot_be_changed(&mut self) {
        let installed = self.ledger.facts(&self.origin).installed_at;
        let over = installed.map(|installed| installed + settings().quarantine);
        let quarantine = self.instances.iter().any(|instance| over.is_none_or(|over| instance.clock(self.now) < over));
        for app in 0..self.universe.folders() {
            let facts = self.ledger.facts(&self.origin).apps.get(&self.universe.apps[app]);
            if facts.is_some_and(|facts| facts.hold.is_some()) {
                continue;
            }
            let target = self.universe.target_of(app);
            for (key, content) in self.folder(app) {
                let declared = self.universe.body(&key, content);
                let stands = |world: &MemoryWorld| {
                    world
                        .objects()
                        .any(|(at, object)| *at == key && object.live.value.get(FIXED) != declared.get(FIXED))
                };
                let claim = self.ledger.facts(&self.origin).claims.get(self.targets[target].identity(), &key);
                let made = claim.is_some_and(|claim| claim.origin == ClaimOrigin::Created) && self.is_ours(app, &key);
                let left_alone = !may_be_made_anew(&key) || !made || quarantine;
                if left_alone && stands(&self.targets[target]) {
                    self.remove(target, &key);
                    self.hint(target);
                }
            }
        }
    }

    /// Gives every order that an app may be waiting for.
    pub(crate) fn help_out(&mut self) {
        if self.universe.rooted {
            let blessing = self.blessing_of(0);
            self.give_to(root(), blessing);
        }
        for app in 0..self.universe.apps.len() {
            let blessing = self.blessing(app);
            self.give(app, Order::Resume);
            self.give(app, blessing);
            self.give(app, Order::Sync { allow_prune: 0 });
        }
        let unsettled: Vec<_> = self.ledger.facts(&self.origin).intents.values().cloned().collect();
        for intent in unsettled {
            let target = self.target_index(&intent.target);
            let app = self.app_index(&intent.app);
            // On a cluster a stranger may have overwritten the mark, or written under our name.
            // After an old copy of the ledger was restored, the mark may be of a lost intent.
            // Intents that are still in progress are left alone.
            let helpless = (self.is_cluster(target) || self.records_lost) && self.seen_open.contains(&intent.id);
            self.seen_open.insert(intent.id);
            if helpless || !self.universe.targets[target].options.marks {
                let done = crate::monitor::truth_of(&self.targets[target], intent.id, &intent.key);
                self.give(app, Order::Settle { intent: intent.id, done });
            }
        }
    }
}
