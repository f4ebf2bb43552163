//! R1: what the engine does not report as changed has the status that it had before. Readers of the
//! status rely on it.

use std::collections::BTreeMap;

use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::time::Timestamp;
use setpoint_engine::Machine;
use setpoint_engine::machine::{AppStatus, Changes, StoreStatus};

use super::Monitor;

/// The status of everything after a step of a machine.
#[derive(Debug, Default)]
pub struct Shown {
    apps: BTreeMap<AppId, AppStatus>,
    stores: BTreeMap<StoreName, StoreStatus>,
    left_alone: BTreeMap<TargetIdentity, Timestamp>,
}

impl Shown {
    fn of(machine: &Machine) -> Self {
        let standing = machine.standing();
        Self { apps: standing.apps, stores: standing.stores, left_alone: standing.left_alone }
    }
}

impl Monitor {
    /// Compares the status after a step with the one before. The machine must collect its changes.
    pub fn shows(&mut self, shown: &mut Shown, machine: &mut Machine) {
        let Changes { all, apps, stores, targets, .. } = machine.take_changes();
        let before = std::mem::replace(shown, Shown::of(machine));
        let now = &*shown;
        if all {
            return;
        }
        let app = different(&before.apps, &now.apps).find(|app| !apps.contains(*app));
        let store = different(&before.stores, &now.stores).find(|store| !stores.contains(*store));
        let target = different(&before.left_alone, &now.left_alone).find(|target| !targets.contains(*target));
        self.holds("R1", app.is_none(), || {
            let status = |shown: &Shown| app.and_then(|app| shown.apps.get(app)).map(|status| format!("{status:?}"));
            format!("{app:?} is different and not marked: {:?}, before {:?}", status(now), status(&before))
        });
        self.holds("R1", store.is_none(), || format!("store {store:?} is different and not marked"));
        self.holds("R1", target.is_none(), || format!("target {target:?} is different and not marked"));
    }
}

/// Returns the keys whose values are not equal in both maps.
fn different<'a, K: Ord, V: PartialEq>(
    before: &'a BTreeMap<K, V>,
    now: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = &'a K> {
    let changed = now.iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key);
    changed.chain(before.keys().filter(|key| !now.contains_key(key)))
}
