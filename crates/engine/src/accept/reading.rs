//! Reads a directory of control documents: every `*.yaml` below it, read strictly and judged as a
//! whole. One mistake refuses the version, and the documents that were accepted before stay in
//! force.

use std::collections::BTreeMap;

use setpoint_core::name::Scope;
use setpoint_core::observed::UnknownReason;
use setpoint_documents::{AppSpec, Document, FieldProblem, Metadata, Spec, check_unique, read_documents};
use setpoint_render::Problem;
use setpoint_render::problem::Problems;
use setpoint_render::walk::{Naming, files_below};
use setpoint_store::{ReadSet, Recording, StoreError, StorePath, Tree};
use setpoint_target::{Families, Family};
use setpoint_yaml::{Class, Diagnostic, Place, Source};

use super::documents::ControlDocuments;

/// The scope of the root app. No document may be in it: an app of that name would pose as the
/// engine itself.
pub const ROOT_SCOPE: &str = "setpoint";

/// The name under which apps refer to the store of the bootstrap, which no document declares. The
/// store belongs to the scope `default`.
pub const BOOTSTRAP_STORE: &str = "bootstrap";

/// The reason why control documents could not be read. Neither variant means that there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// They are wrong, with all problems listed. They will be wrong in the same way until the
    /// store's head moves.
    Refused { problems: Vec<Problem> },
    /// The store could not be read.
    Failed { reason: UnknownReason },
}

impl From<StoreError> for NotRead {
    fn from(error: StoreError) -> Self {
        Self::Failed { reason: error.into() }
    }
}

/// An error in a document that has no place yet: the place of the document's name, and the field.
pub(super) type FieldError = (Place, FieldProblem);

impl ControlDocuments {
    /// Checks apps' rules about fields and objects by the family of their target: the rules may be
    /// wrong, or its targets cannot follow them.
    pub(super) fn field_errors_of_rules(
        &self,
        check: impl Fn(&AppSpec, &dyn Family) -> Vec<FieldProblem>,
    ) -> Vec<FieldError> {
        let mut slips = Vec::new();
        for app in self.apps.values() {
            // A missing target is reported elsewhere.
            let Some(family) = self.family(&app.spec) else { continue };
            slips.extend(check(&app.spec, family).into_iter().map(|problem| (app.place.clone(), problem)));
        }
        slips
    }

    /// Returns errors for rules that only targets of other families can follow. Each rule has its
    /// path; `what` they do follows the noun of a target.
    pub(super) fn unsupported_rules(
        &self,
        rules: &[(bool, &str)],
        can: impl Fn(&dyn Family) -> bool,
        (what, help): (&str, &str),
    ) -> Vec<FieldProblem> {
        let problem = |path: &str| {
            FieldProblem::new(path, format!("only resources of {} {what}", self.families.nouns(&can)), help)
        };
        rules.iter().filter(|(is_set, _)| *is_set).map(|(_, path)| problem(path)).collect()
    }
}

/// Reads and judges the control documents below a directory.
pub fn documents_of(
    tree: &dyn Tree,
    folder: &StorePath,
    families: &Families,
) -> Result<(ControlDocuments, ReadSet), NotRead> {
    let recording = Recording::new(tree);
    let mut problems = Problems::default();
    let texts = texts_below(&recording, folder, &mut problems)?;
    let mut read = Vec::new();
    for (file, text) in &texts {
        match read_documents(file, text, families.kinds()) {
            Ok(documents) => read.extend(documents),
            Err(found) => problems.add_all(found),
        }
    }
    // References to a document that could not be read would all be reported as broken: report the
    // cause first.
    let complete = problems.is_empty();
    let documents = gather(read, families, &mut problems);
    if complete {
        let of_targets = documents.targets.values().flat_map(|target| {
            families.of(&target.spec).check(&target.spec).into_iter().map(|problem| (target.place.clone(), problem))
        });
        let slips = documents
            .references()
            .into_iter()
            .chain(documents.sharing())
            .chain(documents.additions())
            .chain(documents.replacing())
            .chain(documents.unsupported());
        let slips = slips.chain(of_targets);
        for (place, problem) in slips {
            let text = texts.get(&place.file).map_or("", String::as_str);
            problems.add(problem.in_text(text, &place));
        }
    }
    let documents = problems.or_value(documents).map_err(|problems| NotRead::Refused { problems })?;
    Ok((documents, recording.into_reads()))
}

/// Returns the text of every `*.yaml`, by the name it has in messages.
fn texts_below(
    tree: &dyn Tree,
    folder: &StorePath,
    problems: &mut Problems,
) -> Result<BTreeMap<String, String>, StoreError> {
    let naming = Naming::of_one_store();
    let mut texts = BTreeMap::new();
    for path in files_below(tree, folder, &naming, problems)? {
        let name = naming.name(&path);
        if name.ends_with(".yml") {
            problems.add(Problem::found(name, "control documents are read from `*.yaml` only", "rename it"));
            continue;
        }
        if !name.ends_with(".yaml") {
            continue;
        }
        let Some(Some(blob)) = problems.sort_out(&name, tree.read(&path))? else { continue };
        match Source::decode(&name, &blob.bytes).map(|source| source.text().to_owned()) {
            Ok(text) => drop(texts.insert(name, text)),
            Err(found) => problems.add_all(found),
        }
    }
    Ok(texts)
}

/// Collects documents by name. Reports those that conflict with each other or are not allowed in a
/// store at all.
fn gather(read: Vec<Document>, families: &Families, problems: &mut Problems) -> ControlDocuments {
    if let Err(found) = check_unique(&read) {
        problems.add_all(found);
    }
    let mut first: BTreeMap<(&str, String), (Scope, Place)> = BTreeMap::new();
    let mut documents = ControlDocuments::none(families);
    for document in read {
        let kind = document.spec.kind();
        let Some(metadata) = &document.metadata else {
            let message = "a Bootstrap document is not allowed in the store that it names";
            let found = Diagnostic::new(Class::Value, document.place, message);
            problems.add(
                found.with_help("move it to the machine Setpoint runs on, and give it to `setpoint run --config`"),
            );
            continue;
        };
        if let Some((message, help)) = reserved(metadata, &document.spec) {
            problems.add(Diagnostic::new(Class::Value, document.place.clone(), message).with_help(help));
        }
        if matches!(document.spec, Spec::Store(_) | Spec::Target(_) | Spec::Scope(_)) {
            let name = (kind, metadata.name.as_str().to_owned());
            let here = (metadata.scope.clone(), document.place.clone());
            if let Some((scope, place)) = first.insert(name, here).filter(|(scope, _)| *scope != metadata.scope) {
                let message = format!("the scope `{scope}` has a {kind} `{}` already", metadata.name);
                let found = Diagnostic::new(Class::Duplicate, document.place.clone(), message);
                let help = format!("rename one of them: a {kind} is identified by its name alone");
                problems.add(found.with_other(place, "first here").with_help(help));
            }
        }
        documents.add(document);
    }
    documents
}

/// Returns an error for names that are reserved for the engine.
fn reserved(metadata: &Metadata, spec: &Spec) -> Option<(String, &'static str)> {
    if metadata.scope.as_str() == ROOT_SCOPE {
        return Some((format!("the scope `{ROOT_SCOPE}` is reserved for the engine"), "use another scope"));
    }
    let bootstrap = matches!(spec, Spec::Store(_)) && metadata.name.as_str() == BOOTSTRAP_STORE;
    bootstrap.then(|| (format!("the store `{BOOTSTRAP_STORE}` is reserved for the bootstrap"), "use another name"))
}
