//! Checks of declared objects, before a version is accepted. So a user learns of an error before an
//! app is half applied, and nothing in a source can pose as the server's data or as ours.

mod names;

use setpoint_core::canonical;
use setpoint_core::value::Value;

use crate::object;

/// A problem of a declared object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as `metadata.name`; empty for the whole object.
    pub path: String,
    /// The problem, without the field's name.
    pub message: String,
    /// The correction.
    pub hint: String,
}

impl Problem {
    fn new(path: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into(), hint: hint.into() }
    }
}

/// The maximum size of an object in etcd.
const MOST_BYTES: usize = 1_536 * 1024;

/// Returns all problems that keep an object from being declared.
pub fn check(api_version: &str, kind: &str, body: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    names::check_type(api_version, kind, &mut problems);
    if is_list(kind, body) {
        let hint = "declare its items one by one";
        problems.push(Problem::new("kind", format!("a {kind} is not an object but a list of them"), hint));
        return problems;
    }
    match body.get("metadata") {
        Some(metadata @ Value::Map(_)) => {
            names::check_names(api_version, kind, metadata, &mut problems);
            check_metadata(metadata, &mut problems);
        }
        _ => problems.push(Problem::new("metadata", "it is missing or not a map", "add it with a `name`")),
    }
    let bytes = object::write(body).map_or_else(|_| canonical::to_bytes(body).len(), |bytes| bytes.len());
    if bytes > MOST_BYTES {
        let message = format!("the object has {bytes} bytes, and a cluster takes at most {MOST_BYTES}");
        problems.push(Problem::new("", message, "split it, or keep its content elsewhere"));
    }
    problems
}

/// The fields of `metadata` that no source may set, each with the reason.
///
/// Fields that the server merely ignores are left out and noted instead ([`notes`]): people export
/// objects, and nothing is lost by leaving these fields out.
const REFUSED: [(&str, &str, &str); 7] = [
    ("generateName", "every apply would create one more object", "give it a `name`"),
    (
        "uid",
        "the server would take it as a condition: only the object with this UID could ever be changed",
        "remove it",
    ),
    ("resourceVersion", "the server would take it as a condition: the object could be changed only once", "remove it"),
    ("managedFields", "only the server may record the managers of fields", "remove it"),
    (
        "ownerReferences",
        "they name a UID of one cluster, and the object would be deleted with its owner",
        "remove them; use `dependsOn` for order",
    ),
    ("deletionTimestamp", "it is set by deleting the object", "remove it, or the document"),
    ("deletionGracePeriodSeconds", "it is set by deleting the object", "remove it"),
];

fn check_metadata(metadata: &Value, problems: &mut Vec<Problem>) {
    for (field, message, hint) in REFUSED {
        if metadata.get(field).is_some_and(|value| *value != Value::Null) {
            problems.push(Problem::new(&format!("metadata.{field}"), message, hint));
        }
    }
    names::check_texts(metadata, "labels", problems);
    names::check_texts(metadata, "annotations", problems);
    check_finalizers(metadata, problems);
}

/// Checks finalizers. Those of controllers are allowed: many declare them to make a controller
/// clean up. Those of the server itself are orders for one deletion, and would turn every later one
/// into another kind of deletion.
fn check_finalizers(metadata: &Value, problems: &mut Vec<Problem>) {
    let finalizers = match metadata.get("finalizers") {
        None | Some(Value::Null) => return,
        Some(Value::Seq(finalizers)) => finalizers.as_slice(),
        Some(_) => &[Value::Null],
    };
    for finalizer in finalizers {
        let problem = match finalizer.as_str() {
            Some("foregroundDeletion" | "orphan") => "it is an order for a deletion and not a property of the object",
            Some(name) if name.contains('/') => continue,
            Some(_) => "a finalizer is named after its controller, as `example.com/cleanup`",
            None => "finalizers are a list of names",
        };
        problems.push(Problem::new(
            "metadata.finalizers",
            problem,
            "remove it, or name the controller that removes it",
        ));
    }
}

/// Reports whether a document is a list. Readers of documents split lists into their items; an
/// unsplit one would hide them.
fn is_list(kind: &str, body: &Value) -> bool {
    kind.ends_with("List") && matches!(body.get("items"), Some(Value::Seq(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        object::read(text.as_bytes()).unwrap()
    }

    fn told(text: &str) -> Vec<String> {
        let body = read(text);
        let (api_version, kind) = (object::api_version(&body).unwrap_or(""), object::kind(&body).unwrap_or(""));
        check(api_version, kind, &body).into_iter().map(|problem| problem.path).collect()
    }

    fn config_map(metadata: &str) -> String {
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a",{metadata}}}}}"#)
    }

    #[test]
    fn an_ordinary_object_is_fine() {
        let metadata = r#""namespace":"web","labels":{"app.kubernetes.io/name":"a"},"annotations":{"x":"1"},
            "creationTimestamp":null,"finalizers":["example.com/cleanup"]"#;
        assert_eq!(told(&config_map(metadata)), [] as [&str; 0]);
    }

    #[test]
    fn case_46_what_is_the_servers_is_refused_field_by_field() {
        for (field, value) in [
            ("generateName", r#""a-""#),
            ("uid", r#""u""#),
            ("resourceVersion", r#""1""#),
            ("managedFields", "[]"),
            ("ownerReferences", r#"[{"uid":"u"}]"#),
            ("deletionTimestamp", r#""2026-11-15T10:00:00Z""#),
        ] {
            assert_eq!(told(&config_map(&format!(r#""{field}":{value}"#))), [format!("metadata.{field}")]);
        }
        assert_eq!(told(&config_map(r#""finalizers":["orphan"]"#)), ["metadata.finalizers"]);
        assert_eq!(told(&config_map(r#""finalizers":["cleanup",7]"#)).len(), 2);
    }

    #[test]
    fn case_47_our_marks_cannot_be_forged() {
        assert_eq!(told(&config_map(r#""labels":{"setpoint.dev/installation":"x"}"#)), ["metadata.labels"]);
        assert_eq!(told(&config_map(r#""annotations":{"setpoint.dev/intent":"1-1"}"#)), ["metadata.annotations"]);
        assert_eq!(told(&config_map(r#""annotations":{"x.setpoint.dev/y":"1-1"}"#)), ["metadata.annotations"]);
        assert_eq!(told(&config_map(r#""annotations":{"notsetpoint.dev/y":"1"}"#)), [] as [&str; 0]);
    }

    #[test]
    fn a_wave_is_a_whole_number_in_an_annotation() {
        for fine in ["0", "-12", "7"] {
            assert_eq!(
                told(&config_map(&format!(r#""annotations":{{"setpoint.dev/wave":"{fine}"}}"#))),
                [] as [&str; 0]
            );
        }
        for wrong in [r#""annotations":{"setpoint.dev/wave":"late"}"#, r#""annotations":{"setpoint.dev/wave":1}"#] {
            assert_eq!(told(&config_map(wrong)), ["metadata.annotations"]);
        }
        assert_eq!(told(&config_map(r#""labels":{"setpoint.dev/wave":"1"}"#)), ["metadata.labels"]);
    }

    #[test]
    fn case_48_an_object_that_no_cluster_takes_is_refused_with_its_size() {
        let body = read(&format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#,
            "x".repeat(MOST_BYTES)
        ));
        let problems = check("v1", "ConfigMap", &body);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.contains("at most 1572864"), "{}", problems[0].message);
    }

    #[test]
    fn case_41_a_list_that_nobody_took_apart_is_not_applied() {
        assert_eq!(told(r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"ClusterRoleBinding"}]}"#), ["kind"]);
        let not_a_list = r#"{"apiVersion":"example.com/v1","kind":"AllowList","metadata":{"name":"a"},"spec":{}}"#;
        assert_eq!(told(not_a_list), [] as [&str; 0]);
    }

    #[test]
    fn an_object_without_metadata_says_so() {
        assert_eq!(told(r#"{"apiVersion":"v1","kind":"ConfigMap"}"#), ["metadata"]);
    }
}
