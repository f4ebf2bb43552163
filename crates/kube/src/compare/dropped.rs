//! What we hold of an object and no longer declare. Where nothing is remembered of the declaration
//! before, the server still knows: it is in our entry of the object, and not in that of the answer
//! to a dry-run.

use setpoint_core::value::Value;

use super::additions::tops;
use crate::field_set::FieldSet;
use crate::managed::{ManagedFields, applied_by};
use crate::path::{FieldPath, at};
use crate::pattern::FieldPattern;
use crate::project::marks;

/// The topmost of what we hold and would let go of, where the object would not stay as it is: what
/// others hold too stays, and is left over.
///
/// `answer` is what applying the declaration would give, `ours` what would be ours by it;
/// `not_ours` is left to others.
pub fn dropped(
    object: &Value,
    entries: &[ManagedFields],
    answer: &Value,
    ours: &FieldSet,
    manager: &str,
    not_ours: &[FieldPattern],
) -> Vec<FieldPath> {
    let Some(entry) = applied_by(entries, manager) else { return Vec::new() };
    let ours = ours.compared();
    let undeclared = entry.fields.without(&marks()).without(not_ours).difference(&ours);
    let goes = |path: &FieldPath| {
        let is = at(object, path).filter(|value| **value != Value::Null);
        is.is_some() && is != at(answer, path)
    };
    tops(&undeclared, &ours).into_iter().filter(goes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::managed_fields;
    use crate::samples::{read, set};

    /// What goes, if `held` is ours of `live` and only `declared` would be of `answer`.
    fn goes(live: &str, held: &str, answer: &str, declared: &str, left: &[FieldPattern]) -> Vec<String> {
        let entry = format!(r#"{{"manager":"setpoint-one","operation":"Apply","apiVersion":"v1","fieldsV1":{held}}}"#);
        let live = format!(r#"{{"metadata":{{"name":"x","managedFields":[{entry}]}},{live}}}"#);
        let (live, answer) = (read(&live), read(&format!("{{{answer}}}")));
        let entries = managed_fields(&live).unwrap();
        let dropped = dropped(&live, &entries, &answer, &set(declared), "setpoint-one", left);
        dropped.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_held_and_no_longer_declared_goes_as_a_whole() {
        let held = r#"{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"b\"}":{".":{},"f:image":{},"f:name":{}}},"f:n":{"f:x":{},"f:y":{}}}"#;
        let declared = r#"{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:n":{"f:x":{}}}"#;
        let live = r#""c":[{"name":"a"},{"name":"b","image":"1"}],"n":{"x":1,"y":2}"#;
        assert_eq!(goes(live, held, r#""c":[{"name":"a"}],"n":{"x":1}"#, declared, &[]), [r#"c[name="b"]"#, "n.y"]);
    }

    #[test]
    fn what_others_hold_too_stays_and_a_default_that_comes_back_is_a_change() {
        let held = r#"{"f:a":{},"f:type":{}}"#;
        assert_eq!(goes(r#""a":1,"type":"Node""#, held, r#""a":1,"type":"Cluster""#, "{}", &[]), ["type"]);
        assert_eq!(goes(r#""a":1,"type":"Cluster""#, held, r#""a":1,"type":"Cluster""#, "{}", &[]), [] as [&str; 0]);
    }

    #[test]
    fn what_is_left_to_others_and_what_is_not_there_is_nothing_to_let_go_of() {
        let held = r#"{"f:a":{},"f:b":{},"f:c":{}}"#;
        assert_eq!(goes(r#""b":null,"c":1"#, held, "", "{}", &["c".parse().unwrap()]), [] as [&str; 0]);
    }
}
