//! How offered versions relate to those they must descend from. What is known to lead to a head is remembered, so that the history is
//! not walked once for every app.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::name::{StoreName, VersionId};
use setpoint_core::version::Ancestry;
use setpoint_store::{Store, StoreError};

#[derive(Debug, Default)]
pub(super) struct Lineages(Mutex<BTreeMap<StoreName, Lineage>>);

/// Versions that are known to lead to a head.
#[derive(Clone, Debug)]
struct Lineage {
    head: VersionId,
    ancestors: BTreeSet<VersionId>,
}

impl Lineages {
    /// The name stands for another repository now.
    pub(super) fn forget(&self, name: &StoreName) {
        self.kept().remove(name);
    }

    pub(super) async fn ancestry(
        &self,
        name: &StoreName,
        store: &dyn Store,
        accepted: &VersionId,
        offered: &VersionId,
    ) -> Result<Ancestry, StoreError> {
        if accepted == offered {
            return Ok(Ancestry::Same);
        }
        let known = self.kept().get(name).cloned();
        let mut lineage = match known {
            Some(known) if known.head == *offered => known,
            // What led to the former head leads to one that descends from it.
            Some(mut known) if store.ancestry(&known.head, offered).await? == Ancestry::Descendant => {
                known.ancestors.insert(known.head);
                Lineage { head: offered.clone(), ancestors: known.ancestors }
            }
            _ => Lineage { head: offered.clone(), ancestors: BTreeSet::new() },
        };
        let ancestry = if lineage.ancestors.contains(accepted) {
            Ancestry::Descendant
        } else {
            store.ancestry(accepted, offered).await?
        };
        if ancestry == Ancestry::Descendant {
            lineage.ancestors.insert(accepted.clone());
        }
        self.kept().insert(name.clone(), lineage);
        Ok(ancestry)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<StoreName, Lineage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of two stores' answers the one that counts for the app.
pub(super) fn worse(a: Ancestry, b: Ancestry) -> Ancestry {
    let badness = |ancestry| match ancestry {
        Ancestry::First | Ancestry::Same => 0,
        Ancestry::Descendant => 1,
        Ancestry::Older => 2,
        Ancestry::Unknown => 3,
        Ancestry::Rewritten => 4,
    };
    if badness(b) > badness(a) { b } else { a }
}
