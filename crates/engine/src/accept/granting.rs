//! Access documents: every scope and target that they name exists, and a document grants rights only
//! in its own scope, unless that is `default`.

use setpoint_core::name::{Scope, TargetName};
use setpoint_documents::{AccessRule, FieldProblem, nearest};

use super::documents::ControlDocuments;
use super::reading::FieldError;

impl ControlDocuments {
    /// Returns errors for rules that name missing scopes or targets, or that would grant rights
    /// outside of the scope of their document.
    pub(super) fn accesses_outside(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for access in self.accesses.values() {
            for (n, rule) in access.spec.rules.iter().enumerate() {
                let found = self.problems_of_rule(&access.scope, rule, &format!("spec.rules[{n}]"));
                errors.extend(found.into_iter().map(|problem| (access.place.clone(), problem)));
            }
        }
        errors
    }

    fn problems_of_rule(&self, owner: &Scope, rule: &AccessRule, path: &str) -> Vec<FieldProblem> {
        let is_root = *owner == Scope::default_scope();
        let mut found = Vec::new();
        for (n, scope) in rule.scopes.iter().flatten().enumerate() {
            let path = format!("{path}.scopes[{n}]");
            if !is_root && scope != owner {
                let message = format!("an Access of the scope `{owner}` may grant rights only in its own scope");
                let help = format!("remove `{scope}`, or move the document to the scope `{}`", Scope::default_scope());
                found.push(FieldProblem::new(path, message, help));
            } else if !self.has_scope(scope) && scope != owner {
                let help = self.known_scope(scope);
                found.push(FieldProblem::new(path, format!("nothing belongs to a scope `{scope}`"), help));
            }
        }
        for (n, target) in
            rule.targets.iter().flatten().enumerate().filter(|(_, name)| !self.targets.contains_key(name))
        {
            let help = match nearest(target.as_str(), self.targets.keys().map(TargetName::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it, or name another".to_owned(),
            };
            let path = format!("{path}.targets[{n}]");
            found.push(FieldProblem::new(path, format!("there is no Target `{target}`"), help));
        }
        if let Some(n) = rule.verbs.iter().position(|verb| verb.is_of_installation()).filter(|_| !is_root) {
            let message = "the verb concerns the whole installation, not a scope";
            let help = format!("grant it in an Access of the scope `{}`", Scope::default_scope());
            found.push(FieldProblem::new(format!("{path}.verbs[{n}]"), message, help));
        }
        found
    }

    fn known_scope(&self, scope: &Scope) -> String {
        let of_apps = self.apps.keys().map(|app| app.scope.as_str());
        let drawn = self.scopes.keys().map(Scope::as_str);
        match nearest(scope.as_str(), of_apps.chain(drawn)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a scope that has an app, a store, a target or a Scope document".to_owned(),
        }
    }
}
