//! Replaces the bootstrap document while the agent runs. Settings that cannot be replaced are
//! logged: they come into force when the agent is restarted.

use tracing::{error, info, warn};

use super::RunningAgent;
use super::bootstrap::Bootstrap;
use crate::complaint::told;
use crate::interpreter::Ended;

/// The differences between two bootstrap documents, by field.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changed {
    /// Fields that come into force at once.
    at_once: Vec<&'static str>,
    /// Fields that come into force after a restart.
    after_restart: Vec<&'static str>,
}

impl Changed {
    fn between(old: &Bootstrap, new: &Bootstrap) -> Self {
        let (old, new) = (&old.spec, &new.spec);
        let fields = |fields: &[(&'static str, bool)]| {
            fields.iter().filter(|(_, is_changed)| *is_changed).map(|(field, _)| *field).collect()
        };
        Self {
            at_once: fields(&[("store", old.store != new.store), ("path", old.path != new.path)]),
            after_restart: fields(&[
                ("anchor", old.anchor != new.anchor),
                ("renderers", old.renderers != new.renderers),
                ("server", old.server != new.server),
            ]),
        }
    }
}

impl RunningAgent {
    /// Reads the bootstrap document again. A document that cannot be used is logged, and the former
    /// one stays in force.
    pub async fn reload(&mut self) -> Result<(), Ended> {
        let read = Bootstrap::read(&self.bootstrap.path).map_err(|error| told(&error));
        let new = match read {
            Ok(new) => new,
            Err(reason) => return self.not_reloaded(&reason),
        };
        let Changed { at_once, after_restart } = Changed::between(&self.bootstrap, &new);
        if !after_restart.is_empty() {
            let fields = after_restart.join(", ");
            self.log.with(|| warn!(fields, "changes of the bootstrap document need a restart of the agent"));
        }
        if at_once.is_empty() {
            self.log.with(|| info!("bootstrap document read again: no change comes into force"));
            return Ok(());
        }
        if let Err(error) = self.provider.reload(new.clone()) {
            return self.not_reloaded(&told(&error));
        }
        let former = std::mem::replace(&mut self.bootstrap, new).spec;
        // What waits for a restart is reported again at the next reload.
        let spec = &mut self.bootstrap.spec;
        (spec.anchor, spec.renderers, spec.server) = (former.anchor, former.renderers, former.server);
        let fields = at_once.join(", ");
        self.log.with(|| info!(fields, "bootstrap document reloaded"));
        if self.provider.taken_up().is_none() {
            // No documents were accepted yet, perhaps because the former store was the wrong one.
            self.handle.control(self.provider.first_controls()).await?;
        }
        self.handle.settings_changed().await
    }

    fn not_reloaded(&self, reason: &str) -> Result<(), Ended> {
        self.log.with(|| error!(reason, "cannot reload the bootstrap document; the former one stays in force"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn bootstrap(more: &str) -> Bootstrap {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bootstrap.yaml");
        let text = format!("apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n{more}");
        fs::write(&file, text).unwrap();
        Bootstrap::read(&file).unwrap()
    }

    #[test]
    fn every_field_comes_into_force_at_once_or_after_a_restart() {
        let old = bootstrap("  store: { url: /srv/state.git }\n");
        assert_eq!(Changed::between(&old, &old), Changed::default());
        let new = bootstrap("  store: { url: /srv/state.git, interval: 5s }\n  anchor: { file: /mnt/anchor }\n");
        let expected = Changed { at_once: vec!["store"], after_restart: vec!["anchor"] };
        assert_eq!(Changed::between(&old, &new), expected);
        // A new field has to be compared, too.
        let setpoint_documents::BootstrapSpec { store: _, path: _, anchor: _, renderers: _, server: _ } = new.spec;
    }
}
