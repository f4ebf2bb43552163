//! From an error of the disk to a refusal: its class, and what to do about it.

use rustix::io::Errno;
use setpoint_core::observed::UnknownReason;
use setpoint_target::{Outcome, Refusal, RefusalClass};

use crate::resolve::Unresolved;

pub(crate) fn refusal(class: RefusalClass, detail: impl Into<String>) -> Refusal {
    Refusal { class, detail: detail.into(), retry_after: None }
}

pub(crate) fn refused(class: RefusalClass, detail: impl Into<String>) -> Outcome {
    Outcome::Refused { refusal: refusal(class, detail) }
}

/// A call that failed before anything was changed.
pub(super) fn failed(path: &str, errno: Errno) -> Refusal {
    match errno {
        Errno::NOSPC | Errno::DQUOT => {
            refusal(RefusalClass::Unavailable, format!("no space is left for {path}: free some, or raise the quota"))
        }
        Errno::ACCESS | Errno::PERM => {
            let detail = format!("{path} may not be written: give the agent the right to, or run it as root");
            refusal(RefusalClass::Denied, detail)
        }
        Errno::ROFS => {
            let detail = format!("{path} is on a file system that is mounted read-only: mount it for writing");
            refusal(RefusalClass::Denied, detail)
        }
        Errno::EXIST => refusal(RefusalClass::Conflict, format!("{path} is already there: look again")),
        // About this path alone.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL => {
            refusal(RefusalClass::Unready, format!("{path} could not be written: {errno}; correct the path"))
        }
        errno => refusal(RefusalClass::Unavailable, format!("{path} could not be written: {errno}")),
    }
}

/// A change of names that failed. Most errors say that nothing was changed; a failing disk says
/// nothing of the kind.
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

/// Something was begun, and nobody knows how it ended.
pub(super) fn uncertain(path: &str, errno: Errno) -> Outcome {
    Outcome::Unknown { detail: format!("nobody knows whether {path} was changed ({errno}): it is looked at again") }
}

pub(super) fn unresolved(error: &Unresolved) -> Refusal {
    let class = match error {
        Unresolved::Denied { .. } | Unresolved::StrangersLink { .. } => RefusalClass::Denied,
        // The host is healthy: someone has to correct the path, or what is on the way to it.
        Unresolved::Missing { .. }
        | Unresolved::NotAFolder { .. }
        | Unresolved::Dangling { .. }
        | Unresolved::Circle { .. } => RefusalClass::Unready,
        Unresolved::Failed { .. } => RefusalClass::Unavailable,
    };
    refusal(class, error.to_string())
}

/// What stands there could not be looked at, and so it is not touched.
pub(super) fn unseen(reason: &UnknownReason) -> Refusal {
    let class = match reason {
        UnknownReason::Denied { .. } => RefusalClass::Denied,
        UnknownReason::Unobservable { .. } | UnknownReason::Partial { .. } => RefusalClass::Unready,
        _ => RefusalClass::Unavailable,
    };
    refusal(class, reason.to_string())
}
