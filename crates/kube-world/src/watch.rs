//! Streams of changes: from everything that is there, or from a version on.

use serde_json::{Value as Json, json};

use crate::refusal::Refused;
use crate::request::Route;
use crate::schema::KINDS;
use crate::server::{Place, Server};

/// A stream that somebody has open.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(crate) selection: Selection,
    /// Events that were not told yet, before those of the log.
    first: Vec<Json>,
    /// How much of the log was told.
    next: usize,
    /// It cannot go on.
    ended: bool,
}

/// Which objects, and how much of each.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) kind: usize,
    pub(crate) namespace: String,
    label: Option<(String, String)>,
    name: Option<String>,
    pub(crate) metadata: bool,
}

impl Selection {
    pub(crate) fn of(route: &Route, metadata: bool) -> Self {
        let pair = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let label = route.query.get("labelSelector").and_then(pair);
        let name = route.query.get("fieldSelector").and_then(pair).map(|(_, name)| name);
        Self { kind: route.kind, namespace: route.namespace.clone(), label, name, metadata }
    }

    pub(crate) fn takes(&self, place: &Place, object: &Json) -> bool {
        let labelled = self.label.as_ref().is_none_or(|(name, value)| object["metadata"]["labels"][name] == **value);
        place.kind == self.kind
            && (self.namespace.is_empty() || self.namespace == place.namespace)
            && self.name.as_ref().is_none_or(|name| *name == place.name)
            && labelled
    }

    /// As much of an object as was asked for.
    pub(crate) fn shown(&self, object: &Json) -> Json {
        if self.metadata { metadata_of(object) } else { object.clone() }
    }
}

pub(crate) fn metadata_of(object: &Json) -> Json {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

impl Server {
    pub(crate) fn open(&self, route: &Route, metadata: bool) -> Watch {
        let selection = Selection::of(route, metadata);
        let mut watch = Watch { selection, first: Vec::new(), next: self.log.len(), ended: false };
        match route.query.get("resourceVersion").and_then(|version| version.parse::<u64>().ok()) {
            Some(version) if version > 0 => {
                if version < self.compacted {
                    watch.first = vec![json!({"type": "ERROR", "object": Refused::expired()})];
                    watch.ended = true;
                }
                watch.next = self.log.partition_point(|logged| logged.revision <= version);
            }
            _ => {
                let there = self.objects.iter().map(|(place, stored)| (place, stored.render(place)));
                let there = there.filter(|(place, object)| watch.selection.takes(place, object));
                let told = there.map(|(_, object)| event("ADDED", &watch.selection.shown(&object)));
                watch.first = told.collect();
                if route.query.get("sendInitialEvents").is_some_and(|text| text == "true") {
                    let mut end = self.bookmark(&watch);
                    end["object"]["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
                    watch.first.push(end);
                }
            }
        }
        watch
    }

    /// What is to be told since this was last asked; `None` once the stream is over.
    pub fn events(&self, watch: &mut Watch) -> Option<Vec<Json>> {
        let mut told = std::mem::take(&mut watch.first);
        if watch.ended {
            return (!told.is_empty()).then_some(told);
        }
        for logged in &self.log[watch.next..] {
            let takes = |object: &Option<std::sync::Arc<Json>>| {
                object.clone().filter(|object| watch.selection.takes(&logged.place, object))
            };
            let (kind, object) = match (takes(&logged.before), takes(&logged.after)) {
                (None, Some(after)) => ("ADDED", after),
                (Some(_), Some(after)) => ("MODIFIED", after),
                (Some(before), None) => ("DELETED", before),
                (None, None) => continue,
            };
            let mut object = watch.selection.shown(&object);
            object["metadata"]["resourceVersion"] = json!(logged.revision.to_string());
            told.push(event(kind, &object));
        }
        watch.next = self.log.len();
        Some(told)
    }

    /// How far a stream is.
    pub fn bookmark(&self, watch: &Watch) -> Json {
        let kind = &KINDS[watch.selection.kind];
        event(
            "BOOKMARK",
            &json!({
                "kind": kind.kind, "apiVersion": kind.api_version(),
                "metadata": {"resourceVersion": self.revision.to_string(), "creationTimestamp": null},
            }),
        )
    }
}

fn event(kind: &str, object: &Json) -> Json {
    json!({"type": kind, "object": object})
}
