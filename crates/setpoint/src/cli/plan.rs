//! `setpoint plan`: what would be done, and whether it would be let through. Changes nothing.

use std::io::Write;

use clap::Args;
use setpoint_api::answer::{AppPlan, PlanAnswer};
use setpoint_api::question::PlanRequest;
use setpoint_core::name::AppId;

use super::asking::{app, ask, write};
use super::{Context, Failure};
use crate::exit::Exit;
use crate::show;

/// Shows what would be done now, or if a revision were accepted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint plan                    what is about to be done, for every app
  setpoint plan web/shop --rev 3f2a91c
                                   what that commit would do, before it is merged

Exit codes:
  0  there is nothing to do
  1  could not run
  2  there are changes; of an app that is only observed, differences
  4  the revision, or a step, would be refused")]
pub(super) struct Arguments {
    /// Only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// A version of the app's store, by its full id or an unambiguous beginning, on any branch;
    /// default: the accepted version
    ///
    /// A commit that is not on the branch the store follows is fetched: the newest one of any
    /// reference of the repository, or any one of its branches.
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

fn exit(plan: &PlanAnswer) -> Exit {
    let refused = |app: &AppPlan| !app.refused.is_empty() || app.steps.iter().any(|step| step.refused.is_some());
    if plan.apps.iter().any(refused) {
        Exit::Failed
    } else if plan.apps.iter().any(|app| !app.steps.is_empty()) {
        Exit::Changed
    } else {
        Exit::Done
    }
}
