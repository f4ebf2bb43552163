//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it did what was asked.
    Done,
    /// 1: it could not run: wrong usage, an unreadable file, a full disk. It says nothing about what was asked.
    CouldNotRun,
    /// 4: it ran, and what was to be shown is not so: a ledger is not sound, a record cannot be proven.
    NotShown,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::CouldNotRun => Self::from(1),
            Exit::NotShown => Self::from(4),
        }
    }
}
