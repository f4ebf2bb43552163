//! `setpoint plan`: shows what would be changed, and whether the gates would permit it. Changes
//! nothing.

use std::io::Write;

use clap::Args;
use setpoint_api::answer::{AppPlan, PlanAnswer};
use setpoint_api::question::PlanRequest;
use setpoint_core::name::AppId;

use super::asking::{app, ask, write};
use super::{Context, Failure};
use crate::exit::Exit;
use crate::show;

/// Show what the agent would change, now or with another revision
///
/// Changes that a manual mode, a closed window, a suspension, a hold or an earlier failure delays
/// are marked with what they wait for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint plan                    show the next changes of every app
  setpoint plan web/shop --rev 3f2a91c
                                   show what that commit would change, before it is merged

Exit codes:
  0  there is nothing to do
  1  could not run
  2  there are changes, including changes that wait (for an app in observe mode: differences)
  4  the revision or a step would be refused")]
pub(super) struct Arguments {
    /// Show only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// Version of the app's store, as a full id or an unambiguous prefix, on any branch [default:
    /// the accepted version]
    ///
    /// The agent fetches commits that are not on the branch the store follows: the newest commit of
    /// any reference of the repository, or any commit of one of its branches.
    #[arg(long, value_name = "REVISION")]
    rev: Option<String>,
}

pub(super) fn run(arguments: Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { app, rev } = arguments;
    let request = PlanRequest { app, rev };
    let plan = ask(context, async |client| client.plan(&request).await)?;
    write(&plan, show::plan, context, output)?;
    Ok(exit(&plan))
}

pub(super) fn exit(plan: &PlanAnswer) -> Exit {
    let refused = |app: &AppPlan| !app.refused.is_empty() || app.steps.iter().any(|step| step.refused.is_some());
    if plan.apps.iter().any(refused) {
        Exit::Failed
    } else if plan.apps.iter().any(|app| !app.steps.is_empty()) {
        Exit::Changed
    } else {
        Exit::Done
    }
}
