//! What can go wrong with a store, in classes a caller can act on. None of them means "empty".

use setpoint_core::observed::UnknownReason;

/// Why a store could not answer.
///
/// The texts are made by the store and never contain credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nobody answered, or not in time. The same question may be answered later.
    #[error("the store did not answer: {detail}")]
    Unreachable { detail: String },
    /// The store does not let us in. Asking again does not help until somebody changes the
    /// credentials or the rights.
    #[error("the store denied access: {detail}")]
    Denied { detail: String },
    /// Something that was declared is not there: a branch, a folder, a version. Never read as an
    /// empty one.
    #[error("{what} is not in the store: {fix}")]
    Vanished {
        what: String,
        /// What to do next.
        fix: String,
    },
    /// The content is hostile or not supported, and will be so the next time.
    #[error("{what}; {fix}")]
    Refused {
        /// What is wrong and where, with foreign text escaped.
        what: String,
        /// What to do next.
        fix: String,
    },
    /// What we keep of the store, or what it sent, does not hold together.
    #[error("the store's data is damaged: {detail}")]
    Damaged { detail: String },
}

impl StoreError {
    pub fn unreachable(detail: impl Into<String>) -> Self {
        Self::Unreachable { detail: detail.into() }
    }

    pub fn denied(detail: impl Into<String>) -> Self {
        Self::Denied { detail: detail.into() }
    }

    pub fn vanished(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Vanished { what: what.into(), fix: fix.into() }
    }

    pub fn refused(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), fix: fix.into() }
    }

    pub fn damaged(detail: impl Into<String>) -> Self {
        Self::Damaged { detail: detail.into() }
    }
}

impl From<StoreError> for UnknownReason {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Unreachable { detail } => Self::Unreachable { detail },
            StoreError::Denied { detail } => Self::Denied { detail },
            StoreError::Vanished { .. } => Self::Partial { detail: text },
            StoreError::Refused { .. } => Self::Malformed { detail: text },
            StoreError::Damaged { detail } => Self::Malformed { detail },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_becomes_a_blindness_that_keeps_its_text() {
        let classes = [
            (StoreError::unreachable("timed out"), UnknownReason::Unreachable { detail: "timed out".into() }),
            (StoreError::denied("401"), UnknownReason::Denied { detail: "401".into() }),
            (
                StoreError::vanished("branch `main`", "restore it"),
                UnknownReason::Partial { detail: "branch `main` is not in the store: restore it".into() },
            ),
            (
                StoreError::refused("`a` is a submodule", "remove it"),
                UnknownReason::Malformed { detail: "`a` is a submodule; remove it".into() },
            ),
            (StoreError::damaged("short pack"), UnknownReason::Malformed { detail: "short pack".into() }),
        ];
        for (error, blindness) in classes {
            assert_eq!(UnknownReason::from(error), blindness);
        }
    }
}
