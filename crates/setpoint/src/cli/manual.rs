//! `setpoint completions` and `setpoint man`: shell completions and manual pages, generated from
//! the command line itself.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Failure;
use crate::exit::Exit;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint completions bash > /etc/bash_completion.d/setpoint
  setpoint completions fish > ~/.config/fish/completions/setpoint.fish")]
pub(super) struct Completions {
    /// Shell to print the script for
    shell: Shell,
}

/// Print the manual page of setpoint, or write one page per command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint man | man -l -          read the page of setpoint itself
  setpoint man --out /usr/local/share/man/man1
                                   install a page for each command")]
pub(super) struct Manual {
    /// Write one page for each command into this directory, instead of printing the first page
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(
    arguments: &Completions,
    mut command: Command,
    output: &mut impl Write,
) -> Result<(), Failure> {
    // The generator panics if it cannot write, so it writes to memory.
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
        let text = format!("cannot write the manual pages to {folder}: {error}; check the path and its permissions");
        Failure::Told(Exit::CouldNotRun, text)
    })
}
