//! Prune rules: whether an object of ours that is no longer declared may be deleted. Pure
//! functions; every guard exists because of an incident.

use crate::claim::{Claim, ClaimOrigin};
use crate::live::Live;
use crate::mutant::Mutant;
use crate::report::RetentionReason;
use crate::snapshot::{Budget, FRESH, Question, Snapshot};
use crate::time::Timestamp;

/// Returns the number of deletes an app may make per rolling day: a tenth of its objects, and at
/// least one.
pub fn app_budget(owned: u32) -> u32 {
    (owned / 10).max(1)
}

/// Returns the number of deletes all apps together may make per rolling hour: a fiftieth of their
/// objects, and at least ten.
pub fn fleet_budget(owned: u32) -> u32 {
    (owned / 50).max(10)
}

/// Checks the guards that concern the app as a whole. `Err` retains everything.
pub fn app_guard(snapshot: &Snapshot<'_>, other_changes: bool, now: Timestamp) -> Result<(), RetentionReason> {
    if !snapshot.rules.prune && !snapshot.retiring {
        return Err(RetentionReason::PruneOff);
    }
    if snapshot.bundle.is_empty() && !snapshot.retiring && !Mutant::EmptyRenderPrunes.is_on() {
        return Err(RetentionReason::EmptyBundle);
    }
    doubt(snapshot, now)?;
    if other_changes {
        return Err(RetentionReason::OtherChangesFirst);
    }
    if snapshot.unconsidered.is_some() {
        return Err(RetentionReason::OthersNotConsidered);
    }
    Ok(())
}

/// Checks the guards of every delete, whatever its cause: nothing is deleted while the state is in
/// doubt.
pub fn doubt(snapshot: &Snapshot<'_>, now: Timestamp) -> Result<(), RetentionReason> {
    if !snapshot.observation.is_complete() && !Mutant::ErrorReadAsEmpty.is_on() {
        return Err(RetentionReason::IncompleteObservation);
    }
    if now.since(snapshot.observation.at) > FRESH {
        return Err(RetentionReason::OldObservation);
    }
    if now < snapshot.target.quarantine_until && !Mutant::SkipQuarantine.is_on() {
        return Err(RetentionReason::Quarantine { until: snapshot.target.quarantine_until });
    }
    if snapshot.target.breaker_open {
        return Err(RetentionReason::BreakerOpen);
    }
    Ok(())
}

/// Checks the guards that concern one object. The caller has checked that it is ours: claimed by
/// this app, same UID.
pub fn object_guard(claim: &Claim, live: &Live, allowed: bool) -> Result<(), RetentionReason> {
    if live.controlled && !Mutant::PruneControlled.is_on() {
        return Err(RetentionReason::Controlled);
    }
    match claim.origin {
        ClaimOrigin::Recovered => return Err(RetentionReason::Recovered),
        ClaimOrigin::Adopted if !allowed && !Mutant::PruneAdopted.is_on() => return Err(RetentionReason::Adopted),
        ClaimOrigin::Adopted | ClaimOrigin::Created => {}
    }
    // A tombstone was allowed when its delete was first intended.
    if claim.protected && !allowed && !claim.tombstone {
        return Err(RetentionReason::Protected);
    }
    Ok(())
}

/// The deletes that may still be made: handed out one by one until a budget is spent.
#[derive(Debug)]
pub struct DeleteBudget {
    budget: u32,
    spent: u32,
    fleet_budget: u32,
    fleet_spent: u32,
    allowance: u32,
    unlimited: bool,
}

impl DeleteBudget {
    /// Builds a budget. `retiring` lifts the app's own budget, because removing the whole app is
    /// declared; the fleet's stays.
    pub fn new(budget: &Budget, bundle: crate::digest::Digest, retiring: bool) -> Self {
        let forget = Mutant::ForgetSpentBudget.is_on();
        let allowance = budget.allowance.as_ref().filter(|allowance| allowance.bundle == bundle);
        Self {
            budget: app_budget(budget.owned),
            spent: if forget { 0 } else { budget.spent },
            fleet_budget: fleet_budget(budget.fleet_owned),
            fleet_spent: if forget { 0 } else { budget.fleet_spent },
            allowance: allowance.map_or(0, |allowance| allowance.left),
            unlimited: retiring,
        }
    }

    /// Reports whether a person allowed more deletes than the rules do.
    pub fn has_allowance(&self) -> bool {
        self.allowance > 0
    }

    /// Takes one delete, from the allowance if there is one: deletes that a person allowed do not
    /// count against the budget.
    pub fn take(&mut self) -> Result<(), RetentionReason> {
        if self.allowance > 0 {
            self.allowance -= 1;
            return Ok(());
        }
        if self.fleet_spent >= self.fleet_budget {
            return Err(RetentionReason::OverFleetBudget { budget: self.fleet_budget, spent: self.fleet_spent });
        }
        if self.spent >= self.budget && !self.unlimited {
            return Err(RetentionReason::OverBudget { budget: self.budget, spent: self.spent });
        }
        self.spent += 1;
        self.fleet_spent += 1;
        Ok(())
    }
}

/// Checks whether a fresh render from the store still gives the bundle we hold. Returns a question
/// if that is not known (incident 2).
pub fn fresh_render(snapshot: &Snapshot<'_>, now: Timestamp) -> Result<(), (RetentionReason, Option<Question>)> {
    if snapshot.retiring || Mutant::PruneBeforeFreshRender.is_on() {
        return Ok(());
    }
    let bundle = snapshot.bundle.digest();
    match snapshot.answers.fresh_render {
        Some(answer) if answer.of == bundle && now.since(answer.at) <= FRESH => {
            if answer.rendered == bundle {
                Ok(())
            } else {
                Err((RetentionReason::FreshRenderDiffers, None))
            }
        }
        _ => Err((RetentionReason::FreshRenderPending, Some(Question::FreshRender { bundle }))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn the_budget_is_a_tenth_and_at_least_one() {
        for (owned, budget) in [(0, 1), (1, 1), (19, 1), (20, 2), (1_000, 100)] {
            assert_eq!(app_budget(owned), budget);
        }
    }

    #[test]
    fn a_purse_stops_at_the_app_s_budget_and_at_the_fleet_s() {
        let budget = Budget { owned: 30, spent: 1, fleet_owned: 30, fleet_spent: 9, allowance: None };
        let mut purse = DeleteBudget::new(&budget, Digest::of(b""), false);
        assert_eq!(purse.take(), Ok(()));
        assert_eq!(purse.take(), Err(RetentionReason::OverFleetBudget { budget: 10, spent: 10 }));
        let budget = Budget { fleet_spent: 0, ..budget };
        let mut purse = DeleteBudget::new(&budget, Digest::of(b""), false);
        assert_eq!((purse.take(), purse.take()), (Ok(()), Ok(())));
        assert_eq!(purse.take(), Err(RetentionReason::OverBudget { budget: 3, spent: 3 }));
    }
}
