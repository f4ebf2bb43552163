//! Replacements, and their errors.

use super::copy::with_part;
use super::*;
use crate::limits::{Limit, Limits};
use crate::origin::Sources;
use crate::read::read;

fn resources(text: &str, origin: Origin) -> Vec<Resource> {
    read("test.yaml", text, origin).unwrap().into_iter().map(Resource::new).collect()
}

const THING: &str =
    "{apiVersion: v1, kind: Thing, metadata: {name: a}, spec: {from: x, map: {k: v}, to: old, into: {}}}";

fn copied(from: &str, to: &str, options: Option<FieldOptions>) -> Replacement {
    let source = Source { id: Id { name: "a".into(), ..Id::default() }, path: from.into(), options: None };
    let target = Target { select: Some(Selector::default()), paths: vec![to.into()], options, ..Target::default() };
    Replacement { source: Some(source), value: None, targets: Some(vec![target]), origin: Origin::default() }
}

fn create() -> Option<FieldOptions> {
    Some(FieldOptions { create: true, ..FieldOptions::default() })
}

#[test]
fn a_text_is_from_the_replacement_and_a_copied_map_from_where_it_stood() {
    let mut sources = Sources::default();
    let file = sources.add("thing.yaml".into(), None);
    let by = sources.add("kustomization.yaml".into(), Some("replacements".into())).on(3);
    let mut resources = resources(THING, file);
    let both = [copied("spec.from", "spec.to", None), copied("spec.map", "spec.into", None)]
        .map(|replacement| Replacement { origin: by, ..replacement });
    replace(&mut resources, &both, &Budget::default()).unwrap();
    let node = |path: &[&str]| resources[0].node.at(path).unwrap().clone();
    assert_eq!((node(&["spec", "to"]).as_text(), node(&["spec", "to"]).origin), (Some("x"), by));
    assert_eq!(node(&["spec", "into", "k"]).origin, file.on(1));
}

#[test]
fn a_map_that_is_copied_into_itself_ends() {
    let doubled: Vec<_> = (0..40).map(|at| copied("spec", &format!("spec.copy{at}"), create())).collect();
    let budget = Budget::new(Limits { held_bytes: 1 << 20, ..Limits::default() });
    let told = replace(&mut resources(THING, Origin::default()), &doubled, &budget);
    let held = |error: &ReplacementError| matches!(error, ReplacementError::Limit(limit) if limit.limit() == Some(Limit::Held));
    assert!(told.as_ref().is_err_and(|(_, error)| held(error)), "{told:?}");
    let deeper = vec![copied("spec.map", "spec.map.deeper", create()); 3_000];
    let told = replace(&mut resources(THING, Origin::default()), &deeper, &Budget::default());
    assert!(told.is_err(), "{told:?}");
}

#[test]
fn a_text_that_is_put_into_itself_ends() {
    let options = FieldOptions { delimiter: "-".into(), index: 1, ..FieldOptions::default() };
    let doubled = vec![copied("spec.to", "spec.to", Some(options)); 60];
    let budget = Budget::new(Limits { held_bytes: 1 << 20, ..Limits::default() });
    let text = THING.replace("old", "old-x");
    let told = replace(&mut resources(&text, Origin::default()), &doubled, &budget);
    assert!(told.is_err_and(|(_, error)| matches!(error, ReplacementError::Limit(_))));
}

#[test]
fn a_part_of_a_text_is_replaced_or_added_at_an_end() {
    let with =
        |index| with_part("a--b-c", &FieldOptions { delimiter: "-".into(), index, ..FieldOptions::default() }, "x");
    let parts: Vec<String> = [-1, 0, 1, 2, 3, 4].into_iter().map(with).collect();
    assert_eq!(parts, ["x-a--b-c", "x--b-c", "a-x-b-c", "a--x-c", "a--b-x", "a--b-c-x"]);
}

#[test]
fn mistakes_name_the_field_and_the_resource() {
    let told = |replacement: Replacement| {
        replace(&mut resources(THING, Origin::default()), &[replacement], &Budget::default()).unwrap_err().1.to_string()
    };
    assert_eq!(
        told(copied("spec.from", "spec.none", None)),
        "unable to find field \"spec.none\" in replacement target Thing.v1.[noGrp]/a.[noNs]: \
         correct the path, or set `options.create`"
    );
    assert_eq!(
        told(copied("spec.none", "spec.to", None)),
        "fieldPath `spec.none` is missing for replacement source [noKind].[noVer].[noGrp]/a.[noNs]: \
         correct the path, or give the field a value"
    );
    let mut other = copied("spec.from", "spec.to", None);
    other.source.as_mut().unwrap().id.name = "b".into();
    assert!(told(other).starts_with("nothing selected by [noKind].[noVer].[noGrp]/b.[noNs]:spec.from"));
}

#[test]
fn a_text_that_would_be_written_otherwise_is_left_alone() {
    let text = "{apiVersion: v1, kind: Thing, metadata: {name: a}, spec: {from: x, map: {k: v}, file: \"a: {}\\nb: &b 1\\nc: *b\\n\"}}";
    for (from, to) in [("spec.from", "spec.file.c"), ("spec.from", "spec.file.a"), ("spec.map", "spec.file.a")] {
        let mut resources = resources(text, Origin::default());
        let before = resources[0].node.clone();
        let told = replace(&mut resources, &[copied(from, to, None)], &Budget::default());
        assert!(matches!(told, Err((_, ReplacementError::Text { .. }))), "{to}: {told:?}");
        assert_eq!(resources[0].node, before);
    }
}
