//! Failures of requests, and how the engine treats them.

use setpoint_core::mutant::Mutant;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Span;
use setpoint_kube::status::Status;
use setpoint_target::{Outcome, Refusal, RefusalClass};

use crate::wire::WireError;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It was too late to send the effect.
    #[error("the request could not be sent in time: Setpoint reads the object again and retries")]
    Late,
    /// The declaration cannot be written as a request.
    #[error("the object cannot be sent: {detail}")]
    Unsendable { detail: String },
    /// Nothing reached the server.
    #[error("the API server could not be reached: {detail}")]
    NotSent { detail: String },
    /// The server refused the request.
    #[error("{status}: {}", advice(status))]
    Refused { status: Box<Status>, retry_after: Option<Span> },
    /// The request may have had its effect.
    #[error("the API server did not respond: {detail}")]
    Unanswered { detail: String },
    /// The response cannot be parsed. The request may have had its effect.
    #[error("the API server's response cannot be parsed: {detail}")]
    Malformed { detail: String },
    /// The server redirects. Nothing was done, and the redirect was not followed.
    #[error("the API server redirects ({code}), which is not followed: declare its new address")]
    Redirected { code: u16 },
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        match error {
            WireError::NotSent { detail } => Self::NotSent { detail },
            WireError::Unanswered { detail } => Self::Unanswered { detail },
        }
    }
}

impl Failure {
    /// Marks the failure as one of a request about a Secret: its text quotes no value.
    pub(crate) fn of_secret(self) -> Self {
        match self {
            Self::Refused { mut status, retry_after } => {
                status.is_of_secret = true;
                Self::Refused { status, retry_after }
            }
            other => other,
        }
    }

    /// Returns the HTTP status of a refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.code),
            _ => None,
        }
    }

    /// Reports whether the server said that the object of this name does not exist. Another 404
    /// means that the whole kind, or the path, does not exist.
    pub(crate) fn is_absence_of(&self, name: &str) -> bool {
        let said =
            |status: &Status| status.reason == "NotFound" && status.message.contains(&format!("\"{name}\" not found"));
        let said = |status: &Status| said(status) || Mutant::PathIsAbsence.is_on();
        matches!(self, Self::Refused { status, .. } if status.code == 404 && said(status))
    }

    /// Reports whether a retry may help: nothing is known to be wrong with the request itself.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::NotSent { .. } | Self::Unanswered { .. } => true,
            Self::Refused { status, .. } => status.code == 429 || status.code >= 500,
            Self::Late | Self::Unsendable { .. } | Self::Malformed { .. } | Self::Redirected { .. } => false,
        }
    }

    /// Returns the reason why a read failed.
    pub(crate) fn blindness(&self) -> UnknownReason {
        let detail = self.to_string();
        match self {
            Self::Refused { status, .. } if status.code == 401 => UnknownReason::Unauthenticated { detail },
            Self::Refused { status, .. } if status.code == 403 => UnknownReason::Denied { detail },
            Self::Malformed { .. } | Self::Redirected { .. } => UnknownReason::Malformed { detail },
            _ => UnknownReason::Unreachable { detail },
        }
    }

    /// Returns the outcome of a step that failed in this way.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.refusal() {
            Some(refusal) => Outcome::Refused { refusal },
            None => Outcome::Unknown { detail: self.to_string() },
        }
    }

    /// Returns the refusal if the effect certainly did not happen; `None` if it may have.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let refusal = |class, retry_after| Some(Refusal { class, detail: self.to_string(), retry_after });
        match self {
            Self::Late => refusal(RefusalClass::Fenced, None),
            Self::Unsendable { .. } => refusal(RefusalClass::Invalid, None),
            Self::NotSent { .. } | Self::Redirected { .. } => refusal(RefusalClass::Unavailable, None),
            Self::Refused { status, retry_after } => refusal(class_of(status)?, *retry_after),
            Self::Unanswered { .. } | Self::Malformed { .. } => None,
        }
    }
}

/// Classifies a refusal for the engine; returns `None` if the server failed and does not know
/// whether the effect happened.
fn class_of(status: &Status) -> Option<RefusalClass> {
    // A request that set another UID than the object's was about another object.
    let of_another = |status: &Status| status.causes.iter().any(|cause| cause.field == "metadata.uid");
    match status.code {
        401 | 403 if is_terminating(status) || is_over_quota(status) => Some(RefusalClass::Unready),
        401 | 403 => Some(RefusalClass::Denied),
        // Its namespace or its kind does not exist, or not yet.
        404 => Some(RefusalClass::Unready),
        429 => Some(RefusalClass::Unavailable),
        409 => Some(RefusalClass::Conflict),
        422 if of_another(status) => Some(RefusalClass::Conflict),
        422 if is_denied_by_policy(status) => Some(RefusalClass::Denied),
        422 if status.is_immutable() => Some(RefusalClass::Immutable),
        400..500 => Some(RefusalClass::Invalid),
        // Admission comes before anything is stored. A failed conversion may be that of the
        // response, after the object was stored.
        500 if is_admission_failing(status) => Some(RefusalClass::Unready),
        500 if is_too_large(status) => Some(RefusalClass::Invalid),
        // The server's way to report a field that is not in the schema.
        500 if is_type_error(status) => Some(RefusalClass::Invalid),
        _ => None,
    }
}

/// Returns what a person can do: the server reports the error, and mostly no remedy.
fn advice(status: &Status) -> &'static str {
    match status.code {
        401 => "renew the credentials of the target",
        403 if is_terminating(status) => "it is created once the old namespace is gone",
        403 if is_over_quota(status) => "free resources in the namespace, or raise the quota",
        403 if may_not_impersonate(status) => {
            "grant the agent the verb `impersonate` on the user, group or service account that `actAs` of the Scope names"
        }
        403 if status.message.contains(" cannot ") => "grant this permission to the user",
        403 => "change the declaration, or the rule that forbids it",
        404 if status.message.starts_with("namespaces ") => "declare the namespace, or create it",
        404 => "it is tried again once it exists",
        409 => "it is read and decided again",
        413 => TOO_LARGE,
        422 if is_denied_by_policy(status) => "change the declaration, or the policy",
        422 if status.is_immutable() => {
            "declare its former values, or another name; or delete it by hand, and it is created again"
        }
        429 => "it is tried again when the server has time",
        400..500 => "correct the declaration",
        _ if is_admission_failing(status) => "fix the webhook, or exempt the object from it",
        _ if is_conversion_failing(status) => "fix the webhook that converts this kind",
        _ if is_too_large(status) => TOO_LARGE,
        500 if is_type_error(status) => "correct the declaration",
        _ => "check the log of the API server",
    }
}

const TOO_LARGE: &str = "split it, or keep its content elsewhere";

/// Reports whether a field does not have the type of its schema.
fn is_type_error(status: &Status) -> bool {
    status.message.starts_with("failed to create typed patch object")
}

/// Reports whether the namespace is being deleted. Nothing can be created in it until it is gone.
fn is_terminating(status: &Status) -> bool {
    status.causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Reports whether the agent may not impersonate the user. This does not show what that user may
/// do.
fn may_not_impersonate(status: &Status) -> bool {
    status.message.contains(" cannot impersonate")
}

/// Reports whether a quota is exceeded. The server has no separate reason for it.
fn is_over_quota(status: &Status) -> bool {
    status.message.contains("exceeded quota")
}

/// Reports whether a policy denied the request. A ValidatingAdmissionPolicy refuses as if the
/// object were invalid, even if nothing is to be stored.
fn is_denied_by_policy(status: &Status) -> bool {
    status.message.contains("denied request: ")
}

fn is_admission_failing(status: &Status) -> bool {
    status.message.contains("failed calling webhook")
}

fn is_conversion_failing(status: &Status) -> bool {
    status.message.contains("conversion webhook for ")
}

/// Reports whether the object is too large. The server accepts more than its storage does, and has
/// no separate reason for the storage's error.
fn is_too_large(status: &Status) -> bool {
    status.message.contains("request is too large") || status.message.contains("message larger than max")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> Failure {
        let status = Status {
            code,
            reason: String::new(),
            message: message.to_owned(),
            causes: Vec::new(),
            retry_after_seconds: None,
            is_of_secret: false,
        };
        Failure::Refused { status: Box::new(status), retry_after: None }
    }

    #[test]
    fn a_refusal_says_what_to_do_and_whose_fault_it_is() {
        for (code, message, class, advice) in [
            (401, "Unauthorized", RefusalClass::Denied, "renew the credentials"),
            (
                403,
                r#"secrets is forbidden: User "a" cannot create resource"#,
                RefusalClass::Denied,
                "grant this permission to the user",
            ),
            (
                403,
                r#"users "b" is forbidden: User "a" cannot impersonate resource "users" in API group """#,
                RefusalClass::Denied,
                "grant the agent the verb `impersonate`",
            ),
            (403, "forbidden: exceeded quota: few, requested: pods=1", RefusalClass::Unready, "raise the quota"),
            (403, r#"admission webhook "a" denied the request: no"#, RefusalClass::Denied, "change the declaration"),
            (404, r#"namespaces "a" not found"#, RefusalClass::Unready, "declare the namespace"),
            (404, "the server could not find the requested resource", RefusalClass::Unready, "tried again"),
            (409, "the object has been modified", RefusalClass::Conflict, "decided again"),
            (413, "Request entity too large: limit is 3145728", RefusalClass::Invalid, "split it"),
            // The message alone does not prove an immutable field.
            (
                422,
                "spec.selector: Invalid value: x: field is immutable",
                RefusalClass::Invalid,
                "correct the declaration",
            ),
            (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no", RefusalClass::Denied, "policy"),
            (422, "spec.replicas: Invalid value: -1", RefusalClass::Invalid, "correct the declaration"),
            (429, "too many requests", RefusalClass::Unavailable, "has time"),
            (500, r#"Internal error occurred: failed calling webhook "a""#, RefusalClass::Unready, "fix the webhook"),
            (500, "etcdserver: request is too large", RefusalClass::Invalid, "split it"),
        ] {
            let refusal = refused(code, message).refusal().unwrap();
            assert_eq!(refusal.class, class, "{refusal}");
            assert!(refusal.detail.starts_with(message) && refusal.detail.contains(advice), "{refusal}");
        }
        assert_eq!(refused(500, "etcdserver: request timed out").refusal(), None);
    }
}
