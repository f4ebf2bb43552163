//! The managed files: the same paths, contents and modes for us and for each peer.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The approximate size of a file in bytes: a usual configuration file.
const CONTENT: usize = 1024;
/// The files per directory. Directories exist before a measurement starts: only files are measured.
const PER_FOLDER: usize = 100;
/// The files per document of the repository.
const PER_DOCUMENT: usize = 100;

/// A number of files, numbered from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workload {
    pub(super) files: usize,
}

impl Workload {
    /// Returns the path of a file, relative to the root.
    pub(super) fn path(number: usize) -> String {
        format!("/d{:04}/file-{number:06}", number / PER_FOLDER)
    }

    /// Returns the path of a file on this machine.
    pub(super) fn place(root: &Path, number: usize) -> PathBuf {
        root.join(&Self::path(number)[1..])
    }

    pub(super) fn content(number: usize) -> String {
        format!("number = {number}\nfiller = {}\n", "x".repeat(CONTENT))
    }

    /// Returns the content that another process writes: of the same length, so that one write
    /// suffices and no reader gets half of it.
    pub(super) fn edited(number: usize) -> String {
        Self::content(number).replace('x', "y")
    }

    pub(super) fn make_folders(self, root: &Path) -> anyhow::Result<()> {
        for number in (0..self.files).step_by(PER_FOLDER) {
            let place = Self::place(root, number);
            let folder = place.parent().context("a file is in a directory")?;
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        Ok(())
    }

    /// Creates the files themselves, as they are declared.
    pub(super) fn make_files(self, root: &Path) -> anyhow::Result<()> {
        self.make_folders(root)?;
        for number in 0..self.files {
            let place = Self::place(root, number);
            fs::write(&place, Self::content(number)).with_context(|| format!("writing {}", place.display()))?;
        }
        Ok(())
    }

    /// Returns all files as a manifest of Puppet.
    pub(super) fn manifest(self, root: &Path) -> String {
        let file = |number| {
            let (place, content) = (Self::place(root, number), Self::content(number));
            format!("file {{ '{}': ensure => file, mode => '0644', content => '{content}' }}\n", place.display())
        };
        (0..self.files).map(file).collect()
    }

    /// Returns the same as a playbook of Ansible, with one task per file.
    pub(super) fn playbook(self, root: &Path) -> String {
        let task = |number| {
            let (place, content) = (Self::place(root, number), Self::content(number));
            format!("    - copy: {{ dest: \"{}\", mode: \"0644\", content: {content:?} }}\n", place.display())
        };
        let tasks: String = (0..self.files).map(task).collect();
        format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}")
    }
}

/// Returns the documents that declare these files: names below the directory of their app, and
/// texts.
pub(super) fn documents(files: Range<usize>) -> Vec<(String, String)> {
    let chunk = |(number, first): (usize, usize)| {
        let text = declared(first..files.end.min(first + PER_DOCUMENT));
        (format!("files-{number:04}.yaml"), text)
    };
    files.clone().step_by(PER_DOCUMENT).enumerate().map(chunk).collect()
}

/// Returns one text that declares these files.
pub(super) fn declared(numbers: impl Iterator<Item = usize>) -> String {
    let documents: Vec<String> = numbers.map(|number| document(number, &Workload::content(number))).collect();
    documents.join("---\n")
}

pub(super) fn document(number: usize, content: &str) -> String {
    let path = Workload::path(number);
    format!(
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: file-{number} }}\nspec:\n  path: {path}\n  content: {content:?}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_declared_once_to_us_and_to_each_peer() {
        let workload = Workload { files: 250 };
        let documents = documents(0..workload.files);
        assert_eq!(documents.len(), 3);
        let ours: usize = documents.iter().map(|(_, text)| text.matches("kind: File").count()).sum();
        let puppet = workload.manifest(Path::new("/r")).matches("ensure => file").count();
        let ansible = workload.playbook(Path::new("/r")).matches("- copy:").count();
        assert_eq!((ours, puppet, ansible), (250, 250, 250));
    }

    #[test]
    fn an_edit_is_as_long_as_what_it_replaces_and_differs() {
        assert_eq!(Workload::edited(7).len(), Workload::content(7).len());
        assert_ne!(Workload::edited(7), Workload::content(7));
    }
}
