//! The commands that look and change nothing: `status`, `get`, `why`, `tree`, `history`, `drift`.

use std::io::Write;

use clap::Args;
use setpoint_api::question::{DriftQuestion, HistoryQuestion};
use setpoint_core::name::AppId;

use super::asking::{app, ask, write};
use super::{Context, Failure};
use crate::show;

/// Shows how the agent, its stores and every app stand
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint status                  the agent, its stores, one line for each app
  setpoint status --output json | jq -r '.apps[] | select(.state != \"converged\") | .app'
                                   every app that is not as declared")]
pub(super) struct Status {}

/// Shows everything about an app: versions, resources, drift, what is not done
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint get shop                the app `shop` of the scope `default`
  setpoint get web/shop --output json")]
pub(super) struct Get {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
}

/// Says why an app is not as declared, and what would change that
///
/// Everything that is not being done has a reason: a hold, a suspension, a refused version, a guard
/// against deleting too much. Each is told with what lets it go.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint why web/shop            why is nothing happening?")]
pub(super) struct Why {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
}

/// Shows the objects of an app with what has come of them: health, age, and why anything is not
/// well
///
/// Of a cluster's objects everything that their controllers made of them is shown below them: the
/// ReplicaSets and pods of a Deployment, the pods of a Job. It is read from the target when asked
/// for. What could not be looked at is said; what is not shown then is not known to be absent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint tree web/shop
  setpoint tree web/shop --output json | jq -r '.objects[] | select(.health != \"healthy\") | [.key, .reason] | @tsv'
                                   everything that is not well, and why")]
pub(super) struct Tree {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
}

/// Shows what was decided and done, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint history                 the newest 20 records of all apps
  setpoint history web/shop --limit 100
  setpoint history --before 412    the page before record 412")]
pub(super) struct History {
    /// Only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// At most this many records
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    limit: usize,
    /// Only records before the one with this number
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
}

/// Shows what others changed, when it was seen, who did it, and when it was put right
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint drift                   the newest 20 drifts of all apps
  setpoint drift web/shop --limit 5")]
pub(super) struct Drift {
    /// Only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    limit: usize,
}

/// A page that a person reads and an agent can answer at once.
const LARGEST_PAGE: usize = 10_000;

fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
    limit.ok_or_else(|| format!("give a number from 1 to {LARGEST_PAGE}"))
}

pub(super) fn status(context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let overview = ask(context, async |client| client.overview().await)?;
    write(&overview, show::overview, context, output)
}

pub(super) fn get(arguments: Get, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let detail = ask(context, async |client| client.app(arguments.app).await)?;
    write(&detail, show::app, context, output)
}

pub(super) fn why(arguments: Why, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let detail = ask(context, async |client| client.app(arguments.app).await)?;
    write(&detail, show::why, context, output)
}

pub(super) fn tree(arguments: Tree, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let tree = ask(context, async |client| client.tree(arguments.app).await)?;
    write(&tree, show::tree, context, output)
}

pub(super) fn history(arguments: History, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let History { app, limit, before } = arguments;
    let question = HistoryQuestion { app, limit, before };
    let records = ask(context, async |client| client.history(&question).await)?;
    write(&records, |records, screen| show::history(records, screen), context, output)
}

pub(super) fn drift(arguments: Drift, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let Drift { app, limit } = arguments;
    let question = DriftQuestion { app, limit };
    let records = ask(context, async |client| client.drift(&question).await)?;
    write(&records, |records, screen| show::drift(records, screen), context, output)
}
