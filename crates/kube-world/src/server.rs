//! The server: objects in revisions, and the response to each request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::managed::Writer;
use crate::patch::patched;
use crate::refusal::Refused;
use crate::request::{Method, Request, Route, place_of};
use crate::schema::{DEFINITION, KINDS, Kind};
use crate::stored::Stored;
use crate::watch::{Selection, Watch};
use crate::write::{Write, Written};

/// The place of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The index of its kind in [`KINDS`].
    pub kind: usize,
    pub namespace: String,
    pub name: String,
}

/// Returns the index of a kind.
pub(crate) fn kind_of(group: &str, kind: &str) -> usize {
    KINDS.iter().position(|known| known.group == group && known.kind == kind).expect("it is among the kinds")
}

/// A rule of the cluster for writes of one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Every write is rejected as invalid.
    Invalid,
    DenyWrites,
    DenyDeletes,
    /// The server stores another value at this JSON pointer than the client sent.
    Rewrite {
        pointer: String,
        value: Json,
    },
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Committed {
    pub place: Place,
    pub before: Option<Arc<Stored>>,
    pub after: Option<Arc<Stored>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) revision: u64,
    pub(crate) place: Place,
    pub(crate) before: Option<Arc<Stored>>,
    pub(crate) after: Option<Arc<Stored>>,
}

/// The response to a request.
#[derive(Debug)]
pub enum Reply {
    Answer { code: u16, bytes: Vec<u8> },
    Stream(Watch),
}

/// A copy of everything that a cluster had stored at some time.
#[derive(Clone, Debug)]
pub struct Backup {
    revision: u64,
    objects: BTreeMap<Place, Arc<Stored>>,
}

/// The step between two revisions. The last digits count the restores, so no revision is assigned
/// twice. A real server counts on from the backup, but it has so many revisions that no object gets
/// the same one as before the restore. This server has few, and would reuse that revision within
/// seconds.
const STRIDE: u64 = 16;

/// A simulated cluster.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) revision: u64,
    restores: u64,
    uids: u64,
    pub(crate) objects: BTreeMap<Place, Arc<Stored>>,
    pub(crate) log: Vec<Logged>,
    /// The revision up to which the log is compacted: streams no longer report earlier changes.
    pub(crate) compacted: u64,
    rules: BTreeMap<Place, Vec<Rule>>,
    committed: Vec<Committed>,
    /// The time, in seconds since the beginning of a day.
    now: u64,
    identity: String,
}

impl Server {
    /// Builds a cluster whose `kube-system` namespace has this UID, with the definition of the
    /// custom kinds.
    pub fn new(identity: &str) -> Self {
        let mut server = Self {
            // A store never begins at 1: the server itself writes first.
            revision: 1,
            restores: 0,
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

    /// Creates the definition of the custom kinds if it is missing.
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

    /// Sets the time, in seconds after the beginning.
    pub fn set_now(&mut self, seconds: u64) {
        self.now = seconds;
    }

    pub(crate) fn time(&self) -> String {
        let (days, hours) = (self.now / 86_400 + 1, self.now / 3_600 % 24);
        format!("2026-01-{days:02}T{hours:02}:{:02}:{:02}Z", self.now / 60 % 60, self.now % 60)
    }

    /// Returns the newest revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn next_revision(&self) -> u64 {
        (self.revision / STRIDE + 1) * STRIDE + self.restores % STRIDE
    }

    /// Drops the history up to now: streams that were further behind have to start over.
    pub fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// Returns a copy of everything that is stored now.
    pub fn back_up(&self) -> Backup {
        Backup { revision: self.revision, objects: self.objects.clone() }
    }

    /// Restores a backup, together with its revision. The next revisions are lower than some that
    /// were already assigned. No stream reports the restore; streams that had read further stay
    /// silent until the server reaches their revision again.
    pub fn restore(&mut self, backup: &Backup) {
        let places: BTreeSet<Place> = self.objects.keys().chain(backup.objects.keys()).cloned().collect();
        let before = std::mem::replace(&mut self.objects, backup.objects.clone());
        self.revision = backup.revision;
        self.restores += 1;
        self.log.clear();
        self.compacted = backup.revision;
        for place in places {
            let (before, after) = (before.get(&place).cloned(), self.objects.get(&place).cloned());
            let version =
                |stored: &Option<Arc<Stored>>| stored.as_ref().map(|stored| (stored.uid().to_owned(), stored.version));
            if version(&before) != version(&after) {
                self.committed.push(Committed { place, before, after });
            }
        }
    }

    /// Returns the object at a place.
    pub fn object(&self, place: &Place) -> Option<&Stored> {
        self.objects.get(place).map(|stored| &**stored)
    }

    pub fn objects(&self) -> impl Iterator<Item = (&Place, &Stored)> {
        self.objects.iter().map(|(place, stored)| (place, &**stored))
    }

    /// Returns the changes since the previous call, oldest first.
    pub fn take_committed(&mut self) -> Vec<Committed> {
        std::mem::take(&mut self.committed)
    }

    pub fn rule(&mut self, place: &Place, rule: Rule) {
        self.rules.entry(place.clone()).or_default().push(rule);
    }

    /// Removes one rule of an object.
    pub fn lift(&mut self, place: &Place, rule: &Rule) {
        if let Some(rules) = self.rules.get_mut(place) {
            rules.retain(|known| known != rule);
        }
    }

    /// Removes every rule of an object.
    pub fn allow(&mut self, place: &Place) {
        self.rules.remove(place);
    }

    /// Removes all rules.
    pub fn allow_everything(&mut self) {
        self.rules.clear();
    }

    fn rules_of(&self, place: &Place) -> Vec<Rule> {
        self.rules.get(place).cloned().unwrap_or_default()
    }

    /// Responds to a request.
    pub fn answer(&mut self, request: &Request) -> Reply {
        said(self.carry_out(request))
    }

    /// Responds like [`Server::answer`], but serves reads that allow a cached state as of an older
    /// revision.
    pub fn answer_as_of(&mut self, request: &Request, revision: u64) -> Reply {
        let cached = request.says("resourceVersion", "0");
        match request.route().filter(|_| cached).and_then(|route| Some((route, place_of(route)?))) {
            Some((route, place)) => {
                let recalled =
                    self.recalled(&place, revision).ok_or_else(|| Refused::absent(kind_at(route), &place.name));
                said(recalled.map(|stored| object(200, stored, &place, request.wants_metadata())))
            }
            None => self.answer(request),
        }
    }

    /// Responds like [`Server::answer`], but as a server that does not know the custom kinds yet.
    pub fn answer_undefined(&mut self, request: &Request) -> Reply {
        let served: Vec<&Kind> = KINDS.iter().filter(|kind| !kind.custom).collect();
        match about(&served, request.path()).filter(|_| request.method == Method::Get) {
            Some(about) => answer(200, &about),
            None if request.route().is_some_and(|route| kind_at(route).custom) => said(Err(Refused::no_path())),
            None => self.answer(request),
        }
    }

    /// Returns an object as it was at a revision.
    fn recalled(&self, place: &Place, revision: u64) -> Option<&Stored> {
        let later = self.log.iter().find(|logged| logged.place == *place && logged.revision > revision);
        match later {
            Some(logged) => logged.before.as_deref(),
            None => self.object(place),
        }
    }

    fn carry_out(&mut self, request: &Request) -> Result<Reply, Refused> {
        if request.method == Method::Get
            && let Some(about) = about(&self.served(), request.path())
        {
            return Ok(answer(200, &about));
        }
        let route = request.route().filter(|route| self.serves(kind_at(route))).ok_or_else(Refused::no_path)?;
        match (request.method, place_of(route)) {
            (Method::Get, Some(place)) => {
                let stored = self.object(&place).ok_or_else(|| Refused::absent(kind_at(route), &place.name))?;
                Ok(object(200, stored, &place, request.wants_metadata()))
            }
            (Method::Get, None) if request.says("watch", "true") => Ok(Reply::Stream(self.open(route, request))),
            (Method::Get, None) => Ok(self.list(route, request)),
            (Method::Delete, Some(place)) => self.delete(&place, request),
            (Method::Post, None) => self.create(route, request),
            (Method::Put | Method::Patch, Some(place)) => self.change(route, &place, request),
            _ => Err(Refused::bad("the method is not allowed")),
        }
    }

    fn serves(&self, kind: &Kind) -> bool {
        !kind.custom || self.is_defined()
    }

    fn served(&self) -> Vec<&'static Kind> {
        let defined = self.is_defined();
        KINDS.iter().filter(|kind| !kind.custom || defined).collect()
    }

    fn list(&self, route: &Route, request: &Request) -> Reply {
        let selection = Selection::of(route, request);
        let taken = self.objects().filter(|(place, stored)| selection.takes(place, stored));
        let most = request.said("limit").and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX);
        let items: Vec<&str> = taken.take(most).map(|(place, stored)| stored.text(place, selection.metadata)).collect();
        let (kind, revision) = (kind_at(route), self.revision);
        let text = format!(
            r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{revision}"}},"items":[{}]}}"#,
            kind.kind,
            kind.api_version(),
            items.join(",")
        );
        Reply::Answer { code: 200, bytes: text.into_bytes() }
    }

    fn create(&mut self, route: &Route, request: &Request) -> Result<Reply, Refused> {
        let kind = kind_at(route);
        let sent = content(request)?;
        let name = sent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let place = Place { kind: route.kind, namespace: route.namespace.clone(), name };
        if self.objects.contains_key(&place) {
            return Err(Refused::exists(kind, &place.name));
        }
        let (manager, now) = (manager_of(request), self.time());
        let writer = Writer { manager, subresource: "", now: &now };
        let write = Write { kind, name: &place.name, namespace: &place.namespace, before: None, writer };
        let mut written = write.update(sent)?;
        self.admit(&write, &mut written, &self.rules_of(&place))?;
        self.commit(&place, Some(written));
        Ok(object(201, &self.objects[&place], &place, false))
    }

    fn change(&mut self, route: &Route, place: &Place, request: &Request) -> Result<Reply, Refused> {
        let kind = kind_at(route);
        let before = self.objects.get(place).cloned();
        let (manager, now) = (manager_of(request), self.time());
        let writer = Writer { manager, subresource: if route.status { "status" } else { "" }, now: &now };
        let write = Write { kind, name: &place.name, namespace: &place.namespace, before: before.as_deref(), writer };
        let how = request.content.as_ref().map(|(how, _)| how.as_str()).unwrap_or_default();
        let mut written = if how.starts_with("application/apply-patch") {
            write.apply(&content(request)?, request.says("force", "true"))?
        } else {
            let stored = before.as_ref().ok_or_else(|| Refused::absent(kind, &place.name))?;
            write.update(patched(kind, place, stored, how, content(request)?)?)?
        };
        self.admit(&write, &mut written, &self.rules_of(place))?;
        let code = if before.is_none() { 201 } else { 200 };
        if request.says("dryRun", "All") {
            let version = before.as_ref().map_or(0, |before| before.version);
            return Ok(object(code, &self.stored(before.as_deref(), written, version), place, false));
        }
        let freed = self.commit(place, Some(written));
        // The write may have removed the last finalizer.
        let stored = self.objects.get(place).cloned().or(freed).expect("it was written just now");
        Ok(object(code, &stored, place, false))
    }

    fn delete(&mut self, place: &Place, request: &Request) -> Result<Reply, Refused> {
        let kind = &KINDS[place.kind];
        let stored = self.objects.get(place).ok_or_else(|| Refused::absent(kind, &place.name))?;
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
        if self.rules_of(place).contains(&Rule::DenyDeletes) {
            return Err(Refused::forbidden(kind, &place.name, "a rule of the cluster denied the request"));
        }
        let gone = Arc::clone(stored);
        self.remove(place);
        match self.object(place) {
            Some(leaving) => Ok(object(200, leaving, place, false)),
            None => {
                let details = json!({"name": place.name, "kind": kind.plural, "uid": gone.uid()});
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                });
                Ok(answer(200, &status))
            }
        }
    }

    /// Deletes an object: at once, or as soon as nothing holds it any more.
    pub(crate) fn remove(&mut self, place: &Place) {
        let Some(stored) = self.objects.get(place) else { return };
        let kind = &KINDS[place.kind];
        let held = stored.body["metadata"].get("finalizers").is_some() || kind.kind == "Namespace";
        if !held {
            self.commit(place, None);
            return;
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

    fn stored(&self, before: Option<&Stored>, written: Written, version: u64) -> Stored {
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
        Stored::new(body, version, managed)
    }

    /// Stores a written object, or removes the stored one. A write that changes nothing makes no
    /// revision. Returns the written object if it was removed at once because nothing held it any
    /// more.
    pub(crate) fn commit(&mut self, place: &Place, written: Option<Written>) -> Option<Arc<Stored>> {
        let before = self.objects.get(place).cloned();
        let after = written.map(|written| Arc::new(self.stored(before.as_deref(), written, self.next_revision())));
        if let (Some(before), Some(after)) = (&before, &after)
            && before.is_as(&after.body, &after.managed)
        {
            return None;
        }
        let freed = |stored: &Stored| stored.is_leaving() && stored.body["metadata"].get("finalizers").is_none();
        let namespace = KINDS[place.kind].kind == "Namespace";
        let (after, gone) = match after {
            Some(stored) if !namespace && freed(&stored) => (None, Some(stored)),
            after => (after, None),
        };
        self.revision = self.next_revision();
        self.uids += u64::from(before.is_none());
        self.log.push(Logged {
            revision: self.revision,
            place: place.clone(),
            before: before.clone(),
            after: after.clone(),
        });
        match &after {
            Some(stored) => drop(self.objects.insert(place.clone(), Arc::clone(stored))),
            None => drop(self.objects.remove(place)),
        }
        self.committed.push(Committed { place: place.clone(), before, after });
        gone
    }
}

/// Returns the discovery documents of a server with these kinds: the kinds it serves, and their
/// schemas.
fn about(served: &[&Kind], path: &str) -> Option<Json> {
    if !matches!(path, "/api" | "/apis" | "/openapi/v3") {
        return None;
    }
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
                let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
                let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash=1")});
                (path, url)
            });
            Some(json!({"paths": paths.collect::<serde_json::Map<String, Json>>()}))
        }
        _ => None,
    }
}

pub(crate) fn definition() -> Place {
    Place {
        kind: kind_of("apiextensions.k8s.io", "CustomResourceDefinition"),
        namespace: String::new(),
        name: DEFINITION.to_owned(),
    }
}

fn kind_at(route: &Route) -> &'static Kind {
    &KINDS[route.kind]
}

fn answer(code: u16, about: &Json) -> Reply {
    Reply::Answer { code, bytes: about.to_string().into_bytes() }
}

/// Builds a response with an object.
fn object(code: u16, stored: &Stored, place: &Place, metadata: bool) -> Reply {
    Reply::Answer { code, bytes: stored.text(place, metadata).as_bytes().to_vec() }
}

fn said(result: Result<Reply, Refused>) -> Reply {
    result.unwrap_or_else(|refused| Reply::Answer { code: refused.code, bytes: refused.bytes() })
}

fn manager_of(request: &Request) -> &str {
    request.said("fieldManager").unwrap_or("unknown")
}

fn content(request: &Request) -> Result<Json, Refused> {
    let bytes = request.content.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
    serde_json::from_slice(bytes).map_err(|error| Refused::bad(&error.to_string()))
}
