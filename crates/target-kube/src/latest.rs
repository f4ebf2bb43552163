//! Which declarations were looked at last, so that the same one is known again without its digest.
//! Not in the records: a weak reference keeps the room of what it refers to, and of most objects
//! nobody has the declaration at hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;

/// So many need not be cleared of those that are gone.
const FEW: usize = 4_096;

/// The declaration of each object's record, as long as anyone has it.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    declarations: BTreeMap<Key, Weak<Resource>>,
    /// How many were still there when they were last cleared.
    held: usize,
}

impl Latest {
    /// Whether this is the very declaration that was put there.
    pub(crate) fn is(&self, key: &Key, resource: &Arc<Resource>) -> bool {
        // While it is there its place is taken, so that no other declaration can have the same.
        self.declarations.get(key).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(resource)))
    }

    pub(crate) fn put(&mut self, key: &Key, resource: &Arc<Resource>) {
        self.declarations.insert(key.clone(), Arc::downgrade(resource));
        if self.declarations.len() > FEW.max(2 * self.held) {
            self.declarations.retain(|_, known| known.strong_count() > 0);
            self.held = self.declarations.len();
        }
    }

    /// The record is of another declaration now, or gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.declarations.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use setpoint_core::value::Value;

    use super::*;

    fn declared(name: &str) -> Arc<Resource> {
        Arc::new(Resource {
            key: Key::new("ConfigMap", "web", name).unwrap(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            body: Arc::new(Value::Null),
            after: BTreeSet::new(),
            wave: 0,
            awaited: false,
            protected: false,
            shared: BTreeSet::new(),
            replace: false,
            additions: [].into(),
            once: false,
        })
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
