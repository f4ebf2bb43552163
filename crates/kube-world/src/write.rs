//! The effect of a write on an object: preconditions, defaults, generations, server-set fields.

use serde_json::{Map, Value as Json, json};

use crate::fields::Path;
use crate::managed::{Entry, Writer, apply, boned, update};
use crate::merge::check;
use crate::refusal::Refused;
use crate::schema::Kind;
use crate::server::{Rule, Server};
use crate::stored::Stored;

/// The label of every namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// An object as it is to be stored.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) body: Json,
    pub(crate) managed: Vec<Entry>,
}

/// One write in progress.
pub(crate) struct Write<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) before: Option<&'a Stored>,
    pub(crate) writer: Writer<'a>,
}

impl Write<'_> {
    /// Applies a configuration.
    pub(crate) fn apply(&self, applied: &Json, force: bool) -> Result<Written, Refused> {
        self.check_names(applied)?;
        let mut applied = applied.clone();
        let version = take_metadata(&mut applied, "resourceVersion");
        let uid = take_metadata(&mut applied, "uid");
        if let (None, Some(uid)) = (self.before, &uid) {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                text(uid)
            );
            return Err(Refused::outdated(self.kind, self.name, &why));
        }
        let before = self.before.map(|stored| (&stored.body, stored.managed.as_slice()));
        let done = apply(self.kind, before, &applied, &self.writer, force)?;
        self.check_version(version.as_ref())?;
        self.check_uid(uid.as_ref())?;
        Ok(Written { body: self.finished(done.body), managed: done.entries })
    }

    /// Writes the whole object, by update or patch; the object may bring `managedFields`.
    pub(crate) fn update(&self, mut after: Json) -> Result<Written, Refused> {
        self.check_names(&after)?;
        if let Err(undeclared) = check(self.kind.schema, &without_managed(&after), &mut Path::default()) {
            let why = format!("strict decoding error: unknown field \"{}\"", undeclared.0.trim_start_matches('.'));
            return Err(Refused::bad(&why));
        }
        let version = after["metadata"].get("resourceVersion").cloned();
        self.check_version(version.as_ref())?;
        self.check_uid(after["metadata"].get("uid").cloned().as_ref())?;
        let managed = after["metadata"].as_object_mut().and_then(|metadata| metadata.remove("managedFields"));
        let cleared = managed.as_ref().is_some_and(|entries| *entries == json!([]) || *entries == json!([{}]));
        // The server accepts the `managedFields` of a client if it can read them.
        let brought = managed.as_ref().and_then(Json::as_array);
        let brought: Option<Vec<Entry>> = brought.and_then(|entries| entries.iter().map(Entry::from_json).collect());
        let body = self.finished(after);
        let before = self.before.map(|stored| &stored.body);
        let stored = self.before.map(|stored| stored.managed.as_slice()).unwrap_or_default();
        let known = brought.as_deref().filter(|_| self.before.is_some()).unwrap_or(stored);
        let managed = if cleared { Vec::new() } else { update(self.kind, before, &body, known, &self.writer) };
        Ok(Written { body, managed })
    }

    fn check_names(&self, object: &Json) -> Result<(), Refused> {
        let named = object["metadata"].get("name").is_none_or(|name| *name == self.name);
        let placed = object["metadata"].get("namespace").is_none_or(|namespace| *namespace == self.namespace);
        if named && placed {
            return Ok(());
        }
        Err(Refused::bad("the name of the object does not match the name on the URL"))
    }

    fn check_version(&self, version: Option<&Json>) -> Result<(), Refused> {
        match (self.before, version.map(text)) {
            (Some(stored), Some(version)) if !version.is_empty() && version != stored.version.to_string() => {
                let why = "the object has been modified; please apply your changes to the latest version and try again";
                Err(Refused::outdated(self.kind, self.name, why))
            }
            _ => Ok(()),
        }
    }

    fn check_uid(&self, uid: Option<&Json>) -> Result<(), Refused> {
        match (self.before, uid.map(text)) {
            (Some(stored), Some(uid)) if uid != stored.uid() => {
                let why = format!("\"{uid}\": field is immutable");
                Err(Refused::invalid(self.kind, self.name, "metadata.uid", &why))
            }
            _ => Ok(()),
        }
    }

    /// Returns the object with the server-set fields and the defaults.
    fn finished(&self, mut body: Json) -> Json {
        body["apiVersion"] = json!(self.kind.api_version());
        body["kind"] = json!(self.kind.kind);
        body["metadata"]["name"] = json!(self.name);
        if self.kind.namespaced {
            body["metadata"]["namespace"] = json!(self.namespace);
        }
        let before = self.before.map(|stored| &stored.body);
        for field in ["uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            keep(&mut body["metadata"], before.map(|before| &before["metadata"]), field);
        }
        if self.kind.has_status || self.kind.kind == "Namespace" {
            if self.writer.subresource == "status" {
                let status = body.get("status").cloned();
                let metadata = body["metadata"].clone();
                body = before.cloned().unwrap_or(Json::Null);
                body["metadata"]["managedFields"] = metadata["managedFields"].clone();
                put(&mut body, "status", status);
                drop_empty(&mut body["metadata"], "managedFields");
            } else {
                keep(&mut body, before, "status");
            }
        }
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
            for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
                drop_empty_field(metadata, field);
            }
        }
        default(self.kind, &mut body);
        if self.kind.has_status {
            count(self.kind, before, &mut body);
        }
        body
    }
}

fn without_managed(object: &Json) -> Json {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

fn take_metadata(object: &mut Json, field: &str) -> Option<Json> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Sets a field to its earlier value.
fn keep(body: &mut Json, before: Option<&Json>, field: &str) {
    let value = before.and_then(|before| before.get(field)).cloned();
    put(body, field, value);
}

fn put(body: &mut Json, field: &str, value: Option<Json>) {
    if let Some(fields) = body.as_object_mut() {
        match value {
            Some(value) => drop(fields.insert(field.to_owned(), value)),
            None => drop(fields.remove(field)),
        }
    }
}

fn drop_empty(value: &mut Json, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        drop_empty_field(fields, field);
    }
}

fn drop_empty_field(fields: &mut Map<String, Json>, field: &str) {
    let empty = |value: &Json| match value {
        Json::Null => true,
        Json::Object(fields) => fields.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    if fields.get(field).is_some_and(empty) {
        fields.remove(field);
    }
}

/// Sets the generation, which grows by one if anything except metadata and status changed.
fn count(kind: &Kind, before: Option<&Json>, body: &mut Json) {
    let spec = |object: &Json| {
        let mut object = boned(kind, object);
        put(&mut object, "metadata", None);
        put(&mut object, "status", None);
        object
    };
    let generation = match before {
        None => 1,
        Some(before) => {
            // For deployments, annotations count too: their controller copies them.
            let noted =
                kind.kind == "Deployment" && before["metadata"]["annotations"] != body["metadata"]["annotations"];
            let moved = noted || spec(before) != spec(body);
            before["metadata"]["generation"].as_u64().unwrap_or(1) + u64::from(moved)
        }
    };
    body["metadata"]["generation"] = json!(generation);
}

/// Fills in the server's defaults for fields that the client omitted.
fn default(kind: &Kind, body: &mut Json) {
    match kind.kind {
        "ConfigMap" | "Secret" => {
            drop_empty(body, "data");
            if kind.kind == "Secret" {
                fill(body, "type", json!("Opaque"));
            }
        }
        "Namespace" => {
            let name = body["metadata"]["name"].clone();
            body["metadata"]["labels"][NAME_LABEL] = name;
            fill(body, "spec", json!({"finalizers": ["kubernetes"]}));
            fill(body, "status", json!({"phase": "Active"}));
        }
        "Deployment" => default_deployment(body),
        "Widget" if body["spec"].is_object() => fill(&mut body["spec"], "size", json!(3)),
        _ => {}
    }
}

fn fill(body: &mut Json, field: &str, value: Json) {
    let missing = body.get(field).is_none_or(Json::is_null);
    if missing {
        put(body, field, Some(value));
    }
}

fn default_deployment(body: &mut Json) {
    fill(body, "status", json!({}));
    let spec = &mut body["spec"];
    fill(spec, "progressDeadlineSeconds", json!(600));
    fill(spec, "replicas", json!(1));
    fill(spec, "revisionHistoryLimit", json!(10));
    fill(spec, "strategy", json!({}));
    fill(&mut spec["strategy"], "type", json!("RollingUpdate"));
    if spec["strategy"]["type"] == "RollingUpdate" {
        fill(&mut spec["strategy"], "rollingUpdate", json!({}));
        fill(&mut spec["strategy"]["rollingUpdate"], "maxSurge", json!("25%"));
        fill(&mut spec["strategy"]["rollingUpdate"], "maxUnavailable", json!("25%"));
    }
    let pod = &mut spec["template"]["spec"];
    fill(pod, "dnsPolicy", json!("ClusterFirst"));
    fill(pod, "restartPolicy", json!("Always"));
    fill(pod, "schedulerName", json!("default-scheduler"));
    fill(pod, "securityContext", json!({}));
    fill(pod, "terminationGracePeriodSeconds", json!(30));
    let Some(containers) = pod["containers"].as_array_mut() else { return };
    for container in containers {
        let image = container["image"].as_str().unwrap_or_default();
        let always = image.ends_with(":latest") || !image.contains(':');
        fill(container, "imagePullPolicy", json!(if always { "Always" } else { "IfNotPresent" }));
        fill(container, "resources", json!({}));
        fill(container, "terminationMessagePath", json!("/dev/termination-log"));
        fill(container, "terminationMessagePolicy", json!("File"));
        drop_empty(container, "env");
    }
}

impl Server {
    /// Checks a write against the rules of the cluster: changes it, or returns the refusal.
    pub(crate) fn admit(&self, write: &Write<'_>, written: &mut Written, rules: &[Rule]) -> Result<(), Refused> {
        if write.before.is_none() && write.kind.namespaced {
            self.admit_into_namespace(write)?;
        }
        for rule in rules {
            match rule {
                Rule::Invalid => {
                    let why = "\"x\": a rule of the cluster finds it invalid";
                    return Err(Refused::invalid(write.kind, write.name, "spec", why));
                }
                Rule::DenyWrites => {
                    let why = "a rule of the cluster denied the request";
                    return Err(Refused::forbidden(write.kind, write.name, why));
                }
                Rule::Rewrite { pointer, value } => {
                    if let Some(at) = written.body.pointer_mut(pointer) {
                        *at = value.clone();
                    }
                }
                Rule::DenyDeletes => {}
            }
        }
        Ok(())
    }

    fn admit_into_namespace(&self, write: &Write<'_>) -> Result<(), Refused> {
        let namespaces = crate::server::kind_of("", "Namespace");
        let place =
            crate::server::Place { kind: namespaces, namespace: String::new(), name: write.namespace.to_owned() };
        match self.objects.get(&place) {
            None => Err(Refused::absent(&crate::schema::KINDS[namespaces], write.namespace)),
            Some(stored) if stored.is_leaving() => Err(Refused::terminating(write.kind, write.name, write.namespace)),
            Some(_) => Ok(()),
        }
    }
}
