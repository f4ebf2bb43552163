//! The binary: command line, configuration and composition root.

mod cli;
mod doors;
mod exit;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(doors::arguments(), &mut doors::output(), &mut doors::complaints()).into()
}
