//! Resources that may be deleted and created again if their immutable fields change: an app names
//! them, and some kinds are never allowed.

use setpoint_documents::{AppSpec, FieldProblem, ReplaceRule};
use setpoint_kube::kinds::{is_protected, is_protected_anywhere};

use super::documents::ControlDocuments;
use super::reading::FieldError;
use super::selector::Selector;

pub(super) fn replaced_in(app: &AppSpec) -> Vec<Selector> {
    let selector = |rule: &ReplaceRule| {
        Selector::new(rule.group.as_ref(), Some(&rule.kind), rule.namespace.as_ref(), rule.name.as_ref())
    };
    app.sync.replace.iter().map(selector).collect()
}

impl ControlDocuments {
    /// Returns errors for rules that no target can follow, or must not.
    pub(super) fn replacing(&self) -> Vec<FieldError> {
        self.field_errors_of_rules(protected, elsewhere)
    }
}

fn protected(app: &AppSpec) -> Vec<FieldProblem> {
    let mut found = Vec::new();
    for (n, rule) in app.sync.replace.iter().enumerate() {
        let kind = rule.kind.as_str();
        let is_protected = match &rule.group {
            Some(group) => is_protected(group.as_str(), kind),
            // Without a group the rule is about the kinds of that name in all groups.
            None => is_protected_anywhere(kind),
        };
        if is_protected {
            let message = format!("a {kind} is never replaced: deleting it would delete many other objects");
            let help = "remove the rule, and declare a new object under another name instead";
            found.push(FieldProblem::new(format!("spec.sync.replace[{n}].kind"), message, help));
        }
    }
    found
}

fn elsewhere(app: &AppSpec) -> Vec<FieldProblem> {
    let message = "only resources of a Kubernetes cluster can be replaced";
    let problem =
        || FieldProblem::new("spec.sync.replace", message, "remove it: on this target every change is possible");
    (!app.sync.replace.is_empty()).then(problem).into_iter().collect()
}
