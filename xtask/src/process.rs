//! The only place where xtask starts other programs, always in the root of the workspace.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

/// Returns the root of the workspace that this xtask was built from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ is in the root of the workspace")
}

/// Returns a program with its arguments, not yet started.
#[expect(clippy::disallowed_methods, reason = "the one door of xtask to child processes")]
pub(crate) fn program<A: AsRef<OsStr>>(name: &str, arguments: &[A]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a program whose output goes straight to ours; returns whether it succeeded.
pub(crate) fn succeeds(mut command: Command) -> anyhow::Result<bool> {
    let status = command.status().with_context(|| cannot_start(&command))?;
    Ok(status.success())
}

/// Runs a program whose output goes straight to ours; returns its exit code, unless a signal ended
/// it.
pub(crate) fn code(mut command: Command) -> anyhow::Result<Option<i32>> {
    Ok(command.status().with_context(|| cannot_start(&command))?.code())
}

/// Runs a program and returns its output; a failure is an error with its error output.
pub(crate) fn output_of(mut command: Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| cannot_start(&command))?;
    if !output.status.success() {
        anyhow::bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} did not write UTF-8"))
}

/// Runs a program, shows each line of its output at once and passes it to `look`; returns whether
/// it succeeded.
pub(crate) fn watch(mut command: Command, mut look: impl FnMut(&str)) -> anyhow::Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(&command))?;
    let lines = child.stdout.take().expect("stdout was piped above");
    for line in BufReader::new(lines).split(b'\n') {
        let line = line.with_context(|| format!("reading the output of {command:?}"))?;
        // A test may print anything; a byte that is not UTF-8 must not end the run.
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        look(&line);
    }
    Ok(child.wait()?.success())
}

/// Runs a program and passes each line of its error output to `look`, since some tools report their
/// progress there; returns whether it succeeded.
pub(crate) fn watch_errors(mut command: Command, mut look: impl FnMut(&str)) -> anyhow::Result<bool> {
    let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| cannot_start(&command))?;
    let lines = child.stderr.take().expect("stderr was piped above");
    for line in BufReader::new(lines).split(b'\n') {
        let line = line.with_context(|| format!("reading the output of {command:?}"))?;
        look(&String::from_utf8_lossy(&line));
    }
    Ok(child.wait()?.success())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`; is it installed? `cargo xtask setup` checks", command.get_program().display())
}
