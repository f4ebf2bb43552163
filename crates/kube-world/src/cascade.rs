//! Cascading deletes: the content of a namespace, the objects of a definition, the dependents of an
//! owner.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::schema::KINDS;
use crate::server::{Place, Server, definition, kind_of};

impl Server {
    /// Does the work of the cluster's own controllers. Returns whether there was anything to do.
    pub fn clean_up(&mut self) -> bool {
        let before = self.revision;
        self.empty_namespaces();
        self.collect_orphans();
        self.revision != before
    }

    /// Removes the definition of the custom kinds, and every object of those kinds with it.
    pub fn undefine(&mut self) {
        let custom: Vec<Place> = self.objects.keys().filter(|place| KINDS[place.kind].custom).cloned().collect();
        for place in custom {
            self.commit(&place, None);
        }
        self.commit(&definition(), None);
    }

    fn empty_namespaces(&mut self) {
        let namespaces = kind_of("", "Namespace");
        let leaving: Vec<Place> = self
            .objects
            .iter()
            .filter(|(place, stored)| place.kind == namespaces && stored.is_leaving())
            .map(|(place, _)| place.clone())
            .collect();
        for namespace in leaving {
            let within: Vec<Place> =
                self.objects.keys().filter(|place| place.namespace == namespace.name).cloned().collect();
            for place in &within {
                self.remove(place);
            }
            let empty = !self.objects.keys().any(|place| place.namespace == namespace.name);
            let held = self.objects[&namespace].body["metadata"].get("finalizers").is_some();
            if empty && !held {
                self.commit(&namespace, None);
            }
        }
    }

    /// Removes the objects all of whose owners are gone.
    fn collect_orphans(&mut self) {
        let uids: BTreeSet<String> = self.objects.values().map(|stored| stored.uid().to_owned()).collect();
        let orphaned = |body: &Json| {
            let owners = body["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
            let gone = |owner: &Json| !owner["uid"].as_str().is_some_and(|uid| uids.contains(uid));
            !owners.is_empty() && owners.iter().all(gone)
        };
        let orphans: Vec<Place> = self
            .objects
            .iter()
            .filter(|(_, stored)| !stored.is_leaving() && orphaned(&stored.body))
            .map(|(place, _)| place.clone())
            .collect();
        for place in orphans {
            self.remove(&place);
        }
    }
}
