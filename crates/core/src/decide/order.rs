//! Puts steps in order and holds back those whose dependencies are not in place.

use std::collections::BTreeSet;

use crate::key::Key;
use crate::report::Why;

use super::Draft;

pub(super) fn put_in_order(draft: &mut Draft<'_>) {
    hold_back_dependents(draft);
    draft.decision.plan.steps.sort_by(|a, b| (a.rank, &a.key).cmp(&(b.rank, &b.key)));
}

/// A step runs only when all it comes after is in place or made by an earlier step of the same plan.
fn hold_back_dependents(draft: &mut Draft<'_>) {
    let waiting = draft.decision.report.iter().map(|withheld| &withheld.key);
    let stuck = draft.stuck.iter().map(|stuck| &stuck.claim.key);
    let mut not_ready: BTreeSet<Key> = waiting.chain(stuck).cloned().collect();
    if draft.decision.plan.steps.is_empty() || not_ready.is_empty() {
        return;
    }
    let mut steps = std::mem::take(&mut draft.decision.plan.steps);
    steps.sort_by(|a, b| (a.rank, &a.key).cmp(&(b.rank, &b.key)));
    for step in steps {
        let resource = step.resource.as_ref().expect("steps for declared resources carry them");
        match resource.after.iter().find(|key| not_ready.contains(key)).cloned() {
            Some(key) => {
                not_ready.insert(step.key.clone());
                draft.withhold(&step.key, step.cause, Why::DependencyNotReady { key });
            }
            None => draft.step(step),
        }
    }
}
