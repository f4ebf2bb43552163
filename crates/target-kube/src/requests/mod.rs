//! The requests to an API server. The only place that knows how they are written.
//!
//! - [`place`]: the paths of objects.
//! - [`sending`]: a request's turn, its deadline and its limits.
//! - [`flow`]: the number of requests in flight, and their order.
//! - [`counts`]: the number of requests made.
//! - [`failure`]: the failures of requests.

mod counts;
mod failure;
mod flow;
mod place;
mod sending;

use std::sync::atomic::{AtomicU16, Ordering};

use setpoint_core::intent::Expect;
use setpoint_core::mutant::Mutant;
use setpoint_core::value::Value;
use setpoint_kube::adopt::Folded;
use setpoint_kube::audit::{Signature, Verb};
use setpoint_kube::object;

pub(crate) use counts::words;
pub use counts::{Call, Tally};
pub(crate) use failure::Failure;
pub use flow::{Flow, RequestOutcome, Turn, Urgency};
pub(crate) use place::{Collection, Place, escaped};
pub(crate) use sending::{Behalf, Deadline, Errand, Sender};
use sending::{MOST_OF_DISCOVERY, MOST_OF_OBJECT, Reply};

use crate::wire::{Body, Method, Request};

const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// The media type for all kinds that a server serves, in two responses. Old servers respond with
/// the types they know.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const TEXT: &str = "text/plain, */*";
const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";

/// The wanted part of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Whole,
    Metadata,
}

/// The options of an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Takes fields over from any other manager.
    pub(crate) force: bool,
    /// Returns the result without storing it.
    pub(crate) dry_run: bool,
}

/// The result of an apply.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The object did not exist before.
    pub(crate) created: bool,
    pub(crate) object: Value,
}

/// The objects that a list or a stream selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// `labelSelector` or `fieldSelector`.
    pub(crate) selector: &'static str,
    pub(crate) expression: String,
}

/// The point at which a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The current state as events, followed by a bookmark.
    Everything,
    /// The current state without a bookmark, for old servers and single objects.
    Present,
    /// The changes after this version.
    After(String),
}

/// The API of one cluster.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) sender: Sender,
    /// Our field manager.
    pub(crate) manager: String,
    /// The manager of our fencing marks, which end the effects that may still be in flight to an
    /// object.
    pub(crate) fencing_manager: String,
    pub(crate) signature: Signature,
    /// The counter that distinguishes audit ids of the same instant.
    pub(crate) signed: AtomicU16,
}

impl Api {
    /// Reads an object by a quorum read, never from a cache.
    pub(crate) async fn get(&self, place: &Place, form: Form, on: Behalf<'_>) -> Result<Value, Failure> {
        self.read_object(place, form, Call::Get, on).await
    }

    /// Reads the object that identifies the cluster.
    pub(crate) async fn get_identifying(&self, place: &Place) -> Result<Value, Failure> {
        self.read_object(place, Form::Metadata, Call::Discovery, Behalf::agent(Urgency::People)).await
    }

    async fn read_object(&self, place: &Place, form: Form, call: Call, on: Behalf<'_>) -> Result<Value, Failure> {
        let accept = if form == Form::Whole { JSON } else { METADATA };
        let cached = if Mutant::ReadFromCache.is_on() { "?resourceVersion=0" } else { "" };
        let path = format!("{}{cached}", place.path());
        let request = Request { impersonate: on.acting_as.cloned(), ..read(path, accept) };
        let reply = self.sender.read(&request, errand(call, on), MOST_OF_OBJECT).await?;
        understood(&reply)
    }

    /// Reads a document about the server itself.
    pub(crate) async fn ask(&self, path: String, urgency: Urgency) -> Result<Value, Failure> {
        let errand = Errand { call: Call::Discovery, urgency, app: None };
        let reply = self.sender.read(&read(path, AGGREGATED), errand, MOST_OF_DISCOVERY).await?;
        understood(&reply)
    }

    /// Applies a declaration. A dry-run stores nothing, but checks everything.
    pub(crate) async fn apply(
        &self,
        place: &Place,
        body: &Value,
        manner: Manner,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Applied, Failure> {
        self.apply_as(&self.manager, place, body, manner, deadline, on).await
    }

    async fn apply_as(
        &self,
        manager: &str,
        place: &Place,
        body: &Value,
        manner: Manner,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Applied, Failure> {
        let bytes = object::write(body).map_err(|error| Failure::Unsendable { detail: error.to_string() })?;
        let mut path = format!("{}?fieldManager={}&fieldValidation=Strict", place.path(), escaped(manager));
        path.push_str(if manner.force { "&force=true" } else { "&force=false" });
        if manner.dry_run {
            path.push_str("&dryRun=All");
        }
        let call = if manner.dry_run { Call::DryRun } else { Call::Apply };
        let reply = self.change((Method::Patch, place), path, Some((APPLY, bytes)), deadline, (call, on)).await?;
        Ok(Applied { created: reply.code == 201, object: understood(&reply)? })
    }

    /// Writes a fencing mark to an object, which changes its version.
    pub(crate) async fn fence(
        &self,
        place: &Place,
        mark: &Value,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<(), Failure> {
        let manner = Manner { force: false, dry_run: false };
        self.apply_as(&self.fencing_manager, place, mark, manner, deadline, on).await.map(drop)
    }

    /// Removes the values at these JSON pointers, if the object still has this version.
    pub(crate) async fn take_out(
        &self,
        place: &Place,
        version: &str,
        pointers: &[String],
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Value, Failure> {
        let held = (!Mutant::TakeOutWithoutVersion.is_on()).then(|| replacing(VERSION, Value::str(version)));
        let patch = held.into_iter().chain(pointers.iter().map(|pointer| removing(pointer))).collect();
        self.patch(place, patch, deadline, on).await
    }

    /// Replaces the managed fields of an object, if it still has this version.
    pub(crate) async fn fold(
        &self,
        place: &Place,
        version: &str,
        Folded { managed_fields, removed }: Folded,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Value, Failure> {
        let held = [replacing(VERSION, Value::str(version)), replacing("/metadata/managedFields", managed_fields)];
        let patch = held.into_iter().chain(removed.iter().map(|pointer| removing(pointer))).collect();
        self.patch(place, patch, deadline, on).await
    }

    async fn patch(
        &self,
        place: &Place,
        steps: Vec<Value>,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Value, Failure> {
        let patch = Value::Seq(steps);
        let bytes = object::write(&patch).map_err(|error| Failure::Unsendable { detail: error.to_string() })?;
        let path = format!("{}?fieldManager={}", place.path(), escaped(&self.manager));
        let content = Some((JSON_PATCH, bytes));
        let reply = self.change((Method::Patch, place), path, content, deadline, (Call::Patch, on)).await?;
        understood(&reply)
    }

    /// Deletes this very object in this very version; the objects it owns are deleted after it.
    /// Returns the object if something still holds it, otherwise a status.
    pub(crate) async fn delete(
        &self,
        place: &Place,
        expect: &Expect,
        deadline: Deadline,
        on: Behalf<'_>,
    ) -> Result<Value, Failure> {
        let mut held = vec![("uid", Value::str(expect.uid.as_str()))];
        held.extend(expect.version.as_ref().map(|version| ("resourceVersion", Value::str(version.as_str()))));
        held.retain(|_| !Mutant::DeleteByName.is_on());
        let options = Value::map([
            ("apiVersion", Value::str("v1")),
            ("kind", Value::str("DeleteOptions")),
            ("preconditions", Value::map(held)),
            ("propagationPolicy", Value::str("Background")),
        ]);
        let bytes = object::write(&options).map_err(|error| Failure::Unsendable { detail: error.to_string() })?;
        let (path, content) = (format!("{}?", place.path()), Some((JSON, bytes)));
        let reply = self.change((Method::Delete, place), path, content, deadline, (Call::Delete, on)).await?;
        // The delete was accepted, whatever the response contains.
        Ok(understood(&reply).unwrap_or_default())
    }

    /// Reads one page of a list in its current state.
    pub(crate) async fn page(
        &self,
        collection: &Collection,
        selection: Option<&Selection>,
        form: Form,
        after: Option<&str>,
        urgency: Urgency,
    ) -> Result<Body, Failure> {
        let mut path = format!("{}?limit={PAGE}", collection.path());
        let chosen = selection.map(|selection| (selection.selector, selection.expression.as_str()));
        for (name, value) in chosen.into_iter().chain(after.map(|token| ("continue", token))) {
            path.push_str(&format!("&{name}={}", escaped(value)));
        }
        let accept = if form == Form::Whole { JSON } else { METADATA_LIST };
        let errand = Errand { call: Call::List, urgency, app: None };
        self.sender.open(read(path, accept), errand).await
    }

    /// Returns the version of a list of a kind, which is the server's state for this kind, if the
    /// list has one.
    pub(crate) async fn state(&self, collection: &Collection) -> Result<Option<String>, Failure> {
        let request = read(format!("{}?limit=1", collection.path()), METADATA_LIST);
        let errand = Errand { call: Call::List, urgency: Urgency::Sweep, app: None };
        let list = understood(&self.sender.read(&request, errand, MOST_OF_OBJECT).await?)?;
        Ok(object::resource_version(&list).map(str::to_owned))
    }

    /// Opens the log of a container; the query selects the part. With `streams` it does not end by
    /// itself.
    pub(crate) async fn log(&self, pod: &Place, query: &str, streams: bool) -> Result<Body, Failure> {
        let path = format!("{}/log?{query}", pod.path());
        let errand = Errand { call: Call::Log, urgency: Urgency::People, app: None };
        self.sender.open(Request { streams, ..read(path, TEXT) }, errand).await
    }

    /// Opens a stream of changes.
    pub(crate) async fn watch(
        &self,
        collection: &Collection,
        selection: Option<&Selection>,
        form: Form,
        beginning: &Beginning,
    ) -> Result<Body, Failure> {
        let path = collection.path();
        let mut path = format!("{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={STREAM_SECONDS}");
        if let Some(Selection { selector, expression }) = selection {
            path.push_str(&format!("&{selector}={}", escaped(expression)));
        }
        match beginning {
            Beginning::Everything => path.push_str("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            Beginning::Present => {}
            Beginning::After(version) => {
                path.push_str("&resourceVersion=");
                path.push_str(&escaped(version));
            }
        }
        let accept = if form == Form::Whole { JSON } else { METADATA };
        let errand = Errand { call: Call::Watch, urgency: Urgency::Sweep, app: None };
        self.sender.open(Request { streams: true, ..read(path, accept) }, errand).await
    }

    /// Signs the id under which the server audits a change of ours, so that it is recognized as
    /// ours.
    fn audit_id(&self, method: Method, place: &Place) -> String {
        let verb = if method == Method::Delete { Verb::Delete } else { Verb::Patch };
        let number = self.signed.fetch_add(1, Ordering::Relaxed);
        self.signature.sign(self.sender.now(), number, verb, &place.audited())
    }

    /// Sends an effect once. The request states its deadline to the server.
    async fn change(
        &self,
        (method, place): (Method, &Place),
        mut path: String,
        content: Option<(&'static str, Vec<u8>)>,
        deadline: Deadline,
        (call, on): (Call, Behalf<'_>),
    ) -> Result<Reply, Failure> {
        let left = deadline.land_by.since(self.sender.now());
        let seconds = left.as_millis() / 1_000;
        if seconds == 0 {
            return Err(Failure::Late);
        }
        let joint = if path.ends_with('?') { "" } else { "&" };
        path.push_str(&format!("{joint}timeout={seconds}s"));
        let audit_id = Some(self.audit_id(method, place));
        let request = Request { method, content, audit_id, impersonate: on.acting_as.cloned(), ..read(path, JSON) };
        let answer = self.sender.exchange(request, errand(call, on), deadline, MOST_OF_OBJECT).await;
        answer.map_err(|failure| if place.collection.is_of_secrets() { failure.of_secret() } else { failure })
    }
}

/// Servers close a stream by themselves. With a requested length they close it in good order.
const STREAM_SECONDS: u32 = 1_800;
pub(crate) const PAGE: usize = 500;

/// The pointer to the version. A patch that sets it to the expected value is refused if the object
/// has another one.
const VERSION: &str = "/metadata/resourceVersion";

fn replacing(pointer: &str, value: Value) -> Value {
    Value::map([("op", Value::str("replace")), ("path", Value::str(pointer)), ("value", value)])
}

fn removing(pointer: &str) -> Value {
    Value::map([("op", Value::str("remove")), ("path", Value::str(pointer))])
}

fn read(path: String, accept: &'static str) -> Request {
    Request { method: Method::Get, path, accept, content: None, impersonate: None, audit_id: None, streams: false }
}

fn errand(call: Call, on: Behalf<'_>) -> Errand<'_> {
    Errand { call, urgency: on.urgency, app: on.app }
}

fn understood(reply: &Reply) -> Result<Value, Failure> {
    object::read(&reply.bytes).map_err(|error| Failure::Malformed { detail: error.to_string() })
}
