//! Relates offered versions to the versions that they must descend from. Known ancestors of a head
//! are remembered, so that the history is not walked again for every app.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::name::{StoreName, VersionId};
use setpoint_core::version::Ancestry;
use setpoint_store::{Store, StoreError};

/// The number of versions that are remembered of a store. Each new head adds the previous one. The
/// least recently used versions are forgotten, which costs at most another walk.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Lineages(Mutex<BTreeMap<StoreName, Lineage>>);

/// Known ancestors of a head, each with the time of its last use.
#[derive(Debug)]
struct Lineage {
    head: VersionId,
    ancestors: BTreeMap<VersionId, u64>,
    /// Counts the uses.
    asked: u64,
}

impl Lineage {
    fn of(head: &VersionId) -> Self {
        Self { head: head.clone(), ancestors: BTreeMap::new(), asked: 0 }
    }

    fn leads_here(&mut self, version: &VersionId) -> bool {
        self.asked += 1;
        let found = self.ancestors.get_mut(version);
        found.map(|last| *last = self.asked).is_some()
    }

    fn add(&mut self, version: VersionId) {
        self.asked += 1;
        self.ancestors.insert(version, self.asked);
        if self.ancestors.len() > MOST {
            let mut ages: Vec<u64> = self.ancestors.values().copied().collect();
            // Half of them at once: with one at a time, each new head would need another search.
            let (_, median, _) = ages.select_nth_unstable(MOST / 2);
            let median = *median;
            self.ancestors.retain(|_, last| *last >= median);
        }
    }
}

impl Lineages {
    /// Forgets a name that now refers to another repository.
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
        if let Some(former) = self.other_head(name, offered) {
            let descends = store.ancestry(&former, offered).await? == Ancestry::Descendant;
            self.move_on(name, former, offered, descends);
        }
        if self.leads_to(name, accepted, offered) {
            return Ok(Ancestry::Descendant);
        }
        let ancestry = store.ancestry(accepted, offered).await?;
        if ancestry == Ancestry::Descendant {
            self.note(name, accepted, offered);
        }
        Ok(ancestry)
    }

    /// Returns the known head, if it differs from the offered one.
    fn other_head(&self, name: &StoreName, offered: &VersionId) -> Option<VersionId> {
        self.kept().get(name).map(|known| known.head.clone()).filter(|head| head != offered)
    }

    /// Replaces the head. Ancestors of the former head are also ancestors of its descendants.
    fn move_on(&self, name: &StoreName, former: VersionId, offered: &VersionId, descends: bool) {
        let mut kept = self.kept();
        // Another app may have replaced it meanwhile.
        let Some(known) = kept.get_mut(name).filter(|known| known.head == former) else { return };
        if descends {
            known.head = offered.clone();
            known.add(former);
        } else {
            *known = Lineage::of(offered);
        }
    }

    fn leads_to(&self, name: &StoreName, accepted: &VersionId, offered: &VersionId) -> bool {
        self.kept().get_mut(name).is_some_and(|known| known.head == *offered && known.leads_here(accepted))
    }

    fn note(&self, name: &StoreName, accepted: &VersionId, offered: &VersionId) {
        let mut kept = self.kept();
        let known = kept.entry(name.clone()).or_insert_with(|| Lineage::of(offered));
        if known.head == *offered {
            known.add(accepted.clone());
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<StoreName, Lineage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the result that counts for an app with several stores.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use setpoint_core::observed::Observed;
    use setpoint_core::time::Timestamp;
    use setpoint_store::{Answer, Tree, VersionInfo};

    use super::*;

    /// A history of numbered versions without branches, which counts its walks.
    #[derive(Debug, Default)]
    struct Line(AtomicUsize);

    impl Store for Line {
        fn poll(&self, _: Timestamp) -> Answer<'_, Observed<VersionId>> {
            unreachable!("only the history is used")
        }

        fn open<'a>(&'a self, _: &'a VersionId) -> Answer<'a, Result<Arc<dyn Tree>, StoreError>> {
            unreachable!("only the history is used")
        }

        fn ancestry<'a>(&'a self, a: &'a VersionId, b: &'a VersionId) -> Answer<'a, Result<Ancestry, StoreError>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let older = a.as_str() < b.as_str();
            Box::pin(async move { Ok(if older { Ancestry::Descendant } else { Ancestry::Older }) })
        }

        fn find<'a>(&'a self, _: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
            unreachable!("only the history is used")
        }

        fn describe<'a>(&'a self, _: &'a VersionId) -> Answer<'a, Result<VersionInfo, StoreError>> {
            unreachable!("only the history is used")
        }
    }

    fn version(number: usize) -> VersionId {
        VersionId::new(&format!("{number:040x}")).unwrap()
    }

    #[tokio::test]
    async fn heads_are_not_remembered_without_end_but_what_apps_are_at_is() {
        let (lineages, line, name) = (Lineages::default(), Line::default(), StoreName::new("main").unwrap());
        let ask = async |accepted, head| {
            let before = line.0.load(Ordering::Relaxed);
            let ancestry = lineages.ancestry(&name, &line, &version(accepted), &version(head)).await.unwrap();
            (ancestry, line.0.load(Ordering::Relaxed) - before)
        };
        assert_eq!(ask(1, 2).await, (Ancestry::Descendant, 1));
        for head in 3..3 * MOST {
            // The app stays at its version; only the new head needs a walk.
            assert_eq!(ask(1, head).await, (Ancestry::Descendant, 1));
            assert!(lineages.kept()[&name].ancestors.len() <= MOST);
        }
        assert_eq!(ask(3 * MOST - 2, 3 * MOST - 1).await, (Ancestry::Descendant, 0), "a former head is known");
        assert_eq!(ask(7, 3 * MOST - 1).await, (Ancestry::Descendant, 1), "a forgotten version is looked up again");
        assert_eq!(ask(7, 3 * MOST - 1).await, (Ancestry::Descendant, 0));
    }

    #[tokio::test]
    async fn what_led_to_a_head_that_was_set_back_is_forgotten() {
        let (lineages, line, name) = (Lineages::default(), Line::default(), StoreName::new("main").unwrap());
        let ask = async |a, b| lineages.ancestry(&name, &line, &version(a), &version(b)).await.unwrap();
        assert_eq!(ask(5, 9).await, Ancestry::Descendant);
        assert_eq!(ask(5, 4).await, Ancestry::Older);
        assert_eq!(ask(5, 5).await, Ancestry::Same);
        assert_eq!(ask(3, 4).await, Ancestry::Descendant);
    }
}
