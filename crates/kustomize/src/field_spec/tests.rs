//! Field specs and lists of them. Their effects on resources are recorded (`tests/recorded`).

use super::*;

#[test]
fn a_path_is_names_with_slashes_between_them() {
    let names = |path: &str| FieldSpec::new(Gvk::default(), path, false).names();
    assert_eq!(names("spec/template"), ["spec", "template"]);
    assert_eq!(names("/spec/a[]"), ["spec", "a[]"]);
    assert_eq!(names(r"metadata/annotations/example.com\/name"), ["metadata", "annotations", "example.com/name"]);
    assert_eq!(names("a//b"), ["a", "", "b"]);
    assert_eq!(names(""), [""]);
}

#[test]
fn a_field_spec_is_there_if_the_new_one_selects_it() {
    let spec = |kind: &str, create| FieldSpec::new(Gvk::new("", "", kind), "spec/a", create);
    let mut list = vec![spec("Deployment", true)];
    FieldSpec::merge(&mut list, &[spec("", true), spec("Job", false), spec("Deployment", true)]).unwrap();
    assert_eq!(list, [spec("Deployment", true), spec("Job", false)]);
    let conflict = FieldSpec::merge(&mut list, &[spec("Job", true)]).unwrap_err();
    assert!(conflict.to_string().starts_with("conflicting fieldspecs"), "{conflict}");
}
