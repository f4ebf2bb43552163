//! The lab of this suite: a directory of this machine that is held at the files of a repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::workload::{Workload, documents};
use crate::agent::lab::{Lab, app_document, control, write};

/// The app that declares the first files of a lab, and all of them if they are not too many for
/// one.
pub(super) const FIRST_APP: &str = "files-0";
/// The most files of one app; the engine takes no more than 20,000.
const PER_APP: usize = 10_000;

impl Lab {
    /// Creates a lab whose target is an empty directory of this machine.
    pub(crate) fn of_files() -> anyhow::Result<Self> {
        let lab = Self::new()?;
        fs::create_dir(lab.managed())?;
        let spec = format!("{{ kind: host, root: {} }}", lab.managed().display());
        lab.commit(&[control("machine", "Target", &spec)?])?;
        Ok(lab)
    }

    /// Creates a lab whose apps, as few as possible, declare the files; their directories exist.
    pub(super) fn with_files(workload: Workload) -> anyhow::Result<Self> {
        let lab = Self::of_files()?;
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

    /// Returns the managed directory.
    pub(super) fn managed(&self) -> PathBuf {
        self.folder().join("managed")
    }
}

/// Reports whether every file of the workload holds its declared content. Errors are returned,
/// never taken for a difference.
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
