//! The origin of each kind that is not built in: a definition, or an API server of its own.
//!
//! Objects of a definition go with it. Objects that another API server serves (an APIService) may
//! still exist there long after the APIService was removed. Once a kind is no longer served, the
//! two cases look alike: so the origin is determined and stored while the kind is served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::key::Key;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::built_in;

use crate::cluster::Cluster;
use crate::discovery::Unserved;
use crate::requests::{Collection, Failure, Form, Selection, Urgency};
use crate::watch::pages::Listing;
use setpoint_target::{CacheChanges, CachedBytes};

/// The shortest interval between two lookups of the origin of a kind without a known definition.
const ASK_EVERY: Span = Span::minutes(1);
/// The prefix of the names under which origins are stored. It has no colon, as all keys do.
const NAMES: &str = "kind ";

/// The kinds that were served at some time.
#[derive(Debug, Default)]
pub(crate) struct Origins(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kinds: BTreeMap<String, Origin>,
    /// The kinds whose origin has to be stored.
    moved: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Definition,
    /// The kind was served, and no definition of it was found.
    Unproven {
        asked_at: Option<Timestamp>,
    },
}

impl Origins {
    /// Reports whether the origin of a served kind has to be determined. From then on the kind
    /// counts as one of an API server of its own, until a definition of it is found.
    fn is_to_be_asked(&self, class: &str, now: Timestamp) -> bool {
        let mut state = self.state();
        let known = state.kinds.get(class).copied();
        let lately = |asked_at: Option<Timestamp>| asked_at.is_some_and(|at| now.since(at) < ASK_EVERY);
        match known {
            Some(Origin::Definition) => return false,
            Some(Origin::Unproven { asked_at }) if lately(asked_at) => return false,
            Some(Origin::Unproven { .. }) => {}
            None => drop(state.moved.insert(class.to_owned())),
        }
        state.kinds.insert(class.to_owned(), Origin::Unproven { asked_at: Some(now) });
        true
    }

    fn saw_definition(&self, class: &str) {
        let mut state = self.state();
        state.kinds.insert(class.to_owned(), Origin::Definition);
        state.moved.insert(class.to_owned());
    }

    fn get(&self, class: &str) -> Option<Origin> {
        self.state().kinds.get(class).copied()
    }

    /// Returns the changes since the previous call, in the form that is stored.
    pub(crate) fn take_moved(&self) -> CacheChanges {
        let mut state = self.state();
        let moved = std::mem::take(&mut state.moved);
        let defined = |class: &String| state.kinds.get(class) == Some(&Origin::Definition);
        moved.into_iter().map(|class| (format!("{NAMES}{class}"), Some(vec![u8::from(defined(&class))]))).collect()
    }

    /// Marks kinds as changed again because they could not be stored. Ignores the names of objects.
    pub(crate) fn store_again(&self, names: &[String]) {
        self.state().moved.extend(names.iter().filter_map(|name| name.strip_prefix(NAMES)).map(ToOwned::to_owned));
    }

    /// Loads the stored origins of kinds, and ignores the names of objects.
    pub(crate) fn recall(&self, stored: &CachedBytes) {
        for (name, bytes) in stored {
            let Some(class) = name.strip_prefix(NAMES) else { continue };
            let origin = if *bytes == [1] { Origin::Definition } else { Origin::Unproven { asked_at: None } };
            self.state().kinds.entry(class.to_owned()).or_insert(origin);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before the next begins.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Determines the origin of a served kind, if it is not known.
    pub(crate) async fn learn_origin(&self, class: &str, collection: &Collection) {
        let (group, kind) = group_and_kind(class);
        if built_in(group, kind).is_some() || !self.origins.is_to_be_asked(class, self.now()) {
            return;
        }
        let name = format!("{}.{group}", collection.resource);
        let named = Selection { selector: "fieldSelector", expression: format!("metadata.name={name}") };
        let listing = Listing { selection: Some(&named), form: Form::Metadata, urgency: Urgency::Bundle, pages: 1 };
        // An origin that cannot be determined now stays unproven.
        if let Ok(Some(names)) = self.some_names_in(&definitions(), listing).await
            && names.contains(&name)
        {
            self.origins.saw_definition(class);
        }
    }

    /// Reports whether no object of an unserved kind can exist. One API server of several may not
    /// serve yet a kind whose objects another has long stored, so the definitions are read: only if
    /// none is of this group is everything of it gone. That holds for a kind that came from a
    /// definition, and for one that was never served and of which no object was `seen`.
    pub(crate) async fn is_gone_with_its_kind(&self, key: &Key, seen: bool) -> Result<bool, UnknownReason> {
        let (group, kind) = group_and_kind(key.class());
        let can_be_told = match self.origins.get(key.class()) {
            Some(Origin::Definition) => true,
            Some(Origin::Unproven { .. }) => false,
            None => !seen,
        };
        if built_in(group, kind).is_some() || !can_be_told {
            return Ok(false);
        }
        let names = self.names_in(&definitions()).await.map_err(|failure: Failure| failure.blindness())?;
        // The name of a definition is its plural and its group; another group may only end like
        // this one.
        let is_of_group = |name: &String| name.split_once('.').is_some_and(|(_, of)| of == group);
        Ok(!names.iter().any(is_of_group))
    }
}

/// Explains why an object of an unserved kind is not taken for gone, and what to do.
pub(crate) fn not_known_to_be_gone(unserved: &Unserved) -> String {
    let why = "its kind may be unserved only for now, or a server without an APIService may still store it";
    format!("{unserved}, or its APIService again; it is unknown whether this object is gone: {why}")
}

fn definitions() -> Collection {
    Collection {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        resource: "customresourcedefinitions".into(),
        namespace: "".into(),
    }
}
