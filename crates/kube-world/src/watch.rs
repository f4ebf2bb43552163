//! Streams of changes: from the current state, or from a version on.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::refusal::Refused;
use crate::request::{Request, Route};
use crate::schema::KINDS;
use crate::server::{Logged, Place, Server};
use crate::stored::Stored;

/// A stream that a client has open.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(crate) selection: Selection,
    /// Lines that were not sent yet and come before those of the log.
    first: Vec<String>,
    /// The position in the log up to which changes were sent.
    next: usize,
    /// Changes up to this revision are not sent.
    after: u64,
    /// The stream cannot continue.
    ended: bool,
}

/// The selected objects, and how much of each is sent.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) kind: usize,
    pub(crate) namespace: String,
    label: Option<(String, String)>,
    name: Option<String>,
    pub(crate) metadata: bool,
}

impl Selection {
    pub(crate) fn of(route: &Route, request: &Request) -> Self {
        let pair = |text: &str| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let label = request.said("labelSelector").and_then(pair);
        let name = request.said("fieldSelector").and_then(pair).map(|(_, name)| name);
        let metadata = request.wants_metadata();
        Self { kind: route.kind, namespace: route.namespace.clone(), label, name, metadata }
    }

    pub(crate) fn takes(&self, place: &Place, stored: &Stored) -> bool {
        let labels = &stored.body["metadata"]["labels"];
        place.kind == self.kind
            && (self.namespace.is_empty() || self.namespace == place.namespace)
            && self.name.as_ref().is_none_or(|name| *name == place.name)
            && self.label.as_ref().is_none_or(|(name, value)| labels[name] == **value)
    }
}

impl Server {
    pub(crate) fn open(&self, route: &Route, request: &Request) -> Watch {
        let selection = Selection::of(route, request);
        let metadata = selection.metadata;
        let mut watch = Watch { selection, first: Vec::new(), next: self.log.len(), after: 0, ended: false };
        match request.said("resourceVersion").and_then(|version| version.parse::<u64>().ok()) {
            Some(version) if version > 0 => {
                if version < self.compacted {
                    watch.first = vec![event("ERROR", &Refused::expired().to_string())];
                    watch.ended = true;
                }
                watch.after = version;
                watch.next = self.log.partition_point(|logged| logged.revision <= version);
            }
            _ => {
                let there = self.objects().filter(|(place, stored)| watch.selection.takes(place, stored));
                watch.first = there.map(|(place, stored)| event("ADDED", stored.text(place, metadata))).collect();
                if request.says("sendInitialEvents", "true") {
                    let annotations = json!({"k8s.io/initial-events-end": "true"});
                    watch.first.push(self.mark(&watch, &json!({"annotations": annotations})));
                }
            }
        }
        watch
    }

    /// Returns the lines since the previous call; `None` once the stream has ended.
    pub fn events(&self, watch: &mut Watch) -> Option<Vec<String>> {
        let mut told = std::mem::take(&mut watch.first);
        if watch.ended {
            return (!told.is_empty()).then_some(told);
        }
        let (selection, metadata) = (&watch.selection, watch.selection.metadata);
        // The stream may have been opened on another server whose log was longer.
        let news = self.log.get(watch.next..).unwrap_or_default().iter().filter(|logged| logged.revision > watch.after);
        for Logged { revision, place, before, after } in news {
            let taken =
                |stored: &'_ Option<Arc<Stored>>| stored.clone().filter(|stored| selection.takes(place, stored));
            told.extend(match (taken(before), taken(after)) {
                (None, Some(after)) => Some(event("ADDED", after.text(place, metadata))),
                (Some(_), Some(after)) => Some(event("MODIFIED", after.text(place, metadata))),
                (Some(before), None) => Some(event("DELETED", &before.last_text(place, metadata, *revision))),
                (None, None) => None,
            });
        }
        watch.next = self.log.len();
        Some(told)
    }

    /// Returns a bookmark with the stream's progress; `None` while the stream waits for a revision
    /// that the server does not have yet.
    pub fn bookmark(&self, watch: &Watch) -> Option<String> {
        (self.revision >= watch.after).then(|| self.mark(watch, &json!({})))
    }

    fn mark(&self, watch: &Watch, metadata: &Json) -> String {
        let kind = &KINDS[watch.selection.kind];
        let mut metadata = metadata.clone();
        metadata["resourceVersion"] = json!(self.revision.to_string());
        metadata["creationTimestamp"] = Json::Null;
        let object = json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata});
        event("BOOKMARK", &object.to_string())
    }
}

fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}
