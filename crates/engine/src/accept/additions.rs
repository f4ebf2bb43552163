//! Additions: an app's rules for fields and entries that others add to its resources, and whether
//! its target can follow them.

use std::collections::BTreeSet;

use serde::Serialize;
use setpoint_core::key::Key;
use setpoint_core::resource::{AdditionRule, Treat};
use setpoint_documents::{AdditionAction, AppSpec, FieldPath, FieldProblem};
use setpoint_target::PathCheck;

use super::documents::ControlDocuments;
use super::reading::FieldError;
use super::selector::Selector;

/// A rule of an app about additions by others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddedRule {
    resources: Selector,
    rules: BTreeSet<AdditionRule>,
}

impl AddedRule {
    pub(super) fn all_of(app: &AppSpec) -> Vec<Self> {
        let rule = |rule: &setpoint_documents::AdditionRule| {
            let then = match rule.then {
                AdditionAction::Heal => Treat::Heal,
                AdditionAction::Report => Treat::Report,
                AdditionAction::Ignore => Treat::Ignore,
            };
            let of = |path: &FieldPath| AdditionRule { path: path.as_str().into(), then };
            let resources =
                Selector::new(rule.group.as_ref(), rule.kind.as_ref(), rule.namespace.as_ref(), rule.name.as_ref());
            Self { resources, rules: rule.paths.iter().map(of).collect() }
        };
        app.sync.additions.iter().map(rule).collect()
    }
}

/// Returns the rules that apply to one resource.
pub(super) fn additions_in(rules: &[AddedRule], api_version: &str, kind: &str, key: &Key) -> BTreeSet<AdditionRule> {
    let about = rules.iter().filter(|rule| rule.resources.is_about(api_version, kind, key));
    about.flat_map(|rule| rule.rules.iter().cloned()).collect()
}

impl ControlDocuments {
    /// Returns rules that no target can follow.
    pub(super) fn additions(&self) -> Vec<FieldError> {
        self.field_errors_of_rules(|app, family| match family.sharing() {
            Some(check) => unreadable(app, check),
            None => self.unsupported_rules(
                &[(!app.sync.additions.is_empty(), "spec.sync.additions")],
                |family| family.sharing().is_some(),
                ("have additions by others", "remove it: on this target a resource is held as a whole"),
            ),
        })
    }
}

fn unreadable(app: &AppSpec, check: PathCheck) -> Vec<FieldProblem> {
    let mut found = Vec::new();
    for (n, rule) in app.sync.additions.iter().enumerate() {
        for (m, path) in rule.paths.iter().enumerate() {
            if let Err(bad) = check(path.as_str()) {
                let place = format!("spec.sync.additions[{n}].paths[{m}]");
                found.push(FieldProblem::new(place, bad.message, bad.help));
            }
        }
    }
    found
}
