//! Checks the rights of callers where data is read. An app, store or target that a caller may not
//! see does not exist for it: it is missing from lists and counts, and requests for it fail as if
//! its name were misspelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_api::rights::{Rights, Subject, Verb};
use setpoint_api::{Caller, Problem, ProblemKind};
use setpoint_core::name::{AppId, Scope, StoreName, TargetName};
use setpoint_engine::accept::ControlDocuments;
use setpoint_ledger::record::Record;

use super::answers::Answers;

/// Objects without labels.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// The apps, stores and targets, as far as a caller may see them.
#[derive(Debug)]
pub(super) struct View {
    rights: Rights,
    documents: Arc<ControlDocuments>,
}

impl View {
    pub(super) fn new(rights: Rights, documents: Arc<ControlDocuments>) -> Self {
        Self { rights, documents }
    }

    /// Reports whether the caller may do this to an app. An app without a document has neither
    /// environment nor labels, so only grants for its whole scope apply.
    pub(super) fn allows(&self, verb: Verb, app: &AppId) -> bool {
        let spec = self.documents.apps().get(app).map(|document| &document.spec);
        let subject = Subject {
            scope: &app.scope,
            environment: spec.map(|spec| spec.environment.as_str()),
            target: spec.map(|spec| spec.target.as_str()),
            labels: &NO_LABELS,
        };
        self.rights.allow(verb, &subject)
    }

    pub(super) fn sees(&self, app: &AppId) -> bool {
        self.allows(Verb::See, app)
    }

    /// Reports whether the caller may see everything, also objects without a scope.
    pub(super) fn sees_all(&self) -> bool {
        self.rights.allow_everywhere(Verb::See)
    }

    /// Reports whether the caller may see a store: by its scope, or because an app that it may see
    /// reads it.
    pub(super) fn sees_store(&self, store: &StoreName) -> bool {
        let scope = self.documents.stores().get(store).map(|document| &document.scope);
        let reads = |(app, document): (&AppId, &_)| self.reads(app, document, store);
        self.sees_scope(scope, None) || self.documents.apps().iter().any(reads)
    }

    fn reads(
        &self,
        app: &AppId,
        document: &setpoint_engine::accept::ControlDocument<Box<setpoint_documents::AppSpec>>,
        store: &StoreName,
    ) -> bool {
        document.spec.inputs.iter().any(|input| input.store == *store) && self.sees(app)
    }

    /// Reports whether the caller may see a target: by its scope, or because an app that it may see
    /// is held there.
    pub(super) fn sees_target(&self, target: &TargetName) -> bool {
        let scope = self.documents.targets().get(target).map(|document| &document.scope);
        let mut apps = self.documents.apps().iter();
        self.sees_scope(scope, Some(target))
            || apps.any(|(app, document)| document.spec.target == *target && self.sees(app))
    }

    fn sees_scope(&self, scope: Option<&Scope>, target: Option<&TargetName>) -> bool {
        let target = target.map(TargetName::as_str);
        match scope {
            Some(scope) => {
                self.rights.allow(Verb::See, &Subject { scope, environment: None, target, labels: &NO_LABELS })
            }
            None => self.sees_all(),
        }
    }

    /// Reports whether the caller may see a record: the app that it is about, or everything if it
    /// is about none.
    pub(super) fn sees_record(&self, record: &Record) -> bool {
        match record.subject.split(' ').next().and_then(|app| app.parse().ok()) {
            Some(app) => self.sees(&app),
            None => self.sees_all(),
        }
    }
}

impl Answers {
    /// Returns the view of a caller.
    pub(super) fn view(&self, caller: &Caller) -> View {
        View::new(caller.rights.clone(), self.provider.documents())
    }

    /// Checks that a caller may do this to an app. Without the right to see the app, the response
    /// is that of an app that does not exist.
    pub(super) async fn permit(&self, caller: &Caller, verb: Verb, app: &AppId) -> Result<(), Problem> {
        let view = self.view(caller);
        if !view.sees(app) {
            return Err(self.no_such_app(app, &view).await);
        }
        if view.allows(verb, app) {
            return Ok(());
        }
        let message = format!("{} has no permission to {verb} {app}: ask an administrator for it", caller.actor);
        Err(Problem::new(ProblemKind::Forbidden, message))
    }

    /// Checks that a caller may do this to objects that belong to no scope.
    pub(super) fn permit_everywhere(caller: &Caller, verb: Verb) -> Result<(), Problem> {
        if caller.rights.allow_everywhere(verb) {
            return Ok(());
        }
        let message = format!("{} has no permission to {verb} this installation: ask an administrator", caller.actor);
        Err(Problem::new(ProblemKind::Forbidden, message))
    }
}
