//! Fields that we own and no longer declare. They are found without a record of the previous
//! declaration: our entry of the live object still has them, and our entry in the response to a
//! dry-run does not.

use setpoint_core::value::Value;

use super::additions::tops;
use crate::field_set::FieldSet;
use crate::managed::{ManagedFields, applied_by};
use crate::path::{FieldPath, at};
use crate::pattern::FieldPattern;
use crate::project::marks;

/// Returns the topmost fields that we own and would give up, if the object would change by that.
/// Fields that others own too would stay, and are left over.
///
/// `answer` is the result of applying the declaration, `ours` are our fields after it; `not_ours`
/// is left to others.
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

    /// Returns the removed paths, if `held` is ours of `live` and only `declared` would be of
    /// `answer`.
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
