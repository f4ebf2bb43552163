//! What the stores answer.

use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName};
use setpoint_core::observed::{Blindness, Observed};
use setpoint_core::version::Revision;
use setpoint_engine::RenderOutcome;

use crate::fault::Fault;
use crate::store::{self, Folder};
use crate::world::World;

impl World {
    pub(super) fn poll(&mut self, store: &StoreName) -> Observed<setpoint_core::name::VersionId> {
        let n = self.store_index(store);
        if let Err(reason) = self.reach(n) {
            return Observed::unknown(reason);
        }
        let stale = self.strikes(Fault::StoreStale, "older head");
        let head = if stale { self.stores[n].older_head() } else { self.stores[n].head() };
        Observed::known(head, setpoint_core::time::Timestamp::from_millis(self.now))
    }

    pub(super) fn store_index(&self, store: &StoreName) -> usize {
        let found = self.universe.stores.iter().position(|known| known == store);
        found.expect("the engine talks only to stores of the universe")
    }

    pub(super) fn reach(&mut self, store: usize) -> Result<(), Blindness> {
        if self.strikes(Fault::StoreUnreachable, "store down") {
            let minutes = u64::from(1 + self.tape.pick("store down minutes", 15));
            self.store_down_until[store] = self.now + minutes * 60_000;
        }
        if self.store_down_until[store] > self.now {
            return Err(Blindness::Unreachable { detail: "the store is down".into() });
        }
        Ok(())
    }

    pub(super) fn render(
        &mut self,
        app: &AppId,
        revision: &Revision,
        accepted: Option<&Revision>,
        descends_from: Option<&Revision>,
    ) -> RenderOutcome {
        let (name, offered) = revision.0.first_key_value().expect("every app reads a store");
        let n = self.store_index(name);
        if let Err(reason) = self.reach(n) {
            return RenderOutcome::Failed { reason };
        }
        let store = &self.stores[n];
        let before = accepted.and_then(|revision| revision.0.get(name));
        let base = descends_from.and_then(|revision| revision.0.get(name));
        let folder = store.folder(offered, app);
        if before.is_some_and(|before| store.folder(before, app) == folder)
            && matches!(folder, Some(Folder::Declares(_)))
        {
            return RenderOutcome::Unchanged;
        }
        match folder {
            Some(Folder::Declares(declared)) => {
                let mut resources = store::resources(declared);
                resources.truncate(self.script.render_keeps.unwrap_or(usize::MAX));
                RenderOutcome::Rendered { resources, ancestry: store.ancestry(base, offered) }
            }
            Some(Folder::Broken) => RenderOutcome::Refused { problems: vec!["app.yaml:3:5: unknown field".into()] },
            // A vanished folder is an error, never an empty app.
            None => RenderOutcome::Refused { problems: vec!["its folder is not there".into()] },
        }
    }

    pub(super) fn render_afresh(&mut self, app: &AppId) -> Result<Digest, Blindness> {
        let n = self.app_index(app);
        let store = self.universe.store_of(n);
        self.reach(store)?;
        match self.stores[store].head_folder(app) {
            Some(Folder::Declares(declared)) => {
                let target = &self.universe.targets[self.universe.target_of(n)].identity;
                Ok(store::bundle(app, target, declared).digest())
            }
            _ => Err(Blindness::Malformed { detail: "the folder cannot be rendered".into() }),
        }
    }
}
