//! Boundaries: where the apps of a scope may write on a target, judged by keys.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::name::Scope;

/// Where an app may write on its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// Everywhere: the target belongs to the scope, and no boundary was drawn on it.
    #[default]
    Open,
    Within(Arc<Grants>),
}

/// The permissions of a scope on a target. Anything that is not listed is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// The scope that the boundary belongs to.
    pub scope: Scope,
    /// The namespaces in which objects may be.
    pub namespaces: Vec<Pattern>,
    /// The classes of objects without a namespace, each with the names they may have.
    pub classes: BTreeMap<Arc<str>, Vec<Pattern>>,
}

impl Boundary {
    /// Returns the permission that is missing to write this key; `None` if it may be written.
    pub fn lacks(&self, key: &Key) -> Option<Lacking> {
        let Self::Within(grounds) = self else { return None };
        let field = grounds.lacks(key)?;
        let name = match field {
            Grant::Namespace if key.namespace().is_empty() => key.name(),
            Grant::Namespace => key.namespace(),
            Grant::ClusterKind => key.class(),
        };
        Some(Lacking { scope: grounds.scope.clone(), grant: field, name: name.to_owned() })
    }

    pub fn allows(&self, key: &Key) -> bool {
        self.lacks(key).is_none()
    }
}

impl Grants {
    fn lacks(&self, key: &Key) -> Option<Grant> {
        let any = |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.matches(name));
        if !key.namespace().is_empty() {
            return (!any(&self.namespaces, key.namespace())).then_some(Grant::Namespace);
        }
        match self.classes.get(key.class()) {
            None => Some(Grant::ClusterKind),
            // An object that is named after a namespace is bound like the objects in that
            // namespace.
            Some(names) => (!any(names, key.name())).then_some(Grant::Namespace),
        }
    }
}

/// A permission that a boundary does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("list `{name}` in `spec.{grant}` of the Scope `{scope}`")]
pub struct Lacking {
    pub scope: Scope,
    pub grant: Grant,
    /// The entry that would have to be listed.
    pub name: String,
}

/// The field of a Scope document that would grant the permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    Namespace,
    ClusterKind,
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "namespaces",
            Self::ClusterKind => "clusterKinds",
        })
    }
}

/// A name in which `*` matches any number of characters, including none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern(Arc<str>);

impl Pattern {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Matches every name.
    pub fn any() -> Self {
        Self::new("*")
    }

    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return *self.0 == *name };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(name) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else { return false };
        // Matching each part at its first place leaves the most text for the parts after it.
        let find = |name: &str, part: &str| name.find(part).map(|at| at + part.len());
        let found = middle.split('*').try_fold(name, |name, part| Some(&name[find(name, part)?..]));
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grounds(namespaces: &[&str], classes: &[(&str, &[&str])]) -> Boundary {
        let patterns = |names: &[&str]| names.iter().map(|name| Pattern::new(name)).collect::<Vec<_>>();
        Boundary::Within(Arc::new(Grants {
            scope: Scope::new("web").unwrap(),
            namespaces: patterns(namespaces),
            classes: classes.iter().map(|(class, names)| ((*class).into(), patterns(names))).collect(),
        }))
    }

    fn lacks(boundary: &Boundary, key: (&str, &str, &str)) -> Option<String> {
        boundary.lacks(&Key::new(key.0, key.1, key.2).unwrap()).map(|lacking| lacking.to_string())
    }

    #[test]
    fn a_star_stands_for_any_characters_and_everything_else_for_itself() {
        for (pattern, matching, others) in [
            ("web", ["web"].as_slice(), ["webs", "a-web", ""].as_slice()),
            ("web-*", &["web-", "web-1", "web-a-b"], &["web", "a-web-1"]),
            ("*-web", &["-web", "a-web"], &["web", "a-web-b"]),
            ("a*b", &["ab", "axb"], &["a", "b", "abc"]),
            ("a*a", &["aa", "aba"], &["a"]),
            ("*-x-*-y", &["-x--y", "a-x-b-x-c-y"], &["-x-y", "-y-x-"]),
            ("*", &["", "anything"], &[]),
            ("a**b", &["ab", "acb"], &["ba"]),
            ("a.b", &["a.b"], &["axb"]),
        ] {
            let pattern = Pattern::new(pattern);
            assert!(matching.iter().all(|name| pattern.matches(name)), "{pattern:?} {matching:?}");
            assert!(!others.iter().any(|name| pattern.matches(name)), "{pattern:?} {others:?}");
        }
    }

    #[test]
    fn what_is_not_listed_is_not_allowed_and_what_would_allow_it_is_said() {
        let boundary =
            grounds(&["web", "web-*"], &[("Namespace", &["web-*"]), ("storage.k8s.io/StorageClass", &["*"])]);
        for allowed in [
            ("ConfigMap", "web", "a"),
            ("apps/Deployment", "web-1", "a"),
            ("Namespace", "", "web-1"),
            ("storage.k8s.io/StorageClass", "", "fast"),
        ] {
            assert_eq!(lacks(&boundary, allowed), None, "{allowed:?}");
        }
        for (refused, grant) in [
            (("ConfigMap", "kube-system", "a"), "list `kube-system` in `spec.namespaces` of the Scope `web`"),
            (("Namespace", "", "kube-system"), "list `kube-system` in `spec.namespaces` of the Scope `web`"),
            (("example.com/Widget", "", "a"), "list `example.com/Widget` in `spec.clusterKinds` of the Scope `web`"),
        ] {
            assert_eq!(lacks(&boundary, refused).as_deref(), Some(grant));
        }
        assert_eq!(lacks(&Boundary::Open, ("Namespace", "", "kube-system")), None);
        assert!(lacks(&grounds(&[], &[]), ("ConfigMap", "web", "a")).is_some());
    }
}
