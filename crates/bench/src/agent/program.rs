//! The door through which the suite starts other programs: the shipped binary and the peers.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, anyhow, bail};

/// Builds a command for a program, without starting it.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to child processes")]
pub(crate) fn program(name: impl AsRef<Path>) -> Command {
    let mut command = Command::new(name.as_ref());
    command.stdin(Stdio::null());
    command
}

/// The reason why a program did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRun {
    #[error("it is not installed")]
    Missing,
    #[error("it cannot be started: {0}")]
    Failed(io::Error),
}

/// Runs a program to its end and returns its output.
pub(crate) fn output_of(mut command: Command) -> Result<Output, NotRun> {
    command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NotRun::Missing,
        _ => NotRun::Failed(error),
    })
}

/// Builds the shipped binary alone, so that it has none of the features that this crate enables. It
/// is built once per run.
pub(crate) fn shipped() -> anyhow::Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.as_deref().map_err(|problem| anyhow!("{problem}"))
}

fn build() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe().context("this program is not to be found")?;
    let profile = this.parent().context("this program is in a directory")?;
    let target = profile.parent().context("cargo builds into a directory with the profile's name")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = program(env!("CARGO"));
    cargo.args(["build", "--profile", "dist", "--locked", "--package", "setpoint", "--target-dir"]).arg(target);
    let status = cargo.current_dir(root).status().context("cargo cannot be started")?;
    let binary = profile.join("setpoint");
    if !status.success() || !binary.is_file() {
        bail!("the binary could not be built: run `cargo build --profile dist --package setpoint` to see why");
    }
    Ok(binary)
}
