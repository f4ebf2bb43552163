//! `kind: Access`.

use setpoint_core::name::{Scope, TargetName};
use setpoint_yaml::{Class, Node};

use crate::declaration::{Field as _, object, string_enum};
use crate::labels::Labels;
use crate::reader::Reader;
use crate::text::{Label, Line};

object! {
    /// Rights of people and machine tokens at the API and the web UI. Without a right, access is
    /// denied: what a caller may not see does not exist for it. Rights add up; no rule takes one
    /// away. The user of the local socket and administrators have all rights without a document.
    pub struct AccessSpec => access_is_complete {
        /// The people and tokens that get the rights: everyone who matches at least one entry. At
        /// least one entry is required.
        "subjects" subjects: Vec<AccessSubject>,
        /// The rights. At least one rule is required.
        "rules" rules: Vec<AccessRule>,
    }
}

object! {
    /// People or a token: exactly one of `account`, `group`, `token` and `everyone`.
    pub struct AccessSubject => subject_is_one {
        /// The name of a local account. It never matches a user of an identity provider: name
        /// their `group`.
        "account" account: Option<Line> = None,
        /// A group of an identity provider, as its groups claim names it, or of a local account.
        "group" group: Option<Line> = None,
        /// The identity provider of `group`, by its name in the configuration of the server. If
        /// omitted, a group of this name from any provider, or of a local account, matches.
        "provider" provider: Option<Label> = None,
        /// The name of a machine token. A token has only the rights that are granted to it by
        /// name.
        "token" token: Option<Line> = None,
        /// Every person who is signed in, but no machine token.
        "everyone" everyone: Option<bool> = None,
    }
}

/// The people or the token that a subject names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessWho<'a> {
    Account(&'a str),
    /// A group of one provider, or of this name anywhere.
    Group {
        name: &'a str,
        provider: Option<&'a str>,
    },
    Token(&'a str),
    Everyone,
}

impl AccessSubject {
    pub fn who(&self) -> AccessWho<'_> {
        match (&self.account, &self.group, &self.token) {
            (Some(account), ..) => AccessWho::Account(account.as_str()),
            (_, Some(group), _) => {
                AccessWho::Group { name: group.as_str(), provider: self.provider.as_ref().map(Label::as_str) }
            }
            (.., Some(token)) => AccessWho::Token(token.as_str()),
            (None, None, None) => AccessWho::Everyone,
        }
    }
}

object! {
    /// Verbs on all objects that match every restriction of the rule.
    pub struct AccessRule => rule_has_an_effect {
        /// The permitted verbs. Every verb but `see` also needs `see`, from this rule or another one.
        "verbs" verbs: Vec<AccessVerb>,
        /// The scopes of the objects. If omitted: the scope of the document; all scopes if that is
        /// `default`. Documents of other scopes can name only their own.
        "scopes" scopes: Option<Vec<Scope>> = None,
        /// The environments of apps. If omitted: all. Stores and targets have no environment: they
        /// are visible if a visible app uses them.
        "environments" environments: Option<Vec<Label>> = None,
        /// The targets of apps. If omitted: all.
        "targets" targets: Option<Vec<TargetName>> = None,
        /// The labels that an object must have, all of them with these values. If omitted: none.
        "labels" labels: Labels = Labels::none(),
    }
}

string_enum! {
    /// A kind of access.
    pub enum AccessVerb {
        /// Every verb below except `erase` and `administer`, also those of later versions.
        "all" All,
        /// Read the state, history and drift of apps, and the stores and targets they use.
        "see" See,
        /// Make plans, and explain the fields of resources.
        "plan" Plan,
        /// Read the logs of pods.
        "logs" Logs,
        /// Start a sync, also with a permission to prune.
        "sync" Sync,
        /// Suspend an app, or resume it.
        "suspend" Suspend,
        /// Hold an app at its version.
        "hold" Hold,
        /// Release a hold, also to a version whose history was rewritten.
        "release" Release,
        /// Record the outcome of a change that a person has checked.
        "settle" Settle,
        /// Erase the bodies of records in the ledger. It concerns the whole installation.
        "erase" Erase,
        /// Manage accounts and tokens, and test notifiers. It concerns the whole installation.
        "administer" Administer,
    }
}

impl AccessVerb {
    /// Reports whether the verb concerns the whole installation, so that no rule can restrict it.
    pub fn is_of_installation(self) -> bool {
        matches!(self, Self::Erase | Self::Administer)
    }
}

/// Reports a document without subjects or rules, which would grant nothing.
fn access_is_complete(access: &AccessSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let empty = [
        (access.subjects.is_empty(), "subjects", "add one, such as `{ everyone: true }`"),
        (access.rules.is_empty(), "rules", "add one, such as `{ verbs: [see] }`"),
    ];
    for (_, field, help) in empty.iter().filter(|(is_empty, ..)| *is_empty) {
        let place = node.get(field).unwrap_or(node);
        reader.report::<()>(Class::Value, place, format!("`{field}` is empty, so nothing is granted"), *help);
    }
    empty.iter().all(|(is_empty, ..)| !is_empty)
}

fn subject_is_one(subject: &AccessSubject, node: Node<'_>, reader: &mut Reader) -> bool {
    let set = [subject.account.is_some(), subject.group.is_some(), subject.token.is_some(), subject.everyone.is_some()];
    let mut report = |field: &str, message: &str, help: &str| {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), message, help);
        false
    };
    if set.iter().filter(|is_set| **is_set).count() != 1 {
        let message = "a subject has exactly one of `account`, `group`, `token` and `everyone`";
        return report("", message, "write one entry for each of them");
    }
    if subject.everyone == Some(false) {
        let message = "`everyone: false` matches no one";
        return report("everyone", message, "write `everyone: true`, or name an account, group or token");
    }
    if subject.provider.is_some() && subject.group.is_none() {
        return report("provider", "only a group has a `provider`", "remove `provider`, or name a `group`");
    }
    true
}

/// Reports lists that are empty, which could be read as "none" or as "all", and verbs that could
/// never apply under the restrictions of the rule.
fn rule_has_an_effect(rule: &AccessRule, node: Node<'_>, reader: &mut Reader) -> bool {
    let is_empty = |list: Option<usize>| list == Some(0);
    let empty = [
        (rule.verbs.is_empty(), "verbs", "list at least one verb"),
        (is_empty(rule.scopes.as_ref().map(Vec::len)), "scopes", "list at least one, or remove the field"),
        (is_empty(rule.environments.as_ref().map(Vec::len)), "environments", "list at least one, or remove the field"),
        (is_empty(rule.targets.as_ref().map(Vec::len)), "targets", "list at least one, or remove the field"),
    ];
    for (_, field, help) in empty.iter().filter(|(is_empty, ..)| *is_empty) {
        let place = node.get(field).unwrap_or(node);
        reader.report::<()>(Class::Value, place, format!("`{field}` is empty"), *help);
    }
    let mut complete = empty.iter().all(|(is_empty, ..)| !is_empty);
    let restrictions = [
        (rule.scopes.is_some(), "scopes"),
        (rule.environments.is_some(), "environments"),
        (rule.targets.is_some(), "targets"),
        (!rule.labels.is_empty(), "labels"),
    ];
    let restricted: Vec<&str> = restrictions.iter().filter(|(is_set, _)| *is_set).map(|(_, field)| *field).collect();
    let of_installation = rule.verbs.iter().find(|verb| verb.is_of_installation());
    if let (Some(field), Some(verb)) = (restricted.first(), of_installation) {
        let verb = verb.show();
        let place = node.get(field).unwrap_or(node);
        let message = format!("`{verb}` concerns the whole installation, so `{field}` cannot restrict it");
        let help = format!("move `{verb}` to a rule without restrictions");
        reader.report::<()>(Class::Value, place, message, help);
        complete = false;
    }
    complete
}
