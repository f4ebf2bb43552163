//! `setpoint diff`: compares live objects with their declarations. Changes nothing.

use std::io::Write;

use clap::Args;
use setpoint_api::question::PlanRequest;
use setpoint_core::name::AppId;

use super::asking::{app, ask, write};
use super::{Context, Failure, plan};
use crate::exit::Exit;
use crate::show;

/// Show the differences between live objects and their declarations, as a patch
///
/// The agent observes the objects for this request and compares every field that the app declares.
/// `setpoint plan` shows the same changes as steps, in their order, with what they wait for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint diff web/shop           compare the app with its accepted version
  setpoint diff web/shop --rev 3f2a91c
                                   compare it with a commit, before that is merged

Exit codes:
  0  there are no differences
  1  could not run
  2  there are differences
  4  the revision or a change would be refused")]
pub(super) struct Arguments {
    /// Compare only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// Version of the app's store, as a full id or an unambiguous prefix, on any branch [default:
    /// the accepted version]
    #[arg(long, value_name = "REVISION")]
    rev: Option<String>,
}

pub(super) fn run(arguments: Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { app, rev } = arguments;
    let request = PlanRequest { app, rev };
    let answer = ask(context, async |client| client.plan(&request).await)?;
    write(&answer, show::patch, context, output)?;
    let withheld = answer.apps.iter().any(|app| !app.report.is_empty());
    Ok(match plan::exit(&answer) {
        Exit::Done if withheld => Exit::Changed,
        exit => exit,
    })
}
