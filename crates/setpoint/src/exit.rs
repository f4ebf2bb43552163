//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it did what was asked, and there is nothing more to do.
    Done,
    /// 1: it could not run: wrong usage, no agent, an unreadable file, a full disk. It says nothing
    /// about what was asked.
    CouldNotRun,
    /// 2: it ran, and there are changes: a plan has steps, renders differ.
    Changed,
    /// 4: it ran, and the answer is bad: a ledger is not sound, a version would be refused, a test
    /// message was not taken, no log could be read.
    Failed,
    /// 6: it ran, something was changed, and the answer is bad all the same.
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
