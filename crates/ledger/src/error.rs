//! The errors of a ledger, with the class that decides what a caller does.

use std::path::PathBuf;

use setpoint_core::facts::Misfit;
use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::Timestamp;

use crate::contract::Standing;
use crate::origin::Origin;

/// The reaction that an error requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another writer took over, or the lease ran out: stop acting at once.
    Fenced,
    /// The record is not durable. Nothing may depend on it until the ledger is opened again.
    NotDurable,
    /// The log's past is in doubt. Only a person can allow writing again.
    ReadOnly,
    /// Another holder has the requested lease or key.
    Conflict,
    /// The stored data contradicts itself.
    Corrupt,
    /// The request is invalid.
    Input,
    /// The data cannot be read at present. This never means that it is absent.
    Unavailable,
}

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a ledger did not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("epoch {epoch} of log {origin} is over, epoch {current} writes it now: stop acting")]
    Fenced { origin: Origin, epoch: u64, current: u64 },

    #[error("the lease of epoch {epoch} on log {origin} ran out: acquire it again before acting")]
    Expired { origin: Origin, epoch: u64, expired: Timestamp },

    #[error("log {origin} is held by {holder}: wait until its lease runs out")]
    Held { origin: Origin, holder: String, until: Timestamp },

    #[error("{key} at {target} is claimed by log {holder}: release it there first")]
    Claimed { target: TargetIdentity, key: Key, holder: Origin },

    #[error("the ledger could not make records durable ({what}): free or repair the disk and open it again")]
    NotDurable { what: String, source: Option<Source> },

    #[error(
        "{} was removed or replaced while this process used it: nothing more is recorded; restore the data directory from a \
         copy, or start a new ledger with `setpoint recover`",
        path.display()
    )]
    Removed { path: PathBuf },

    #[error("log {origin} is read-only, {standing}: {}", standing.remedy())]
    ReadOnly { origin: Origin, standing: Standing },

    #[error("the ledger is damaged ({what}): run `setpoint ledger verify` and restore a copy")]
    Corrupt { what: String, source: Option<Source> },

    #[error("a change does not fit the facts of log {origin}: load them again and decide again")]
    Misfit { origin: Origin, source: Misfit },

    #[error("the request cannot be recorded: {problem}")]
    Input { problem: String },

    #[error("the ledger could not be read ({what}): try again")]
    Unavailable { what: String, source: Option<Source> },
}

impl LedgerError {
    pub fn class(&self) -> Class {
        match self {
            Self::Fenced { .. } | Self::Expired { .. } => Class::Fenced,
            Self::Held { .. } | Self::Claimed { .. } => Class::Conflict,
            Self::Misfit { source: Misfit::Claimed { .. } | Misfit::Busy { .. }, .. } => Class::Conflict,
            Self::NotDurable { .. } | Self::Removed { .. } => Class::NotDurable,
            Self::ReadOnly { .. } => Class::ReadOnly,
            Self::Corrupt { .. } => Class::Corrupt,
            Self::Misfit { .. } | Self::Input { .. } => Class::Input,
            Self::Unavailable { .. } => Class::Unavailable,
        }
    }

    pub fn input(problem: impl Into<String>) -> Self {
        Self::Input { problem: problem.into() }
    }

    pub fn corrupt(what: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Corrupt { what: what.into(), source: Some(source.into()) }
    }

    pub fn not_durable(what: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::NotDurable { what: what.into(), source: Some(source.into()) }
    }

    pub fn unavailable(what: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Unavailable { what: what.into(), source: Some(source.into()) }
    }
}
