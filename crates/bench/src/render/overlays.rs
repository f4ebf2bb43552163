//! Overlays to render: those of the corpus on disk, and generated ones in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use setpoint_kustomize::build::{Options, build};
use setpoint_kustomize::files::{FileError, Files};

/// The files of a directory.
pub(super) struct Disk(pub(super) PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        let full = self.0.join(path);
        match fs::read(&full) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
                Err(FileError::Folder { path: path.to_owned() })
            }
            Err(_) => Err(FileError::Missing { path: path.to_owned() }),
        }
    }
}

/// Files that exist only in memory.
#[derive(Clone, Default)]
pub(super) struct Memory(pub(super) BTreeMap<String, Arc<[u8]>>);

impl Memory {
    pub(super) fn add(&mut self, path: impl Into<String>, text: &str) {
        self.0.insert(path.into(), text.as_bytes().into());
    }
}

impl Files for Memory {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        self.0.get(path).cloned().ok_or_else(|| FileError::Missing { path: path.to_owned() })
    }
}

/// Returns the rendered text of a directory.
pub(super) fn rendered(files: &dyn Files, folder: &str) -> anyhow::Result<String> {
    let text = build(files, folder, &Options::default()).and_then(|built| built.to_yaml());
    text.map_err(|error| anyhow!("{folder}: {error}"))
}

/// One overlay of the corpus.
pub(super) struct Overlay {
    pub(super) name: String,
    /// The directory of its files.
    pub(super) root: PathBuf,
    /// The rendered directory, relative to `root`.
    pub(super) target: String,
    /// The output of kustomize.
    pub(super) expected: String,
}

impl Overlay {
    pub(super) fn folder(&self) -> PathBuf {
        self.root.join(&self.target)
    }
}

/// Returns all overlays of the corpus. Without it nothing is measured, and that is no success.
pub(super) fn corpus() -> anyhow::Result<Vec<Overlay>> {
    let folder = corpus_folder()?.join("kustomize");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut cases: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    cases.retain(|case| case.join("case.json").is_file());
    cases.sort();
    if cases.is_empty() {
        bail!("{} holds no overlay; is it the directory of the corpus?", folder.display());
    }
    cases.iter().map(|case| overlay(case)).collect()
}

fn overlay(root: &Path) -> anyhow::Result<Overlay> {
    let case: Value = serde_json::from_str(&fs::read_to_string(root.join("case.json"))?)?;
    let target = case["target"].as_str().with_context(|| format!("{} names no target", root.display()))?;
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let expected = fs::read_to_string(root.join("expected.yaml"))?;
    Ok(Overlay { name, root: root.canonicalize()?, target: target.to_owned(), expected })
}

#[expect(clippy::disallowed_methods, reason = "the corpus is no part of the project: a variable names its directory")]
fn corpus_folder() -> anyhow::Result<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let found = std::env::var_os("SETPOINT_CORPUS").map(PathBuf::from).or_else(|| beside.is_dir().then_some(beside));
    found.context("the corpus of overlays was not found; set SETPOINT_CORPUS to its directory")
}
