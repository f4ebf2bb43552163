//! The server: objects in revisions, and what is answered to each request.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::managed::{Entry, Writer};
use crate::refusal::Refused;
use crate::request::{Method, Request, Route};
use crate::schema::{DEFINITION, KINDS, Kind};
use crate::watch::{Selection, Watch, metadata_of};
use crate::write::{Write, Written};

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its number among [`KINDS`].
    pub kind: usize,
    pub namespace: String,
    pub name: String,
}

/// The number of a kind.
pub(crate) fn kind_of(group: &str, kind: &str) -> usize {
    KINDS.iter().position(|known| known.group == group && known.kind == kind).expect("it is among the kinds")
}

/// An object as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Without its version, and without who holds what.
    pub body: Json,
    pub version: u64,
    pub(crate) managed: Vec<Entry>,
}

impl Stored {
    pub fn uid(&self) -> &str {
        self.body["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// It is being deleted.
    pub fn is_leaving(&self) -> bool {
        self.body["metadata"].get("deletionTimestamp").is_some()
    }

    /// The object as it is shown.
    pub fn render(&self, place: &Place) -> Json {
        let mut object = self.body.clone();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if !self.managed.is_empty() {
            let api_version = KINDS[place.kind].api_version();
            let entries: Vec<Json> = self.managed.iter().map(|entry| entry.to_json(&api_version)).collect();
            object["metadata"]["managedFields"] = Json::Array(entries);
        }
        object
    }

    /// Whether a manager that applies holds anything of it.
    pub fn is_applied_by(&self, manager: &str) -> bool {
        self.managed.iter().any(|entry| entry.manager == manager && entry.operation == crate::managed::Operation::Apply)
    }

    /// Who but this manager holds a field: `.spec.replicas`.
    pub fn others_hold(&self, field: &str, manager: &str) -> bool {
        let holds = |entry: &Entry| entry.fields.0.iter().any(|path| crate::fields::text_of(path) == field);
        self.managed.iter().any(|entry| entry.manager != manager && holds(entry))
    }

    /// Whether it is the same but for an annotation, holders included.
    pub fn is_same_beside(&self, other: &Self, annotation: &str) -> bool {
        let (one, other) = (self.without(annotation), other.without(annotation));
        one.is_as(&other.body, &other.managed)
    }

    /// The same, whoever holds what: the first apply after the holders were cleared names one for everything.
    pub fn has_same_body_beside(&self, other: &Self, annotation: &str) -> bool {
        self.without(annotation).body == other.without(annotation).body
    }

    /// Without an annotation, and without its generation: of some kinds a new one comes with any annotation.
    fn without(&self, annotation: &str) -> Self {
        let mut stored = self.clone();
        let path = ["metadata", "annotations", annotation].map(crate::fields::Step::field);
        for entry in &mut stored.managed {
            entry.fields.0.remove(&path[..]);
        }
        stored.managed.retain(|entry| !entry.fields.is_empty());
        if let Some(metadata) = stored.body["metadata"].as_object_mut() {
            metadata.remove("generation");
            if let Some(Json::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.remove(annotation);
                if annotations.is_empty() {
                    metadata.remove("annotations");
                }
            }
        }
        stored
    }

    /// Whether it is the same, whatever the times at which its fields were written.
    fn is_as(&self, body: &Json, managed: &[Entry]) -> bool {
        let plain = |entries: &[Entry]| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|entry| (entry.manager.clone(), entry.operation, entry.subresource, entry.fields.0.clone()))
                .collect();
            entries.sort();
            entries
        };
        self.body == *body && plain(&self.managed) == plain(managed)
    }
}

/// What a cluster's own rules do to writes of one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Whatever is written is found invalid.
    Invalid,
    DenyWrites,
    DenyDeletes,
    /// Something else is stored at this JSON pointer than was given.
    Rewrite {
        pointer: String,
        value: Json,
    },
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Committed {
    pub place: Place,
    pub before: Option<Stored>,
    pub after: Option<Stored>,
}

#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) revision: u64,
    pub(crate) place: Place,
    pub(crate) before: Option<Arc<Json>>,
    pub(crate) after: Option<Arc<Json>>,
}

/// What is answered.
#[derive(Debug)]
pub enum Reply {
    Answer { code: u16, bytes: Vec<u8> },
    Stream(Watch),
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) revision: u64,
    uids: u64,
    pub(crate) objects: BTreeMap<Place, Stored>,
    pub(crate) log: Vec<Logged>,
    /// What came before is no longer told.
    pub(crate) compacted: u64,
    rules: BTreeMap<Place, Vec<Rule>>,
    committed: Vec<Committed>,
    /// Seconds since the beginning of a day.
    now: u64,
    identity: String,
}

impl Server {
    /// A cluster with a namespace of this UID for itself, and the definition of the custom kinds.
    pub fn new(identity: &str) -> Self {
        let mut server = Self {
            // A store never begins at 1: the server itself writes first.
            revision: 1,
            uids: 0,
            objects: BTreeMap::new(),
            log: Vec::new(),
            compacted: 0,
            rules: BTreeMap::new(),
            committed: Vec::new(),
            now: 0,
            identity: identity.to_owned(),
        };
        server.make("", "Namespace", "", "kube-system", json!({}));
        server.make("", "Namespace", "", "default", json!({}));
        server.define();
        server.take_committed();
        server
    }

    /// The definition of the custom kinds is there.
    pub fn define(&mut self) {
        if !self.is_defined() {
            let spec = json!({"spec": {"group": "sim.setpoint.dev"}});
            self.make("apiextensions.k8s.io", "CustomResourceDefinition", "", DEFINITION, spec);
        }
    }

    pub fn is_defined(&self) -> bool {
        self.objects.contains_key(&definition())
    }

    fn make(&mut self, group: &str, kind: &str, namespace: &str, name: &str, body: Json) {
        let place = Place { kind: kind_of(group, kind), namespace: namespace.to_owned(), name: name.to_owned() };
        let now = self.time();
        let writer = Writer { manager: "kube-apiserver", subresource: "", now: &now };
        let (kind, namespace, name) = (&KINDS[place.kind], &place.namespace, &place.name);
        let mut body = body;
        body["metadata"]["name"] = json!(name);
        let written = Write { kind, name, namespace, before: None, writer }.update(body);
        if let Ok(written) = written {
            self.commit(&place, Some(written));
        }
    }

    /// It is so many seconds after the beginning.
    pub fn set_now(&mut self, seconds: u64) {
        self.now = seconds;
    }

    pub(crate) fn time(&self) -> String {
        let (days, hours) = (self.now / 86_400 + 1, self.now / 3_600 % 24);
        format!("2026-01-{days:02}T{hours:02}:{:02}:{:02}Z", self.now / 60 % 60, self.now % 60)
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Forgets what happened up to now: streams that were further behind have to begin anew.
    pub fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// The object at a place.
    pub fn object(&self, place: &Place) -> Option<&Stored> {
        self.objects.get(place)
    }

    pub fn objects(&self) -> impl Iterator<Item = (&Place, &Stored)> {
        self.objects.iter()
    }

    /// What has changed since this was last asked, oldest first.
    pub fn take_committed(&mut self) -> Vec<Committed> {
        std::mem::take(&mut self.committed)
    }

    pub fn rule(&mut self, place: &Place, rule: Rule) {
        self.rules.entry(place.clone()).or_default().push(rule);
    }

    /// Lifts one rule on an object.
    pub fn lift(&mut self, place: &Place, rule: &Rule) {
        if let Some(rules) = self.rules.get_mut(place) {
            rules.retain(|known| known != rule);
        }
    }

    /// Lifts every rule on an object.
    pub fn allow(&mut self, place: &Place) {
        self.rules.remove(place);
    }

    /// Lifts all rules.
    pub fn allow_everything(&mut self) {
        self.rules.clear();
    }

    fn rules_of(&self, place: &Place) -> Vec<Rule> {
        self.rules.get(place).cloned().unwrap_or_default()
    }

    /// Answers a request.
    pub fn answer(&mut self, request: &Request) -> Reply {
        match self.carry_out(request) {
            Ok(reply) => reply,
            Err(refused) => Reply::Answer { code: refused.code, bytes: refused.bytes() },
        }
    }

    /// The same by a server that knows nothing later than a revision, where it would answer from what it remembers.
    pub fn answer_as_of(&mut self, request: &Request, revision: u64) -> Reply {
        let cached = request.parts().1.get("resourceVersion").is_some_and(|version| version == "0");
        match request.route().filter(|route| cached && route.name.is_some()) {
            Some(route) => match self.recalled(&route, revision) {
                Some(object) => answer(200, &if request.wants_metadata() { metadata_of(&object) } else { object }),
                None => {
                    let refused = Refused::absent(&KINDS[route.kind], route.name.as_deref().unwrap_or_default());
                    Reply::Answer { code: refused.code, bytes: refused.bytes() }
                }
            },
            None => self.answer(request),
        }
    }

    /// An object as it was at a revision.
    fn recalled(&self, route: &Route, revision: u64) -> Option<Json> {
        let place = place_of(route)?;
        let later = self.log.iter().find(|logged| logged.place == place && logged.revision > revision);
        match later {
            Some(logged) => logged.before.as_deref().cloned(),
            None => self.objects.get(&place).map(|stored| stored.render(&place)),
        }
    }

    fn carry_out(&mut self, request: &Request) -> Result<Reply, Refused> {
        if request.method == Method::Get
            && let Some(about) = self.about_itself(&request.parts().0)
        {
            return Ok(answer(200, &about));
        }
        let route = request.route().filter(|route| self.serves(&KINDS[route.kind])).ok_or_else(Refused::no_path)?;
        match (request.method, &route.name) {
            (Method::Get, Some(name)) => {
                let place = place_of(&route).expect("it has a name");
                let stored = self.objects.get(&place).ok_or_else(|| Refused::absent(&KINDS[route.kind], name))?;
                let object = stored.render(&place);
                Ok(answer(200, &if request.wants_metadata() { metadata_of(&object) } else { object }))
            }
            (Method::Get, None) if route.query.get("watch").is_some_and(|text| text == "true") => {
                Ok(Reply::Stream(self.open(&route, request.wants_metadata())))
            }
            (Method::Get, None) => Ok(answer(200, &self.list(&route, request.wants_metadata()))),
            (Method::Delete, Some(_)) => self.delete(&route, request),
            (Method::Post, None) => self.create(&route, request),
            (Method::Put | Method::Patch, Some(_)) => self.change(&route, request),
            _ => Err(Refused::bad("the method is not allowed")),
        }
    }

    fn serves(&self, kind: &Kind) -> bool {
        !kind.custom || self.is_defined()
    }

    fn list(&self, route: &Route, metadata: bool) -> Json {
        let selection = Selection::of(route, metadata);
        let all = self.objects.iter().map(|(place, stored)| (place, stored.render(place)));
        let all = all.filter(|(place, object)| selection.takes(place, object));
        let items: Vec<Json> = all.map(|(_, object)| selection.shown(&object)).collect();
        let kind = &KINDS[route.kind];
        json!({
            "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(),
            "metadata": {"resourceVersion": self.revision.to_string()}, "items": items,
        })
    }

    /// What it serves, and under which schemas.
    fn about_itself(&self, path: &str) -> Option<Json> {
        let served: Vec<&Kind> = KINDS.iter().filter(|kind| self.serves(kind)).collect();
        let mut groups: Vec<(&str, &str)> = served.iter().map(|kind| (kind.group, kind.version)).collect();
        groups.dedup();
        let group = |(group, version): &(&str, &str)| {
            let resources = served.iter().filter(|kind| kind.group == *group);
            let resource = |kind: &&Kind| {
                let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
                let response = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
                json!({"resource": kind.plural, "responseKind": response, "scope": scope, "verbs": ["get"]})
            };
            let resources: Vec<Json> = resources.map(resource).collect();
            let versions = json!([{"version": version, "freshness": "Current", "resources": resources}]);
            json!({"metadata": {"name": group}, "versions": versions})
        };
        let of = |core: bool| {
            let items: Vec<Json> = groups.iter().filter(|(name, _)| name.is_empty() == core).map(group).collect();
            json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
        };
        match path {
            "/api" => Some(of(true)),
            "/apis" => Some(of(false)),
            "/openapi/v3" => {
                let paths = groups.iter().map(|(group, version)| {
                    let path =
                        if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
                    let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash=1")});
                    (path, url)
                });
                Some(json!({"paths": paths.collect::<serde_json::Map<String, Json>>()}))
            }
            _ => None,
        }
    }

    fn create(&mut self, route: &Route, request: &Request) -> Result<Reply, Refused> {
        let kind = &KINDS[route.kind];
        let object = content(request)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let place = Place { kind: route.kind, namespace: route.namespace.clone(), name };
        if self.objects.contains_key(&place) {
            return Err(Refused::exists(kind, &place.name));
        }
        let (manager, now) = (manager_of(route), self.time());
        let writer = Writer { manager: &manager, subresource: "", now: &now };
        let write = Write { kind, name: &place.name, namespace: &place.namespace, before: None, writer };
        let mut written = write.update(object)?;
        self.admit(&write, &mut written, &self.rules_of(&place))?;
        self.commit(&place, Some(written));
        Ok(answer(201, &self.objects[&place].render(&place)))
    }

    fn change(&mut self, route: &Route, request: &Request) -> Result<Reply, Refused> {
        let kind = &KINDS[route.kind];
        let place = place_of(route).expect("it has a name");
        let before = self.objects.get(&place).cloned();
        let (manager, now) = (manager_of(route), self.time());
        let writer = Writer { manager: &manager, subresource: if route.status { "status" } else { "" }, now: &now };
        let write = Write { kind, name: &place.name, namespace: &place.namespace, before: before.as_ref(), writer };
        let says = |name: &str, value: &str| route.query.get(name).is_some_and(|text| text == value);
        let how = request.content.as_ref().map(|(how, _)| how.as_str()).unwrap_or_default();
        let mut written = if how.starts_with("application/apply-patch") {
            write.apply(&content(request)?, says("force", "true"))?
        } else {
            let stored = before.as_ref().ok_or_else(|| Refused::absent(kind, &place.name))?;
            write.update(patched(kind, &place, stored, how, content(request)?)?)?
        };
        self.admit(&write, &mut written, &self.rules_of(&place))?;
        let code = if before.is_none() { 201 } else { 200 };
        if says("dryRun", "All") {
            let stored = Stored {
                version: before.as_ref().map_or(0, |before| before.version),
                ..self.stored(before.as_ref(), written)
            };
            return Ok(answer(code, &stored.render(&place)));
        }
        self.commit(&place, Some(written.clone()));
        let shown = match self.objects.get(&place) {
            Some(stored) => stored.render(&place),
            // The last that held it let go.
            None => Stored { version: self.revision, ..self.stored(before.as_ref(), written) }.render(&place),
        };
        Ok(answer(code, &shown))
    }

    fn delete(&mut self, route: &Route, request: &Request) -> Result<Reply, Refused> {
        let kind = &KINDS[route.kind];
        let place = place_of(route).expect("it has a name");
        let stored = self.objects.get(&place).ok_or_else(|| Refused::absent(kind, &place.name))?;
        let options = if request.content.is_some() { content(request)? } else { json!({}) };
        let held = &options["preconditions"];
        let refuse = |what: &str, asked: &str, found: &str| {
            let why = format!("Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}");
            Err(Refused::outdated(kind, &place.name, &why))
        };
        if let Some(uid) = held["uid"].as_str().filter(|uid| *uid != stored.uid()) {
            return refuse("UID", uid, stored.uid());
        }
        let version = stored.version.to_string();
        if let Some(asked) = held["resourceVersion"].as_str().filter(|asked| *asked != version) {
            return refuse("ResourceVersion", asked, &version);
        }
        if self.rules_of(&place).contains(&Rule::DenyDeletes) {
            return Err(Refused::forbidden(kind, &place.name, "a rule of the cluster denied the request"));
        }
        let gone = stored.clone();
        self.remove(&place);
        match self.objects.get(&place) {
            Some(leaving) => Ok(answer(200, &leaving.render(&place))),
            None => {
                let details = json!({"name": place.name, "kind": kind.plural, "uid": gone.uid()});
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                });
                Ok(answer(200, &status))
            }
        }
    }

    /// Deletes an object: at once, or as soon as nobody holds it any more.
    pub(crate) fn remove(&mut self, place: &Place) {
        let Some(stored) = self.objects.get(place) else { return };
        let kind = &KINDS[place.kind];
        let held = stored.body["metadata"].get("finalizers").is_some() || kind.kind == "Namespace";
        if !held {
            return self.commit(place, None);
        }
        if stored.is_leaving() {
            return;
        }
        let mut body = stored.body.clone();
        body["metadata"]["deletionTimestamp"] = json!(self.time());
        body["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        if kind.kind == "Namespace" {
            body["status"]["phase"] = json!("Terminating");
        }
        if let Some(generation) = body["metadata"]["generation"].as_u64() {
            body["metadata"]["generation"] = json!(generation + 1);
        }
        let managed = stored.managed.clone();
        self.commit(place, Some(Written { body, managed }));
    }

    fn stored(&self, before: Option<&Stored>, written: Written) -> Stored {
        let Written { mut body, managed } = written;
        if before.is_none() {
            let uid = if body["metadata"]["name"] == "kube-system" {
                self.identity.clone()
            } else {
                format!("{}-{}", self.identity, self.uids + 1)
            };
            body["metadata"]["uid"] = json!(uid);
            body["metadata"]["creationTimestamp"] = json!(self.time());
        }
        Stored { body, version: self.revision + 1, managed }
    }

    /// Stores what was written, or removes what stands there. What changes nothing makes no revision.
    pub(crate) fn commit(&mut self, place: &Place, written: Option<Written>) {
        let before = self.objects.get(place).cloned();
        let after = written.map(|written| self.stored(before.as_ref(), written));
        if let (Some(before), Some(after)) = (&before, &after)
            && before.is_as(&after.body, &after.managed)
        {
            return;
        }
        let freed = |stored: &Stored| stored.is_leaving() && stored.body["metadata"].get("finalizers").is_none();
        let namespace = KINDS[place.kind].kind == "Namespace";
        let after = after.filter(|stored| namespace || !freed(stored));
        self.revision += 1;
        self.uids += u64::from(before.is_none());
        let shown = |stored: &Option<Stored>| stored.as_ref().map(|stored| Arc::new(stored.render(place)));
        self.log.push(Logged {
            revision: self.revision,
            place: place.clone(),
            before: shown(&before),
            after: shown(&after),
        });
        match &after {
            Some(stored) => drop(self.objects.insert(place.clone(), stored.clone())),
            None => drop(self.objects.remove(place)),
        }
        self.committed.push(Committed { place: place.clone(), before, after });
    }
}

pub(crate) fn definition() -> Place {
    Place {
        kind: kind_of("apiextensions.k8s.io", "CustomResourceDefinition"),
        namespace: String::new(),
        name: DEFINITION.to_owned(),
    }
}

fn place_of(route: &Route) -> Option<Place> {
    Some(Place { kind: route.kind, namespace: route.namespace.clone(), name: route.name.clone()? })
}

fn answer(code: u16, object: &Json) -> Reply {
    Reply::Answer { code, bytes: object.to_string().into_bytes() }
}

fn manager_of(route: &Route) -> String {
    route.query.get("fieldManager").cloned().unwrap_or_else(|| "unknown".to_owned())
}

fn content(request: &Request) -> Result<Json, Refused> {
    let bytes = request.content.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
    serde_json::from_slice(bytes).map_err(|error| Refused::bad(&error.to_string()))
}

/// What a patch, or a whole object, makes of what is stored.
fn patched(kind: &Kind, place: &Place, stored: &Stored, how: &str, sent: Json) -> Result<Json, Refused> {
    let mut object = stored.render(place);
    match how {
        "application/merge-patch+json" => merge(&mut object, &sent),
        "application/json-patch+json" => {
            for step in sent.as_array().map(Vec::as_slice).unwrap_or_default() {
                patch(&mut object, step).ok_or_else(|| Refused::unpatchable(kind, &place.name))?;
            }
        }
        _ => {
            // Who brings no word of who holds what leaves it as it is.
            let managed = object["metadata"].get("managedFields").cloned();
            object = sent;
            if let (Some(managed), None) = (managed, object["metadata"].get("managedFields")) {
                object["metadata"]["managedFields"] = managed;
            }
        }
    }
    Ok(object)
}

fn merge(object: &mut Json, patch: &Json) {
    let Json::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (name, value) in changes {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Json::Null), value);
        }
    }
}

/// One step of a JSON patch.
fn patch(object: &mut Json, step: &Json) -> Option<()> {
    let (pointer, value) = (step["path"].as_str()?, &step["value"]);
    let (parent, last) = pointer.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent)?;
    match (step["op"].as_str()?, parent) {
        ("remove", Json::Object(fields)) => fields.remove(&last).map(drop),
        ("remove", Json::Array(items)) => {
            let at: usize = last.parse().ok()?;
            (at < items.len()).then(|| drop(items.remove(at)))
        }
        ("add", Json::Object(fields)) => {
            fields.insert(last, value.clone());
            Some(())
        }
        ("replace", Json::Object(fields)) => fields.get_mut(&last).map(|at| *at = value.clone()),
        ("replace", Json::Array(items)) => items.get_mut(last.parse::<usize>().ok()?).map(|at| *at = value.clone()),
        ("test", parent) => (parent.get(&last) == Some(value)).then_some(()),
        _ => None,
    }
}
