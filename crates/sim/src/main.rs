//! The command line of the simulator. `cargo xtask sim` is the usual way to run it.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    command::main(&arguments)
}
