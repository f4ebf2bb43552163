//! What the agent says while it runs: a line for a person or a collector, never a secret.

use std::fmt;
use std::io::Write as _;

use crate::doors;

/// Takes what the agent says.
pub trait Log: Send + Sync + fmt::Debug {
    fn say(&self, line: &str);
}

/// Says it on the standard error, one line each; the collector adds the time.
#[derive(Clone, Copy, Debug)]
pub struct Complaints;

impl Log for Complaints {
    fn say(&self, line: &str) {
        // Nobody is left to tell if even this cannot be written.
        let _ = writeln!(doors::complaints(), "setpoint: {line}");
    }
}

/// Keeps what was said, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub(super) struct Said(pub(super) std::sync::Mutex<Vec<String>>);

#[cfg(test)]
impl Log for Said {
    fn say(&self, line: &str) {
        self.0.lock().expect("nobody panicked while saying something").push(line.to_owned());
    }
}
