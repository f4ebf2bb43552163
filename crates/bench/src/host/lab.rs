//! A lab: a repository, a folder of this machine that is held at what it declares, and a data folder for an agent.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use setpoint_core::name::{AppId, AppName, Scope, VersionId};
use setpoint_store::StorePath;
use setpoint_store_git::{Author, Branch, Change, LocalRepository, Parent};
use tempfile::TempDir;

use super::workload::{Workload, documents};
use crate::stopwatch::wall;

/// The app that declares the first files of a lab, and all of them if they are not too many for one.
pub(super) const FIRST_APP: &str = "files-0";
/// Files that one app declares at the most; the engine takes no more than 20,000.
const PER_APP: usize = 10_000;

pub(super) struct Lab {
    folder: TempDir,
    repository: LocalRepository,
    branch: Branch,
}

/// An app of the default scope.
pub(super) fn app(name: &str) -> anyhow::Result<AppId> {
    Ok(AppId::new(Scope::default_scope(), AppName::new(name)?))
}

impl Lab {
    /// A repository that declares one target, and the bootstrap document that points to it.
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let repository = LocalRepository::init(&folder.path().join("state.git"))?;
        let lab = Self { folder, repository, branch: Branch::parse("main")? };
        fs::create_dir(lab.managed())?;
        let repository = lab.repository.folder().display();
        let bootstrap = format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n  store: {{ url: {repository}, interval: 1s }}\n"
        );
        fs::write(lab.bootstrap(), bootstrap)?;
        let spec = format!("{{ kind: host, root: {} }}", lab.managed().display());
        lab.commit(&[control("machine", "Target", &spec)?])?;
        Ok(lab)
    }

    /// A lab whose apps, as few as possible, declare the files; their folders are there.
    pub(super) fn with_files(workload: Workload) -> anyhow::Result<Self> {
        let lab = Self::new()?;
        workload.make_folders(&lab.managed())?;
        let mut changes = Vec::new();
        for (number, first) in (0..workload.files).step_by(PER_APP).enumerate() {
            let name = format!("files-{number}");
            changes.push(app_document(&name)?);
            let files = first..workload.files.min(first + PER_APP);
            for (document, text) in documents(files) {
                changes.push(write(&format!("apps/{name}/{document}"), text)?);
            }
        }
        lab.commit(&changes)?;
        Ok(lab)
    }

    /// The folder that is held.
    pub(super) fn managed(&self) -> PathBuf {
        self.folder.path().join("managed")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(super) fn bootstrap(&self) -> PathBuf {
        self.folder.path().join("bootstrap.yaml")
    }

    /// Where an agent's complaints go.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.path().join("agent.log")
    }

    /// What an agent complained about, to be told with what went wrong.
    pub(super) fn complaints(&self) -> String {
        let said = fs::read_to_string(self.log()).unwrap_or_else(|error| format!("(no log: {error})"));
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    /// Makes a version.
    pub(super) fn commit(&self, changes: &[Change]) -> anyhow::Result<VersionId> {
        let author = Author { name: "Bench".to_owned(), email: "bench@localhost".to_owned(), at: wall() };
        let version = self.repository.commit(&self.branch, changes, &author, "a change\n", Parent::Head);
        version.context("the repository of the lab cannot be written")
    }
}

pub(super) fn write(path: &str, text: String) -> anyhow::Result<Change> {
    Ok(Change::Write { path: StorePath::new(path)?, bytes: text.into_bytes() })
}

/// An app on the machine, made from the folder of its name.
pub(super) fn app_document(name: &str) -> anyhow::Result<Change> {
    let inputs = format!("[{{ name: main, store: bootstrap, path: apps/{name} }}]");
    control(name, "App", &format!("{{ component: {name}, environment: bench, inputs: {inputs}, target: machine }}"))
}

fn control(name: &str, kind: &str, spec: &str) -> anyhow::Result<Change> {
    let text = format!("apiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata: {{ name: {name} }}\nspec: {spec}\n");
    write(&format!("setpoint/{name}.yaml"), text)
}

/// Whether every file of the workload holds what is declared. Errors are told, never taken for a difference.
pub(super) fn is_in_place(root: &Path, workload: Workload) -> anyhow::Result<bool> {
    for number in 0..workload.files {
        let place = Workload::place(root, number);
        let text = fs::read_to_string(&place).with_context(|| format!("reading {}", place.display()))?;
        if text != Workload::content(number) {
            return Ok(false);
        }
    }
    Ok(true)
}
