//! Tests of reading plain manifests.

use setpoint_core::value::Value;
use setpoint_documents::{FieldProblem, Manifest, read_resources, read_resources_with, read_value};
use setpoint_yaml::{Class, Dialect, Source, parse};

#[test]
fn resources_are_read_as_kubectl_reads_them() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: b }\ndata:\n  on: yes\n  mode: 0777\n  big: 12345678901234567890123\n  ratio: 1.10\n  day: 2026-11-15\n";
    let manifests = read_resources("a.yaml", text).unwrap();
    assert_eq!(manifests.len(), 1);
    assert_eq!((&*manifests[0].name, manifests[0].namespace.as_deref()), ("a", Some("b")));
    let data = manifests[0].body.get("data").unwrap();
    assert_eq!(data.get("true"), Some(&Value::Bool(true)));
    assert_eq!(data.get("mode"), Some(&Value::int(511)));
    assert_eq!(data.get("big"), Some(&Value::Num("12345678901234567890123".parse().unwrap())));
    assert_eq!(data.get("ratio"), Some(&Value::Num("1.1".parse().unwrap())));
    assert_eq!(data.get("day"), Some(&Value::str("2026-11-15")));
}

#[test]
fn the_identity_of_a_resource_is_required() {
    for (text, missing) in [
        ("kind: A\nmetadata: { name: a }\n", "`apiVersion`"),
        ("apiVersion: v1\nmetadata: { name: a }\n", "`kind`"),
        ("apiVersion: v1\nkind: A\n", "`metadata.name`"),
        ("apiVersion: v1\nkind: A\nmetadata: { generateName: a- }\n", "`metadata.name`"),
    ] {
        let found = read_resources("a.yaml", text).unwrap_err().into_vec();
        assert_eq!((found.len(), found[0].class), (1, Class::Missing), "{text}");
        assert!(found[0].message.contains(missing), "{}", found[0].message);
    }
    assert!(read_resources("a.yaml", "- a\n").is_err());
    assert!(read_resources("a.yaml", "apiVersion: v1\nkind: A\nmetadata: { name: 1 }\n").is_err());
}

#[test]
fn a_name_that_yaml_reads_as_another_type_has_to_be_in_quotes() {
    for (name, read) in [("y", "the boolean `true`"), ("off", "the boolean `false`"), ("7", "an integer")] {
        let text = format!("apiVersion: v1\nkind: A\nmetadata: {{ name: {name} }}\n");
        let found = read_resources("a.yaml", &text).unwrap_err().into_vec();
        let expected = format!("`metadata.name` is not a string: YAML reads `{name}` without quotes as {read}");
        assert_eq!((found[0].class, &*found[0].message), (Class::Type, &*expected));
        assert_eq!(found[0].help.as_deref(), Some(&*format!("put it in quotes: \"{name}\"")));
    }
}

#[test]
fn values_json_does_not_have_are_refused() {
    for text in [".inf", ".nan", "{[a]: b}", "{~: b}", "{1.5: b}", "1e300000"] {
        let trees = parse(Source::new("a.yaml", text)).unwrap();
        let value = read_value(trees[0].root(), Dialect::GoYamlV2);
        match text {
            "1e300000" => assert_eq!(value, Ok(Value::str("1e300000"))),
            _ => assert!(value.is_err(), "{text}"),
        }
    }
}

#[test]
fn merge_keys_are_resolved() {
    let trees = parse(Source::new("a.yaml", "base: &b { a: 1, b: 2 }\nuse: { <<: *b, b: 3 }\n")).unwrap();
    let value = read_value(trees[0].root(), Dialect::GoYamlV2).unwrap();
    assert_eq!(value.get("use"), Some(&Value::map([("a", Value::int(1)), ("b", Value::int(3))])));
}

#[test]
fn case_41_every_item_of_a_list_is_a_resource_however_deep_it_is_hidden() {
    let mut text = "{apiVersion: v1, kind: ClusterRoleBinding, metadata: {name: hidden}}".to_owned();
    for _ in 0..50 {
        text = format!("{{apiVersion: v1, kind: List, items: [{text}]}}");
    }
    let beside = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: a}}, {apiVersion: v1, kind: B, metadata: {name: b}}]}";
    let manifests = read_resources("a.yaml", &format!("{text}\n---\n{beside}\n")).unwrap();
    let kinds: Vec<&str> = manifests.iter().map(|manifest| &*manifest.kind).collect();
    assert_eq!(kinds, ["ClusterRoleBinding", "A", "B"]);
}

#[test]
fn a_list_without_items_is_refused_and_an_empty_one_is_empty() {
    let found = read_resources("a.yaml", "apiVersion: v1\nkind: List\nitem: []\n").unwrap_err().into_vec();
    assert_eq!(found[0].message, "`items` of a List must be a list");
    assert_eq!(read_resources("a.yaml", "apiVersion: v1\nkind: List\nitems: []\n"), Ok(Vec::new()));
}

#[test]
fn problems_of_the_caller_are_reported_at_the_field() {
    let text = "apiVersion: v1\nkind: A\nmetadata: { name: a }\nspec:\n  mode: 7\n";
    let mut complete = |_: &mut Manifest| vec![FieldProblem::new("spec.mode", "is not a text", "put it in quotes")];
    let found = read_resources_with("a.yaml", text, &mut complete).unwrap_err().into_vec();
    assert_eq!((found[0].place.line, found[0].place.column), (5, 9));
    assert_eq!(found[0].message, "`spec.mode`: is not a text");
}
