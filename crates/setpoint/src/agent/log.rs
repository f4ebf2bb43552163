//! The log of the agent: lines for a person or a collector, never a secret.

use std::fmt;
use std::io::Write as _;

use crate::doors;

/// Receives the log lines of the agent.
pub trait Log: Send + Sync + fmt::Debug {
    fn say(&self, line: &str);
}

/// Writes each line to the standard error; the collector adds the time.
#[derive(Clone, Copy, Debug)]
pub struct Complaints;

impl Log for Complaints {
    fn say(&self, line: &str) {
        // If even this cannot be written, there is nowhere else to report it.
        let _ = writeln!(doors::complaints(), "setpoint: {line}");
    }
}

/// Records the lines, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub(super) struct Said(pub(super) std::sync::Mutex<Vec<String>>);

#[cfg(test)]
impl Log for Said {
    fn say(&self, line: &str) {
        self.0.lock().expect("no thread panicked while logging").push(line.to_owned());
    }
}
