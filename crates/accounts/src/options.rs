//! The options of a store: the cost of password hashes, the ends of sessions, the limits of
//! sign-ins.

use setpoint_core::time::Span;

use crate::hashing::HashingCost;
use crate::limits::Limits;

/// The options of a store. The defaults are for production.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub hashing: HashingCost,
    pub sessions: SessionRules,
    pub limits: Limits,
}

/// The rules for the ends of sessions and the values of their cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// A session without a request for this long has ended.
    pub idle: Span,
    /// A session has ended this long after its sign-in, whatever its use.
    pub absolute: Span,
    /// A cookie's value is replaced when it is this old.
    pub rotation: Span,
    /// A replaced value is accepted this long after the first request with its successor, for
    /// requests that are under way.
    pub grace: Span,
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            idle: Span::hours(12),
            absolute: Span::hours(7 * 24),
            rotation: Span::hours(24),
            grace: Span::minutes(1),
        }
    }
}

/// The least time between two writes of a last use.
pub(crate) const TOUCH: Span = Span::minutes(1);
