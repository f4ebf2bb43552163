//! A lab: a repository, the bootstrap document that points to it, and a data directory for an
//! agent. Each suite adds the target, under the name `machine`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use setpoint_core::name::{AppId, AppName, Scope, VersionId};
use setpoint_store::StorePath;
use setpoint_store_git::{Author, Branch, Change, LocalRepository, Parent};
use tempfile::TempDir;

use crate::stopwatch::wall;

pub(crate) struct Lab {
    folder: TempDir,
    repository: LocalRepository,
    branch: Branch,
}

/// Returns an app of the default scope.
pub(crate) fn app(name: &str) -> anyhow::Result<AppId> {
    Ok(AppId::new(Scope::default_scope(), AppName::new(name)?))
}

impl Lab {
    /// Creates a repository without a version, and the bootstrap document that points to it.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let repository = LocalRepository::init(&folder.path().join("state.git"))?;
        let lab = Self { folder, repository, branch: Branch::parse("main")? };
        let repository = lab.repository.folder().display();
        let bootstrap = format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n  store: {{ url: {repository}, interval: 1s }}\n"
        );
        fs::write(lab.bootstrap(), bootstrap)?;
        Ok(lab)
    }

    /// Serves HTTP with these settings, and polls so rarely that only a webhook causes a poll.
    pub(crate) fn serve(&self, server: &str) -> anyhow::Result<()> {
        let repository = self.repository.folder().display();
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n  store: {{ url: {repository}, interval: 1h }}\n  server: {server}\n"
        );
        Ok(fs::write(self.bootstrap(), text)?)
    }

    /// Returns the directory of the lab.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn bootstrap(&self) -> PathBuf {
        self.folder.path().join("bootstrap.yaml")
    }

    /// Returns the file of the agent's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("agent.log")
    }

    /// Returns the agent's log, for messages about failures.
    pub(crate) fn complaints(&self) -> String {
        let said = fs::read_to_string(self.log()).unwrap_or_else(|error| format!("(no log: {error})"));
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    /// Commits a version.
    pub(crate) fn commit(&self, changes: &[Change]) -> anyhow::Result<VersionId> {
        let author = Author { name: "Bench".to_owned(), email: "bench@localhost".to_owned(), at: wall() };
        let version = self.repository.commit(&self.branch, changes, &author, "a change\n", Parent::Head);
        version.context("the repository of the lab cannot be written")
    }
}

pub(crate) fn write(path: &str, text: String) -> anyhow::Result<Change> {
    Ok(Change::Write { path: StorePath::new(path)?, bytes: text.into_bytes() })
}

/// Declares an app on the target, with the directory of its name as input.
pub(crate) fn app_document(name: &str) -> anyhow::Result<Change> {
    app_document_held(name, "auto")
}

/// Declares the same app in this mode.
pub(crate) fn app_document_held(name: &str, mode: &str) -> anyhow::Result<Change> {
    let inputs = format!("[{{ name: main, store: bootstrap, path: apps/{name} }}]");
    let spec = format!(
        "{{ component: {name}, environment: bench, inputs: {inputs}, target: machine, sync: {{ mode: {mode} }} }}"
    );
    control(name, "App", &spec)
}

/// Writes a control document.
pub(crate) fn control(name: &str, kind: &str, spec: &str) -> anyhow::Result<Change> {
    let text = format!("apiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata: {{ name: {name} }}\nspec: {spec}\n");
    write(&format!("setpoint/{name}.yaml"), text)
}
