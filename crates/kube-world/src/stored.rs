//! Stored objects, and their rendering.

use std::sync::{Arc, OnceLock};

use serde_json::{Value as Json, json};

use crate::fields::{Fields, Path};
use crate::managed::{Entry, Operation};
use crate::schema::KINDS;
use crate::server::Place;

/// An object in one version.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The object without its version and without `managedFields`.
    pub body: Json,
    pub version: u64,
    pub(crate) managed: Vec<Entry>,
    /// The rendered texts. Many clients read the same version, so each text is rendered once.
    texts: Texts,
}

#[derive(Clone, Debug, Default)]
struct Texts {
    whole: OnceLock<Arc<str>>,
    metadata: OnceLock<Arc<str>>,
}

impl Stored {
    pub(crate) fn new(body: Json, version: u64, managed: Vec<Entry>) -> Self {
        Self { body, version, managed, texts: Texts::default() }
    }

    pub fn uid(&self) -> &str {
        self.body["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// Reports whether the object is being deleted.
    pub fn is_leaving(&self) -> bool {
        self.body["metadata"].get("deletionTimestamp").is_some()
    }

    /// Renders the object as clients see it.
    pub fn render(&self, place: &Place) -> Json {
        self.rendered(place, self.version)
    }

    fn rendered(&self, place: &Place, version: u64) -> Json {
        let mut object = self.body.clone();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        if !self.managed.is_empty() {
            let api_version = KINDS[place.kind].api_version();
            let entries: Vec<Json> = self.managed.iter().map(|entry| entry.to_json(&api_version)).collect();
            object["metadata"]["managedFields"] = Json::Array(entries);
        }
        object
    }

    /// Returns the text of the object: whole, or its metadata alone.
    pub(crate) fn text(&self, place: &Place, metadata: bool) -> &str {
        let text = if metadata { &self.texts.metadata } else { &self.texts.whole };
        text.get_or_init(|| written(&self.render(place), metadata).into())
    }

    /// Returns the same text, with the version in which the object was removed.
    pub(crate) fn last_text(&self, place: &Place, metadata: bool, version: u64) -> String {
        written(&self.rendered(place, version), metadata)
    }

    /// Reports whether a manager holds any field by apply.
    pub fn is_applied_by(&self, manager: &str) -> bool {
        self.managed.iter().any(|entry| entry.manager == manager && entry.operation == Operation::Apply)
    }

    /// Reports whether a manager other than this one holds a field, such as `.spec.replicas`.
    pub fn others_hold(&self, field: &str, manager: &str) -> bool {
        let holds = |entry: &Entry| entry.fields.texts().any(|text| text == field);
        self.managed.iter().any(|entry| entry.manager != manager && holds(entry))
    }

    /// Returns the fields that both managers hold, such as `.data.content`.
    pub fn held_by_both(&self, one: &str, other: &str) -> Vec<String> {
        let of = |manager: &str| {
            let entries = self.managed.iter().filter(|entry| entry.manager == manager && entry.subresource.is_empty());
            entries.fold(Fields::default(), |all, entry| all.union(&entry.fields))
        };
        of(one).both(&of(other)).texts().collect()
    }

    /// Reports whether both objects are the same except for an annotation, managers included.
    pub fn is_same_beside(&self, other: &Self, annotation: &str) -> bool {
        let (one, other) = (self.without(annotation), other.without(annotation));
        one.is_as(&other.body, &other.managed)
    }

    /// Like `is_same_beside`, but ignores the managers: the first apply after `managedFields` was
    /// cleared names one manager for everything.
    pub fn has_same_body_beside(&self, other: &Self, annotation: &str) -> bool {
        self.without(annotation).body == other.without(annotation).body
    }

    /// Returns the object without an annotation, and without its generation: for some kinds each
    /// annotation makes a new generation.
    fn without(&self, annotation: &str) -> Self {
        let path = Path::of_fields(&["metadata", "annotations", annotation]);
        let mut managed = self.managed.clone();
        for entry in &mut managed {
            entry.fields.remove(&path);
        }
        managed.retain(|entry| !entry.fields.is_empty());
        let mut body = self.body.clone();
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("generation");
            if let Some(Json::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.remove(annotation);
                if annotations.is_empty() {
                    metadata.remove("annotations");
                }
            }
        }
        Self::new(body, self.version, managed)
    }

    /// Reports whether the object is the same, ignoring the times at which its fields were written.
    pub(crate) fn is_as(&self, body: &Json, managed: &[Entry]) -> bool {
        let plain = |entries: &[Entry]| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|entry| (entry.manager.clone(), entry.operation, entry.subresource, entry.fields.clone()))
                .collect();
            entries.sort();
            entries
        };
        self.body == *body && plain(&self.managed) == plain(managed)
    }
}

fn written(object: &Json, metadata: bool) -> String {
    if !metadata {
        return object.to_string();
    }
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]}).to_string()
}
