//! `setpoint notify`: tests the notifiers.

use std::io::Write;

use clap::Subcommand;

use super::asking::{ask, write};
use super::{Context, Failure};
use crate::exit::Exit;
use crate::show;

/// Test whether notifications reach people
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Send a test message to every notifier, and print each result
    #[command(after_help = "\
Examples:
  setpoint notify test             send a test message; exit code 4 if a notifier rejects it")]
    Test,
}

pub(super) fn run(command: &Command, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Command::Test = command;
    let tested = ask(context, async |client| client.test_notifiers().await)?;
    write(&tested, |tested, screen| show::notifiers(tested, screen), context, output)?;
    let failed = tested.iter().any(|tested| tested.problem.is_some());
    Ok(if failed { Exit::Failed } else { Exit::Done })
}
