//! Comparison of a live object with our last apply: changes of our fields, and additions of others.

mod additions;
mod dropped;

use std::fmt;

use setpoint_core::value::Value;

pub use additions::{AdditionRule, Additions, additions, additions_among, left_over, leftovers};
pub use dropped::dropped;

use crate::field_set::{FieldSet, path_of};
use crate::path::{Element, FieldPath};
use crate::project::{Baseline, HashKey, Sight, short, walk};

/// A field of ours that is not as we applied it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifted {
    pub path: FieldPath,
    pub how: Change,
}

/// The change of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Changed,
    /// The field no longer exists.
    Gone,
    /// Our items of a list are in another order: this one.
    Reordered {
        items: Vec<Element>,
    },
}

impl fmt::Display for Drifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Change::Changed => "changed",
            Change::Gone => "gone",
            Change::Reordered { .. } => "in another order",
        };
        write!(f, "{} {how}", self.path)
    }
}

/// Returns the differences of an object from its baseline. The result is empty exactly if none of
/// our fields changed. A removed field represents everything below it.
///
/// `ours` and `key` are those of the baseline.
pub fn drifted(object: &Value, ours: &FieldSet, baseline: &Baseline, key: &HashKey) -> Vec<Drifted> {
    let mut hashes = Vec::with_capacity(baseline.leaves.len());
    let mut found = Vec::new();
    walk(&ours.0, Some(object), &mut Vec::new(), &mut |path, node, sight| {
        let hash = key.of(&sight);
        if baseline.leaves.get(hashes.len()) != Some(&short(&hash)) {
            let how = match sight {
                Sight::Absent => Change::Gone,
                Sight::Exists | Sight::Value(_) => Change::Changed,
                Sight::Order(order) => {
                    let item = |at: u32| node.children[at as usize].0.clone();
                    Change::Reordered { items: order.into_iter().map(item).collect() }
                }
            };
            found.push(Drifted { path: path_of(path), how });
        }
        hashes.push(hash);
    });
    if key.whole(&hashes) == baseline.whole {
        return Vec::new();
    }
    if found.is_empty() {
        // Two short hashes happen to be equal: something changed, but the field cannot be
        // determined.
        return ours.leaves().into_iter().map(|path| Drifted { path, how: Change::Changed }).collect();
    }
    without_consequences(found)
}

/// Removes the differences below a removed field, and the order of a list that contained it.
fn without_consequences(mut found: Vec<Drifted>) -> Vec<Drifted> {
    let gone: Vec<FieldPath> =
        found.iter().filter(|drifted| drifted.how == Change::Gone).map(|drifted| drifted.path.clone()).collect();
    found.retain(|drifted| match drifted.how {
        Change::Changed => true,
        Change::Gone => !gone.iter().any(|above| drifted.path != *above && drifted.path.is_within(above)),
        Change::Reordered { .. } => !gone.iter().any(|gone| gone.is_within(&drifted.path)),
    });
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::at;
    use crate::project::baseline;
    use crate::samples::{any_owned_object, deployment, key, read, set};

    fn drift(before: &str, after: &str, fields: &str) -> Vec<String> {
        let ours = set(fields);
        let baseline = baseline(&read(before), &ours, &key());
        drifted(&read(after), &ours, &baseline, &key()).iter().map(ToString::to_string).collect()
    }

    const CONTAINERS: &str = r#"{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{}},"k:{\"name\":\"b\"}":{".":{},"f:image":{},"f:name":{}}}}"#;

    proptest! {
        #[test]
        fn nothing_drifted_exactly_when_projections_are_equal((a, ours) in any_owned_object(), (b, _) in any_owned_object()) {
            let (before, after) = (baseline(&a, &ours, &key()), baseline(&b, &ours, &key()));
            prop_assert_eq!(drifted(&b, &ours, &before, &key()).is_empty(), before == after);
            prop_assert!(drifted(&a, &ours, &before, &key()).is_empty());
        }

        #[test]
        fn what_drifted_is_really_different((a, ours) in any_owned_object(), (b, _) in any_owned_object()) {
            let before = baseline(&a, &ours, &key());
            for drifted in drifted(&b, &ours, &before, &key()) {
                match drifted.how {
                    Change::Changed => prop_assert_ne!(at(&a, &drifted.path), at(&b, &drifted.path)),
                    Change::Gone => prop_assert!(at(&b, &drifted.path).is_none()),
                    Change::Reordered { .. } => prop_assert_ne!(at(&a, &drifted.path), at(&b, &drifted.path)),
                }
            }
        }
    }

    #[test]
    fn an_edit_of_ours_is_named_and_an_edit_beside_is_not() {
        let before = r#"{"c":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}"#;
        let after = r#"{"c":[{"name":"x"},{"name":"a","image":"2","extra":1},{"name":"b","image":"1"}],"d":2}"#;
        assert_eq!(drift(before, after, CONTAINERS), [r#"c[name="a"].image changed"#]);
    }

    #[test]
    fn a_removed_item_is_gone_once_and_not_reordered() {
        let before = r#"{"c":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}"#;
        assert_eq!(drift(before, r#"{"c":[{"name":"b","image":"1"}]}"#, CONTAINERS), [r#"c[name="a"] gone"#]);
    }

    #[test]
    fn our_items_in_another_order_are_told_and_others_between_them_are_not() {
        let before = r#"{"c":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}"#;
        let swapped = r#"{"c":[{"name":"b","image":"1"},{"name":"a","image":"1"}]}"#;
        assert_eq!(drift(before, swapped, CONTAINERS), ["c in another order"]);
        let between = r#"{"c":[{"name":"a","image":"1"},{"name":"x"},{"name":"b","image":"1"}]}"#;
        assert_eq!(drift(before, between, CONTAINERS), [] as [&str; 0]);
    }

    #[test]
    fn an_item_that_is_there_twice_is_not_what_we_applied() {
        let before = r#"{"c":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}"#;
        let twice = r#"{"c":[{"name":"a","image":"1"},{"name":"b","image":"1"},{"name":"b","image":"9"}]}"#;
        assert_eq!(drift(before, twice, CONTAINERS), ["c in another order"]);
    }

    #[test]
    fn class_4_the_servers_own_form_of_a_quantity_is_the_baseline() {
        let stored = r#"{"spec":{"cpu":"100m"}}"#;
        assert_eq!(
            drift(stored, stored, r#"{"f:spec":{"f:cpu":{}}}"#),
            [] as [&str; 0],
            "declared as 0.1, never compared with that"
        );
    }

    #[test]
    fn class_1_and_7_what_the_server_and_webhooks_fill_in_is_not_ours() {
        let fields = r#"{"f:spec":{"f:port":{}}}"#;
        let filled = r#"{"spec":{"port":80,"protocol":"TCP","sidecar":{"image":"x"}}}"#;
        assert_eq!(drift(filled, r#"{"spec":{"port":80,"protocol":"UDP"}}"#, fields), [] as [&str; 0]);
    }

    #[test]
    fn class_2_a_field_the_server_dropped_stays_absent_without_drift() {
        let fields = r#"{"f:spec":{"f:preserveUnknownFields":{}}}"#;
        assert_eq!(drift(r#"{"spec":{}}"#, r#"{"spec":{"other":1}}"#, fields), [] as [&str; 0]);
        let appeared = drift(r#"{"spec":{}}"#, r#"{"spec":{"preserveUnknownFields":true}}"#, fields);
        assert_eq!(appeared, ["spec.preserveUnknownFields changed"]);
    }

    #[test]
    fn class_6_lists_that_controllers_reorder_are_compared_by_key() {
        let fields = r#"{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}"#;
        let (one, other) =
            (r#"{"webhooks":[{"name":"a"},{"name":"z"}]}"#, r#"{"webhooks":[{"name":"z"},{"name":"a"}]}"#);
        assert_eq!(drift(one, other, fields), [] as [&str; 0]);
    }

    #[test]
    fn class_6_members_of_a_set_have_no_order() {
        let fields = r#"{"f:f":{"v:\"a\"":{},"v:\"b\"":{}}}"#;
        assert_eq!(drift(r#"{"f":["a","b"]}"#, r#"{"f":["b","x","a"]}"#, fields), [] as [&str; 0]);
        assert_eq!(drift(r#"{"f":["a","b"]}"#, r#"{"f":["b"]}"#, fields), [r#"f[="a"] gone"#]);
    }

    #[test]
    fn class_9_the_same_port_twice_is_two_items() {
        let fields = r#"{"f:p":{"k:{\"port\":53,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:name":{}}}}"#;
        let before = r#"{"p":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","name":"d"}]}"#;
        let after = r#"{"p":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","name":"e"}]}"#;
        assert_eq!(drift(before, before, fields), [] as [&str; 0]);
        assert_eq!(drift(before, after, fields), [r#"p[port=53,protocol="UDP"].name changed"#]);
    }

    #[test]
    fn class_13_status_is_never_compared() {
        let object = deployment();
        let entries = crate::managed::managed_fields(&object).unwrap();
        let ours = crate::managed::applied_by(&entries, "setpoint-one").unwrap().fields.clone();
        let taken = baseline(&object, &ours, &key());
        let Value::Map(mut fields) = object else { panic!("an object") };
        fields.insert("status".into(), Value::str("other"));
        assert_eq!(drifted(&Value::Map(fields), &ours, &taken, &key()), []);
    }

    #[test]
    fn class_22_a_number_is_its_value() {
        let fields = r#"{"f:spec":{"f:n":{}}}"#;
        assert_eq!(drift(r#"{"spec":{"n":1}}"#, r#"{"spec":{"n":1.0}}"#, fields), [] as [&str; 0]);
        let near = drift(r#"{"spec":{"n":9007199254740993}}"#, r#"{"spec":{"n":9007199254740992}}"#, fields);
        assert_eq!(near, ["spec.n changed"]);
    }
}
