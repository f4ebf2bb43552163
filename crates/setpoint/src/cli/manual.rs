//! `setpoint completions` and `setpoint man`: what shells and readers of manuals need, made from
//! the command line itself.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Failure;
use crate::exit::Exit;

/// Writes the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint completions bash > /etc/bash_completion.d/setpoint
  setpoint completions fish > ~/.config/fish/completions/setpoint.fish")]
pub(super) struct Completions {
    shell: Shell,
}

/// Writes the manual pages
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint man | man -l -          read the page of setpoint itself
  setpoint man --out /usr/local/share/man/man1")]
pub(super) struct Manual {
    /// Write one page for each command into this folder, instead of the first page to the output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(
    arguments: &Completions,
    mut command: Command,
    output: &mut impl Write,
) -> Result<(), Failure> {
    // The generator panics where it cannot write: it gets memory to write to.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "setpoint", &mut script);
    Ok(output.write_all(&script)?)
}

pub(super) fn manual(arguments: &Manual, command: Command, output: &mut impl Write) -> Result<(), Failure> {
    let Some(folder) = &arguments.out else {
        return Ok(Man::new(command).render(output)?);
    };
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.map_err(|error| {
        let folder = folder.display();
        let text = format!("cannot write the manual pages to {folder}: {error}; check the path and its rights");
        Failure::Told(Exit::CouldNotRun, text)
    })
}
