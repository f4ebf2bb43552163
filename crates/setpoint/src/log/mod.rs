//! The log of an agent: one line an event, with a time, a level, a message and fields.
//!
//! Code reports an event with a macro of `tracing`, inside [`Log::with`]. The log is passed to the
//! code that reports, because tests run several agents in one process. There is no log for the
//! whole process: the events of libraries, which may contain requests and their credentials, are
//! never written.
//!
//! [`lines`] turns events into lines.

mod lines;

use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_core::time::Timestamp;
use tracing::{Dispatch, Level};

pub use self::lines::Form;
use self::lines::Lines;
use crate::doors;

/// The log of one agent.
#[derive(Clone, Debug)]
pub struct Log(Dispatch);

/// The selection and the form of the lines.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The least important level that is written.
    pub level: Level,
    pub form: Form,
}

impl Log {
    /// Creates a log that passes each line to `write`, without a line break.
    pub fn new(
        style: Style,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        write: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self(Dispatch::new(Lines { style, now: Box::new(now), write: Box::new(write) }))
    }

    /// Creates a log that writes to the standard error, with the time of the wall clock.
    pub(crate) fn to_standard_error(style: Style) -> Self {
        Self::new(style, doors::wall_time, |line| {
            // One write for each line, so that lines of two threads never mix. If even this cannot
            // be written, there is nowhere else to report it.
            let _ = doors::complaints().write_all(format!("{line}\n").as_bytes());
        })
    }

    /// Creates a log that writes nothing.
    pub fn silent() -> Self {
        Self(Dispatch::none())
    }

    /// Creates a log that collects all lines, for tests.
    pub fn collecting(lines: &CollectedLines) -> Self {
        let lines = lines.clone();
        let style = Style { level: Level::DEBUG, form: Form::Text { colour: false } };
        Self::new(style, Timestamp::default, move |line| lines.push(line))
    }

    /// Runs code whose events belong to this log.
    pub(crate) fn with<T>(&self, report: impl FnOnce() -> T) -> T {
        tracing::dispatcher::with_default(&self.0, report)
    }
}

/// The lines of a log without their times, for tests.
#[derive(Clone, Default)]
pub struct CollectedLines(Arc<Mutex<Vec<String>>>);

impl CollectedLines {
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the lines since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, line: &str) {
        let (_time, line) = line.split_once(' ').unwrap_or_default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }
}

impl fmt::Debug for CollectedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}
