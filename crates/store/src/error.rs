//! The errors of a store, by the reaction they require. None of them means "empty".

use setpoint_core::observed::UnknownReason;

/// The reason why a store operation failed.
///
/// The store writes the texts, which never contain credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store did not respond, or not in time. A retry may succeed.
    #[error("the store did not respond: {detail}")]
    Unreachable { detail: String },
    /// The store refuses access. A retry is useless until someone changes the credentials or the
    /// permissions.
    #[error("the store denied access: {detail}")]
    Denied { detail: String },
    /// The store does not know the user of the credentials, or requires credentials. A retry is
    /// useless until someone changes them.
    #[error("authentication failed: {detail}")]
    Unauthenticated { detail: String },
    /// A declared object is missing: a branch, a directory, a version. It never counts as empty.
    #[error("{what} was not found: {fix}")]
    Vanished {
        what: String,
        /// The next step for the reader.
        fix: String,
    },
    /// The content is hostile or not supported, and will be refused again.
    #[error("{what}; {fix}")]
    Refused {
        /// The mistake and its place, with foreign text escaped.
        what: String,
        /// The next step for the reader.
        fix: String,
    },
    /// The local copy of the store, or the data it sent, is inconsistent.
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

    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::Unauthenticated { detail: detail.into() }
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
            StoreError::Unauthenticated { detail } => Self::Unauthenticated { detail },
            StoreError::Vanished { .. } => Self::NotFound { detail: text },
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
            (StoreError::denied("403"), UnknownReason::Denied { detail: "403".into() }),
            (StoreError::unauthenticated("401"), UnknownReason::Unauthenticated { detail: "401".into() }),
            (
                StoreError::vanished("branch `main`", "restore it"),
                UnknownReason::NotFound { detail: "branch `main` was not found: restore it".into() },
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
