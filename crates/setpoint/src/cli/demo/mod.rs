//! `setpoint demo`: the main job in half a minute, with nothing to configure and nothing left
//! behind.
//!
//! `stage` is the temporary folder with a repository and a real agent in a process of its own;
//! `story` is what happens on it; `teller` writes it down.

mod stage;
mod story;
mod teller;

use std::io::Write;

use clap::Args;

use self::stage::Stage;
use self::teller::Teller;
use super::run::{could_not, runtime, told_to_stop};
use super::{Context, Failure};
use crate::exit::Exit;

/// See what Setpoint does, in half a minute
///
/// Makes a Git repository and a managed folder in a temporary folder, starts an agent, and lets
/// things go wrong. Needs no configuration, no rights and no `git`; touches nothing outside the
/// temporary folder, which is removed at the end.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint demo                    the story, then nothing is left
  setpoint demo --keep             leave the agent running, with commands to try")]
pub(super) struct Demo {
    /// Leave everything running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(arguments: &Demo, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let mut teller = Teller::new(output, &context.screen);
        let mut stage = Stage::set().map_err(could_not)?;
        teller.opening(stage.folder())?;
        let ended = tokio::select! {
            told = story::tell(&mut stage, &mut teller, arguments.keep) => told,
            stopped = told_to_stop() => stopped,
        };
        let left = stage.clear().await;
        teller.line("")?;
        match &left {
            Ok(()) => teller.line("The temporary folder is removed.")?,
            Err(problem) => teller.line(problem)?,
        }
        ended.map(|()| Exit::Done)
    })
}
