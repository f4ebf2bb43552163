//! Converts errors of the disk to refusals, with a class and a remedy.

use rustix::io::Errno;
use setpoint_core::observed::UnknownReason;
use setpoint_target::{Outcome, Refusal, RefusalClass};

use crate::resolve::{Unresolved, permission_denied};

pub(crate) fn refusal(class: RefusalClass, detail: impl Into<String>) -> Refusal {
    Refusal { class, detail: detail.into(), retry_after: None }
}

pub(crate) fn refused(class: RefusalClass, detail: impl Into<String>) -> Outcome {
    Outcome::Refused { refusal: refusal(class, detail) }
}

/// Refuses a step after a call that failed before anything was changed.
pub(super) fn failed(path: &str, errno: Errno) -> Refusal {
    match errno {
        Errno::NOSPC | Errno::DQUOT => {
            refusal(RefusalClass::Unavailable, format!("no space is left for {path}: free some, or raise the quota"))
        }
        Errno::ACCESS | Errno::PERM => {
            refusal(RefusalClass::Denied, format!("cannot write {path}: {}", permission_denied()))
        }
        Errno::ROFS => {
            let detail = format!("{path} is on a file system that is mounted read-only: mount it read-write");
            refusal(RefusalClass::Denied, detail)
        }
        Errno::EXIST => refusal(RefusalClass::Conflict, format!("{path} already exists: observe it again")),
        // Errors of this path alone.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL => {
            refusal(RefusalClass::Unready, format!("cannot write {path}: {errno}; correct the path"))
        }
        errno => refusal(RefusalClass::Unavailable, format!("cannot write {path}: {errno}")),
    }
}

/// Returns the outcome of a rename that failed. Most errors mean that nothing was changed; those of
/// a failing disk do not.
pub(super) fn not_put(path: &str, errno: Errno) -> Outcome {
    match errno {
        Errno::NOSPC
        | Errno::DQUOT
        | Errno::ACCESS
        | Errno::PERM
        | Errno::ROFS
        | Errno::EXIST
        | Errno::NOENT
        | Errno::NOTDIR
        | Errno::ISDIR
        | Errno::INVAL
        | Errno::NOSYS
        | Errno::BUSY
        | Errno::XDEV => Outcome::Refused { refusal: failed(path, errno) },
        errno => uncertain(path, errno),
    }
}

/// Returns the outcome of a call that was begun and whose result is unknown.
pub(super) fn uncertain(path: &str, errno: Errno) -> Outcome {
    Outcome::Unknown {
        detail: format!("it is unknown whether {path} was changed ({errno}): Setpoint observes it again"),
    }
}

pub(super) fn unresolved(error: &Unresolved) -> Refusal {
    let class = match error {
        Unresolved::Denied { .. } | Unresolved::StrangersLink { .. } => RefusalClass::Denied,
        // The host is healthy: a person has to correct the path, or the links on it.
        Unresolved::Missing { .. }
        | Unresolved::NotAFolder { .. }
        | Unresolved::Dangling { .. }
        | Unresolved::Circle { .. } => RefusalClass::Unready,
        Unresolved::Failed { .. } => RefusalClass::Unavailable,
    };
    refusal(class, error.to_string())
}

/// Refuses a step because its path could not be observed.
pub(super) fn unseen(reason: &UnknownReason) -> Refusal {
    let class = match reason {
        UnknownReason::Denied { .. } => RefusalClass::Denied,
        UnknownReason::Unobservable { .. } | UnknownReason::Partial { .. } => RefusalClass::Unready,
        _ => RefusalClass::Unavailable,
    };
    refusal(class, reason.to_string())
}
