//! Tests of documents that must be refused. The case numbers are those of the project's list of bad
//! input.

use setpoint_documents::{check_unique, read_documents, read_resources};
use setpoint_yaml::Class;

use crate::targets::targets;

fn classes(text: &str) -> Vec<Class> {
    match read_documents("control.yaml", text, &targets()) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(|diagnostic| diagnostic.class).collect(),
    }
}

fn store(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: {{ name: {name} }}\nspec: {{ url: https://git.example/a.git{spec} }}\n"
    )
}

#[test]
fn case_36_an_alias_bomb_in_a_document_is_refused() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, inner) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e"), ("g", "f")] {
        text += &format!("{name}: &{name} [{}]\n", vec![format!("*{inner}"); 10].join(", "));
    }
    assert_eq!(classes(&text), [Class::Limit]);
}

fn bootstrap(webhooks: &str) -> String {
    format!(
        "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n  store: {{ url: /srv/a.git }}\n  server: {{ listen: '127.0.0.1:7070', webhooks: [{webhooks}] }}\n"
    )
}

#[test]
fn two_webhooks_of_one_name_are_refused() {
    let [one, other] = ["one", "other"].map(|name| format!("{{ name: {name}, from: gitea, secretFile: /secret }}"));
    assert_eq!(classes(&bootstrap(&format!("{one}, {other}"))), []);
    assert_eq!(classes(&bootstrap(&format!("{one}, {other}, {one}"))), [Class::Value]);
    assert_eq!(classes(&bootstrap("{ name: one, from: cvs, secretFile: /secret }")), [Class::Value]);
}

#[test]
fn case_37_a_resource_of_depth_100_000_is_refused() {
    let found = read_resources("deep.yaml", &format!("spec: {}", "[".repeat(100_000))).unwrap_err();
    assert_eq!(found.iter().next().map(|diagnostic| diagnostic.class), Some(Class::Limit));
}

#[test]
fn case_38_duplicate_keys_and_strange_tags_are_refused_in_resources() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n";
    for data in ["data: { a: 1, a: 2 }\n", "data: !!python/object {}\n", "data: { yes: 1, true: 2 }\n"] {
        assert!(read_resources("a.yaml", &format!("{head}{data}")).is_err(), "{data}");
    }
}

#[test]
fn case_39_one_broken_document_refuses_the_whole_file() {
    let file = format!("{}---\n{}", store("good", ""), store("bad", ", intervall: 1s"));
    assert_eq!(classes(&file), [Class::Unknown]);
    let manifests = "apiVersion: v1\nkind: A\nmetadata: { name: a }\n---\napiVersion: v1\nkind: A\n";
    assert!(read_resources("a.yaml", manifests).is_err());
}

#[test]
fn case_40_files_without_content_declare_nothing() {
    for text in ["", "# nothing\n", "---\n", "null\n", "\u{feff}---\r\n---\r\n", "~"] {
        assert_eq!(read_documents("empty.yaml", text, &targets()), Ok(Vec::new()), "{text:?}");
        assert_eq!(read_resources("empty.yaml", text), Ok(Vec::new()), "{text:?}");
    }
}

#[test]
fn case_42_the_same_document_twice_is_refused_with_both_places() {
    let file = format!("{}---\n{}", store("a", ""), store("a", ", branch: other"));
    let found = read_documents("stores.yaml", &file, &targets()).unwrap_err().into_vec();
    assert_eq!(found.len(), 1);
    let first = found[0].other.as_ref().map(|(place, _)| place.line);
    assert_eq!((found[0].class, found[0].place.line, first), (Class::Duplicate, 8, Some(3)));
}

#[test]
fn case_42_the_same_document_in_two_files_is_refused() {
    let mut documents = read_documents("one.yaml", &store("a", ""), &targets()).unwrap();
    documents.extend(read_documents("two.yaml", &store("a", ""), &targets()).unwrap());
    let found = check_unique(&documents).unwrap_err().to_string();
    assert!(found.contains("one.yaml:3:19") && found.contains("two.yaml:3:19"), "{found}");
    let scoped = store("a, scope: web", "");
    documents.truncate(1);
    documents.extend(read_documents("two.yaml", &scoped, &targets()).unwrap());
    assert_eq!(check_unique(&documents), Ok(()));
}

#[test]
fn case_42_the_same_resource_twice_is_refused_whatever_its_api_version() {
    let deployment = |version: &str| {
        format!("apiVersion: apps/{version}\nkind: Deployment\nmetadata: {{ name: a, namespace: b }}\n---\n")
    };
    let found = read_resources("a.yaml", &(deployment("v1") + &deployment("v1beta1"))).unwrap_err();
    assert_eq!(found.iter().map(|diagnostic| diagnostic.class).collect::<Vec<_>>(), [Class::Duplicate]);
}

#[test]
fn case_43_deceiving_names_are_refused_and_shown_escaped() {
    for (name, shown) in [
        ("sh\u{202e}op", r"\u{202e}"),
        ("sh\u{43e}p", r"\u{43e}"),
        ("\"sh\\u0007op\"", r"\u{7}"),
        ("sh\u{200b}op", r"\u{200b}"),
    ] {
        for found in [
            read_documents("a.yaml", &store(name, ""), &targets()).unwrap_err(),
            read_resources("a.yaml", &format!("apiVersion: v1\nkind: A\nmetadata: {{ name: {name} }}\n")).unwrap_err(),
        ] {
            let found = found.into_vec();
            assert_eq!((found.len(), found[0].class), (1, Class::Value), "{name:?}");
            assert!(found[0].message.contains(shown) && found[0].message.is_ascii(), "{}", found[0].message);
        }
    }
}

#[test]
fn case_73_a_senseless_interval_is_an_error_of_that_field_only() {
    for interval in ["1ns", "-5s", "9999999h", "\"banana\"", "30", "0s", "", "[1s]", "1e3"] {
        let file =
            format!("{}---\n{}", store("fine", ", interval: 1m"), store("odd", &format!(", interval: {interval}")));
        let found = read_documents("stores.yaml", &file, &targets()).unwrap_err().into_vec();
        assert_eq!((found.len(), found[0].place.line), (1, 9), "{interval}: {found:?}");
    }
    assert_eq!(classes(&store("a", ", interval: 1s")), []);
}

#[test]
fn a_line_of_megabytes_full_of_mistakes_is_refused_in_a_short_message() {
    let fields: String = (0..200_000).map(|n| format!(", x{n}: .inf")).collect();
    let text = format!("apiVersion: v1\nkind: A\nmetadata: {{ name: a{fields} }}\n");
    let found = read_resources("a.yaml", &text).unwrap_err();
    assert!(found.to_string().len() < 50_000);
    let found = read_documents("a.yaml", &store(&format!("a{fields}"), ""), &targets()).unwrap_err();
    assert!(found.to_string().len() < 50_000);
}
