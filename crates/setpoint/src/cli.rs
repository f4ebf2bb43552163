//! The command line: what can be asked, and how the answer leaves.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, Parser};

use crate::exit::Exit;

/// Holds real systems at what you declared
///
/// Setpoint pulls declared state from versioned stores, admits a version only through gates, and continuously holds real systems
/// at it. It names who caused each drift, proves what it did, and measures how well it goes.
#[derive(Debug, Parser)]
#[command(name = "setpoint", version, after_long_help = TODAY, after_help = TODAY)]
struct Arguments {}

/// What works in this version, said where a newcomer looks first.
const TODAY: &str = "\
What works today:
  The core, the engine and the ledger are being built and tested as libraries. This binary
  has no command yet: it neither reads a store nor touches a target.

Examples:
  setpoint --version               which version this is
  cargo xtask test                 run every test (in a clone of the sources)

Exit codes:
  0  done
  1  could not run: wrong usage, an unreadable file, a full disk
";

/// Runs what the arguments ask for. Results go to `output`, everything else to `complaints`.
pub(crate) fn run(
    arguments: impl Iterator<Item = OsString>,
    output: &mut impl Write,
    complaints: &mut impl Write,
) -> Exit {
    let answer = match Arguments::try_parse_from(arguments) {
        Ok(Arguments {}) => write!(output, "{}", Arguments::command().render_help()),
        Err(told) if !told.use_stderr() => write!(output, "{}", told.render()),
        Err(wrong) => {
            // Nothing is left to tell if even this cannot be written.
            let _ = write!(complaints, "{}", wrong.render());
            return Exit::CouldNotRun;
        }
    };
    delivered(answer.and_then(|()| output.flush()), complaints)
}

/// A reader that has seen enough (`setpoint … | head`) is no failure; any other error of the output is.
fn delivered(written: io::Result<()>, complaints: &mut impl Write) -> Exit {
    match written {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            let _ = writeln!(
                complaints,
                "error: cannot write the answer: {error}; look at where the output goes and run it again"
            );
            Exit::CouldNotRun
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
