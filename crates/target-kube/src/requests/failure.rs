//! Why a request did not bring what was asked for.

use setpoint_core::mutant::Mutant;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Span;
use setpoint_kube::status::Status;
use setpoint_target::{Outcome, Refusal, RefusalClass};

use crate::wire::WireError;

/// Why a request did not bring what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It came too late to be sent: the effect must not leave any more.
    #[error("it could not leave in time: decide anew")]
    Late,
    /// What is declared cannot be written down for the server.
    #[error("it cannot be sent: {detail}")]
    Unsendable { detail: String },
    /// Nothing reached the server.
    #[error("the API server could not be reached: {detail}")]
    NotSent { detail: String },
    /// The server said no.
    #[error("{status}: {}", advice(status))]
    Refused { status: Box<Status>, retry_after: Option<Span> },
    /// It may have had its effect.
    #[error("the API server did not answer: {detail}")]
    Unanswered { detail: String },
    /// An answer came that is none. What was asked for may have happened.
    #[error("the API server's answer could not be understood: {detail}")]
    Malformed { detail: String },
    /// The server leads elsewhere. Nothing was done, and it was not followed.
    #[error("the API server redirects ({code}), which is not followed: declare the address it has now")]
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
    /// The HTTP status of a refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.code),
            _ => None,
        }
    }

    /// Whether the server said that the object of this name is not there. Another 404 says that the
    /// whole kind, or the path, is not.
    pub(crate) fn is_absence_of(&self, name: &str) -> bool {
        let said =
            |status: &Status| status.reason == "NotFound" && status.message.contains(&format!("\"{name}\" not found"));
        let said = |status: &Status| said(status) || Mutant::PathIsAbsence.is_on();
        matches!(self, Self::Refused { status, .. } if status.code == 404 && said(status))
    }

    /// Whether asking again may help: nothing is known to be wrong with what was asked.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::NotSent { .. } | Self::Unanswered { .. } => true,
            Self::Refused { status, .. } => status.code == 429 || status.code >= 500,
            Self::Late | Self::Unsendable { .. } | Self::Malformed { .. } | Self::Redirected { .. } => false,
        }
    }

    /// Why nothing was seen.
    pub(crate) fn blindness(&self) -> UnknownReason {
        let detail = self.to_string();
        match self {
            Self::Refused { status, .. } if status.code == 401 => UnknownReason::Unauthenticated { detail },
            Self::Refused { status, .. } if status.code == 403 => UnknownReason::Denied { detail },
            Self::Malformed { .. } | Self::Redirected { .. } => UnknownReason::Malformed { detail },
            _ => UnknownReason::Unreachable { detail },
        }
    }

    /// How a step ended that failed like this.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.refusal() {
            Some(refusal) => Outcome::Refused { refusal },
            None => Outcome::Unknown { detail: self.to_string() },
        }
    }

    /// Why it certainly did not happen; `None` where it may have.
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

/// What the engine does about a refusal; `None` where the server failed and cannot tell whether it
/// happened.
fn class_of(status: &Status) -> Option<RefusalClass> {
    // Whoever set another UID than the object has spoke of another object.
    let of_another = |status: &Status| status.causes.iter().any(|cause| cause.field == "metadata.uid");
    match status.code {
        401 | 403 if is_terminating(status) || is_over_quota(status) => Some(RefusalClass::Unready),
        401 | 403 => Some(RefusalClass::Denied),
        // Its namespace or its kind is not there, or not yet.
        404 => Some(RefusalClass::Unready),
        429 => Some(RefusalClass::Unavailable),
        409 => Some(RefusalClass::Conflict),
        422 if of_another(status) => Some(RefusalClass::Conflict),
        422 if is_denied_by_policy(status) => Some(RefusalClass::Denied),
        422 if status.is_immutable() => Some(RefusalClass::Immutable),
        400..500 => Some(RefusalClass::Invalid),
        // Admission comes before anything is stored. A conversion may be that of the answer, after
        // it was.
        500 if is_admission_failing(status) => Some(RefusalClass::Unready),
        500 if is_too_large(status) => Some(RefusalClass::Invalid),
        // So the server says that a field is not in the schema.
        500 if status.message.starts_with("failed to create typed patch object") => Some(RefusalClass::Invalid),
        _ => None,
    }
}

/// What a person can do about it: the server says what is wrong, and mostly no more.
fn advice(status: &Status) -> &'static str {
    match status.code {
        401 => "renew the credentials of the target",
        403 if is_terminating(status) => "it is made once the old namespace is gone",
        403 if is_over_quota(status) => "free something there, or raise the quota",
        403 if may_not_impersonate(status) => {
            "grant the agent the verb `impersonate` on the user, group or service account that `actAs` of the Scope names"
        }
        403 if status.message.contains(" cannot ") => "grant that to this user",
        403 => "change the declaration, or what forbids it",
        404 if status.message.starts_with("namespaces ") => "declare the namespace, or create it",
        404 => "it is tried again as soon as it is served",
        409 => "it is looked at and decided anew",
        413 => TOO_LARGE,
        422 if is_denied_by_policy(status) => "change the declaration, or the policy",
        422 if status.is_immutable() => {
            "declare what it was, or another name; or delete it by hand, and it is made anew"
        }
        429 => "it is tried again when the server has time",
        400..500 => "correct the declaration",
        _ if is_admission_failing(status) => "mend the webhook, or exempt the object from it",
        _ if is_conversion_failing(status) => "mend the webhook that converts this kind",
        _ if is_too_large(status) => TOO_LARGE,
        _ => "see what the API server logged",
    }
}

const TOO_LARGE: &str = "split it, or keep its content elsewhere";

/// Nothing is made in a namespace that is being deleted; it may be made again once that is gone.
fn is_terminating(status: &Status) -> bool {
    status.causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// The agent may not act in the name it was to act in, which says nothing of what that one may do.
fn may_not_impersonate(status: &Status) -> bool {
    status.message.contains(" cannot impersonate")
}

/// There is no reason of its own for it.
fn is_over_quota(status: &Status) -> bool {
    status.message.contains("exceeded quota")
}

/// A ValidatingAdmissionPolicy refuses as if the object were invalid, also where nothing is to be
/// stored.
fn is_denied_by_policy(status: &Status) -> bool {
    status.message.contains("denied request: ")
}

fn is_admission_failing(status: &Status) -> bool {
    status.message.contains("failed calling webhook")
}

fn is_conversion_failing(status: &Status) -> bool {
    status.message.contains("conversion webhook for ")
}

/// The server lets through more than its storage takes, and has no word of its own for what that
/// says.
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
                "grant that to this user",
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
            (409, "the object has been modified", RefusalClass::Conflict, "decided anew"),
            (413, "Request entity too large: limit is 3145728", RefusalClass::Invalid, "split it"),
            // A message alone is no proof of it.
            (
                422,
                "spec.selector: Invalid value: x: field is immutable",
                RefusalClass::Invalid,
                "correct the declaration",
            ),
            (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no", RefusalClass::Denied, "policy"),
            (422, "spec.replicas: Invalid value: -1", RefusalClass::Invalid, "correct the declaration"),
            (429, "too many requests", RefusalClass::Unavailable, "has time"),
            (500, r#"Internal error occurred: failed calling webhook "a""#, RefusalClass::Unready, "mend the webhook"),
            (500, "etcdserver: request is too large", RefusalClass::Invalid, "split it"),
        ] {
            let refusal = refused(code, message).refusal().unwrap();
            assert_eq!(refusal.class, class, "{refusal}");
            assert!(refusal.detail.starts_with(message) && refusal.detail.contains(advice), "{refusal}");
        }
        assert_eq!(refused(500, "etcdserver: request timed out").refusal(), None);
    }
}
