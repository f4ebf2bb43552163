//! The result that a change would have, from the server's dry-run, field by field, for people. The
//! server's bookkeeping and our marks are left out.

use setpoint_core::diff::{Difference, diff};
use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;

use crate::request::{FENCED_ANNOTATION, INSTALLATION_LABEL, INTENT_ANNOTATION};
use crate::shape::sealed_data;

/// The fields of an object's metadata that the server maintains.
const KEPT_BY_THE_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// The marks that we put on every object.
const MARKS: [(&str, &str); 3] =
    [("labels", INSTALLATION_LABEL), ("annotations", INTENT_ANNOTATION), ("annotations", FENCED_ANNOTATION)];

/// Returns the differences between the dry-run's result and the live object: `before` is the result
/// and `after` the live value, as in every comparison of a declaration with a live object. Values
/// of a Secret are keyed digests.
pub fn forecast(would_be: &Value, is: &Value, secrets: &DigestKey) -> Vec<Difference> {
    diff(&for_people(would_be, secrets), &for_people(is, secrets))
}

fn for_people(object: &Value, secrets: &DigestKey) -> Value {
    let Value::Map(mut fields) = sealed_data(object, secrets) else { return object.clone() };
    fields.remove("status");
    if let Some(Value::Map(metadata)) = fields.get_mut("metadata") {
        for field in KEPT_BY_THE_SERVER {
            metadata.remove(field);
        }
        for (map, mark) in MARKS {
            let Some(Value::Map(marked)) = metadata.get_mut(map) else { continue };
            marked.remove(mark);
            if marked.iter().next().is_none() {
                metadata.remove(map);
            }
        }
    }
    Value::Map(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::read;

    fn object(text: &str) -> Value {
        read(text.as_bytes()).expect("an object of the test")
    }

    fn shown(would_be: &str, is: &str) -> Vec<String> {
        let key = DigestKey::new([7; 32]);
        forecast(&object(would_be), &object(is), &key).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_the_server_keeps_for_itself_is_not_shown() {
        let is = r#"{"kind":"ConfigMap","metadata":{"name":"a","uid":"1","resourceVersion":"5","generation":1,
            "annotations":{"setpoint.dev/intent":"1-2"},"managedFields":[{"manager":"x"}]},"data":{"a":"1"},"status":{"ready":true}}"#;
        let would_be = r#"{"kind":"ConfigMap","metadata":{"name":"a","uid":"1","resourceVersion":"5","generation":2},"data":{"a":"2"}}"#;
        assert_eq!(shown(would_be, is), [r#"data.a: "2" → "1""#]);
    }

    #[test]
    fn the_marks_of_an_adoption_are_not_shown() {
        let is = r#"{"kind":"ConfigMap","metadata":{"name":"a"}}"#;
        let would_be = r#"{"kind":"ConfigMap","metadata":{"name":"a","labels":{"setpoint.dev/installation":"x"}}}"#;
        assert_eq!(shown(would_be, is), [""; 0]);
    }

    #[test]
    fn values_of_a_secret_are_shown_as_digests() {
        let secret = |value: &str| {
            format!(r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"a"}},"data":{{"p":"{value}"}}}}"#)
        };
        let lines = shown(&secret("aHVudGVyMg=="), &secret("aHVudGVyMw=="));
        assert!(lines.len() == 1 && lines[0].starts_with("data.p: secret:"), "{lines:?}");
        assert!(!lines[0].contains("hunter") && !lines[0].contains("aHVu"), "{lines:?}");
    }
}
