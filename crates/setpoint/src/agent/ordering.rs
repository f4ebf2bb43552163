//! Orders of people: gives them to the machine, and reports what they do not change.

use std::sync::atomic::Ordering;

use setpoint_api::answer::Ordered;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_api::{Caller, Problem, ProblemKind};
use setpoint_core::modes::State;
use setpoint_core::name::AppId;
use setpoint_core::report::{RetentionReason, Why};
use setpoint_core::time::Timestamp;
use setpoint_engine::machine::AppStatus;
use setpoint_engine::{Command, Declined, Order, OrderId};

use super::answers::{Answers, ended};
use super::rights::View;
use crate::show;

/// The number of objects named that stay in spite of a permission.
const MOST_KEPT: usize = 5;

impl Answers {
    pub(super) async fn give(&self, caller: &Caller, request: OrderRequest) -> Result<Ordered, Problem> {
        let OrderRequest { app, reason, order } = request;
        let view = self.view(caller);
        let before = self.status(&app, &view).await?;
        let needs_reason = !matches!(order, OrderKind::Resume) && !matches!(order, OrderKind::Sync { allow_prune: 0 });
        if needs_reason && reason.trim().is_empty() {
            return Err(Problem::new(ProblemKind::Question, "say why: `--reason \"…\"` is recorded with the order"));
        }
        // The engine ignores such an order, because a suspension may just have ended. For a person it
        // is probably an order to the wrong app.
        if matches!(order, OrderKind::Resume) && before.facts.suspension.is_none() {
            let next = "nothing was recorded; `setpoint status` shows the state of all apps";
            return Err(Problem::new(ProblemKind::Conflict, format!("{app} is not suspended: {next}")));
        }
        let notes = match order {
            OrderKind::Resume => skipped(&before),
            OrderKind::Sync { allow_prune } => obstacles(&app, &before, allow_prune, self.clock.now()),
            _ => Vec::new(),
        };
        let order = self.order_of(&app, order).await?;
        let id = self.next_order();
        let (by, via) = (caller.actor.clone(), caller.via.method().to_owned());
        let command = Command { id, app: app.clone(), by, via, reason, order };
        match self.handle.order(command).await.map_err(ended)? {
            Ok(()) => Ok(Ordered { app, notes }),
            Err(Declined::Invalid(problem)) => Err(declined(ProblemKind::Question, problem.to_owned(), &view)),
            Err(Declined::Refused(problem)) => Err(declined(ProblemKind::Conflict, problem.to_owned(), &view)),
            Err(Declined::NotRecorded) => {
                Err(self.not_now("the order could not be recorded, so it does not count", &view))
            }
        }
    }

    /// Returns an id that no order and no statement of this process had.
    pub(super) fn next_order(&self) -> OrderId {
        OrderId(self.last_order.fetch_add(1, Ordering::Relaxed) + 1)
    }

    async fn order_of(&self, app: &AppId, order: OrderKind) -> Result<Order, Problem> {
        Ok(match order {
            OrderKind::Sync { allow_prune } => Order::Sync { allow_prune },
            OrderKind::Suspend { length } => Order::Suspend { until: self.clock.now() + length },
            OrderKind::Resume => Order::Resume,
            OrderKind::Hold => Order::Hold,
            OrderKind::Settle { intent, done } => Order::Settle { intent, done },
            OrderKind::Release { accept: None } => Order::Release { accept: None },
            OrderKind::Release { accept: Some(rev) } => {
                Order::Release { accept: Some(self.revision(app, &rev).await?) }
            }
        })
    }
}

fn declined(kind: ProblemKind, mut problem: String, view: &View) -> Problem {
    view.redact(&mut problem);
    Problem::new(kind, problem)
}

/// Returns the changes that a suspension has prevented.
fn skipped(status: &AppStatus) -> Vec<String> {
    let by_suspension =
        status.report.iter().filter(|withheld| matches!(withheld.why, Why::State { state: State::Suspended }));
    by_suspension.map(|withheld| format!("{} ({})", withheld.key, withheld.cause)).collect()
}

/// Returns what keeps a sync from having its full effect now.
fn obstacles(app: &AppId, status: &AppStatus, allow_prune: u32, now: Timestamp) -> Vec<String> {
    let facts = &status.facts;
    let end = |at| show::time::end(at, now);
    let suspended = facts.suspension.as_ref().map(|suspension| {
        format!(
            "nothing is written while it is suspended: this ends {}, or with `setpoint resume {app}`",
            end(suspension.until)
        )
    });
    let held = facts.hold.as_ref().map(|_| format!("it is held: newer versions wait for `setpoint release {app}`"));
    let closed = status
        .window_opens
        .map(|opens| format!("its window is closed: new versions and deletes wait until it opens {}", end(opens)));
    let quarantine = status.quarantine_until.filter(|_| allow_prune > 0).map(|until| {
        format!(
            "nothing is deleted yet: deletes are withheld for a while after installation; this ends {}. The permission stays valid, unless a newer version is accepted first",
            end(until)
        )
    });
    let kept = status.report.iter().filter(|_| allow_prune > 0).filter_map(|withheld| match &withheld.why {
        Why::RetentionReason(kept) if !may_be_lifted(kept) => Some(format!("{}: {}", withheld.key, withheld.why)),
        _ => None,
    });
    suspended.into_iter().chain(held).chain(closed).chain(quarantine).chain(kept.take(MOST_KEPT)).collect()
}

/// Reports whether a delete that is withheld for this reason is made with a person's permission, or
/// later by itself.
fn may_be_lifted(kept: &RetentionReason) -> bool {
    !matches!(
        kept,
        RetentionReason::PruneOff
            | RetentionReason::EmptyBundle
            | RetentionReason::IncompleteObservation
            | RetentionReason::BreakerOpen
            | RetentionReason::Recovered
            | RetentionReason::Controlled
    )
}
