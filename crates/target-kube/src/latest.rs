//! The declarations of the latest observations, so that the same declaration is recognized without
//! its digest. They are not part of the records: a weak reference retains the memory of its object,
//! and for most objects no caller has the declaration at hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;

/// Up to this many entries, expired ones are not removed.
const FEW: usize = 4_096;

/// The declaration of each object's record, for as long as a caller holds it.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    declarations: BTreeMap<Key, Weak<Resource>>,
    /// The number of entries that were still alive at the last cleanup.
    held: usize,
}

impl Latest {
    /// Reports whether this is the very declaration that was put.
    pub(crate) fn is(&self, key: &Key, resource: &Arc<Resource>) -> bool {
        // While the allocation is alive, no other declaration can have the same address.
        self.declarations.get(key).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(resource)))
    }

    pub(crate) fn put(&mut self, key: &Key, resource: &Arc<Resource>) {
        self.declarations.insert(key.clone(), Arc::downgrade(resource));
        if self.declarations.len() > FEW.max(2 * self.held) {
            self.declarations.retain(|_, known| known.strong_count() > 0);
            self.held = self.declarations.len();
        }
    }

    /// Forgets a declaration, because the record belongs to another one now, or is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.declarations.remove(key);
    }
}

#[cfg(test)]
mod tests {

    use setpoint_core::value::Value;

    use super::*;

    fn declared(name: &str) -> Arc<Resource> {
        Arc::new(Resource::new(Key::new("ConfigMap", "web", name).unwrap(), "v1", "ConfigMap", Value::Null))
    }

    #[test]
    fn only_the_very_same_declaration_is_known_again() {
        let (one, equal) = (declared("a"), declared("a"));
        let mut latest = Latest::default();
        assert!(!latest.is(&one.key, &one));
        latest.put(&one.key, &one);
        assert!(latest.is(&one.key, &Arc::clone(&one)) && !latest.is(&one.key, &equal));
        latest.forget(&one.key);
        assert!(!latest.is(&one.key, &one));
    }

    #[test]
    fn those_that_nobody_has_any_more_do_not_pile_up() {
        let held: Vec<_> = (0..FEW).map(|n| declared(&format!("held-{n}"))).collect();
        let mut latest = Latest::default();
        held.iter().for_each(|one| latest.put(&one.key, one));
        (0..10 * FEW).map(|n| declared(&format!("gone-{n}"))).for_each(|one| latest.put(&one.key, &one));
        assert!(held.iter().all(|one| latest.is(&one.key, one)));
        assert!(latest.declarations.len() <= 2 * FEW, "{} are kept", latest.declarations.len());
    }
}
