//! The commands that only read: `status`, `get`, `why`, `tree`, `history`, `drift`.

use std::cell::Cell;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use setpoint_api::answer::Overview;
use setpoint_api::question::{DriftQuestion, HistoryQuestion};
use setpoint_api::{AskError, Client};
use setpoint_core::name::AppId;

use super::asking::{app, ask, write};
use super::filter::Filter;
use super::watch::watch;
use super::{Context, Failure};
use crate::exit::Exit;
use crate::show::{self, Screen};

/// Show the state of the agent, its stores and all apps
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint status                  show the agent, its stores, and one line per app
  setpoint status 'web/*' --state out-of-sync --state degraded
                                   show the apps of the scope `web` that need attention
  setpoint status --watch          show it again whenever it changes, until Ctrl-C
  setpoint status -o json | jq -r '.apps[] | select(.state != \"converged\") | .app'
                                   list the apps that have not converged

Exit codes:
  0  the agent responded
  1  could not run, for example because no agent runs
  4  the ledger is in trouble, so the agent changes nothing")]
pub(super) struct Status {
    #[command(flatten)]
    filter: Filter,
    /// Show all matching apps; by default at most 50, those that need attention first
    #[arg(long)]
    all: bool,
    /// Show the state again whenever it changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
}

/// Show an app in detail: versions, resources, drift, and changes that are not made
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint get shop                show the app `shop` of the scope `default`
  setpoint get web/shop --output json")]
pub(super) struct Get {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
    /// Show it again whenever it changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
}

/// Explain why an app is not as declared, and what to do about it
///
/// Every change that is not made has a reason: a hold, a suspension, a refused version, or a guard
/// against deleting too much. Each reason is shown with the way to resolve it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint why web/shop            find out why nothing happens")]
pub(super) struct Why {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
    /// Show it again whenever it changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
}

/// Show the objects of an app as a tree, with health, age and the reason for any problem
///
/// On a cluster, the tree includes the objects that controllers created: the ReplicaSets and pods
/// of a Deployment, the pods of a Job. The agent reads them from the target for each request.
/// Objects that could not be read are listed as such; they may exist although the tree does not
/// show them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint tree web/shop
  setpoint tree web/shop --output json | jq -r '.objects[] | select(.health != \"healthy\") | [.key, .reason] | @tsv'
                                   list the unhealthy objects, with the reasons")]
pub(super) struct Tree {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
}

/// Show decisions and changes from the ledger, newest first
///
/// A change is one row, although the ledger records its intent and its result. With `--records`,
/// each record is shown as the ledger has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint history                 show the newest 20 changes of all apps
  setpoint history web/shop --limit 100
  setpoint history --before 412    show the changes before record 412
  setpoint history --records       show the records of the ledger")]
pub(super) struct History {
    /// Show only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// Show at most this many changes or records
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    limit: usize,
    /// Show only what was recorded before this record number
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// Show the records of the ledger instead of one row per change
    #[arg(long)]
    records: bool,
}

/// Show drift: changes by others, their authors, and when each was detected and healed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint drift                   show the newest 20 drifts of all apps
  setpoint drift web/shop --limit 5")]
pub(super) struct Drift {
    /// Show only this app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: Option<AppId>,
    /// Show at most this many drifts
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    limit: usize,
}

/// The most apps that a status shows by default: about as many as a person reads.
const MOST_ROWS: usize = 50;

/// The largest page that a person reads and that an agent can send at once.
const LARGEST_PAGE: usize = 10_000;

fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
    limit.ok_or_else(|| format!("expected a number from 1 to {LARGEST_PAGE}"))
}

pub(super) fn status(arguments: &Status, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Status { filter, all, watch } = arguments;
    // The number of apps before the last filtering.
    let total = Cell::new(0);
    let has_trouble = Cell::new(false);
    let question = async |client: &Client| {
        let mut overview = client.overview().await?;
        total.set(overview.apps.len());
        has_trouble.set(overview.ledger.trouble.is_some());
        filter.apply(&mut overview);
        Ok(overview)
    };
    let page = |overview: &Overview, screen: &Screen| {
        let page = show::overview(overview, &Screen { rows: (!all).then_some(MOST_ROWS), ..*screen });
        match filter.is_empty() {
            true => page,
            false => format!("{page}\n{} of {} apps match the filter\n", overview.apps.len(), total.get()),
        }
    };
    shown(*watch, question, page, context, output)?;
    Ok(if has_trouble.get() { Exit::Failed } else { Exit::Done })
}

pub(super) fn get(arguments: &Get, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let question = async |client: &Client| client.app(arguments.app.clone()).await;
    shown(arguments.watch, question, show::app, context, output)
}

pub(super) fn why(arguments: &Why, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let question = async |client: &Client| client.app(arguments.app.clone()).await;
    shown(arguments.watch, question, show::why, context, output)
}

/// Shows the agent's response, once or until the command is interrupted.
fn shown<T: Serialize>(
    watched: bool,
    question: impl AsyncFn(&Client) -> Result<T, AskError>,
    page: impl Fn(&T, &Screen) -> String,
    context: &Context,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if watched {
        return watch(context, output, question, page);
    }
    write(&ask(context, question)?, page, context, output)
}

pub(super) fn tree(arguments: Tree, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let tree = ask(context, async |client| client.tree(arguments.app).await)?;
    write(&tree, show::tree, context, output)
}

pub(super) fn history(arguments: History, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let History { app, limit, before, records } = arguments;
    let question = HistoryQuestion { app, limit, before };
    if records {
        let records = ask(context, async |client| client.history(&question).await)?;
        return write(&records, |records, screen| show::records(records, screen), context, output);
    }
    let changes = ask(context, async |client| client.changes(&question).await)?;
    write(&changes, |changes, screen| show::history(changes, &question, screen), context, output)
}

pub(super) fn drift(arguments: Drift, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let Drift { app, limit } = arguments;
    let question = DriftQuestion { app, limit };
    let records = ask(context, async |client| client.drift(&question).await)?;
    write(&records, |records, screen| show::drift(records, screen), context, output)
}
