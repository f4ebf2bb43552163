//! The door through which xtask starts other programs; always in the root of the workspace.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

/// The root of the workspace this xtask was built from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the root of the workspace")
}

/// A program with its arguments, not yet started.
#[expect(clippy::disallowed_methods, reason = "the one door of xtask to child processes")]
pub(crate) fn program<A: AsRef<OsStr>>(name: &str, arguments: &[A]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a program whose output goes straight to ours; answers whether it succeeded.
pub(crate) fn succeeds(mut command: Command) -> anyhow::Result<bool> {
    let status = command.status().with_context(|| cannot_start(&command))?;
    Ok(status.success())
}

/// Runs a program whose output goes straight to ours; answers with what it exited, unless a signal
/// ended it.
pub(crate) fn code(mut command: Command) -> anyhow::Result<Option<i32>> {
    Ok(command.status().with_context(|| cannot_start(&command))?.code())
}

/// Runs a program and returns what it wrote; its failure is an error that carries what it
/// complained about.
pub(crate) fn output_of(mut command: Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| cannot_start(&command))?;
    if !output.status.success() {
        anyhow::bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} did not write UTF-8"))
}

/// Runs a program, shows each line of its output as it comes and hands it to `look`; answers
/// whether it succeeded.
pub(crate) fn watch(mut command: Command, mut look: impl FnMut(&str)) -> anyhow::Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(&command))?;
    let lines = child.stdout.take().expect("stdout was piped above");
    for line in BufReader::new(lines).split(b'\n') {
        let line = line.with_context(|| format!("reading the output of {command:?}"))?;
        // A test may print anything; a byte that is no UTF-8 must not end the run.
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        look(&line);
    }
    Ok(child.wait()?.success())
}

/// Runs a program and hands each line of its error output to `look`, which is where some tools tell
/// their progress; answers whether it succeeded.
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
