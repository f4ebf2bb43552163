//! Checks of `execute`: the result of a step, its preconditions, its fence, its outcome.

use setpoint_core::live::{Live, Presence};
use setpoint_core::time::Span;

use super::stage::Stage;
use super::{Verdict, ensure};
use crate::contract::{Fence, Outcome, RefusalClass};

pub(super) async fn what_was_created_is_observed_as_declared(stage: &Stage<'_>) -> Verdict {
    let resource = stage.first(0);
    let answered = stage.succeed(&stage.create(&resource)).await?;
    let live = stage.live(&resource.key).await?;
    ensure(live.value == resource.body, || format!("declared {:?}, observed {:?}", resource.body, live.value))?;
    let fingerprint = Live::fingerprint_of(&live.value);
    ensure(live.fingerprint == fingerprint, || "the fingerprint is not the digest of the value".to_owned())?;
    ensure(same_write(answered.as_ref(), &live), || format!("returned {answered:?}, observed {live:?}"))
}

pub(super) async fn what_was_updated_is_the_same_object_as_declared_now(stage: &Stage<'_>) -> Verdict {
    let resource = stage.second(0);
    let before = stage.have(&stage.first(0)).await?;
    let answered = stage.succeed(&stage.update(&resource, &before)).await?;
    let after = stage.live(&resource.key).await?;
    ensure(after.uid == before.uid, || "an update created another object".to_owned())?;
    ensure(after.version != before.version, || "an update left the version as it was".to_owned())?;
    ensure(after.value == resource.body, || format!("declared {:?}, observed {:?}", resource.body, after.value))?;
    let fingerprint = Live::fingerprint_of(&after.value);
    ensure(after.fingerprint == fingerprint, || "the fingerprint is not the digest of the value".to_owned())?;
    ensure(same_write(answered.as_ref(), &after), || format!("returned {answered:?}, observed {after:?}"))
}

/// Reports whether both are the same state of the same object. Its health may have changed between
/// two observations.
fn same_write(answered: Option<&Live>, observed: &Live) -> bool {
    answered.is_some_and(|live| live.uid == observed.uid && live.fingerprint == observed.fingerprint)
}

pub(super) async fn what_was_deleted_is_observed_absent(stage: &Stage<'_>) -> Verdict {
    let (resource, beside) = (stage.first(0), stage.first(1));
    let live = stage.have(&resource).await?;
    let untouched = stage.have(&beside).await?;
    let answered = stage.succeed(&stage.delete(&resource.key, &live)).await?;
    ensure(answered.is_none(), || format!("a deleted object was returned: {answered:?}"))?;
    stage.absent(&resource.key).await?;
    let after = stage.live(&beside.key).await?;
    ensure(after.uid == untouched.uid, || format!("{} was touched too", beside.key))?;
    let again = stage.have(&resource).await?;
    ensure(is_another(stage, &live, &again), || format!("another object was taken for the deleted one: {again:?}"))
}

pub(super) async fn a_create_finds_nothing_or_changes_nothing(stage: &Stage<'_>) -> Verdict {
    let (ours, theirs) = (stage.first(0), stage.first(1));
    stage.have(&ours).await?;
    stage.refused(&stage.create(&stage.second(0)), stage.fence(), RefusalClass::Conflict).await?;
    stage.subject.recreate(&theirs).await;
    stage.refused(&stage.create(&theirs), stage.fence(), RefusalClass::Conflict).await
}

pub(super) async fn an_update_or_delete_of_another_version_is_refused(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    stage.subject.edit(&stage.second(0)).await;
    let edited = stage.live(&stage.first(0).key).await?;
    ensure(edited.uid == seen.uid, || "an edit created another object".to_owned())?;
    ensure(edited.version != seen.version, || "an edit left the version as it was".to_owned())?;
    refuse_both(stage, &seen).await
}

pub(super) async fn an_update_or_delete_of_another_incarnation_is_refused(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    stage.subject.recreate(&stage.first(0)).await;
    let recreated = stage.live(&stage.first(0).key).await?;
    ensure(is_another(stage, &seen, &recreated), || "a recreated object was taken for the old one".to_owned())?;
    refuse_both(stage, &seen).await?;
    if !stage.target().capabilities().incarnations {
        return Ok(());
    }
    // The version is the same: the incarnation alone must be enough.
    let same_version = Live { version: recreated.version, ..seen };
    refuse_both(stage, &same_version).await
}

/// Reports whether two successive objects of one key can be distinguished: by their UIDs, or by
/// their versions where a UID belongs to a place.
fn is_another(stage: &Stage<'_>, one: &Live, other: &Live) -> bool {
    if stage.target().capabilities().incarnations { one.uid != other.uid } else { one.version != other.version }
}

async fn refuse_both(stage: &Stage<'_>, seen: &Live) -> Verdict {
    let key = stage.first(0).key;
    stage.refused(&stage.update(&stage.first(0), seen), stage.fence(), RefusalClass::Conflict).await?;
    stage.refused(&stage.delete(&key, seen), stage.fence(), RefusalClass::Conflict).await
}

pub(super) async fn an_update_of_what_is_gone_is_refused(stage: &Stage<'_>) -> Verdict {
    let seen = stage.have(&stage.first(0)).await?;
    stage.subject.remove(&stage.first(0).key).await;
    stage.refused(&stage.update(&stage.second(0), &seen), stage.fence(), RefusalClass::Conflict).await
}

pub(super) async fn deleting_what_is_gone_is_done(stage: &Stage<'_>) -> Verdict {
    let key = stage.first(0).key;
    let seen = stage.have(&stage.first(0)).await?;
    stage.subject.remove(&key).await;
    let answered = stage.succeed(&stage.delete(&key, &seen)).await?;
    ensure(answered.is_none(), || format!("an object that is gone was returned: {answered:?}"))?;
    stage.absent(&key).await
}

pub(super) async fn an_effect_that_is_late_never_leaves(stage: &Stage<'_>) -> Verdict {
    let live = stage.have(&stage.first(0)).await?;
    let late = Fence { leave_by: stage.subject.now() - Span::millis(1), ..stage.fence() };
    for work in
        [stage.create(&stage.first(1)), stage.update(&stage.second(0), &live), stage.delete(&stage.first(0).key, &live)]
    {
        stage.refused(&work, late, RefusalClass::Fenced).await?;
    }
    Ok(())
}

pub(super) async fn an_effect_of_an_epoch_that_is_over_is_refused(stage: &Stage<'_>) -> Verdict {
    if !stage.target().capabilities().checks_epochs {
        return Ok(());
    }
    let live = stage.have(&stage.first(0)).await?;
    let over = Fence { epoch: stage.fence().epoch - 1, ..stage.fence() };
    for work in
        [stage.create(&stage.first(1)), stage.update(&stage.second(0), &live), stage.delete(&stage.first(0).key, &live)]
    {
        stage.refused(&work, over, RefusalClass::Fenced).await?;
    }
    stage.succeed(&stage.update(&stage.second(0), &live)).await.map(drop)
}

pub(super) async fn each_step_has_its_own_outcome_in_order(stage: &Stage<'_>) -> Verdict {
    let seen =
        [stage.have(&stage.first(0)).await?, stage.have(&stage.first(1)).await?, stage.have(&stage.first(2)).await?];
    stage.subject.recreate(&stage.first(1)).await;
    let steps = vec![
        stage.update(&stage.second(0), &seen[0]),
        stage.update(&stage.second(1), &seen[1]),
        stage.delete(&stage.first(2).key, &seen[2]),
        stage.create(&stage.first(3)),
    ];
    let outcomes = stage.target().execute(steps, stage.fence()).await;
    let in_order = match outcomes.as_slice() {
        [
            Outcome::Done { live: Some(updated) },
            Outcome::Refused { refusal },
            Outcome::Done { live: None },
            Outcome::Done { live: Some(created) },
        ] => {
            updated.value == stage.second(0).body
                && refusal.class == RefusalClass::Conflict
                && created.value == stage.first(3).body
        }
        _ => false,
    };
    ensure(in_order, || format!("update, refused update, delete and create resulted in {outcomes:?}"))?;
    for (number, expected) in
        [Some(stage.second(0)), Some(stage.first(1)), None, Some(stage.first(3))].iter().enumerate()
    {
        let key = stage.first(number).key;
        let right = match (stage.presence(&key).await?, expected) {
            (Presence::Present(live), Some(resource)) => live.value == resource.body,
            (Presence::Absent, None) => true,
            _ => false,
        };
        ensure(right, || format!("{key} does not match its outcome"))?;
    }
    let none = stage.target().execute(Vec::new(), stage.fence()).await;
    ensure(none.is_empty(), || format!("no step had {} outcomes", none.len()))
}
