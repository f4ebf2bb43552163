//! The acts of strangers, on either kind of target: a plain world in memory, or a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_kube_world::Rule;
use setpoint_target::memory::Object;

use super::{Happening, World};

impl World {
    /// Edits the object under a key as a stranger. Returns `false` if there is none.
    pub(crate) fn edit(&mut self, target: usize, key: &Key, content: u32, who: &str) -> bool {
        if self.is_cluster(target) {
            return self.edit_on_cluster(target, key, content, who);
        }
        let value = Arc::new(self.universe.body(key, content));
        self.targets[target].edit(key, &value, who)
    }

    /// Removes the object under a key as a stranger.
    pub(crate) fn remove(&mut self, target: usize, key: &Key) -> bool {
        if self.is_cluster(target) {
            return self.remove_on_cluster(target, key);
        }
        self.targets[target].remove(key)
    }

    /// Replaces the object under a key by a new one, as a stranger.
    pub(crate) fn recreate(&mut self, target: usize, key: &Key, content: u32, who: &str) {
        if self.is_cluster(target) {
            return self.recreate_on_cluster(target, key, content, who);
        }
        let value = Arc::new(self.universe.body(key, content));
        self.targets[target].recreate(key, value, who);
    }

    /// Lets another object of the target begin or cease to control this one.
    pub(crate) fn set_controlled(&mut self, target: usize, key: &Key, controlled: bool) {
        if self.is_cluster(target) {
            return self.control_on_cluster(target, key, controlled);
        }
        self.targets[target].set_controlled(key, controlled);
    }

    /// Sets the health that the controller of an object reports.
    pub(crate) fn set_health(&mut self, target: usize, key: &Key, health: Health) {
        if self.is_cluster(target) {
            return self.sicken_on_cluster(target, key, health);
        }
        self.targets[target].set_health(key, health);
    }

    /// Schedules the first reports of controllers, if the health of new objects is unknown.
    pub(super) fn controllers_begin(&mut self, target: usize, keys: &BTreeSet<Key>) {
        if self.universe.targets[target].options.first_health != Health::Unknown {
            return;
        }
        let silent = |(key, object): &(&Key, &Object)| keys.contains(*key) && object.live.health == Health::Unknown;
        let silent: Vec<Key> = self.targets[target].objects().filter(silent).map(|(key, _)| key.clone()).collect();
        for key in silent {
            let seconds = u64::from(1 + self.tape.pick("speaks after", 60));
            self.after(seconds * 1_000, Happening::Speak { target, key });
        }
    }

    pub(super) fn speak(&mut self, target: usize, key: &Key) {
        let silent = |(at, object): (&Key, &Object)| at == key && object.live.health == Health::Unknown;
        if self.targets[target].objects().any(silent) {
            self.set_health(target, key, Health::Healthy);
            self.hint(target);
        }
    }

    pub(crate) fn deny_delete(&mut self, target: usize, key: &Key) {
        if self.is_cluster(target) {
            return self.rule_on_cluster(target, key, Some(Rule::DenyDeletes));
        }
        self.targets[target].deny_delete(key);
    }

    /// Lets the target reject every declaration under this key as invalid.
    pub(crate) fn find_invalid(&mut self, target: usize, key: &Key) {
        if self.is_cluster(target) {
            return self.rule_on_cluster(target, key, Some(Rule::Invalid));
        }
        self.targets[target].find_invalid(key);
    }

    /// Lifts every rule on a key.
    pub(crate) fn allow(&mut self, target: usize, key: &Key) {
        if self.is_cluster(target) {
            return self.rule_on_cluster(target, key, None);
        }
        self.targets[target].allow(key);
    }
}
