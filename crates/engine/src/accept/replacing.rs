//! Resources that may be deleted and created again if their immutable fields change: an app names
//! them, and some kinds are never allowed.

use setpoint_documents::{AppSpec, FieldProblem, Line, ReplaceRule};
use setpoint_target::Protection;

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
        self.field_errors_of_rules(|app, family| match family.replacing() {
            Some(is_protected) => protected(app, is_protected),
            None => self.unsupported_rules(
                &[(!app.sync.replace.is_empty(), "spec.sync.replace")],
                |family| family.replacing().is_some(),
                ("can be replaced", "remove it: on this target every change is possible"),
            ),
        })
    }
}

fn protected(app: &AppSpec, is_protected: Protection) -> Vec<FieldProblem> {
    let mut found = Vec::new();
    for (n, rule) in app.sync.replace.iter().enumerate() {
        let kind = rule.kind.as_str();
        if is_protected(rule.group.as_ref().map(Line::as_str), kind) {
            let message = format!("a {kind} is never replaced: deleting it would delete many other objects");
            let help = "remove the rule, and declare a new object under another name instead";
            found.push(FieldProblem::new(format!("spec.sync.replace[{n}].kind"), message, help));
        }
    }
    found
}
