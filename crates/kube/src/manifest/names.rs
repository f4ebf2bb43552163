//! The rules for names, labels and annotations that every API server has.

use setpoint_core::value::Value;

use super::Problem;
use crate::key::group_of;
use crate::order::WAVE_ANNOTATION;

/// The server's limit for all annotations of an object together.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

pub(super) fn check_type(api_version: &str, kind: &str, problems: &mut Vec<Problem>) {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if version.is_empty()
        || !is_label(version)
        || !(group.is_empty() && !api_version.contains('/') || is_subdomain(group))
    {
        problems.push(Problem::new("apiVersion", "it is not the version of an API", "write it as `v1` or `apps/v1`"));
    }
    if kind.is_empty() || kind.len() > 63 || !kind.bytes().all(|b| b.is_ascii_alphanumeric()) {
        problems.push(Problem::new("kind", "it is not the name of a kind", "write it as `ConfigMap`"));
    }
}

pub(super) fn check_names(api_version: &str, kind: &str, metadata: &Value, problems: &mut Vec<Problem>) {
    match metadata.get("name") {
        // `generateName` is reported instead of the name that is missing because of it.
        None | Some(Value::Null) if metadata.get("generateName").is_some() => {}
        Some(Value::Str(name)) => {
            if let Some((problem, hint)) = name_problem(group_of(api_version), kind, name) {
                problems.push(Problem::new("metadata.name", problem, hint));
            }
        }
        None | Some(Value::Null) => problems.push(Problem::new("metadata.name", "it is missing", "add it")),
        Some(_) => problems.push(Problem::new("metadata.name", "it is not a text", "put it in quotes")),
    }
    match metadata.get("namespace") {
        None | Some(Value::Null) => {}
        Some(Value::Str(namespace)) if namespace.is_empty() || is_label(namespace) => {}
        Some(_) => problems.push(Problem::new("metadata.namespace", "it is not the name of a namespace", LABEL_HINT)),
    }
}

const LABEL_HINT: &str =
    "use at most 63 lower-case letters, digits and `-`, beginning and ending with a letter or digit";
const SUBDOMAIN_HINT: &str =
    "use at most 253 lower-case letters, digits, `-` and `.`, each part beginning and ending with a letter or digit";

/// Returns the problem of a name, and the correction. Most names end up in DNS or in paths; those
/// of roles do not.
fn name_problem(group: &str, kind: &str, name: &str) -> Option<(&'static str, &'static str)> {
    match (group, kind) {
        ("rbac.authorization.k8s.io", _) => {
            let bad = name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '%']);
            bad.then_some(("it cannot be part of a path", "use a name without `/` and `%`"))
        }
        ("", "Namespace" | "Service") => (!is_label(name)).then_some(("it is not a DNS label", LABEL_HINT)),
        _ => (!is_subdomain(name)).then_some(("it is not a DNS name", SUBDOMAIN_HINT)),
    }
}

/// Reports whether a text is a DNS label (RFC 1123).
fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Reports whether a text is a DNS name. Its parts may be longer than a label, as in Kubernetes.
fn is_subdomain(text: &str) -> bool {
    let part = |part: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

/// Reports whether a text is valid as the second part of a label's name, or as its value.
fn is_qualified(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= 63 && bytes.iter().all(|b| inner(*b)) && ends(bytes.first()) && ends(bytes.last())
}

fn is_ours(name: &str) -> bool {
    let Some((domain, _)) = name.split_once('/') else { return false };
    domain == "setpoint.dev" || domain.ends_with(".setpoint.dev")
}

/// Checks `labels` or `annotations`.
pub(super) fn check_texts(metadata: &Value, map: &str, problems: &mut Vec<Problem>) {
    let path = format!("metadata.{map}");
    let texts = match metadata.get(map) {
        None | Some(Value::Null) => return,
        Some(Value::Map(texts)) => texts,
        Some(_) => return problems.push(Problem::new(&path, "it is not a map", "write each as `name: \"text\"`")),
    };
    let mut bytes = 0;
    for (name, value) in texts.iter() {
        let mut add = |message: String, hint: &str| problems.push(Problem::new(&path, message, hint));
        if **name == *WAVE_ANNOTATION && map == "annotations" {
            if value.as_str().is_some_and(|wave| wave.parse::<i32>().is_err()) {
                add(format!("the value of `{name}` is not a whole number"), "write it as `\"-1\"` or `\"2\"`");
            }
        } else if is_ours(name) {
            add(format!("only Setpoint sets `{name}`"), "remove it: ownership is recorded, not read from objects");
        } else if !is_name_of_text(name, map) {
            add(format!("`{}` is not a name", name.escape_debug()), "write it as `name` or `example.com/name`");
        }
        match value {
            Value::Str(text) if map == "labels" && !text.is_empty() && !is_qualified(text) => {
                add(format!("the value of `{}` cannot be a label", name.escape_debug()), LABEL_VALUE_HINT);
            }
            Value::Str(text) => bytes += name.len() + text.len(),
            Value::Secret(_) | Value::Deferred(_) => {}
            _ => add(format!("the value of `{}` is not a text", name.escape_debug()), "put it in quotes"),
        }
    }
    if map == "annotations" && bytes > MOST_ANNOTATION_BYTES {
        let message = format!("they have {bytes} bytes, and a cluster takes at most {MOST_ANNOTATION_BYTES}");
        problems.push(Problem::new(&path, message, "keep large content elsewhere"));
    }
}

const LABEL_VALUE_HINT: &str = "use at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit; or make it an annotation";

/// Reports whether the name of a label or annotation is valid. Names of annotations are compared
/// without regard to case, so their domain may have capitals.
fn is_name_of_text(name: &str, map: &str) -> bool {
    match name.split_once('/') {
        None => is_qualified(name),
        Some((domain, rest)) if map == "annotations" => is_subdomain(&domain.to_lowercase()) && is_qualified(rest),
        Some((domain, rest)) => is_subdomain(domain) && is_qualified(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::check;
    use crate::object;

    fn told(api_version: &str, kind: &str, metadata: &str) -> Vec<String> {
        let body = object::read(format!(r#"{{"metadata":{metadata}}}"#).as_bytes()).unwrap();
        check(api_version, kind, &body)
            .into_iter()
            .map(|problem| format!("{}: {}", problem.path, problem.message))
            .collect()
    }

    #[test]
    fn names_follow_the_rules_of_their_kind() {
        for (api_version, kind, good, bad) in [
            ("v1", "ConfigMap", "a.b-c", "A_b"),
            ("v1", "Namespace", "web", "web.shop"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", "system:node", "a/b"),
            ("example.com/v1alpha1", "Thing", "a.b", "a..b"),
        ] {
            assert_eq!(told(api_version, kind, &format!(r#"{{"name":"{good}"}}"#)), [] as [&str; 0], "{good}");
            assert_eq!(told(api_version, kind, &format!(r#"{{"name":"{bad}"}}"#)).len(), 1, "{bad}");
        }
        assert_eq!(told("v1", "ConfigMap", "{}"), ["metadata.name: it is missing"]);
        assert_eq!(told("v1", "ConfigMap", r#"{"name":7}"#), ["metadata.name: it is not a text"]);
        assert_eq!(told("v1", "ConfigMap", r#"{"name":"a","namespace":"A"}"#).len(), 1);
        assert_eq!(told("v1", "ConfigMap", &format!(r#"{{"name":"{}"}}"#, "a".repeat(254))).len(), 1);
    }

    #[test]
    fn versions_and_kinds_are_names() {
        let name = r#"{"name":"a"}"#;
        for api_version in ["", "/v1", "apps/", "apps/v1/x", "Apps/v1", "v1 "] {
            assert_eq!(
                told(api_version, "ConfigMap", name),
                ["apiVersion: it is not the version of an API"],
                "{api_version}"
            );
        }
        assert_eq!(told("v1", "Config-Map", name), ["kind: it is not the name of a kind"]);
    }

    #[test]
    fn a_label_that_yaml_made_a_boolean_is_told() {
        assert_eq!(
            told("v1", "ConfigMap", r#"{"name":"a","labels":{"on":true}}"#),
            ["metadata.labels: the value of `on` is not a text"]
        );
        assert_eq!(told("v1", "ConfigMap", r#"{"name":"a","labels":{"a":"b c"}}"#).len(), 1);
        assert_eq!(told("v1", "ConfigMap", r#"{"name":"a","annotations":{"a":"b c","Example.com/x":""}}"#).len(), 0);
        assert_eq!(told("v1", "ConfigMap", r#"{"name":"a","labels":{"a/b/c":""}}"#).len(), 1);
    }

    #[test]
    fn too_many_annotations_are_told_with_their_size() {
        let metadata = format!(r#"{{"name":"a","annotations":{{"x":"{}"}}}}"#, "y".repeat(MOST_ANNOTATION_BYTES));
        assert!(told("v1", "ConfigMap", &metadata)[0].contains("262145 bytes"));
    }
}
