//! Live objects in the shape of their declaration: the declared body, with live values only where
//! something differs. So the comparison that follows shows the differences that a person would see,
//! in the terms of the person's own document.

pub(crate) mod edit;
mod moved;
mod sealed;

use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;

pub use moved::moved;

use crate::compare::{Change, Drifted};
use crate::path::{FieldPath, at};
use sealed::Sealing;
pub(crate) use sealed::sealed_data;

/// Returns the declared body with live values at the drifted paths, without the removed fields, and
/// with the additions. Values of a Secret become keyed digests.
///
/// The result is equal to `declared` if nothing drifted, and also if each drifted live value is now
/// literally the declared one and no longer the server's form of it.
pub fn in_declared_shape(
    declared: &Value,
    live: &Value,
    drifted: &[Drifted],
    additions: &[FieldPath],
    secrets: &DigestKey,
) -> Value {
    let sealing = Sealing::new(declared, secrets);
    let mut shaped = declared.clone();
    for Drifted { path, .. } in drifted.iter().filter(|drifted| drifted.how == Change::Changed) {
        if let Some(value) = at(live, path) {
            put(&mut shaped, path, value, &sealing);
        }
    }
    // From the end, so that earlier positions stay the same.
    for Drifted { path, .. } in drifted.iter().rev().filter(|drifted| at(live, &drifted.path).is_none()) {
        edit::remove(&mut shaped, &sealing.place(path).0);
    }
    for Drifted { path, how } in drifted {
        if let Change::Reordered { items } = how {
            edit::reorder(&mut shaped, path, items);
        }
    }
    for path in additions {
        if let Some(value) = at(live, path) {
            put(&mut shaped, path, value, &sealing);
        }
    }
    shaped
}

fn put(shaped: &mut Value, path: &FieldPath, live: &Value, sealing: &Sealing<'_>) {
    let place = sealing.place(path);
    if sealing.is_declared(&place, live) {
        return;
    }
    let value = sealing.shown(&place, live);
    edit::put(shaped, &place.0, value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::drifted;
    use crate::field_set::FieldSet;
    use crate::object;
    use crate::project::baseline;
    use crate::samples::{any_owned_object, digest_key, key};
    use setpoint_core::diff::diff;

    fn read(text: &str) -> Value {
        object::read(text.as_bytes()).unwrap()
    }

    fn shown(declared: &str, applied: &str, live: &str, fields: &str, additions: &[&str]) -> Vec<String> {
        let (declared, live) = (read(declared), read(live));
        let ours = FieldSet::from_bytes(fields.as_bytes()).unwrap();
        let drift = drifted(&live, &ours, &baseline(&read(applied), &ours, &key()), &key());
        let additions: Vec<FieldPath> = additions.iter().map(|path| path.parse().unwrap()).collect();
        let shaped = in_declared_shape(&declared, &live, &drift, &additions, &digest_key());
        diff(&declared, &shaped).iter().map(ToString::to_string).collect()
    }

    proptest! {
        #[test]
        fn an_object_in_place_has_the_declared_body((live, ours) in any_owned_object(), declared in any_owned_object()) {
            let drift = drifted(&live, &ours, &baseline(&live, &ours, &key()), &key());
            prop_assert_eq!(&in_declared_shape(&declared.0, &live, &drift, &[], &digest_key()), &declared.0);
        }

        #[test]
        fn a_drifted_value_is_shown_as_it_is((before, ours) in any_owned_object(), (live, _) in any_owned_object()) {
            let drift = drifted(&live, &ours, &baseline(&before, &ours, &key()), &key());
            let shaped = in_declared_shape(&before, &live, &drift, &[], &digest_key());
            for Drifted { path, how } in drift.iter().filter(|drifted| matches!(drifted.how, Change::Gone)) {
                prop_assert!(at(&shaped, path).is_none(), "{path} {how:?}");
            }
            prop_assert_eq!(shaped != before, !drift.is_empty());
        }
    }

    #[test]
    fn a_secret_that_says_what_is_declared_is_no_drift_whatever_was_recorded_of_it() {
        let declared = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"MQ=="},"stringData":{"b":"2"}}"#;
        let live = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"MQ==","b":"Mg=="}}"#;
        let rewritten = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"WA==","b":"WA=="}}"#;
        let fields = r#"{"f:data":{"f:a":{},"f:b":{}}}"#;
        assert_eq!(shown(declared, rewritten, live, fields, &[]), [] as [String; 0]);
        let differences = shown(declared, live, rewritten, fields, &[]);
        assert_eq!(differences.len(), 2);
        assert!(differences.iter().all(|text| !text.contains("WA==") && !text.contains("MQ==")), "{differences:?}");
    }

    const PORTS: &str = r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:name":{}},
        "k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#;
    const DECLARED: &str = r#"{"spec":{"ports":[{"port":80,"name":"web"},{"port":81}]}}"#;
    const APPLIED: &str =
        r#"{"spec":{"ports":[{"port":80,"name":"web","protocol":"TCP","nodePort":7},{"port":81,"protocol":"TCP"}]}}"#;

    #[test]
    fn a_difference_is_shown_where_the_person_wrote_it() {
        let live = APPLIED.replace("web", "other");
        assert_eq!(shown(DECLARED, APPLIED, &live, PORTS, &[]), [r#"spec.ports[0].name: "web" → "other""#]);
    }

    #[test]
    fn a_gone_item_is_absent_and_an_added_one_is_at_the_end() {
        let live = r#"{"spec":{"ports":[{"port":9,"protocol":"TCP"},{"port":80,"name":"web","protocol":"TCP"}]}}"#;
        let shown = shown(DECLARED, APPLIED, live, PORTS, &[r#"spec.ports[port=9,protocol="TCP"]"#]);
        assert_eq!(shown, ["spec.ports[1].port: 81 → 9", r#"spec.ports[1].protocol: (absent) → "TCP""#]);
    }

    #[test]
    fn another_order_is_shown_as_such() {
        let live = r#"{"spec":{"ports":[{"port":81,"protocol":"TCP"},{"port":80,"name":"web","protocol":"TCP"}]}}"#;
        let shown = shown(DECLARED, APPLIED, live, PORTS, &[]);
        assert_eq!(
            shown,
            [
                r#"spec.ports[0].name: "web" → (absent)"#,
                "spec.ports[0].port: 80 → 81",
                r#"spec.ports[1].name: (absent) → "web""#,
                "spec.ports[1].port: 81 → 80"
            ]
        );
    }

    #[test]
    fn class_5_a_secret_is_shown_where_it_was_declared_and_never_as_itself() {
        let declared =
            r#"{"apiVersion":"v1","kind":"Secret","stringData":{"a":"hunter2"},"data":{"b":"aHVudGVyMg=="}}"#;
        let applied = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMg==","b":"aHVudGVyMg=="}}"#;
        let live = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMw==","b":"aHVudGVyMw=="}}"#;
        let shown = shown(declared, applied, live, r#"{"f:data":{"f:a":{},"f:b":{}}}"#, &[]);
        assert_eq!(shown.len(), 2);
        assert!(shown[0].starts_with(r#"data.b: "(hidden)" → secret:"#), "{shown:?}");
        assert!(shown[1].starts_with(r#"stringData.a: "(hidden)" → secret:"#), "{shown:?}");
    }

    #[test]
    fn a_whole_map_of_secrets_is_hidden_key_by_key() {
        let declared = r#"{"apiVersion":"v1","kind":"Secret"}"#;
        let live = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMw=="}}"#;
        let shaped = in_declared_shape(&read(declared), &read(live), &[], &["data".parse().unwrap()], &digest_key());
        assert!(matches!(shaped.get("data").and_then(|data| data.get("a")), Some(Value::Secret(_))), "{shaped:?}");
    }
}
