//! Objects as the server sends them: plain values, with accessors for common fields of `metadata`.

use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;

use crate::json;
pub use crate::json::{NotJson, NotPlain};

/// The error for bytes that are not one object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnObject {
    #[error("the response cannot be read")]
    NotJson { source: NotJson },
    #[error("the response is not an object but {what}; check that the address is that of an API server")]
    Other { what: &'static str },
}

/// Reads an object of the server: exact numbers, a depth of at most 128, and nothing in it is read
/// as one of our tagged forms.
pub fn read(bytes: &[u8]) -> Result<Value, NotAnObject> {
    match json::read(bytes).map_err(|source| NotAnObject::NotJson { source })? {
        object @ Value::Map(_) => Ok(object),
        Value::Null => Err(NotAnObject::Other { what: "null" }),
        Value::Seq(_) => Err(NotAnObject::Other { what: "a list" }),
        _ => Err(NotAnObject::Other { what: "a single value" }),
    }
}

/// Reads any JSON value the same way.
pub fn read_value(bytes: &[u8]) -> Result<Value, NotJson> {
    json::read(bytes)
}

/// Writes plain JSON, as the server accepts it. Secrets and deferred values have no such form.
pub fn write(value: &Value) -> Result<Vec<u8>, NotPlain> {
    json::write(value)
}

/// Returns the value at a chain of fields.
pub fn at<'v>(object: &'v Value, fields: &[&str]) -> Option<&'v Value> {
    fields.iter().try_fold(object, |value, field| value.get(field))
}

fn text<'v>(object: &'v Value, fields: &[&str]) -> Option<&'v str> {
    at(object, fields)?.as_str()
}

pub fn api_version(object: &Value) -> Option<&str> {
    text(object, &["apiVersion"])
}

pub fn kind(object: &Value) -> Option<&str> {
    text(object, &["kind"])
}

pub fn name(object: &Value) -> Option<&str> {
    text(object, &["metadata", "name"])
}

pub fn namespace(object: &Value) -> Option<&str> {
    text(object, &["metadata", "namespace"])
}

pub fn uid(object: &Value) -> Option<&str> {
    text(object, &["metadata", "uid"])
}

/// Returns the resource version. Compare it for equality only: it has no order that clients may
/// use.
pub fn resource_version(object: &Value) -> Option<&str> {
    text(object, &["metadata", "resourceVersion"])
}

pub fn generation(object: &Value) -> Option<i64> {
    number(object, &["metadata", "generation"])
}

/// Returns the whole number at a path of fields.
pub fn number(object: &Value, fields: &[&str]) -> Option<i64> {
    match at(object, fields)? {
        Value::Num(number) => number.as_i128()?.try_into().ok(),
        _ => None,
    }
}

/// Returns the time when its deletion began.
pub fn deletion_timestamp(object: &Value) -> Option<&str> {
    text(object, &["metadata", "deletionTimestamp"])
}

/// Returns the finalizers, which have to be removed before an object that is being deleted
/// disappears.
pub fn finalizers(object: &Value) -> Vec<&str> {
    match at(object, &["metadata", "finalizers"]) {
        Some(Value::Seq(finalizers)) => finalizers.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns the creation time.
pub fn created(object: &Value) -> Option<Timestamp> {
    instant(text(object, &["metadata", "creationTimestamp"])?)
}

/// Reads `2026-11-15T10:00:00Z`, the only form in which the server writes the times of its
/// metadata.
fn instant(text: &str) -> Option<Timestamp> {
    let form = text.len() == 20 && text.is_ascii() && text.ends_with('Z') && &text[10..11] == "T";
    let number = |from: usize, to: usize| text[from..to].parse::<u64>().ok();
    let (year, month, day) = if form { (number(0, 4)?, number(5, 7)?, number(8, 10)?) } else { return None };
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let sound = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !sound || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Counted from March, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let seconds = (days - DAYS_BEFORE_1970) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Timestamp::from_millis(seconds * 1_000))
}

pub fn label<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    text(object, &["metadata", "labels", name])
}

pub fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    text(object, &["metadata", "annotations", name])
}

/// Another object that controls this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'v> {
    pub api_version: &'v str,
    pub kind: &'v str,
    pub name: &'v str,
    pub uid: &'v str,
}

/// Returns the owner reference with `controller: true`.
pub fn controller(object: &Value) -> Option<Owner<'_>> {
    let Value::Seq(owners) = at(object, &["metadata", "ownerReferences"])? else { return None };
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let field = |name| text(owner, &[name]).unwrap_or_default();
    Some(Owner { api_version: field("apiVersion"), kind: field("kind"), name: field("name"), uid: field("uid") })
}

/// Returns the UIDs of the object's owners, the controller's first.
pub fn owners(object: &Value) -> Vec<&str> {
    let Some(Value::Seq(owners)) = at(object, &["metadata", "ownerReferences"]) else { return Vec::new() };
    let mut owners: Vec<&Value> = owners.iter().collect();
    owners.sort_by_key(|owner| owner.get("controller") != Some(&Value::Bool(true)));
    owners.into_iter().filter_map(|owner| text(owner, &["uid"])).collect()
}

/// Reports whether this is a Job that has finished, successfully or not, and has a time to live:
/// its controller will remove it.
pub fn has_run_out(object: &Value) -> bool {
    let Some(Value::Seq(conditions)) = at(object, &["status", "conditions"]) else { return false };
    let holds = |condition: &Value| {
        let field = |name: &str| condition.get(name).and_then(Value::as_str);
        matches!(field("type"), Some("Complete" | "Failed" | "FailureTarget")) && field("status") == Some("True")
    };
    time_to_live(object).is_some() && conditions.iter().any(holds)
}

/// Returns the time that a Job stays after it has finished, if its controller then removes it.
pub fn time_to_live(object: &Value) -> Option<Span> {
    let is_job = text(object, &["kind"]) == Some("Job")
        && text(object, &["apiVersion"]).is_some_and(|of| of.starts_with("batch/"));
    let seconds = at(object, &["spec", "ttlSecondsAfterFinished"]).filter(|_| is_job)?;
    let seconds = match seconds {
        Value::Num(seconds) => seconds.as_i128().and_then(|seconds| u32::try_from(seconds).ok()),
        _ => None,
    };
    Some(seconds.map_or(Span::ZERO, |seconds| Span::seconds(seconds.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_server_is_an_instant() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2026-11-15T12:00:00Z", 1_794_744_000),
        ] {
            assert_eq!(instant(text), Some(Timestamp::from_millis(seconds * 1_000)), "{text}");
        }
        for text in [
            "",
            "2026-11-15",
            "2026-13-15T12:00:00Z",
            "2026-11-15T12:00:00+",
            "1969-12-31T23:59:59Z",
            "ä026-11-15T12:00:00",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn the_owner_that_controls_comes_first() {
        let object = read(br#"{"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"b","controller":true}]}}"#).unwrap();
        assert_eq!(owners(&object), ["b", "a"]);
        assert!(owners(&Value::Null).is_empty());
    }

    #[test]
    fn the_fields_that_identify_an_object_are_found() {
        let object = read(
            br#"{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"shop-1","namespace":"web","uid":"u1","resourceVersion":"42",
            "generation":3,"labels":{"a.b/c":"d"},"deletionTimestamp":"2026-11-15T10:00:00Z",
            "ownerReferences":[{"kind":"Other","name":"o","uid":"u9"},{"apiVersion":"apps/v1","kind":"Deployment","name":"shop","uid":"u0","controller":true}]}}"#,
        )
        .unwrap();
        assert_eq!((api_version(&object), kind(&object)), (Some("apps/v1"), Some("ReplicaSet")));
        assert_eq!((name(&object), namespace(&object), uid(&object)), (Some("shop-1"), Some("web"), Some("u1")));
        assert_eq!((resource_version(&object), generation(&object)), (Some("42"), Some(3)));
        assert_eq!((label(&object, "a.b/c"), annotation(&object, "x")), (Some("d"), None));
        assert_eq!(deletion_timestamp(&object), Some("2026-11-15T10:00:00Z"));
        assert_eq!(controller(&object).map(|owner| (owner.kind, owner.uid)), Some(("Deployment", "u0")));
    }

    #[test]
    fn an_owner_that_does_not_control_is_not_a_controller() {
        let object = read(br#"{"metadata":{"ownerReferences":[{"kind":"App","controller":false}]}}"#).unwrap();
        assert_eq!(controller(&object), None);
    }

    #[test]
    fn an_answer_that_is_no_object_says_what_it_is() {
        assert_eq!(read(b"[]"), Err(NotAnObject::Other { what: "a list" }));
        assert!(matches!(read(b"<html>"), Err(NotAnObject::NotJson { .. })));
    }
}
