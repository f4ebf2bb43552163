//! Checks the rights of callers where data is read. An app, store or target that a caller may not
//! see does not exist for it: it is missing from lists and counts, and requests for it fail as if
//! its name were misspelled.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_api::answer::{AppPlan, AppSummary};
use setpoint_api::rights::{Rights, Subject, Verb};
use setpoint_api::{Caller, Problem, ProblemKind};
use setpoint_core::name::{AppId, Scope, StoreName, TargetName};
use setpoint_core::report::{Setback, Why, Withheld};
use setpoint_documents::AppSpec;
use setpoint_engine::accept::{ControlDocument, ControlDocuments};
use setpoint_engine::machine::AppStatus;
use setpoint_ledger::Kind;
use setpoint_ledger::record::Record;

use super::answers::Answers;

/// The labels of an app without a document.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// The name that replaces those of apps that a caller may not see, as in "app another/app owns it".
const ANOTHER: &str = "another/app";

/// The apps, stores and targets, as far as a caller may see them.
#[derive(Debug)]
pub(super) struct View {
    rights: Rights,
    documents: Arc<ControlDocuments>,
    /// Set if the caller may see everything. Then apps are not compared with the rights one by one.
    sees_all: bool,
}

impl View {
    pub(super) fn new(rights: Rights, documents: Arc<ControlDocuments>) -> Self {
        let sees_all = rights.allow_everywhere(Verb::See);
        Self { rights, documents, sees_all }
    }

    /// Reports whether the caller may do this to an app. An app without a document has neither
    /// environment nor labels, so only grants for its whole scope apply.
    pub(super) fn allows(&self, verb: Verb, app: &AppId) -> bool {
        let document = self.documents.apps().get(app);
        let subject = Subject {
            scope: &app.scope,
            environment: document.map(|document| document.spec.environment.as_str()),
            target: document.map(|document| document.spec.target.as_str()),
            labels: document.map_or(&NO_LABELS, |document| &document.labels),
        };
        self.rights.allow(verb, &subject)
    }

    pub(super) fn sees(&self, app: &AppId) -> bool {
        self.sees_all || self.allows(Verb::See, app)
    }

    /// Reports whether the caller may see everything, also objects without a scope.
    pub(super) fn sees_all(&self) -> bool {
        self.sees_all
    }

    /// Reports whether the caller may see a store: by its scope and labels, or because an app that
    /// it may see reads it.
    pub(super) fn sees_store(&self, store: &StoreName) -> bool {
        let document = self.documents.stores().get(store);
        let place = document.map(|document| (&document.scope, &document.labels));
        let reads = |document: &ControlDocument<Box<AppSpec>>| {
            let inputs = document.spec.inputs.iter().map(|input| &input.store);
            inputs.chain(&document.spec.kustomize.bases).any(|read| read == store)
        };
        let mut apps = self.documents.apps().iter();
        self.sees_at(place, None) || apps.any(|(app, document)| reads(document) && self.sees(app))
    }

    /// Reports whether the caller may see a target: by its scope and labels, or because an app that
    /// it may see is held there.
    pub(super) fn sees_target(&self, target: &TargetName) -> bool {
        let mut apps = self.documents.apps().iter();
        self.sees_whole_target(target) || apps.any(|(app, document)| document.spec.target == *target && self.sees(app))
    }

    /// Reports whether the caller may see a target by its scope and labels, and so what concerns
    /// all apps on it.
    pub(super) fn sees_whole_target(&self, target: &TargetName) -> bool {
        let document = self.documents.targets().get(target);
        self.sees_at(document.map(|document| (&document.scope, &document.labels)), Some(target))
    }

    /// Reports whether the caller may see a document of this scope with these labels. Only a caller
    /// that may see everything sees what has no document.
    fn sees_at(&self, place: Option<(&Scope, &BTreeMap<String, String>)>, target: Option<&TargetName>) -> bool {
        let Some((scope, labels)) = place else { return self.sees_all() };
        let target = target.map(TargetName::as_str);
        self.rights.allow(Verb::See, &Subject { scope, environment: None, target, labels })
    }

    /// Reports whether the caller may see a record: the app that it is about, or everything if it
    /// is about none. Records of access name people and how they sign in, so they are for those who
    /// administer.
    pub(super) fn sees_record(&self, record: &Record) -> bool {
        if record.kind == Kind::AccessChanged {
            return self.rights.allow_everywhere(Verb::Administer);
        }
        match record.subject.split(' ').next().and_then(|app| app.parse().ok()) {
            Some(app) => self.sees(&app),
            None => self.sees_all(),
        }
    }

    /// Replaces the names of apps that the caller may not see in a text for people. An object whose
    /// namespace and name are those of such an app is replaced too. Not for texts that name the
    /// app of the request: they must be the same for hidden and for missing apps.
    pub(super) fn redact(&self, text: &mut String) {
        if self.sees_all() {
            return;
        }
        // Names consist of these characters, so whatever separates them is kept.
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '/'].contains(&c);
        let mut redacted = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            // A full stop may end the sentence.
            let name = word.trim_end_matches('.');
            match name.parse::<AppId>() {
                Ok(app) if self.documents.apps().contains_key(&app) && !self.sees(&app) => {
                    redacted.push_str(ANOTHER);
                    redacted.push_str(&word[name.len()..]);
                }
                _ => redacted.push_str(word),
            }
            let separators = after.find(is_of_name).unwrap_or(after.len());
            let (between, next) = after.split_at(separators);
            redacted.push_str(between);
            rest = next;
        }
        *text = redacted;
    }

    fn redact_app(&self, app: &mut AppId) {
        if !self.sees(app) {
            *app = ANOTHER.parse().expect("a plain scope and name");
        }
    }

    /// Replaces the names of other apps in the reason of a withheld change.
    pub(super) fn redact_why(&self, why: &mut Why) {
        match why {
            Why::OwnedByOther { app }
            | Why::AppNotReady { app }
            | Why::HandOver { app }
            | Why::DeclaredElsewhere { app } => self.redact_app(app),
            Why::PreviewRefused { problem }
            | Why::Immutable { problem, .. }
            | Why::ReplaceNotAllowed { problem, .. }
            | Why::ReplacementRefused { problem, .. } => self.redact(problem),
            Why::BackingOff { setback: Setback::Failure { problem }, .. } => {
                let mut text = problem.to_string();
                self.redact(&mut text);
                *problem = text.into();
            }
            // These name only the app itself, and its own objects and scope.
            Why::BackingOff { setback: Setback::Fight, .. }
            | Why::State { .. }
            | Why::NotSeen { .. }
            | Why::PerhapsGone
            | Why::NotSeenToEnd
            | Why::OpenIntent { .. }
            | Why::OutsideScope(_)
            | Why::NotOurs
            | Why::Deleting { .. }
            | Why::Controlled
            | Why::PreviewPending
            | Why::ReplacementPending
            | Why::DependencyNotReady { .. }
            | Why::DependencyNotHealthy { .. }
            | Why::EarlierWave { .. }
            | Why::RetentionReason(_) => {}
        }
    }

    pub(super) fn redact_report(&self, report: &mut [Withheld]) {
        report.iter_mut().for_each(|withheld| self.redact_why(&mut withheld.why));
    }

    /// Returns a status without the names of apps that the caller may not see.
    pub(super) fn redacted<'a>(&self, status: &'a AppStatus) -> Cow<'a, AppStatus> {
        let names_none = status.report.is_empty() && status.refused.is_none() && status.unrendered.is_none();
        if names_none || self.sees_all() {
            return Cow::Borrowed(status);
        }
        let mut status = status.clone();
        self.redact_report(&mut status.report);
        status.refused.iter_mut().for_each(|refused| self.redact(&mut refused.problem));
        status.unrendered.iter_mut().for_each(|problem| self.redact(problem));
        Cow::Owned(status)
    }

    /// Returns the summaries that the caller may see, without the names of other apps. A search
    /// must not find what is replaced either.
    pub(super) fn visible(&self, apps: &[Arc<AppSummary>]) -> Vec<Arc<AppSummary>> {
        let visible = apps.iter().filter(|app| self.sees(&app.app));
        let redacted = visible.map(|app| match &app.note {
            Some(note) if !self.sees_all() => {
                let mut note = note.clone();
                self.redact(&mut note);
                Arc::new(AppSummary { note: Some(note), ..AppSummary::clone(app) })
            }
            _ => Arc::clone(app),
        });
        redacted.collect()
    }

    pub(super) fn redact_plan(&self, plan: &mut AppPlan) {
        plan.refused.iter_mut().for_each(|problem| self.redact(problem));
        plan.newest_refused.iter_mut().for_each(|refused| self.redact(&mut refused.problem));
        self.redact_report(&mut plan.report);
        for step in &mut plan.steps {
            step.waits.iter_mut().for_each(|why| self.redact_why(why));
            step.refused.iter_mut().for_each(|problem| self.redact(problem));
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

#[cfg(test)]
mod tests {
    use setpoint_api::Grant;
    use setpoint_api::rights::Names;
    use setpoint_engine::accept::documents_of;
    use setpoint_store::{MemoryTree, StorePath};

    use super::*;
    use crate::families::families;

    /// Returns a view of the apps `web/shop`, `web/cart` and `vault/db`, of which only the first
    /// has the label that the caller needs.
    fn view(labelled: bool) -> View {
        let mut text =
            "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: house }\nspec: { kind: memory, system: a }\n"
                .to_owned();
        for scope in ["web", "vault"] {
            text += &format!(
                "---\napiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: {{ name: {scope} }}\nspec: {{ stores: [bootstrap], targets: [house] }}\n"
            );
        }
        for (scope, name, labels) in
            [("web", "shop", "{ team: a }"), ("web", "cart", "{}"), ("vault", "db", "{ team: a }")]
        {
            text += &format!(
                "---\napiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: {name}, scope: {scope}, labels: {labels} }}\nspec: {{ component: a, environment: b, inputs: [{{ name: main, store: bootstrap, path: a }}], target: house }}\n"
            );
        }
        let tree = MemoryTree::of([("setpoint/a.yaml", text.as_str())]);
        let (documents, _) = match documents_of(&tree, &StorePath::new("setpoint/").expect("a path"), &families(None)) {
            Ok(read) => read,
            Err(error) => panic!("{error:#?}"),
        };
        let labels = if labelled { [("team".to_owned(), "a".to_owned())].into() } else { BTreeMap::new() };
        let grant = Grant {
            verbs: [Verb::See].into(),
            scopes: Names::Only(["web".to_owned()].into()),
            environments: Names::Any,
            targets: Names::Any,
            labels,
            from: String::new(),
        };
        View::new(Rights::granted([grant]), Arc::new(documents))
    }

    fn redacted(view: &View, text: &str) -> String {
        let mut text = text.to_owned();
        view.redact(&mut text);
        text
    }

    #[test]
    fn labels_decide_which_apps_of_a_scope_are_visible() {
        let sees = |view: &View, app: &str| view.sees(&app.parse().expect("an app"));
        assert!(sees(&view(false), "web/cart") && sees(&view(true), "web/shop"));
        assert!(!sees(&view(true), "web/cart"));
        assert!(!sees(&view(true), "web/without-a-document"));
    }

    #[test]
    fn texts_do_not_name_apps_that_the_caller_may_not_see() {
        let text = "vault/db owns it (see vault/db). web/cart, web/shop: `apps/vault/db` and /vault/db";
        assert_eq!(
            redacted(&view(true), text),
            "another/app owns it (see another/app). another/app, web/shop: `apps/vault/db` and /vault/db"
        );
        let text = "ünï vault/db\n\nvault/db.";
        assert_eq!(redacted(&view(false), text), "ünï another/app\n\nanother/app.");
        let all = View::new(Rights::All, Arc::clone(&view(true).documents));
        assert_eq!(redacted(&all, text), text);
    }

    #[test]
    fn reasons_do_not_name_apps_that_the_caller_may_not_see() {
        let mut why = Why::OwnedByOther { app: "vault/db".parse().expect("an app") };
        view(true).redact_why(&mut why);
        assert!(why.to_string().starts_with("app another/app owns it"), "{why}");
        let mut why = Why::AppNotReady { app: "web/shop".parse().expect("an app") };
        view(true).redact_why(&mut why);
        assert!(why.to_string().contains("web/shop"), "{why}");
    }

    #[test]
    fn a_target_is_visible_through_its_apps_but_not_as_a_whole() {
        let view = view(true);
        let house: TargetName = "house".parse().expect("a target");
        assert!(view.sees_target(&house) && !view.sees_whole_target(&house));
        assert!(view.sees_store(&"bootstrap".parse().expect("a store")));
        assert!(!view.sees_target(&"barn".parse().expect("a target")));
    }
}
