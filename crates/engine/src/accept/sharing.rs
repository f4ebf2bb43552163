//! Sharing: the fields that others may set by an app's rules, and whether its target can share
//! them.

use std::collections::BTreeSet;

use serde::Serialize;
use setpoint_core::key::Key;
use setpoint_core::resource::SharedField;
use setpoint_documents::{AppSpec, FieldPath, FieldProblem, Line};
use setpoint_target::PathCheck;

use super::documents::ControlDocuments;
use super::reading::FieldError;
use super::selector::Selector;

/// A rule of an app about fields that others may set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharingRule {
    resources: Selector,
    fields: BTreeSet<SharedField>,
}

impl SharingRule {
    pub(super) fn all_of(app: &AppSpec) -> Vec<Self> {
        let ignored = app.sync.ignore.iter().map(|rule| Self {
            resources: Selector::new(
                rule.group.as_ref(),
                rule.kind.as_ref(),
                rule.namespace.as_ref(),
                rule.name.as_ref(),
            ),
            fields: fields(&rule.paths, None),
        });
        let co_owned = app.sync.co_owners.iter().map(|rule| Self {
            resources: Selector::new(
                rule.group.as_ref(),
                rule.kind.as_ref(),
                rule.namespace.as_ref(),
                rule.name.as_ref(),
            ),
            fields: fields(&rule.paths, Some(&rule.writer)),
        });
        ignored.chain(co_owned).collect()
    }
}

fn fields(paths: &[FieldPath], writer: Option<&Line>) -> BTreeSet<SharedField> {
    paths
        .iter()
        .map(|path| SharedField { path: path.as_str().into(), writer: writer.map(|line| line.as_str().into()) })
        .collect()
}

/// Returns the fields of one resource that the rules share.
pub(super) fn shared_in(rules: &[SharingRule], api_version: &str, kind: &str, key: &Key) -> BTreeSet<SharedField> {
    let about = rules.iter().filter(|rule| rule.resources.is_about(api_version, kind, key));
    about.flat_map(|rule| rule.fields.iter().cloned()).collect()
}

impl ControlDocuments {
    /// Returns errors for rules that no target can follow.
    pub(super) fn sharing(&self) -> Vec<FieldError> {
        self.field_errors_of_rules(|app, family| match family.sharing() {
            Some(check) => unreadable(app, check),
            None => self.unsupported_rules(
                &[
                    (!app.sync.ignore.is_empty(), "spec.sync.ignore"),
                    (!app.sync.co_owners.is_empty(), "spec.sync.coOwners"),
                ],
                |family| family.sharing().is_some(),
                ("share fields with others", "remove it: on this target a resource is held as a whole"),
            ),
        })
    }
}

fn unreadable(app: &AppSpec, check: PathCheck) -> Vec<FieldProblem> {
    let ignored = app.sync.ignore.iter().map(|rule| &rule.paths).enumerate().map(|(n, paths)| ("ignore", n, paths));
    let co_owned =
        app.sync.co_owners.iter().map(|rule| &rule.paths).enumerate().map(|(n, paths)| ("coOwners", n, paths));
    let problem = move |rule: &str, n: usize, m: usize, path: &FieldPath| {
        let bad = check(path.as_str()).err()?;
        Some(FieldProblem::new(format!("spec.sync.{rule}[{n}].paths[{m}]"), bad.message, bad.help))
    };
    ignored
        .chain(co_owned)
        .flat_map(|(rule, n, paths)| paths.iter().enumerate().filter_map(move |(m, path)| problem(rule, n, m, path)))
        .collect()
}
