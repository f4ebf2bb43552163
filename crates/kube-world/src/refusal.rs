//! Refusals, in the words of the real server.

use serde_json::{Value as Json, json};

use crate::schema::Kind;

/// A request that is rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub code: u16,
    /// A `Status`, or plain text for a path that is not served.
    pub body: Json,
}

impl Refused {
    fn status(code: u16, reason: &str, message: &str, details: &Json) -> Self {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "details": details, "code": code,
        });
        Self { code, body }
    }

    pub(crate) fn no_path() -> Self {
        Self { code: 404, body: Json::String("404 page not found\n".to_owned()) }
    }

    pub(crate) fn absent(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self::status(404, "NotFound", &message, &json!({"name": name, "kind": kind.plural}))
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Self::status(409, "AlreadyExists", &message, &json!({"name": name, "kind": kind.plural}))
    }

    /// Builds the refusal of a write whose precondition no longer holds.
    pub(crate) fn outdated(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
        Self::status(409, "Conflict", &message, &json!({"name": name, "kind": kind.plural}))
    }

    pub(crate) fn conflicts(conflicts: &[(String, String)]) -> Self {
        let causes: Vec<Json> = conflicts
            .iter()
            .map(|(message, field)| json!({"reason": "FieldManagerConflict", "message": message, "field": field}))
            .collect();
        let many = if causes.len() == 1 { "conflict" } else { "conflicts" };
        let told: Vec<String> = conflicts.iter().map(|(message, field)| format!("{message}: {field}")).collect();
        let message = format!("Apply failed with {} {many}: {}", causes.len(), told.join("\n"));
        Self::status(409, "Conflict", &message, &json!({"causes": causes}))
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, field: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is invalid: {field}: Invalid value: {why}", kind.kind);
        let causes =
            json!([{"reason": "FieldValueInvalid", "message": format!("Invalid value: {why}"), "field": field}]);
        Self::status(422, "Invalid", &message, &json!({"name": name, "kind": kind.kind, "causes": causes}))
    }

    /// Builds the refusal of a patch that does not fit the object.
    pub(crate) fn unpatchable(kind: &Kind, name: &str) -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::status(422, "Invalid", message, &json!({"name": name, "kind": kind.kind}))
    }

    /// Builds the refusal of a field that the schema does not have.
    pub(crate) fn untyped(kind: &Kind, field: &str) -> Self {
        let (group, version, kind) = (kind.group, kind.version, kind.kind);
        let message = format!(
            "failed to create typed patch object ({group}/{version}, Kind={kind}): {field}: field not declared in schema"
        );
        Self::status(500, "", &message, &json!({}))
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.resource());
        Self::status(403, "Forbidden", &message, &json!({"name": name, "kind": kind.plural}))
    }

    pub(crate) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refused = Self::forbidden(kind, name, &why);
        refused.body["details"]["causes"] = json!([{
            "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        refused
    }

    pub(crate) fn bad(message: &str) -> Self {
        Self::status(400, "BadRequest", message, &json!({}))
    }

    /// Builds the response of a server that fails or is busy.
    pub fn burdened(code: u16) -> Self {
        let (reason, message) = match code {
            429 => ("TooManyRequests", "the server has received too many requests"),
            _ => ("InternalError", "an error on the server has prevented the request from succeeding"),
        };
        Self::status(code, reason, message, &json!({}))
    }

    /// Builds the response to a client that the server cannot authenticate.
    pub fn unknown_client() -> Self {
        Self::status(401, "Unauthorized", "Unauthorized", &json!({}))
    }

    /// Builds the event of a stream that cannot resume where it ended.
    pub(crate) fn expired() -> Json {
        Self::status(410, "Expired", "too old resource version", &json!({})).body
    }

    pub fn bytes(&self) -> Vec<u8> {
        match &self.body {
            Json::String(text) => text.as_bytes().to_vec(),
            status => status.to_string().into_bytes(),
        }
    }
}
