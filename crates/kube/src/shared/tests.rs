//! Field ownership where others may set some fields, and the request that follows from it.

use super::*;
use crate::managed::managed_fields;
use crate::samples::{key_of, read};

fn resource(body: &str, shared: &[(&str, Option<&str>)]) -> Resource {
    let body = read(body);
    let text = |field: &str| Arc::<str>::from(body.get(field).and_then(Value::as_str).unwrap());
    let field =
        |(path, writer): &(&str, Option<&str>)| SharedField { path: (*path).into(), writer: writer.map(Into::into) };
    Resource {
        shared: shared.iter().map(field).collect(),
        ..Resource::new(key_of(&body), text("apiVersion"), text("kind"), body)
    }
}

/// Builds a live object from its body and its field owners (manager, operation, subresource,
/// fields).
fn live(body: &str, entries: &[(&str, &str, &str, &str)]) -> Value {
    let entry = |(manager, operation, subresource, fields): &(&str, &str, &str, &str)| {
        format!(
            r#"{{"manager":"{manager}","operation":"{operation}","subresource":"{subresource}","apiVersion":"v1","fieldsV1":{fields}}}"#
        )
    };
    let entries = entries.iter().map(entry).collect::<Vec<_>>().join(",");
    read(&body.replacen(r#""metadata":{"#, &format!(r#""metadata":{{"managedFields":[{entries}],"#), 1))
}

fn sharing(resource: &Resource, live: &Value, autoscaler: Autoscaler) -> Sharing {
    let entries = managed_fields(live).unwrap();
    Sharing::of(resource, Holding { object: live, entries: &entries }, "setpoint-one", autoscaler).unwrap()
}

/// Returns the relevant writers of the scale.
fn scaled_by(resource: &Resource, live: &Value) -> Vec<Option<String>> {
    let entries = managed_fields(live).unwrap();
    let scalers = scalers(resource, Holding { object: live, entries: &entries }).unwrap();
    scalers.into_iter().map(|scaler| scaler.map(ToString::to_string)).collect()
}

fn fitted(resource: &Resource, live: &Value, autoscaler: Autoscaler) -> Value {
    sharing(resource, live, autoscaler).fitted((*resource.body).clone(), live)
}

#[test]
fn what_cannot_be_shared_is_refused_with_what_would_be_right() {
    for (text, problem, help) in [
        ("spec.containers[", "a `[` is not closed", "write it as `spec.replicas`"),
        ("/spec/replicas", "is a JSON pointer", "write it as `spec.replicas`"),
        ("spec.containers[0].image", "names a position in a list", "`containers[name=app]`"),
        ("metadata", "covers the identity of the object", "`metadata.annotations`"),
        ("*", "covers the identity of the object", "`metadata.annotations`"),
        ("metadata[*]", "covers the identity of the object", "`metadata.annotations`"),
        ("kind", "covers the identity of the object", "`metadata.annotations`"),
    ] {
        let error = shareable(text).unwrap_err();
        assert!(error.to_string().contains(problem), "{text}: {error}");
        assert!(error.help().contains(help), "{text}: {}", error.help());
    }
    for text in ["spec", "metadata.labels", "metadata.annotations[example.com/0]", r#"data["0"]"#, "spec.c[*].image"] {
        assert!(shareable(text).is_ok(), "{text}");
    }
}

const SCALED: &str =
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":7,"paused":true}}"#;
const DECLARED: &str =
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":3,"paused":true}}"#;
const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;

#[test]
fn class_15_what_a_co_owner_may_write_is_its_own_only_while_it_holds_it() {
    let resource = resource(DECLARED, &[("spec.replicas", Some("operator"))]);
    for (manager, subresource, is_lent) in
        [("operator", "", true), ("operator", "scale", true), ("person", "", false), ("operator", "status", false)]
    {
        let live = live(SCALED, &[(manager, "Update", subresource, REPLICAS)]);
        let sharing = sharing(&resource, &live, Autoscaler::None);
        assert_eq!(!sharing.lent().is_empty(), is_lent, "{manager} {subresource}");
        let sent = sharing.fitted((*resource.body).clone(), &live);
        assert_eq!(sent.get("spec").unwrap().get("replicas").is_none(), is_lent, "{manager} {subresource}");
    }
}

#[test]
fn whoever_writes_by_the_scale_subresource_is_a_co_owner_of_that_name() {
    let resource = resource(DECLARED, &[("spec.replicas", Some("scale"))]);
    let of = |subresource| {
        sharing(&resource, &live(SCALED, &[("anybody", "Update", subresource, REPLICAS)]), Autoscaler::None)
    };
    assert!(!of("scale").lent().is_empty());
    assert!(of("").lent().is_empty());
}

#[test]
fn what_is_scaled_is_lent_only_where_an_autoscaler_aims_at_it() {
    let resource = resource(DECLARED, &[]);
    let scaled = live(
        SCALED,
        &[("manager", "Update", "scale", REPLICAS), ("person", "Update", "", r#"{"f:spec":{"f:paused":{}}}"#)],
    );
    assert_eq!(scaled_by(&resource, &scaled), [Some("manager".to_owned())]);
    for autoscaler in [Autoscaler::None, Autoscaler::Unknown] {
        assert!(sharing(&resource, &scaled, autoscaler).not_ours().is_empty());
    }
    let sharing = sharing(&resource, &scaled, Autoscaler::Aims);
    let not_ours: Vec<String> = sharing.not_ours().iter().map(ToString::to_string).collect();
    assert_eq!((not_ours, sharing.scaler.as_deref()), (vec!["spec.replicas".to_owned()], Some("manager")));
}

#[test]
fn nobody_is_asked_about_a_scale_that_is_not_declared_or_that_a_rule_speaks_of() {
    let scaled = live(SCALED, &[("manager", "Update", "scale", REPLICAS)]);
    let unheld = unheld(0);
    let bare = DECLARED.replace(r#""replicas":3,"#, "");
    for resource in [
        resource(&bare, &[]),
        resource(DECLARED, &[("spec", None)]),
        resource(DECLARED, &[("spec.replicas", Some("scale"))]),
    ] {
        assert_eq!(scaled_by(&resource, &scaled), Vec::new(), "{resource:?}");
        assert_eq!(scaled_by(&resource, &unheld), Vec::new(), "{resource:?}");
    }
    let edited = live(SCALED, &[("kubectl-edit", "Update", "", REPLICAS)]);
    assert_eq!(scaled_by(&resource(DECLARED, &[]), &edited), Vec::new());
}

const PAUSED: &str = r#"{"f:spec":{"f:paused":{}}}"#;

/// Builds the object that a server leaves behind after a scaling to zero: its number of replicas
/// has no owner.
fn unheld(replicas: u32) -> Value {
    let body = SCALED.replace(r#""replicas":7"#, &format!(r#""replicas":{replicas}"#));
    live(&body, &[("setpoint-one", "Apply", "", PAUSED)])
}

#[test]
fn a_scale_that_nobody_holds_is_lent_where_an_autoscaler_aims_or_whoever_scales_may() {
    let plain = resource(DECLARED, &[]);
    let of_operator = resource(DECLARED, &[("spec.replicas", Some("operator"))]);
    let of_scalers = resource(DECLARED, &[("spec.replicas", Some("scale"))]);
    for live in [unheld(0), unheld(4)] {
        for declared in [&plain, &of_operator] {
            assert_eq!(scaled_by(declared, &live), [None]);
            for autoscaler in [Autoscaler::None, Autoscaler::Unknown] {
                assert!(sharing(declared, &live, autoscaler).lent().is_empty());
            }
        }
        let lent = [(&plain, Autoscaler::Aims), (&of_operator, Autoscaler::Aims), (&of_scalers, Autoscaler::None)];
        for (declared, autoscaler) in lent {
            let sharing = sharing(declared, &live, autoscaler);
            assert!(sharing.unheld && !sharing.lent().is_empty() && sharing.scaler.is_none(), "{declared:?}");
            let sent = sharing.fitted((*declared.body).clone(), &live);
            assert!(sent.get("spec").unwrap().get("replicas").is_none(), "{declared:?}");
        }
    }
}

#[test]
fn a_scale_that_somebody_holds_or_that_is_as_declared_is_no_autoscalers() {
    let declared = resource(DECLARED, &[]);
    let zero = SCALED.replace(r#""replicas":7"#, r#""replicas":0"#);
    for (object, why) in [
        (live(&zero, &[("setpoint-one", "Apply", "", PAUSED), ("person", "Update", "", REPLICAS)]), "it was edited"),
        (live(&zero, &[]), "no field has an owner"),
        (unheld(3), "it is as declared"),
    ] {
        let sharing = sharing(&declared, &object, Autoscaler::Aims);
        assert!(!sharing.unheld && sharing.lent().is_empty(), "{why}");
        assert_eq!(scaled_by(&declared, &object), Vec::new(), "{why}");
    }
}

#[test]
fn what_is_ignored_is_sent_as_it_stands_where_it_is_ours_and_not_at_all_elsewhere() {
    let resource = resource(
        r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","labels":{"setpoint.dev/installation":"one","l":"1"},
        "annotations":{"setpoint.dev/intent":"new","ours":"2","theirs":"2","gone":"2"}},
        "spec":{"c":[{"name":"a","image":"2","tty":true},{"name":"fresh","image":"2"}],"whole":[{"size":2}],"set":["x"]}}"#,
        &[
            ("metadata.annotations", None),
            ("metadata.labels", None),
            ("spec.c[*].image", None),
            ("spec.whole[*].size", None),
            ("spec.set", None),
        ],
    );
    let live = live(
        r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","annotations":{"setpoint.dev/intent":"old","ours":"1","theirs":"1"}},
        "spec":{"c":[{"name":"a","image":"1"}],"whole":[{"size":1}],"set":["x","y"]}}"#,
        &[
            (
                "setpoint-one",
                "Apply",
                "",
                r#"{"f:metadata":{"f:annotations":{"f:setpoint.dev/intent":{},"f:ours":{}}},
                "f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:whole":{},"f:set":{"v:\"x\"":{}}}}"#,
            ),
            (
                "other",
                "Update",
                "",
                r#"{"f:metadata":{"f:annotations":{"f:theirs":{}}},"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{"f:image":{}}},"f:set":{"v:\"y\"":{}}}}"#,
            ),
        ],
    );
    let expected = read(
        r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","labels":{"setpoint.dev/installation":"one"},
        "annotations":{"setpoint.dev/intent":"new","ours":"1"}},
        "spec":{"c":[{"name":"a","tty":true},{"name":"fresh","image":"2"}],"whole":[{"size":2}],"set":["x"]}}"#,
    );
    assert_eq!(fitted(&resource, &live, Autoscaler::None), expected);
}

#[test]
fn an_item_that_is_ignored_as_a_whole_is_not_made_again() {
    let body =
        r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"spec":{"c":[{"name":"a"},{"name":"side"}]}}"#;
    let resource = resource(body, &[("spec.c[name=side]", None)]);
    let without = body.replace(r#",{"name":"side"}"#, "");
    let ours = r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}"#;
    let live = live(&without, &[("setpoint-one", "Apply", "", ours)]);
    assert_eq!(fitted(&resource, &live, Autoscaler::None), read(&without));
}

#[test]
fn what_is_ignored_is_left_out_though_nobody_says_any_more_who_holds_what() {
    let body = r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"spec":{"c":[{"name":"a","image":"2"}]}}"#;
    let resource = resource(body, &[("spec.c[*].image", None)]);
    let live = live(&body.replace(":\"2\"", ":\"1\""), &[]);
    let ours = FieldSet::from_bytes(br#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}"#).unwrap();
    let sent = sharing(&resource, &live, Autoscaler::None).knowing(&ours).fitted((*resource.body).clone(), &live);
    assert_eq!(sent, read(&body.replace(r#","image":"2""#, "")));
}

#[test]
fn text_of_a_secret_is_shared_as_the_data_that_the_server_makes_of_it() {
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"hi"}}"#;
    let stored = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"aG8="}}"#;
    let held = live(stored, &[("rotator", "Update", "", r#"{"f:data":{"f:a":{}}}"#)]);
    let ignoring = sharing(&resource(secret, &[("stringData.a", None)]), &held, Autoscaler::None);
    assert!(ignoring.not_ours()[0].covers(&FieldPath::fields(&["data", "a"])));
    let lending = sharing(&resource(secret, &[("data.a", Some("rotator"))]), &held, Autoscaler::None);
    assert!(lending.lent().contains(&FieldPath::fields(&["data", "a"])));
}
