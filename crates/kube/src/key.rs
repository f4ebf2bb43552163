//! The identity of an object on its cluster: group and kind, namespace, name. The API version is
//! not part of it.

use setpoint_core::key::Key;
use setpoint_core::name::BadName;
pub use setpoint_core::resource::group_of;
use setpoint_core::value::Value;

use crate::object;

/// The scope of a kind: namespaced or cluster-wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    Namespaced {
        /// The namespace of objects that name none.
        default: &'a str,
    },
    Cluster,
    /// The kind is not known (yet): the object has a namespace if the document names one.
    Unknown,
}

/// The error for a document that is not an object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    #[error("the object has no `{field}`; add it")]
    Missing { field: &'static str },
    #[error("the object has an invalid name")]
    BadName { source: BadName },
}

/// Returns the key of a declared object.
pub fn key(api_version: &str, kind: &str, body: &Value, scope: Scope<'_>) -> Result<Key, NoKey> {
    let name = object::name(body).ok_or(NoKey::Missing { field: "metadata.name" })?;
    let stated = object::namespace(body).filter(|namespace| !namespace.is_empty());
    let namespace = match scope {
        Scope::Namespaced { default } => stated.unwrap_or(default),
        Scope::Cluster => "",
        Scope::Unknown => stated.unwrap_or_default(),
    };
    if kind.is_empty() {
        return Err(NoKey::Missing { field: "kind" });
    }
    Key::new(&class(group_of(api_version), kind), namespace, name).map_err(|source| NoKey::BadName { source })
}

/// Returns the class of keys: `ConfigMap`, `apps/Deployment`.
pub fn class(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") }
}

/// Returns group and kind of a class.
pub fn group_and_kind(class: &str) -> (&str, &str) {
    class.split_once('/').unwrap_or(("", class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(metadata: &str) -> Value {
        object::read(format!(r#"{{"metadata":{metadata}}}"#).as_bytes()).unwrap()
    }

    fn text(api_version: &str, kind: &str, metadata: &str, scope: Scope<'_>) -> String {
        key(api_version, kind, &body(metadata), scope).unwrap().to_text()
    }

    #[test]
    fn class_11_the_version_of_an_api_is_not_part_of_a_key() {
        let scope = Scope::Namespaced { default: "default" };
        let hpa = |version: &str| text(version, "HorizontalPodAutoscaler", r#"{"name":"a"}"#, scope);
        assert_eq!(hpa("autoscaling/v1"), hpa("autoscaling/v2"));
        assert_eq!(hpa("autoscaling/v2"), "autoscaling/HorizontalPodAutoscaler:default:a");
    }

    #[test]
    fn class_20_a_missing_and_an_explicit_default_namespace_are_one_object() {
        let scope = Scope::Namespaced { default: "web" };
        assert_eq!(text("v1", "ConfigMap", r#"{"name":"a"}"#, scope), "ConfigMap:web:a");
        assert_eq!(text("v1", "ConfigMap", r#"{"name":"a","namespace":"web"}"#, scope), "ConfigMap:web:a");
        assert_eq!(text("v1", "Namespace", r#"{"name":"a","namespace":"web"}"#, Scope::Cluster), "Namespace::a");
        assert_eq!(text("e.com/v1", "Thing", r#"{"name":"a","namespace":"b"}"#, Scope::Unknown), "e.com/Thing:b:a");
        assert_eq!(text("e.com/v1", "Thing", r#"{"name":"a"}"#, Scope::Unknown), "e.com/Thing::a");
    }

    #[test]
    fn a_live_object_names_itself() {
        let object = crate::samples::deployment();
        let key = crate::samples::key_of(&object);
        assert_eq!(key.to_text(), "apps/Deployment:web:shop");
        assert_eq!(group_and_kind(key.class()), ("apps", "Deployment"));
        assert_eq!(group_and_kind("ConfigMap"), ("", "ConfigMap"));
    }

    #[test]
    fn what_has_no_name_has_no_key() {
        let nameless = key("v1", "ConfigMap", &body("{}"), Scope::Unknown);
        assert_eq!(nameless, Err(NoKey::Missing { field: "metadata.name" }));
        assert!(matches!(
            key("v1", "ConfigMap", &body(r#"{"name":"a\u202eb"}"#), Scope::Unknown),
            Err(NoKey::BadName { .. })
        ));
    }
}
