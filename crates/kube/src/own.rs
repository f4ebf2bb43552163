//! The objects that Setpoint itself runs from: an app that changed them could stop or take over the
//! engine.

use setpoint_core::key::Key;
use setpoint_core::value::Value;

/// Describes the part of Setpoint's own installation that an object is, if Setpoint runs in this
/// namespace; `None` if it is no part of it.
pub fn own_part(namespace: &str, key: &Key, body: &Value) -> Option<&'static str> {
    if key.namespace() == namespace {
        return Some("in the namespace that Setpoint itself runs in");
    }
    match key.class() {
        "Namespace" if key.name() == namespace => Some("the namespace that Setpoint itself runs in"),
        "rbac.authorization.k8s.io/ClusterRoleBinding" | "rbac.authorization.k8s.io/RoleBinding" => {
            let Some(Value::Seq(subjects)) = body.get("subjects") else { return None };
            let names_own = subjects.iter().any(|subject| is_account_of(namespace, subject));
            names_own.then_some("a binding of the service accounts of Setpoint's own namespace")
        }
        _ => None,
    }
}

/// Reports whether a subject is a service account of the namespace, the group of all of them, or
/// one by its user name.
fn is_account_of(namespace: &str, subject: &Value) -> bool {
    let field = |name: &str| subject.get(name).and_then(Value::as_str);
    match field("kind") {
        Some("ServiceAccount") => field("namespace") == Some(namespace),
        Some("Group") => field("name") == Some(&format!("system:serviceaccounts:{namespace}")),
        Some("User") => {
            field("name").is_some_and(|name| name.starts_with(&format!("system:serviceaccount:{namespace}:")))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: &str = "rbac.authorization.k8s.io/ClusterRoleBinding";

    fn part(class: &str, namespace: &str, name: &str, subject: &[(&str, &str)]) -> Option<&'static str> {
        let subject = Value::map(subject.iter().map(|(name, value)| (*name, Value::str(value))));
        let body = Value::map([("subjects", Value::Seq(vec![subject]))]);
        own_part("setpoint", &Key::new(class, namespace, name).unwrap(), &body)
    }

    #[test]
    fn case_45_the_namespace_and_the_rights_of_setpoint_are_its_own() {
        assert!(part("ConfigMap", "setpoint", "a", &[]).is_some());
        assert!(part("Namespace", "", "setpoint", &[]).is_some());
        for subject in [
            [("kind", "ServiceAccount"), ("namespace", "setpoint"), ("name", "agent")].as_slice(),
            &[("kind", "Group"), ("name", "system:serviceaccounts:setpoint")],
            &[("kind", "User"), ("name", "system:serviceaccount:setpoint:agent")],
        ] {
            assert!(part(BINDING, "", "a", subject).is_some(), "{subject:?}");
        }
    }

    #[test]
    fn what_belongs_to_others_is_not() {
        assert_eq!(part("ConfigMap", "setpoint-2", "setpoint", &[]), None);
        assert_eq!(part("Namespace", "", "web", &[]), None);
        for subject in [
            [("kind", "ServiceAccount"), ("namespace", "web"), ("name", "setpoint")].as_slice(),
            &[("kind", "Group"), ("name", "system:serviceaccounts:setpoint-2")],
            &[("kind", "User"), ("name", "setpoint")],
        ] {
            assert_eq!(part(BINDING, "", "a", subject), None, "{subject:?}");
        }
    }
}
