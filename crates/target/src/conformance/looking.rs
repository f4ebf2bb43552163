//! Checks of observation: identity, states, keys, previews, hints.

use setpoint_core::key::Key;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::value::Value;

use super::stage::Stage;
use super::{Verdict, ensure};
use crate::contract::{Asker, Hint, Outcome, Settlement};

pub(super) async fn the_system_itself_says_who_it_is(stage: &Stage<'_>) -> Verdict {
    let again = stage.target().identity().await;
    ensure(again.as_ref() == Ok(&stage.identity), || format!("two calls returned {} and {again:?}", stage.identity))?;
    stage.subject.replace_system().await;
    let other = stage.target().identity().await;
    ensure(other.as_ref() != Ok(&stage.identity), || "another system was given the identity of the first".to_owned())
}

pub(super) async fn another_system_at_this_address_is_never_taken_for_ours(stage: &Stage<'_>) -> Verdict {
    let (there, missing) = (stage.first(0), stage.first(1));
    let live = stage.have(&there).await?;
    stage.subject.replace_system().await;
    let seen = stage.observe([&there.key, &missing.key]).await;
    ensure(!seen.states.values().any(Observed::is_known), || format!("it was trusted: {seen:?}"))?;
    for work in [stage.create(&missing), stage.update(&stage.second(0), &live), stage.delete(&there.key, &live)] {
        let outcome = stage.execute(&work, stage.fence()).await?;
        ensure(matches!(outcome, Outcome::Refused { .. }), || format!("it was written to: {outcome:?}"))?;
        let settlement = stage.settle(&work).await;
        ensure(matches!(settlement, Settlement::Unknown { .. }), || format!("it settled our intent: {settlement:?}"))?;
    }
    Ok(())
}

pub(super) async fn every_key_asked_for_is_answered(stage: &Stage<'_>) -> Verdict {
    let samples = [stage.first(0), stage.first(1), stage.first(2)];
    stage.have(&samples[1]).await?;
    let asked_at = stage.subject.now();
    let wanted = samples.iter().map(|sample| (sample.key.clone(), None)).collect();
    let seen = stage.target().observe(wanted, Asker::default(), asked_at).await;
    ensure(seen.at == asked_at, || format!("the call began at {asked_at:?}, it has {:?}", seen.at))?;
    ensure(seen.states.len() == samples.len(), || format!("3 keys were requested, not {:?}", seen.states.keys()))?;
    for (sample, there) in samples.iter().zip([false, true, false]) {
        let presence = seen.states.get(&sample.key).and_then(Observed::as_known);
        let right = presence.is_some_and(|presence| matches!(presence, Presence::Present(_)) == there);
        ensure(right, || format!("{} resulted in {presence:?}", sample.key))?;
    }
    let nothing = stage.observe([]).await;
    ensure(nothing.states.is_empty(), || format!("nothing was requested: {nothing:?}"))
}

pub(super) async fn what_cannot_be_read_is_unknown_never_absent(stage: &Stage<'_>) -> Verdict {
    let (there, missing, other) = (stage.first(0), stage.first(1), stage.first(2));
    stage.have(&there).await?;
    stage.have(&other).await?;
    stage.subject.hide(&there.key).await;
    stage.subject.hide(&missing.key).await;
    let seen = stage.observe([&there.key, &missing.key, &other.key]).await;
    for key in [&there.key, &missing.key] {
        let state = seen.states.get(key);
        ensure(matches!(state, Some(Observed::Unknown { .. })), || format!("{key} resulted in {state:?}"))?;
    }
    let state = seen.states.get(&other.key);
    let absent = state.is_none_or(|state| state.as_known() == Some(&Presence::Absent));
    ensure(!absent, || format!("{} exists and resulted in {state:?}", other.key))
}

pub(super) async fn a_key_follows_from_the_declaration_alone(stage: &Stage<'_>) -> Verdict {
    let (first, second, other) = (stage.first(0), stage.second(0), stage.first(1));
    for there in [false, true] {
        if there {
            stage.have(&first).await?;
        }
        for resource in [&first, &second, &other] {
            let key = stage.target().key(&resource.api_version, &resource.kind, &resource.body);
            ensure(key.as_ref() == Ok(&resource.key), || format!("{} was given the key {key:?}", resource.key))?;
        }
    }
    ensure(first.key == second.key && first.body != second.body, || "the forms of sample 0 do not differ".to_owned())?;
    ensure(first.key != other.key, || "samples 0 and 1 have the same key".to_owned())
}

pub(super) async fn a_declaration_that_names_nothing_has_no_key(stage: &Stage<'_>) -> Verdict {
    let sample = stage.first(0);
    match stage.target().key(&sample.api_version, &sample.kind, &Value::Null) {
        Ok(key) => Err(format!("nothing was given the key {key}")),
        Err(error) => ensure(!error.problem.is_empty(), || "the error does not name the problem".to_owned()),
    }
}

pub(super) async fn a_preview_changes_nothing(stage: &Stage<'_>) -> Verdict {
    let (there, missing) = (stage.first(0), stage.first(1));
    let before = stage.have(&there).await?;
    for resource in [&missing, &there, &stage.second(0)] {
        let answer = stage.target().preview(resource, &Asker::default()).await;
        if stage.target().capabilities().previews {
            ensure(answer.is_ok(), || format!("{} would not be accepted: {answer:?}", resource.key))?;
        }
    }
    let after = stage.live(&there.key).await?;
    ensure(before == after, || format!("a preview changed {} from {before:?} to {after:?}", there.key))?;
    stage.absent(&missing.key).await
}

pub(super) async fn what_others_change_is_hinted_at(stage: &Stage<'_>) -> Verdict {
    let key = stage.first(0).key;
    // The first observation starts the watch. Our own writes need no hint, so others make all
    // changes here.
    stage.absent(&key).await?;
    stage.subject.recreate(&stage.first(0)).await;
    hint_about(stage, &key).await;
    stage.subject.edit(&stage.second(0)).await;
    hint_about(stage, &key).await;
    let edited = stage.live(&key).await?;
    ensure(edited.value == stage.second(0).body, || format!("the edit is not observed: {edited:?}"))?;
    stage.subject.remove(&key).await;
    hint_about(stage, &key).await;
    stage.absent(&key).await
}

async fn hint_about(stage: &Stage<'_>, key: &Key) {
    loop {
        match stage.target().hints().await {
            Hint::Lost => return,
            Hint::Changed { keys } if keys.contains(key) => return,
            Hint::Changed { .. } | Hint::Unwatched { .. } | Hint::AnswersAgain => {}
        }
    }
}
