//! Starts the built binary with an empty environment, so that what a test sees does not depend on who runs it.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The binary with these arguments, not yet started.
#[expect(clippy::disallowed_methods, reason = "the one door of these tests to the binary they test")]
pub(crate) fn command(arguments: &[&str]) -> Command {
    // Another user runs a copy of these tests, with a copy of the binary beside it.
    let copy = std::env::current_exe().expect("it runs").with_file_name("setpoint");
    let built = PathBuf::from(env!("CARGO_BIN_EXE_setpoint"));
    let mut command = Command::new(if copy.exists() { copy } else { built });
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) complaints: String,
}

/// Runs the binary with its output in pipes.
pub(crate) fn run(arguments: &[&str]) -> Run {
    read(&command(arguments).output().expect("the binary was built with these tests"))
}

/// Runs the binary with its output going to a file that cannot be written: /dev/full answers as a full disk does.
pub(crate) fn run_on_a_full_disk(arguments: &[&str]) -> Run {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
    read(&command(arguments).stdout(full).output().expect("the binary was built with these tests"))
}

/// What a started binary came to.
pub(crate) fn read(output: &Output) -> Run {
    Run {
        code: output.status.code(),
        output: String::from_utf8(output.stdout.clone()).expect("the binary writes UTF-8"),
        complaints: String::from_utf8(output.stderr.clone()).expect("the binary writes UTF-8"),
    }
}
