//! Exit codes: what scripts may rely on.

use std::process::ExitCode;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: the command succeeded, and there is nothing more to do.
    Done,
    /// 1: the command could not run: wrong usage, no agent, an unknown app, an unreadable file, a
    /// full disk. The code means nothing about the subject of the command.
    CouldNotRun,
    /// 2: the command ran, and there are changes: a plan has steps, renders differ.
    Changed,
    /// 4: the command ran with a bad result: a ledger is not sound or in trouble, a version would be
    /// refused, a test message was rejected, no log could be read.
    Failed,
    /// 6: the command ran and changed something, and the result is bad all the same.
    ChangedAndFailed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::CouldNotRun => Self::from(1),
            Exit::Changed => Self::from(2),
            Exit::Failed => Self::from(4),
            Exit::ChangedAndFailed => Self::from(6),
        }
    }
}
