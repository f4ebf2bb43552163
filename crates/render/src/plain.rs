//! The plain renderer: every `*.yaml`, `*.yml` and `*.json` below the inputs, unchanged.
//!
//! Files that a resource takes content from (`contentFrom`) are content and not declarations,
//! whatever their name.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::name::StoreName;
use setpoint_documents::{Manifest, read_resources_with};
use setpoint_store::{StoreError, StorePath, Tree};
use setpoint_yaml::{Diagnostics, Place, Source};

use crate::completing::{Completing, Totals};
use crate::content::ContentFiles;
use crate::problem::{Problem, Problems};
use crate::request::{Input, Request};
use crate::walk::{Naming, files_below};

/// The suffixes of files that declare resources.
pub(crate) const SUFFIXES: [&str; 3] = [".yaml", ".yml", ".json"];

/// Files that show that a directory is meant for another renderer, with the problem and its fix.
const OTHER_RENDERERS: [(&str, &str, &str); 4] = [
    ("kustomization.yaml", OF_KUSTOMIZE, NAME_IT),
    ("kustomization.yml", OF_KUSTOMIZE, NAME_IT),
    ("Kustomization", OF_KUSTOMIZE, NAME_IT),
    (
        "Chart.yaml",
        "the directory holds a Helm chart, and there is no helm renderer yet",
        "commit what it renders as plain YAML, or move the directory out of the input",
    ),
];
const OF_KUSTOMIZE: &str = "the directory is a kustomization below a directory that is none";
const NAME_IT: &str =
    "make it an input of its own, or add a kustomization to the directory of the input and name it there";

/// One file and its parsed content.
struct FileRead {
    store: StoreName,
    path: StorePath,
    name: String,
    outcome: Result<Vec<Manifest>, Diagnostics>,
    /// The files of the same store that its resources take content from, each with the place that
    /// names it.
    takes: Vec<(StorePath, Place)>,
}

/// The inputs of an app that are read unchanged.
pub(crate) struct Plain<'a> {
    request: &'a Request<'a>,
    files: Vec<FileRead>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        Self { request, files: Vec::new() }
    }

    pub(crate) fn read_input(
        &mut self,
        input: &Input,
        tree: &dyn Tree,
        naming: &Naming,
        totals: &mut Totals,
        problems: &mut Problems,
    ) -> Result<(), StoreError> {
        let mut files = files_below(tree, &input.path, naming, problems)?;
        for folder in folders_of_others(&files, naming, problems) {
            files.retain(|file| !is_below(file, &folder));
        }
        for path in files.into_iter().filter(|path| SUFFIXES.iter().any(|suffix| path.as_str().ends_with(suffix))) {
            if problems.is_full() || totals.is_over() {
                return Ok(());
            }
            self.files.extend(self.read_file(input, path, (tree, naming), totals, problems)?);
        }
        Ok(())
    }

    fn read_file(
        &self,
        input: &Input,
        path: StorePath,
        (tree, naming): (&dyn Tree, &Naming),
        totals: &mut Totals,
        problems: &mut Problems,
    ) -> Result<Option<FileRead>, StoreError> {
        let name = naming.name(&path);
        let Some(Some(blob)) = problems.sort_out(&name, tree.read(&path))? else { return Ok(None) };
        let most = self.request.limits.file_bytes;
        if blob.bytes.len() > most {
            let what = format!("the file has {} bytes, the limit is {most}", blob.bytes.len());
            problems.add(Problem::found(name, what, "split it into several files"));
            return Ok(None);
        }
        let contents = ContentFiles { tree, folder: &input.path, most_bytes: most };
        let mut completing = Completing::new(self.request, contents, totals);
        let outcome = Source::decode(&name, &blob.bytes).and_then(|source| {
            read_resources_with(&name, source.text(), &mut |manifest| completing.complete(manifest))
        });
        let takes = completing.finish()?;
        Ok(Some(FileRead { store: input.store.clone(), path, name, outcome, takes }))
    }

    /// Returns the resources of all files that are not content.
    pub(crate) fn finish(mut self, problems: &mut Problems) -> Vec<Manifest> {
        let contents = self.content_files(problems);
        let mut manifests = Vec::new();
        for file in std::mem::take(&mut self.files) {
            if contents.contains(&(file.store, file.path)) {
                continue;
            }
            match file.outcome {
                Ok(found) => manifests.extend(found),
                Err(found) => problems.add_all(found),
            }
        }
        manifests
    }

    /// Returns the files that are content. A content file that itself takes content is a problem:
    /// its declarations would be lost silently.
    fn content_files(&self, problems: &mut Problems) -> BTreeSet<(StoreName, StorePath)> {
        let taking: BTreeMap<_, _> = self
            .files
            .iter()
            .filter(|file| !file.takes.is_empty())
            .map(|file| ((&file.store, &file.path), &file.name))
            .collect();
        let mut contents = BTreeSet::new();
        for file in &self.files {
            for (taken, place) in &file.takes {
                if let Some(name) = taking.get(&(&file.store, taken)) {
                    problems.add(Problem::found(
                        format!("{}:{}", place.file, place.line),
                        format!("content is taken from `{name}`, which takes content from files itself"),
                        "keep declarations and content in different files",
                    ));
                }
                contents.insert((file.store.clone(), taken.clone()));
            }
        }
        contents
    }
}

/// Reports and returns the directories meant for another renderer. Read unchanged, they would
/// declare something else than intended.
fn folders_of_others(files: &[StorePath], naming: &Naming, problems: &mut Problems) -> Vec<StorePath> {
    let mut folders = Vec::new();
    for file in files {
        let known = OTHER_RENDERERS.iter().find(|(name, ..)| file.name() == Some(name));
        let (Some((_, what, fix)), Some(folder)) = (known, file.parent()) else { continue };
        problems.add(Problem::found(naming.name(file), *what, *fix));
        folders.push(folder);
    }
    folders
}

fn is_below(path: &StorePath, folder: &StorePath) -> bool {
    let mut names = path.components();
    folder.components().all(|name| names.next() == Some(name))
}
