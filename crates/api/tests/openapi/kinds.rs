//! One value of each kind of the types that the document mirrors. Each leads to the next one, so
//! that a new kind does not compile without an example.

use std::collections::BTreeSet;
use std::iter::successors;

use serde::Serialize;
use serde_json::{Value, json};
use setpoint_core::boundary::{Grant, Lacking};
use setpoint_core::digest::Digest;
use setpoint_core::hold::HoldReason;
use setpoint_core::intent::{IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Proof, Writer};
use setpoint_core::modes::{Cause, State};
use setpoint_core::name::AppId;
use setpoint_core::observed::UnknownReason;
use setpoint_core::report::{RetentionReason, Setback, Why};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;

use super::schema::Schemas;

const NOON: Timestamp = Timestamp::from_millis(43_200_000);

fn problem() -> String {
    "it has a problem".to_owned()
}

fn key() -> Key {
    Key::new("apps/Deployment", "web", "shop").expect("a plain name")
}

fn app() -> AppId {
    "web/shop".parse().expect("a valid app")
}

fn revision() -> Revision {
    let version = Digest::of(b"").to_string().parse().expect("a valid version");
    Revision::of(&"platform".parse().expect("a valid store"), &version)
}

fn whys() -> impl Iterator<Item = Why> {
    let (until, problem) = (NOON, problem());
    successors(Some(Why::State { state: State::Held }), move |last| {
        let (key, app, problem) = (key(), app(), problem.clone());
        Some(match last {
            Why::State { .. } => Why::NotSeen { reason: UnknownReason::NotLooked },
            Why::NotSeen { .. } => Why::PerhapsGone,
            Why::PerhapsGone => Why::NotSeenToEnd,
            Why::NotSeenToEnd => Why::OpenIntent { intent: IntentId { epoch: 7, number: 31 } },
            Why::OpenIntent { .. } => Why::BackingOff { until, setback: Setback::Fight },
            Why::BackingOff { .. } => Why::OwnedByOther { app },
            Why::OwnedByOther { .. } => Why::OutsideScope(Lacking {
                scope: "web".parse().expect("a valid scope"),
                grant: Grant::Namespace,
                name: "data".to_owned(),
            }),
            Why::OutsideScope(_) => Why::NotOurs,
            Why::NotOurs => Why::Deleting { finalizers: ["example/guard".into()].into() },
            Why::Deleting { .. } => Why::Controlled,
            Why::Controlled => Why::PreviewPending,
            Why::PreviewPending => Why::PreviewRefused { problem },
            Why::PreviewRefused { .. } => Why::Immutable { problem, until },
            Why::Immutable { .. } => Why::ReplaceNotAllowed { problem, until },
            Why::ReplaceNotAllowed { .. } => Why::ReplacementPending,
            Why::ReplacementPending => Why::ReplacementRefused { problem, until },
            Why::ReplacementRefused { .. } => Why::DependencyNotReady { key },
            Why::DependencyNotReady { .. } => Why::DependencyNotHealthy { key },
            Why::DependencyNotHealthy { .. } => Why::EarlierWave { wave: -1, key },
            Why::EarlierWave { .. } => Why::AppNotReady { app },
            Why::AppNotReady { .. } => Why::HandOver { app },
            Why::HandOver { .. } => Why::DeclaredElsewhere { app },
            Why::DeclaredElsewhere { .. } => Why::RetentionReason(RetentionReason::PruneOff),
            Why::RetentionReason(_) => return None,
        })
    })
}

fn retention_reasons() -> impl Iterator<Item = RetentionReason> {
    use RetentionReason as Reason;
    successors(Some(Reason::PruneOff), |last| {
        Some(match last {
            Reason::PruneOff => Reason::EmptyBundle,
            Reason::EmptyBundle => Reason::IncompleteObservation,
            Reason::IncompleteObservation => Reason::OldObservation,
            Reason::OldObservation => Reason::Quarantine { until: NOON },
            Reason::Quarantine { .. } => Reason::BreakerOpen,
            Reason::BreakerOpen => Reason::OtherChangesFirst,
            Reason::OtherChangesFirst => Reason::Adopted,
            Reason::Adopted => Reason::Recovered,
            Reason::Recovered => Reason::Controlled,
            Reason::Controlled => Reason::Protected,
            Reason::Protected => Reason::OverBudget { budget: 1, spent: 1 },
            Reason::OverBudget { .. } => Reason::OverFleetBudget { budget: 1, spent: 1 },
            Reason::OverFleetBudget { .. } => Reason::DependentStands,
            Reason::DependentStands => Reason::OthersNotConsidered,
            Reason::OthersNotConsidered => Reason::FreshRenderPending,
            Reason::FreshRenderPending => Reason::FreshRenderDiffers,
            Reason::FreshRenderDiffers => return None,
        })
    })
}

fn unknown_reasons() -> impl Iterator<Item = UnknownReason> {
    use UnknownReason as Reason;
    successors(Some(Reason::Unreachable { detail: problem() }), |last| {
        let detail = problem();
        Some(match last {
            Reason::Unreachable { .. } => Reason::Denied { detail },
            Reason::Denied { .. } => Reason::Unauthenticated { detail },
            Reason::Unauthenticated { .. } => Reason::NotFound { detail },
            Reason::NotFound { .. } => Reason::Partial { detail },
            Reason::Partial { .. } => Reason::Malformed { detail },
            Reason::Malformed { .. } => Reason::Unobservable { detail },
            Reason::Unobservable { .. } => Reason::EventsLost { detail },
            Reason::EventsLost { .. } => Reason::OtherIdentity { expected: "one".into(), found: "two".into() },
            Reason::OtherIdentity { .. } => Reason::NotRun { detail },
            Reason::NotRun { .. } => Reason::NotLooked,
            Reason::NotLooked => Reason::OtherDocuments,
            Reason::OtherDocuments => return None,
        })
    })
}

fn hold_reasons() -> impl Iterator<Item = HoldReason> {
    successors(Some(HoldReason::Asked { reason: "night".to_owned() }), |last| {
        Some(match last {
            HoldReason::Asked { .. } => HoldReason::RolledBack { failed: 3 },
            HoldReason::RolledBack { .. } => HoldReason::Rewritten { accepted: revision(), offered: revision() },
            HoldReason::Rewritten { .. } => return None,
        })
    })
}

fn writers() -> impl Iterator<Item = Writer> {
    let word = || Some("a word".to_owned());
    let proof = Proof {
        who: "max".to_owned(),
        acting_as: word(),
        address: word(),
        audit_id: word(),
        how: "kubectl edit".to_owned(),
    };
    successors(Some(Writer::Unknown), move |last| {
        Some(match last {
            Writer::Unknown => Writer::Likely { who: "max".to_owned() },
            Writer::Likely { .. } => Writer::Proven(Box::new(proof.clone())),
            Writer::Proven(_) => return None,
        })
    })
}

fn setbacks() -> impl Iterator<Item = Setback> {
    successors(Some(Setback::Fight), |last| {
        Some(match last {
            Setback::Fight => Setback::Failure { problem: problem().into() },
            Setback::Failure { .. } => return None,
        })
    })
}

fn healths() -> impl Iterator<Item = Health> {
    successors(Some(Health::Healthy), |last| {
        Some(match last {
            Health::Healthy => Health::Progressing,
            Health::Progressing => Health::Degraded,
            Health::Degraded => Health::Unknown,
            Health::Unknown => return None,
        })
    })
}

fn verbs() -> impl Iterator<Item = Verb> {
    successors(Some(Verb::Create), |last| {
        Some(match last {
            Verb::Create => Verb::Update,
            Verb::Update => Verb::Delete,
            Verb::Delete => return None,
        })
    })
}

fn grants() -> impl Iterator<Item = Grant> {
    successors(Some(Grant::Namespace), |last| match last {
        Grant::Namespace => Some(Grant::ClusterKind),
        Grant::ClusterKind => None,
    })
}

/// Returns the words that distinguish the kinds of a schema.
fn kinds(schema: &Value) -> BTreeSet<&str> {
    fn words(list: &Value) -> impl Iterator<Item = &str> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str)
    }
    let tags = schema["properties"].as_object().into_iter().flatten().filter(|(_, field)| field.get("enum").is_some());
    let tags = tags.flat_map(|(_, field)| words(&field["enum"]));
    let parts = schema["oneOf"].as_array().into_iter().flatten();
    // The tag of a kind with a type of its own comes last.
    let parts = parts.map(|part| part["allOf"].as_array().and_then(|parts| parts.last()).unwrap_or(part));
    let found = words(&schema["enum"]).chain(tags).chain(parts.flat_map(|part| kinds(part)));
    let mut found: BTreeSet<_> = found.collect();
    if found.is_empty() {
        found.extend(words(&schema["required"]));
    }
    found
}

/// Checks that all examples fit a schema, and that the schema has no kind without an example.
fn compare<T: Serialize>(schemas: Schemas<'_>, name: &str, examples: impl Iterator<Item = T>) {
    let schema = schemas.named(name);
    let mut unused = kinds(schema);
    assert!(unused.len() > 1, "{name} has kinds: {schema}");
    for example in examples {
        let example = json!(example);
        assert_eq!(schemas.problems(schema, &example), [""; 0], "{name}: {example}");
        let tag = ["why", "guard", "kind", "certainty"].into_iter().filter_map(|tag| example.get(tag)?.as_str()).next();
        let key = example.as_object().and_then(|fields| fields.keys().next()).map(String::as_str);
        let kind = example.as_str().or(tag).or(key).expect("a kind");
        assert!(unused.remove(kind), "{name}: {kind} is not in the schema");
    }
    assert_eq!(unused, BTreeSet::new(), "{name}: kinds that do not exist");
}

#[test]
fn the_document_has_every_kind_of_the_types_that_it_mirrors() {
    let document = setpoint_api::openapi::document();
    let schemas = Schemas(&document);
    compare(schemas, "Why", whys());
    compare(schemas, "RetentionReason", retention_reasons());
    compare(schemas, "UnknownReason", unknown_reasons());
    compare(schemas, "HoldReason", hold_reasons());
    compare(schemas, "Writer", writers());
    compare(schemas, "BackOffReason", setbacks());
    compare(schemas, "Health", healths());
    compare(schemas, "Verb", verbs());
    compare(schemas, "Grant", grants());
    compare(schemas, "Cause", Cause::ALL.into_iter());
    compare(schemas, "State", State::ALL.into_iter());
}
