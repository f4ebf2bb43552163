//! Checks of `settle`: effects that happened, effects that did not, undecidable ones, and that
//! settling only reads.

use setpoint_core::live::Live;
use setpoint_core::time::Span;

use super::stage::Stage;
use super::{Verdict, ensure};
use crate::contract::{RefusalClass, Settlement, Work};

pub(super) async fn a_create_that_happened_is_never_settled_as_not_done(stage: &Stage<'_>) -> Verdict {
    let work = stage.create(&stage.first(0));
    stage.succeed(&work).await?;
    let live = stage.live(&work.step.key).await?;
    expect_own_create(stage, &work, &live).await?;
    stage.subject.edit(&stage.second(0)).await;
    let edited = stage.live(&work.step.key).await?;
    expect_own_create(stage, &work, &edited).await
}

async fn expect_own_create(stage: &Stage<'_>, work: &Work, live: &Live) -> Verdict {
    let settlement = stage.settle(work).await;
    let right = match &settlement {
        Settlement::Done { live: Some(found) } => found.uid == live.uid && found.fingerprint == live.fingerprint,
        Settlement::Superseded { .. } | Settlement::Unknown { .. } => !stage.subject.tells_own_creates(),
        _ => false,
    };
    ensure(right, || format!("{live:?} was created and settled as {settlement:?}"))
}

pub(super) async fn an_update_that_happened_is_settled_as_done(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    let work = stage.update(&stage.second(0), &seen);
    stage.succeed(&work).await?;
    let settlement = stage.settle(&work).await;
    let right = match &settlement {
        Settlement::Done { live: Some(live) } => live.uid == seen.uid && live.value == stage.second(0).body,
        _ => false,
    };
    ensure(right, || format!("{} was updated and settled as {settlement:?}", work.step.key))
}

pub(super) async fn a_delete_that_happened_is_settled_as_done(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    let work = stage.delete(&stage.first(0).key, &seen);
    stage.succeed(&work).await?;
    let done = Settlement::Done { live: None };
    let settlement = stage.settle(&work).await;
    ensure(settlement == done, || format!("{} was deleted and settled as {settlement:?}", work.step.key))?;
    stage.subject.recreate(&stage.first(0)).await;
    let settlement = stage.settle(&work).await;
    // Where a UID belongs to a place, the old object may have been replaced instead: the outcome
    // may be unknown, but not denied.
    let open = !stage.target().capabilities().incarnations && matches!(settlement, Settlement::Unknown { .. });
    ensure(settlement == done || open, || format!("another object was taken for the deleted one: {settlement:?}"))
}

pub(super) async fn what_never_left_is_settled_as_not_done(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    for work in all_verbs(stage, &seen) {
        let settlement = stage.settle(&work).await;
        let verb = work.step.verb;
        ensure(settlement == Settlement::NotDone, || format!("a {verb} that never left settled as {settlement:?}"))?;
    }
    Ok(())
}

pub(super) async fn what_was_refused_is_never_settled_as_done(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    let third = stage.first(1);
    stage.subject.recreate(&third).await;
    let refused_create = stage.create(&third);
    stage.refused(&refused_create, stage.fence(), RefusalClass::Conflict).await?;
    let (update, delete) = (stage.update(&stage.second(0), &seen), stage.delete(&stage.first(0).key, &seen));
    // The same content again: only the version shows the write.
    stage.subject.edit(&stage.first(0)).await;
    stage.refused(&update, stage.fence(), RefusalClass::Conflict).await?;
    stage.refused(&delete, stage.fence(), RefusalClass::Conflict).await?;
    for work in [refused_create, update, delete] {
        let settlement = stage.settle(&work).await;
        let done = matches!(settlement, Settlement::Done { .. });
        ensure(!done, || format!("a refused {} settled as {settlement:?}", work.step.verb))?;
    }
    Ok(())
}

pub(super) async fn settling_changes_nothing(stage: &Stage<'_>) -> Verdict {
    let before = stage.have(&stage.first(0)).await?;
    for work in all_verbs(stage, &before) {
        // Long after the deadline: before it, a target may add a mark of its own to be certain.
        stage.settle_after(&work, Span::hours(1)).await;
        let after = stage.live(&stage.first(0).key).await?;
        ensure(before == after, || format!("settling a {} changed {before:?} to {after:?}", work.step.verb))?;
        stage.absent(&stage.first(1).key).await?;
    }
    Ok(())
}

pub(super) async fn what_cannot_be_looked_at_is_not_settled(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    stage.subject.hide(&stage.first(0).key).await;
    stage.subject.hide(&stage.first(1).key).await;
    for work in all_verbs(stage, &seen) {
        let settlement = stage.settle(&work).await;
        let verb = work.step.verb;
        let open = matches!(settlement, Settlement::Unknown { .. });
        ensure(open, || format!("an unreadable {verb} settled as {settlement:?}"))?;
    }
    Ok(())
}

/// Returns an update and a delete of sample 0, which was observed, and a create of sample 1, which
/// does not exist.
fn all_verbs(stage: &Stage<'_>, seen: &Live) -> [Work; 3] {
    [stage.create(&stage.first(1)), stage.update(&stage.second(0), seen), stage.delete(&stage.first(0).key, seen)]
}
