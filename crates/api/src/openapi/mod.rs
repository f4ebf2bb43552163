//! The OpenAPI document of the API: generated from the types of requests and responses, and from
//! the list of operations here. It is committed as `docs/openapi.json`, which the agent serves, so
//! that this module is not in the shipped program. `cargo xtask openapi` writes the file.
//!
//! Reading order: `operations` (the routes), `schemas` (from types to JSON Schema), [`model`] (the
//! types of core that responses contain).

pub(crate) mod model;
mod operations;
mod schemas;

use serde_json::{Value, json};

use crate::agent::ProblemKind;
use operations::Operation;
use schemas::Schemas;

/// What the document says about the API as a whole.
const ABOUT: &str = "The API of a running agent. What a caller may not see does not exist for it: a request for it \
    gets the same response as a misspelled name. Responses may get more fields and more kinds of values in later \
    versions. The guide is docs/web.md.";

/// The groups of operations.
const TAGS: [(&str, &str); 6] = [
    ("apps", "The state of apps, and their objects."),
    ("history", "What was decided and changed, with proofs."),
    ("plan", "What would happen, and where fields come from."),
    ("orders", "What people order."),
    ("events", "What changes, as it happens."),
    ("server", "The session of the caller, notifiers, and this document."),
];

/// Returns the document as the file has it: JSON with sorted keys, indented.
pub fn text() -> String {
    let text = serde_json::to_string_pretty(&document()).expect("the document is plain JSON");
    text + "\n"
}

/// Returns the document.
pub fn document() -> Value {
    let mut schemas = Schemas::default();
    let operations = operations::all(&mut schemas);
    let responses = responses(&mut schemas);
    let mut paths = serde_json::Map::new();
    for operation in operations {
        let Operation { path, method, content } = operation;
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[method] = content;
    }
    let tags = TAGS.map(|(name, description)| json!({ "name": name, "description": description }));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Setpoint",
            "version": "v1",
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The agent that serves this document, unless its URL has a path." }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas.all(),
            "responses": responses,
            "securitySchemes": security_schemes(),
        },
    })
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A machine token. The page *Access* creates them.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "__Host-setpoint",
            "description": "The session of a person, after a sign-in.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": "x-csrf-token",
            "description": "The `csrf` of the session. Requests of a session that change something need it.",
        },
    })
}

/// Returns the name of the response for a kind of problem.
fn name_of(kind: ProblemKind) -> String {
    format!("{kind:?}")
}

/// Describes a kind of problem. A new kind does not compile without a description.
fn description_of(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Question => "The request itself is invalid.",
        ProblemKind::Unauthenticated => "The caller is not known, or its session is over.",
        ProblemKind::Forbidden => "The caller has no permission.",
        ProblemKind::Missing => "The object does not exist, or the caller may not see it.",
        ProblemKind::Method => "The path does not have this method.",
        ProblemKind::Conflict => "The request conflicts with the current state.",
        ProblemKind::TooLong => "The request is too long.",
        ProblemKind::KeyReused => "The idempotency key was sent with another request.",
        ProblemKind::TooMany => "The caller has sent too many requests.",
        ProblemKind::Unavailable => "The agent or its ledger cannot serve the request now.",
    }
}

/// Returns the responses that several operations have.
fn responses(schemas: &mut Schemas) -> Value {
    let problem = schemas.of::<model::Problem>();
    let responses = operations::ALL.iter().chain(operations::ONCE).map(|kind| {
        let content = json!({ "application/problem+json": { "schema": problem } });
        (name_of(*kind), json!({ "description": description_of(*kind), "content": content }))
    });
    Value::Object(responses.collect())
}
