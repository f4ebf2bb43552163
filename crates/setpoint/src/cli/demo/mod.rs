//! `setpoint demo`: shows the main job in half a minute. It needs no configuration and removes
//! everything it creates.
//!
//! `stage` is the temporary directory with a repository and a real agent in its own process;
//! `story` is the sequence of events; `teller` prints them.

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

/// Demonstrate Setpoint in half a minute
///
/// Creates a Git repository and a managed directory in a temporary directory, starts an agent, and
/// causes drift, mistakes and crashes. Needs no configuration, no privileges and no `git`. Touches
/// nothing outside the temporary directory, and removes it at the end.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint demo                    run the demo and remove everything
  setpoint demo --keep             keep the agent running at the end, with web pages and commands to try")]
pub(super) struct Demo {
    /// Keep everything running at the end, with web pages, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(arguments: &Demo, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let mut teller = Teller::new(output, &context.screen);
        let mut stage = Stage::set(arguments.keep).map_err(could_not)?;
        teller.opening(stage.folder())?;
        let ended = tokio::select! {
            told = story::tell(&mut stage, &mut teller, arguments.keep) => told,
            stopped = told_to_stop() => stopped,
        };
        let left = stage.clear().await;
        teller.line("")?;
        match &left {
            Ok(()) => teller.line("The temporary directory is removed.")?,
            Err(problem) => teller.line(problem)?,
        }
        ended.map(|()| Exit::Done)
    })
}
