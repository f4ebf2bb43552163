//! The commands by which a person overrides the agent: `sync`, `suspend`, `resume`, `hold`,
//! `release`, `settle`.
//!
//! The ledger records who gave each order, and why, before the order takes effect.

use std::io::Write;

use clap::Args;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_core::intent::IntentId;
use setpoint_core::name::{AppId, StoreName};
use setpoint_core::time::Span;
use setpoint_documents::read_span;
use setpoint_engine::LONGEST_SUSPENSION;

use super::asking::{app, ask, write};
use super::{Context, Exit, Failure};
use crate::show;

/// Check an app now, and permit the change to its accepted version
///
/// An app in manual mode changes only by this command. With `--allow-prune`, the next plan may
/// delete that many objects beyond the budget.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint sync web/shop
  setpoint sync web/shop --allow-prune 40 --reason \"old shop is gone, OPS-112\"")]
pub(super) struct Sync {
    #[command(flatten)]
    app: App,
    /// Permit up to this many deletes that a guard or the delete budget withholds
    #[arg(long, value_name = "N", requires = "reason", default_value_t = 0, hide_default_value = true)]
    allow_prune: u32,
    /// Reason for the order; recorded in the ledger
    #[arg(long)]
    reason: Option<String>,
}

/// Stop writing to an app for a limited time
///
/// The agent still observes the app and reports the changes it does not make. The suspension ends
/// by itself; `setpoint resume` ends it earlier.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint suspend web/shop --for 2h --reason \"restoring the database, OPS-113\"")]
pub(super) struct Suspend {
    #[command(flatten)]
    app: App,
    #[command(flatten)]
    reason: Reason,
    /// Length of the suspension, such as `30m`, `2h` or `1d`; at most 30 days
    #[arg(long = "for", value_name = "LENGTH", value_parser = length)]
    length: Span,
}

/// End a suspension, and list the changes it skipped
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint resume web/shop")]
pub(super) struct Resume {
    #[command(flatten)]
    app: App,
    /// Reason for the order; recorded in the ledger
    #[arg(long)]
    reason: Option<String>,
}

/// Pin an app to its current bundle; newer versions wait
///
/// The agent still heals drift. `setpoint release` lets the app follow its store again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint hold web/shop --reason \"no changes during the sale\"")]
pub(super) struct Hold {
    #[command(flatten)]
    app: App,
    #[command(flatten)]
    reason: Reason,
}

/// Release a hold, so that the app follows its store again
///
/// After a rewritten history, `--accept` names the correct version, for one app or for all apps
/// that read a store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint release web/shop --reason \"the sale is over\"
  setpoint release web/shop --accept 9c1e04d --reason \"the rebase was meant\"
  setpoint release --store platform --accept 9c1e04d --reason \"the rebase was meant\"")]
pub(super) struct Release {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app, required_unless_present = "store")]
    app: Option<AppId>,
    /// Release every app that reads this store, each with its own record; requires `--accept`
    #[arg(long, value_name = "STORE", conflicts_with = "app", requires = "accept")]
    store: Option<StoreName>,
    /// Accept this commit, although it does not descend from the accepted one
    #[arg(long, value_name = "COMMIT")]
    accept: Option<String>,
    #[command(flatten)]
    reason: Reason,
}

/// Record the outcome of a change that the agent cannot determine
///
/// Inspect the object first: `setpoint why APP` names it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint settle web/shop 7-31 --done --reason \"the record is there\"
  setpoint settle web/shop 7-31 --not-done --reason \"no trace of it\"")]
pub(super) struct Settle {
    #[command(flatten)]
    app: App,
    /// ID of the change, as shown by `setpoint why`
    intent: IntentId,
    /// The change took effect
    #[arg(long, conflicts_with = "not_done", required_unless_present = "not_done")]
    done: bool,
    /// The change did not take effect
    #[arg(long)]
    not_done: bool,
    #[command(flatten)]
    reason: Reason,
}

#[derive(Debug, Args)]
struct App {
    /// The app, as `name` or `scope/name`
    #[arg(value_parser = app)]
    app: AppId,
}

#[derive(Debug, Args)]
struct Reason {
    /// Reason for the order; recorded in the ledger
    #[arg(long)]
    reason: String,
}

fn length(text: &str) -> Result<Span, String> {
    let length = read_span(text).filter(|span| (Span::seconds(1)..=LONGEST_SUSPENSION).contains(span));
    length.ok_or_else(|| "expected a number and a unit, such as `30m` or `1h30m`, from 1s to 30d".to_owned())
}

impl From<Sync> for OrderRequest {
    fn from(Sync { app: App { app }, allow_prune, reason }: Sync) -> Self {
        Self { app, reason: reason.unwrap_or_default(), order: OrderKind::Sync { allow_prune } }
    }
}

impl From<Suspend> for OrderRequest {
    fn from(Suspend { app: App { app }, reason: Reason { reason }, length }: Suspend) -> Self {
        Self { app, reason, order: OrderKind::Suspend { length } }
    }
}

impl From<Resume> for OrderRequest {
    fn from(Resume { app: App { app }, reason }: Resume) -> Self {
        Self { app, reason: reason.unwrap_or_default(), order: OrderKind::Resume }
    }
}

impl From<Hold> for OrderRequest {
    fn from(Hold { app: App { app }, reason: Reason { reason } }: Hold) -> Self {
        Self { app, reason, order: OrderKind::Hold }
    }
}

impl From<Settle> for OrderRequest {
    fn from(Settle { app: App { app }, intent, done, reason: Reason { reason }, .. }: Settle) -> Self {
        Self { app, reason, order: OrderKind::Settle { intent, done } }
    }
}

pub(super) fn run(order: impl Into<OrderRequest>, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let request = order.into();
    let ordered = ask(context, async |client| client.order(&request).await)?;
    write(&ordered, |ordered, screen| show::ordered(ordered, &request.order, screen), context, output)
}

pub(super) fn release(release: Release, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let Release { app, store, accept, reason: Reason { reason } } = release;
    let order = OrderKind::Release { accept };
    let request = |app| OrderRequest { app, reason: reason.clone(), order: order.clone() };
    if let Some(app) = app {
        return run(request(app), context, output);
    }
    let released = ask(context, async |client| {
        let mut released = Vec::new();
        for app in client.overview().await?.apps {
            let is_made_from = |store: &StoreName| app.accepted.iter().any(|at| at.revision.get(store).is_some());
            if store.as_ref().is_some_and(is_made_from) {
                released.push(client.order(&request(app.app)).await?);
            }
        }
        Ok(released)
    })?;
    if released.is_empty() {
        let store = store.map(|store| store.to_string()).unwrap_or_default();
        let problem = format!("no app reads the store `{store}`; `setpoint status` lists the stores");
        return Err(Failure::Told(Exit::CouldNotRun, problem));
    }
    write(&released, |released, screen| show::all_ordered(released, &order, screen), context, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_has_a_length_and_not_any_length() {
        assert_eq!(length("2h"), Ok(Span::hours(2)));
        for text in ["", "2", "0s", "31d", "forever", "-2h"] {
            assert!(length(text).is_err(), "{text}");
        }
    }
}
