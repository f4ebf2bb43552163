//! Fields of documents that this version does not support yet. They are refused: a rule that is
//! ignored silently is worse than none.

use setpoint_core::time::Span;
use setpoint_documents::{AppSpec, FieldProblem, PolicySpec};

use super::documents::ControlDocuments;
use super::reading::FieldError;
use super::windows;

/// The share of an app's objects that may be pruned in a day, as it is built into the machine.
const PRUNE_BUDGET: u32 = 10;

impl ControlDocuments {
    pub(super) fn unsupported(&self) -> Vec<FieldError> {
        let mut slips = Vec::new();
        for app in self.apps.values() {
            slips.extend(of_app(&app.spec).into_iter().map(|problem| (app.place.clone(), problem)));
        }
        for policy in self.policies.values() {
            slips.extend(of_policy(&policy.spec).into_iter().map(|problem| (policy.place.clone(), problem)));
        }
        slips
    }
}

fn of_app(app: &AppSpec) -> Vec<FieldProblem> {
    let refused = [
        (!app.accept_together.is_empty(), "spec.acceptTogether", "accepting several apps in one decision is"),
        (!app.checks.is_empty(), "spec.checks", "additional health checks are"),
        (app.sync.interval.span() != Span::hours(24), "spec.sync.interval", "another interval than `1d` is"),
    ];
    let mut found: Vec<FieldProblem> =
        refused.into_iter().filter(|(said, ..)| *said).map(|(_, path, what)| not_yet(path, what)).collect();
    for (n, window) in app.sync.windows.iter().enumerate() {
        if !windows::is_known(&window.zone) {
            let message = format!("the time zone database has no `{}`", window.zone);
            let help = "write a name such as `Europe/Berlin` or `UTC`";
            found.push(FieldProblem::new(format!("spec.sync.windows[{n}].zone"), message, help));
        }
    }
    found
}

fn of_policy(policy: &PolicySpec) -> Vec<FieldProblem> {
    let mut found = Vec::new();
    if policy.approvals.get() > 0 {
        found.push(not_yet("spec.approvals", "approvals are"));
    }
    if policy.prune_budget.get() != PRUNE_BUDGET {
        found.push(not_yet("spec.pruneBudget", "another budget than `10` is"));
    }
    found
}

/// `what` is a phrase that ends with its verb.
fn not_yet(path: &str, what: &str) -> FieldProblem {
    FieldProblem::new(
        path,
        format!("{what} not supported yet"),
        "remove the field: it would have no effect in this version",
    )
}
