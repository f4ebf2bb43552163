//! Starts the built binary with an empty environment, so that its output does not depend on the
//! user who runs the tests.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns a command of the binary with these arguments, not yet started.
#[expect(clippy::disallowed_methods, reason = "the one door of these tests to the binary they test")]
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Returns the path of the binary. Another user runs a copy of these tests, with a copy of the
/// binary next to it.
pub(crate) fn program() -> PathBuf {
    let copy = std::env::current_exe().expect("it runs").with_file_name("setpoint");
    if copy.exists() { copy } else { PathBuf::from(env!("CARGO_BIN_EXE_setpoint")) }
}

/// Returns the same command, but a file size limit is an error for it and does not kill it: a
/// signal that a shell ignores stays ignored in the program that it executes.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn command_that_outlives_limits(arguments: &[&str]) -> Command {
    let program = command(arguments);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    shell.env_clear().stdin(Stdio::null());
    shell
}

/// Copies a program that is started afterwards. Another process makes the copy: a process that
/// another test starts meanwhile would inherit a descriptor that is open for writing, and a file
/// that is open for writing cannot be started.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("every system has `cp`");
    assert!(status.success(), "{} cannot be copied to {}", from.display(), to.display());
}

/// The result of a run.
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

/// Runs the binary with its output going to /dev/full, which fails like a full disk.
pub(crate) fn run_on_a_full_disk(arguments: &[&str]) -> Run {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
    read(&command(arguments).stdout(full).output().expect("the binary was built with these tests"))
}

/// Returns the result of a finished process.
pub(crate) fn read(output: &Output) -> Run {
    Run {
        code: output.status.code(),
        output: String::from_utf8(output.stdout.clone()).expect("the binary writes UTF-8"),
        complaints: String::from_utf8(output.stderr.clone()).expect("the binary writes UTF-8"),
    }
}
