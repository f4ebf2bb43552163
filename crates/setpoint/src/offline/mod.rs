//! Checks a working directory before it is committed: the control documents, and the apps that they
//! declare, with the checks of acceptance that need no connection to a target.

mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use setpoint_core::bundle::Bundle;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_engine::accept::{
    BOOTSTRAP_STORE, By, Considered, ControlDocuments, NotRead, Trees, documents_of, rendered,
};
use setpoint_render::Problem;
use setpoint_store::{StoreError, StorePath, Tree};
use setpoint_target::Families;
use setpoint_yaml::visible_text;

use crate::families::families;

/// The directories to check.
#[derive(Debug)]
pub(crate) struct Directories {
    /// The working directory of the store with the control documents.
    pub(crate) root: PathBuf,
    /// The directory of the control documents below it.
    pub(crate) documents: StorePath,
    /// The working directories of other stores.
    pub(crate) stores: BTreeMap<StoreName, PathBuf>,
}

/// The result of a check.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checked {
    pub(crate) problems: Vec<Finding>,
    /// Places that are accepted, but may not mean what their author expects.
    pub(crate) warnings: Vec<String>,
    /// The apps whose declarations were rendered, with the number of their resources.
    pub(crate) apps: BTreeMap<AppId, usize>,
    /// The apps that could not be checked, with the reasons.
    pub(crate) unchecked: BTreeMap<AppId, String>,
}

/// One mistake.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// The app whose declaration has the mistake; none for control documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app: Option<AppId>,
    /// The file, or the directory or app if there is no file.
    pub(crate) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u32>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// The mistake on one line.
    #[serde(skip)]
    pub(crate) text: String,
}

impl Finding {
    fn new(app: Option<&AppId>, problem: &Problem) -> Self {
        let (app, text) = (app.cloned(), problem.to_string());
        match problem {
            Problem::Written(diagnostic) => Self {
                app,
                file: diagnostic.place.file.clone(),
                line: Some(diagnostic.place.line),
                column: Some(diagnostic.place.column),
                message: diagnostic.message.clone(),
                help: diagnostic.help.clone(),
                text,
            },
            Problem::Found { at, what, fix } => Self {
                app,
                file: at.clone(),
                line: None,
                column: None,
                message: what.clone(),
                help: Some(fix.clone()),
                text,
            },
        }
    }
}

/// The reason why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotChecked {
    #[error("cannot use the directory {}", folder.display())]
    Unusable { folder: PathBuf, source: StoreError },
    #[error("cannot read the control documents: {reason}")]
    Unread { reason: String },
}

/// Checks the control documents, and then every app.
pub(crate) fn check(directories: &Directories) -> Result<Checked, NotChecked> {
    let mut checked = Checked::default();
    let Some(root) = opened(&directories.root, &mut checked)? else { return Ok(checked) };
    let families = families(None);
    let documents = match documents_of(root.as_ref(), &directories.documents, &families) {
        Ok((documents, _)) => documents,
        Err(NotRead::Refused { problems }) => {
            checked.problems.extend(problems.iter().map(|problem| Finding::new(None, problem)));
            return Ok(checked);
        }
        Err(NotRead::Failed { reason }) => return Err(NotChecked::Unread { reason: reason.to_string() }),
    };
    if documents.resources().is_empty() {
        let (what, fix) = ("there are no control documents", "name their directory with `--path`");
        checked.problems.push(Finding::new(None, &Problem::found(directories.documents.as_str(), what, fix)));
    }
    let mut trees = Trees::from([(bootstrap_store(), root)]);
    for (name, folder) in &directories.stores {
        let below = documents.stores().get(name).and_then(|store| store.spec.path.as_ref());
        let folder = below.map_or_else(|| folder.clone(), |below| folder.join(below.as_str()));
        if let Some(tree) = opened(&folder, &mut checked)? {
            trees.insert(name.clone(), tree);
        }
    }
    for app in documents.apps().keys() {
        check_app(app, (&documents, &families), &trees, &mut checked);
    }
    Ok(checked)
}

fn bootstrap_store() -> StoreName {
    StoreName::new(BOOTSTRAP_STORE).expect("a plain name")
}

/// Opens a working directory. What no version may contain is a problem, anything else an error.
fn opened(folder: &Path, checked: &mut Checked) -> Result<Option<Arc<dyn Tree>>, NotChecked> {
    match tree::open(folder) {
        Ok(tree) => Ok(Some(tree)),
        Err(StoreError::Refused { what, fix }) => {
            let problem = Problem::found(folder.display().to_string(), what, fix);
            checked.problems.push(Finding::new(None, &problem));
            Ok(None)
        }
        Err(source) => Err(NotChecked::Unusable { folder: folder.to_owned(), source }),
    }
}

fn check_app(app: &AppId, (documents, families): (&ControlDocuments, &Families), trees: &Trees, checked: &mut Checked) {
    let source = documents.source(app).expect("the documents declare it");
    if let Some(missing) = source.stores().into_iter().find(|store| !trees.contains_key(store)) {
        let reason =
            format!("it reads the store `{missing}`; name a working directory of it with `--store {missing}=DIR`");
        checked.unchecked.insert(app.clone(), reason);
        return;
    }
    let target = documents.targets().get(&source.target).expect("references were checked");
    let kinds = families.of(&target.spec).offline_kinds(&target.spec);
    let by = By { kinds: kinds.as_ref(), external: None, stop: None };
    let problems = match rendered(&source, trees, by) {
        Considered::Rendered { resources, warnings, .. } => {
            checked.warnings.extend(warnings.iter().map(|warning| format!("app {app}: {}", visible_text(warning))));
            let (count, target) = (resources.len(), TargetIdentity::new("offline").expect("a plain name"));
            match Bundle::new(app.clone(), target, resources) {
                Ok(_) => {
                    checked.apps.insert(app.clone(), count);
                    return;
                }
                Err(bad) => vec![Problem::found(app.to_string(), bad.to_string(), "correct its resources")],
            }
        }
        Considered::Refused { problems } => problems,
        Considered::Failed { reason } => {
            checked.unchecked.insert(app.clone(), reason.to_string());
            return;
        }
        Considered::Unchanged => unreachable!("it is compared with no earlier render"),
    };
    checked.problems.extend(problems.iter().map(|problem| Finding::new(Some(app), problem)));
}
