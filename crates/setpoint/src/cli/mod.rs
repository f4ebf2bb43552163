//! The command line: what can be asked, and how the answer leaves.

mod ledger;
mod schema;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::exit::Exit;

/// Holds real systems at what you declared
///
/// Setpoint pulls declared state from versioned stores, admits a version only through gates, and continuously holds real systems
/// at it. It names who caused each drift, proves what it did, and measures how well it goes.
#[derive(Debug, Parser)]
#[command(name = "setpoint", version, after_long_help = TODAY, after_help = TODAY)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Schema(schema::Arguments),
    #[command(subcommand)]
    Ledger(ledger::Command),
}

/// How an answer is written
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs: one JSON object
    Json,
}

/// What works in this version, said where a newcomer looks first.
const TODAY: &str = "\
What works today:
  This binary explains the documents and checks a ledger. The engine that holds apps runs in
  tests only: there is no store to read from and no target to touch yet.

Examples:
  setpoint schema app              every field of an App document
  setpoint ledger verify data/ledger.db --key \"$KEY\"
                                   whether a ledger is sound
  cargo xtask test                 run every test (in a clone of the sources)

Exit codes:
  0  done
  1  could not run: wrong usage, an unreadable file, a full disk
  4  ran, and what was to be shown is not so: a ledger is not sound, a record cannot be proven
";

/// Why a command did not end with an answer in full.
enum Failure {
    /// The answer could not be written.
    Output(io::Error),
    /// Something else, with what a person must know.
    Told(Exit, String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs what the arguments ask for. Results go to `output`, everything else to `complaints`.
pub(crate) fn run(
    arguments: impl Iterator<Item = OsString>,
    output: &mut (impl Write + Send),
    complaints: &mut impl Write,
) -> Exit {
    let answered = match Arguments::try_parse_from(arguments) {
        Ok(Arguments { command }) => answer(command, output),
        Err(told) if !told.use_stderr() => write!(output, "{}", told.render()).map(|()| Exit::Done).map_err(Into::into),
        Err(wrong) => {
            // Nothing is left to tell if even this cannot be written.
            let _ = write!(complaints, "{}", wrong.render());
            return Exit::CouldNotRun;
        }
    };
    let flushed = answered.and_then(|exit| output.flush().map(|()| exit).map_err(Into::into));
    match flushed {
        Ok(exit) => exit,
        // A reader that has seen enough (`setpoint … | head`) is no failure; any other error of the output is.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(Failure::Output(error)) => {
            let _ = writeln!(
                complaints,
                "error: cannot write the answer: {error}; look at where the output goes and run it again"
            );
            Exit::CouldNotRun
        }
        Err(Failure::Told(exit, text)) => {
            let _ = writeln!(complaints, "error: {text}");
            exit
        }
    }
}

fn answer(command: Option<Command>, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    match command {
        None => write!(output, "{}", Arguments::command().render_help())?,
        Some(Command::Schema(arguments)) => schema::run(&arguments, output)?,
        Some(Command::Ledger(command)) => return ledger::run(&command, output),
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
