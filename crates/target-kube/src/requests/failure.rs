//! Why a request did not bring what was asked for.

use setpoint_core::observed::Blindness;
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
    #[error("{status}")]
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

    /// Whether the server said that the object of this name is not there. Another 404 says that the whole kind, or the path, is not.
    pub(crate) fn is_absence_of(&self, name: &str) -> bool {
        let said =
            |status: &Status| status.reason == "NotFound" && status.message.contains(&format!("\"{name}\" not found"));
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
    pub(crate) fn blindness(&self) -> Blindness {
        let detail = self.to_string();
        match self {
            Self::Refused { status, .. } if matches!(status.code, 401 | 403) => Blindness::Denied { detail },
            Self::Malformed { .. } | Self::Redirected { .. } => Blindness::Malformed { detail },
            _ => Blindness::Unreachable { detail },
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

/// What the engine does about a refusal; `None` where the server failed and cannot tell whether it happened.
fn class_of(status: &Status) -> Option<RefusalClass> {
    // Whoever set another UID than the object has spoke of another object.
    let of_another = |status: &Status| status.causes.iter().any(|cause| cause.field == "metadata.uid");
    match status.code {
        401 | 403 if is_terminating(status) => Some(RefusalClass::Unavailable),
        401 | 403 => Some(RefusalClass::Denied),
        // Its namespace or its kind is not there, or not yet.
        404 | 429 => Some(RefusalClass::Unavailable),
        409 => Some(RefusalClass::Conflict),
        422 if of_another(status) => Some(RefusalClass::Conflict),
        400..500 => Some(RefusalClass::Invalid),
        // Admission comes before anything is stored.
        500 if status.message.contains("failed calling webhook") => Some(RefusalClass::Unavailable),
        // So the server says that a field is not in the schema.
        500 if status.message.starts_with("failed to create typed patch object") => Some(RefusalClass::Invalid),
        _ => None,
    }
}

/// Nothing is made in a namespace that is being deleted; it may be made again once that is gone.
fn is_terminating(status: &Status) -> bool {
    status.causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}
