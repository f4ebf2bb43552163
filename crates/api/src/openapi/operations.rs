//! The operations of the API: for each path and method a name, a description, parameters and
//! responses.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::name_of;
use super::schemas::{Schemas, parameter};
use crate::agent::ProblemKind;
use crate::answer::{
    AppDetail, AppSummary, AppTree, AppsPage, DriftRecord, Explained, FeedEvent, HistoryChange, HistoryRecord, LogPart,
    NotifyTested, Ordered, Overview, PlanAnswer, RecordProof, SessionInfo, VersionDetail,
};
use crate::handlers::EventsQuestion;
use crate::path;
use crate::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
};

/// The problems that every operation may have.
pub(super) const ALL: &[ProblemKind] = &[
    ProblemKind::Question,
    ProblemKind::Unauthenticated,
    ProblemKind::Forbidden,
    ProblemKind::Missing,
    ProblemKind::Conflict,
    ProblemKind::TooLong,
    ProblemKind::TooMany,
    ProblemKind::Unavailable,
];
/// The problems of operations that an idempotency key makes safe to repeat.
pub(super) const ONCE: &[ProblemKind] = &[ProblemKind::KeyReused];

/// An operation: a method of a path.
pub(super) struct Operation {
    pub(super) path: &'static str,
    pub(super) method: &'static str,
    pub(super) content: Value,
}

impl Operation {
    fn get(path: &'static str, tag: &str, id: &str, summary: &str) -> Self {
        Self::new(path, "get", tag, id, summary)
    }

    fn post(path: &'static str, tag: &str, id: &str, summary: &str) -> Self {
        Self::new(path, "post", tag, id, summary)
    }

    fn new(path: &'static str, method: &'static str, tag: &str, id: &str, summary: &str) -> Self {
        let session = if method == "get" { json!({ "session": [] }) } else { json!({ "session": [], "csrf": [] }) };
        let problems = ALL.iter().map(|kind| (kind.status().as_str().to_owned(), response_of(*kind)));
        let content = json!({
            "tags": [tag],
            "operationId": id,
            "summary": summary,
            "parameters": path_parameters(path),
            "security": [{ "token": [] }, session],
            "responses": Value::Object(problems.collect()),
        });
        Self { path, method, content }
    }

    fn described(mut self, description: &str) -> Self {
        self.content["description"] = description.into();
        self
    }

    /// Adds the header of requests that a client may repeat.
    fn once(mut self) -> Self {
        for kind in ONCE {
            self.content["responses"][kind.status().as_str()] = response_of(*kind);
        }
        let description = "A text of the client's choice, new for each order, so that a repeated request gives the order \
            once. The agent knows it for a day, unless it is restarted.";
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$" });
        self.with(vec![parameter("header", "Idempotency-Key", false, &description.into(), &schema)])
    }

    fn with(mut self, parameters: Vec<Value>) -> Self {
        self.content["parameters"].as_array_mut().expect("it is a list").extend(parameters);
        self
    }

    fn body(mut self, schema: &Value) -> Self {
        let content = json!({ "application/json": { "schema": schema } });
        self.content["requestBody"] = json!({ "required": true, "content": content });
        self
    }

    fn answers(mut self, description: &str, kind: &str, schema: &Value) -> Self {
        let content = json!({ kind: { "schema": schema } });
        self.content["responses"]["200"] = json!({ "description": description, "content": content });
        self
    }

    fn json(self, description: &str, schema: &Value) -> Self {
        let operation = self.answers(description, "application/json", schema);
        if operation.method == "get" { operation.tagged() } else { operation }
    }

    /// Adds the entity tag that responses in JSON have.
    fn tagged(mut self) -> Self {
        let tags = json!({ "type": "string" });
        let tag = json!({ "description": "The digest of the response.", "required": true, "schema": tags });
        let wanted = "The `ETag` of a response that the client has. If it is the present one, the response is 304.";
        self.content["responses"]["200"]["headers"] = json!({ "ETag": tag });
        self.content["responses"]["304"] =
            json!({ "description": "The client has the present response.", "headers": { "ETag": tag } });
        self.with(vec![parameter("header", "If-None-Match", false, &wanted.into(), &tags)])
    }

    /// Leaves out the sign-in. A wrong one is refused nevertheless.
    fn open(mut self) -> Self {
        self.content["security"] = json!([]);
        self
    }
}

fn response_of(kind: ProblemKind) -> Value {
    json!({ "$ref": format!("#/components/responses/{}", name_of(kind)) })
}

/// Describes the parts of a path that vary.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let label = json!({ "type": "string", "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", "maxLength": 253 });
    let described = |name| match name {
        "scope" => ("The scope of the app.", label.clone()),
        "app" => ("The name of the app in its scope.", label.clone()),
        "seq" => ("The number of the record.", json!({ "type": "integer", "format": "uint64", "minimum": 0 })),
        "version" => {
            ("A full id, or at least seven digits of its beginning.", json!({ "type": "string", "minLength": 7 }))
        }
        other => unreachable!("describe the part `{other}` of the path"),
    };
    let parameters = names.map(|name| {
        let (description, schema) = described(name);
        parameter("path", name, true, &description.into(), &schema)
    });
    parameters.collect()
}

fn list<T: ToSchema>(schemas: &mut Schemas) -> Value {
    json!({ "type": "array", "items": schemas.of::<T>() })
}

/// Returns all operations, in the order of the table of routes.
pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    [
        of_apps(schemas),
        of_history(schemas),
        of_plans(schemas),
        of_events(schemas),
        of_orders(schemas),
        of_server(schemas),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_apps(schemas: &mut Schemas) -> Vec<Operation> {
    let (page, app) = (schemas.of::<AppsPage>(), schemas.of::<AppSummary>());
    let selected = schemas.variant(&page, "SelectedAppsPage", |page| {
        page["properties"]["apps"]["items"] = json!({ "$ref": "#/components/schemas/SelectedApp" });
        page["description"] = "One page of apps, with the fields that `fields` names.".into();
    });
    schemas.variant(&app, "SelectedApp", |app| {
        app["required"] = json!([]);
        app["description"] = "The fields of an app that `fields` names.".into();
    });
    let page = json!({ "anyOf": [page, selected] });
    let mut parameters = schemas.parameters::<AppsQuestion>();
    let fields = parameters.iter_mut().find(|parameter| parameter["name"] == "fields").expect("apps have fields");
    let names: Vec<_> = schemas.get(&app)["properties"].as_object().into_iter().flat_map(|it| it.keys()).collect();
    fields["schema"] = json!({ "type": "array", "items": { "type": "string", "enum": names }, "minItems": 1 });
    fields["explode"] = false.into();
    vec![
        Operation::get(path::OVERVIEW, "apps", "getOverview", "Returns the ledger, all stores, targets and apps.")
            .json("The state of everything.", &schemas.of::<Overview>()),
        Operation::get(path::APPS, "apps", "listApps", "Returns one page of apps.")
            .described("Every filter that is set must match. For the next page, pass `next` of a page as `after`.")
            .with(parameters)
            .json("A page of apps; with `fields`, of parts of apps.", &page),
        Operation::get(path::APP, "apps", "getApp", "Returns all details of an app.")
            .json("The app.", &schemas.of::<AppDetail>()),
        Operation::get(path::TREE, "apps", "getTree", "Returns the objects of an app, and the objects they own.")
            .json("The objects, as the target has them now.", &schemas.of::<AppTree>()),
    ]
}

fn of_history(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation::get(path::HISTORY, "history", "listRecords", "Returns records of the ledger, newest first.")
            .with(schemas.parameters::<HistoryQuestion>())
            .json("The records.", &list::<HistoryRecord>(schemas)),
        Operation::get(path::PROOF, "history", "getProof", "Returns a record with the proof that it is in the log.")
            .json("The record and its proof.", &schemas.of::<RecordProof>()),
        Operation::get(path::CHANGES, "history", "listChanges", "Returns what was decided and changed, newest first.")
            .described("The records of a change, from its intent to its result, are one. The limit counts changes.")
            .with(schemas.parameters::<HistoryQuestion>())
            .json("The changes.", &list::<HistoryChange>(schemas)),
        Operation::get(path::VERSION, "history", "getVersion", "Returns one version and its way through the apps.")
            .json("The version.", &schemas.of::<VersionDetail>()),
        Operation::get(path::DRIFT, "history", "listDrift", "Returns recorded drift, newest first.")
            .with(schemas.parameters::<DriftQuestion>())
            .json("The drift.", &list::<DriftRecord>(schemas)),
    ]
}

fn of_plans(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation::get(path::PLAN, "plan", "getPlan", "Returns the steps that would be taken. Changes nothing.")
            .with(schemas.parameters::<PlanRequest>())
            .json("The plans of the requested apps.", &schemas.of::<PlanAnswer>()),
        Operation::get(path::EXPLAIN, "plan", "explain", "Returns the origin of each field of a declared resource.")
            .with(schemas.parameters::<ExplainQuestion>())
            .json("The fields.", &schemas.of::<Explained>()),
    ]
}

fn of_events(schemas: &mut Schemas) -> Vec<Operation> {
    let (part, event) = (schemas.of::<LogPart>(), schemas.of::<FeedEvent>());
    let last = "The position of the last event that the reader has. It has priority over `after`.";
    let last = parameter("header", "Last-Event-ID", false, &last.into(), &json!({ "type": "string" }));
    let stream = |of: &Value, text: &str| {
        let name = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()).expect("it is a reference");
        json!({ "type": "string", "description": format!("{text} a `{name}`.") })
    };
    vec![
        Operation::get(path::LOGS, "events", "readLogs", "Returns the logs of the pods of an app as they are written.")
            .with(schemas.parameters::<LogQuestion>())
            .answers("The logs.", "application/x-ndjson", &stream(&part, "Each line is")),
        Operation::get(path::EVENTS, "events", "readEvents", "Returns the changes of apps, stores and targets.")
            .described(
                "Server-sent events without an end. The first event of a reader without a known position is `reload`: \
                 read everything again.",
            )
            .with(schemas.parameters::<EventsQuestion>())
            .with(vec![last])
            .answers("The events.", "text/event-stream", &stream(&event, "The data of each event is")),
    ]
}

fn of_orders(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation::post(path::ORDERS, "orders", "giveOrder", "Records an order for one app.")
            .body(&schemas.of::<OrderRequest>())
            .once()
            .json("The order is recorded.", &schemas.of::<Ordered>()),
    ]
}

fn of_server(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation::get(path::SESSION, "server", "getSession", "Returns the identity of the caller.")
            .described("Not on the local socket, which has no sessions.")
            .json("The caller.", &schemas.of::<SessionInfo>()),
        Operation::new(path::SESSION, "delete", "server", "endSession", "Ends the session of the caller.")
            .described("A machine token has no session: the response is 409.")
            .json("The session has ended.", &json!({ "type": "null" })),
        Operation::post(path::NOTIFIERS_TEST, "server", "testNotifiers", "Sends a test message to every notifier.")
            .json("The result for each notifier.", &list::<NotifyTested>(schemas)),
        Operation::get(path::OPENAPI, "server", "getDocument", "Returns this document. Needs no sign-in.")
            .open()
            .json("The document.", &json!({ "type": "object" })),
    ]
}
