//! The rights of a caller: what it may do, and on which apps, stores and targets. Deny by default:
//! without a grant, nothing is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use setpoint_core::name::{Scope, TargetName};

use crate::answer::AppSummary;
use crate::question::OrderKind;

/// A kind of access. Every request of the API needs one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Read state, history and drift.
    See,
    /// Make a plan, or explain the fields of a resource: work for the agent, without a change.
    Plan,
    /// Read the logs of pods.
    Logs,
    Sync,
    /// Suspend an app, or resume it.
    Suspend,
    Hold,
    /// Release a hold, also to a version whose history was rewritten.
    Release,
    /// Record the outcome of a change that a person has checked.
    Settle,
    /// Erase the body of a record.
    Erase,
    /// Manage accounts and tokens, and test notifiers.
    Administer,
}

impl Verb {
    pub const ALL: [Self; 10] = [
        Self::See,
        Self::Plan,
        Self::Logs,
        Self::Sync,
        Self::Suspend,
        Self::Hold,
        Self::Release,
        Self::Settle,
        Self::Erase,
        Self::Administer,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::See => "see",
            Self::Plan => "plan",
            Self::Logs => "logs",
            Self::Sync => "sync",
            Self::Suspend => "suspend",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Settle => "settle",
            Self::Erase => "erase",
            Self::Administer => "administer",
        }
    }

    /// Returns the verb that an order needs. A new kind of order does not compile without one.
    pub fn of(order: &OrderKind) -> Self {
        match order {
            OrderKind::Sync { .. } => Self::Sync,
            OrderKind::Suspend { .. } | OrderKind::Resume => Self::Suspend,
            OrderKind::Hold => Self::Hold,
            OrderKind::Release { .. } => Self::Release,
            OrderKind::Settle { .. } => Self::Settle,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The object of a request, as rights distinguish objects.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub scope: &'a Scope,
    /// `None` for objects that have none, and for apps without a document.
    pub environment: Option<&'a str>,
    /// The name of the target.
    pub target: Option<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a AppSummary> for Subject<'a> {
    fn from(app: &'a AppSummary) -> Self {
        Self {
            scope: &app.app.scope,
            environment: Some(app.environment.as_str()).filter(|name| !name.is_empty()),
            target: app.target_name.as_ref().map(TargetName::as_str),
            labels: &app.labels,
        }
    }
}

/// A restriction to some names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    #[default]
    Any,
    Only(BTreeSet<String>),
}

impl Names {
    /// Reports whether the name matches. An object without a name matches no restriction.
    fn matches(&self, name: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::Only(names) => name.is_some_and(|name| names.contains(name)),
        }
    }
}

/// A permission: verbs on all objects that match every restriction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    pub verbs: BTreeSet<Verb>,
    #[serde(default)]
    pub scopes: Names,
    #[serde(default)]
    pub environments: Names,
    #[serde(default)]
    pub targets: Names,
    /// The labels that an object must have, each with this value.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The origin of the grant, for people: the document, and the rule in it.
    #[serde(default)]
    pub from: String,
}

impl Grant {
    fn allows(&self, verb: Verb, subject: &Subject<'_>) -> bool {
        self.verbs.contains(&verb)
            && self.scopes.matches(Some(subject.scope.as_str()))
            && self.environments.matches(subject.environment)
            && self.targets.matches(subject.target)
            && self.labels.iter().all(|(name, value)| subject.labels.get(name) == Some(value))
    }

    fn is_everywhere(&self) -> bool {
        self.scopes == Names::Any
            && self.environments == Names::Any
            && self.targets == Names::Any
            && self.labels.is_empty()
    }
}

/// The rights of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything, everywhere: root and the owner of the agent, who can change its files anyway.
    All,
    Granted(Arc<[Grant]>),
}

impl Rights {
    /// Returns the rights of a caller without any grant.
    pub fn none() -> Self {
        Self::Granted(Arc::default())
    }

    pub fn granted(grants: impl IntoIterator<Item = Grant>) -> Self {
        Self::Granted(grants.into_iter().collect())
    }

    /// Reports whether the caller may do this to an object.
    pub fn allow(&self, verb: Verb, subject: &Subject<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Granted(grants) => grants.iter().any(|grant| grant.allows(verb, subject)),
        }
    }

    /// Reports whether the caller may do this to all objects, and to those that have no scope: the
    /// ledger, the accounts, the notifiers.
    pub fn allow_everywhere(&self, verb: Verb) -> bool {
        match self {
            Self::All => true,
            Self::Granted(grants) => grants.iter().any(|grant| grant.verbs.contains(&verb) && grant.is_everywhere()),
        }
    }

    /// Returns the grants that allow this, for "why may X do Y?". Empty with all rights.
    pub fn because(&self, verb: Verb, subject: &Subject<'_>) -> Vec<&Grant> {
        match self {
            Self::All => Vec::new(),
            Self::Granted(grants) => grants.iter().filter(|grant| grant.allows(verb, subject)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(verbs: &[Verb]) -> Grant {
        Grant {
            verbs: verbs.iter().copied().collect(),
            scopes: Names::Any,
            environments: Names::Any,
            targets: Names::Any,
            labels: BTreeMap::new(),
            from: String::new(),
        }
    }

    fn only(name: &str) -> Names {
        Names::Only([name.to_owned()].into())
    }

    fn with_subject<T>(scope: &str, environment: Option<&str>, test: impl FnOnce(&Subject<'_>) -> T) -> T {
        let scope = Scope::new(scope).expect("a valid scope");
        let labels = BTreeMap::from([("team".to_owned(), "checkout".to_owned())]);
        test(&Subject { scope: &scope, environment, target: Some("prod"), labels: &labels })
    }

    #[test]
    fn without_a_grant_nothing_is_allowed() {
        for verb in Verb::ALL {
            assert!(!with_subject("web", None, |subject| Rights::none().allow(verb, subject)));
            assert!(!Rights::none().allow_everywhere(verb));
        }
    }

    #[test]
    fn a_grant_allows_its_verbs_only_where_every_restriction_matches() {
        let restricted = Grant {
            scopes: only("web"),
            environments: only("staging"),
            labels: [("team".into(), "checkout".into())].into(),
            ..grant(&[Verb::See])
        };
        let rights = Rights::granted([restricted.clone()]);
        let allowed = |scope, environment| with_subject(scope, environment, |it| rights.allow(Verb::See, it));
        assert!(allowed("web", Some("staging")));
        assert!(!allowed("web", Some("production")));
        assert!(!allowed("web", None), "an object without an environment matches no restriction");
        assert!(!allowed("data", Some("staging")));
        assert!(!with_subject("web", Some("staging"), |it| rights.allow(Verb::Sync, it)));
        let other_team = Rights::granted([Grant { labels: [("team".into(), "search".into())].into(), ..restricted }]);
        assert!(!with_subject("web", Some("staging"), |it| other_team.allow(Verb::See, it)));
    }

    #[test]
    fn only_a_grant_without_restrictions_holds_everywhere() {
        assert!(Rights::granted([grant(&[Verb::See])]).allow_everywhere(Verb::See));
        let of_scope = Grant { scopes: only("web"), ..grant(&[Verb::See]) };
        assert!(!Rights::granted([of_scope]).allow_everywhere(Verb::See));
        assert!(Rights::All.allow_everywhere(Verb::Administer));
    }

    #[test]
    fn every_verb_has_its_own_word() {
        let words: BTreeSet<_> = Verb::ALL.iter().map(|verb| verb.as_str()).collect();
        assert_eq!(words.len(), Verb::ALL.len());
        for verb in Verb::ALL {
            assert_eq!(serde_json::to_string(&verb).expect("a word"), format!("\"{verb}\""));
        }
    }
}
