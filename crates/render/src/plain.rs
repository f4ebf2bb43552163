//! The plain renderer: every `*.yaml`, `*.yml` and `*.json` below the inputs, as it stands.
//!
//! Files that a resource takes its content from (`contentFrom`) are content and not declarations, whatever they are called.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::canonical;
use setpoint_core::fields::Fields;
use setpoint_core::name::StoreName;
use setpoint_core::value::Value;
use setpoint_documents::{FieldProblem, Manifest, check_unique_resources, read_resources_with};
use setpoint_store::{Recording, StoreError, StorePath, Tree};
use setpoint_yaml::{Diagnostics, Place, Source};

use crate::content::ContentFiles;
use crate::problem::{Problem, Problems};
use crate::request::{Input, NotRendered, Rendered, RenderedResource, Request};
use crate::walk::{Naming, files_below};

/// Which renderer this is. It changes when the same input gives another output, so that nothing is skipped because of what an older
/// one made of it.
pub const RECIPE: &str = "plain/2";

const SUFFIXES: [&str; 3] = [".yaml", ".yml", ".json"];

/// Files whose presence says that a folder is meant for another renderer, and which.
const OTHER_RENDERERS: [(&str, &str); 4] = [
    ("kustomization.yaml", "kustomize"),
    ("kustomization.yml", "kustomize"),
    ("Kustomization", "kustomize"),
    ("Chart.yaml", "helm"),
];

/// One file, and what it turned out to hold.
struct FileRead {
    store: StoreName,
    path: StorePath,
    name: String,
    outcome: Result<Vec<Manifest>, Diagnostics>,
    /// Files of the same store that its resources take content from, each with where it is said.
    takes: Vec<(StorePath, Place)>,
}

/// Renders all inputs, or says everything that is wrong with them.
pub fn render(request: &Request<'_>) -> Result<Rendered, NotRendered> {
    let mut recordings = BTreeMap::new();
    for input in request.inputs {
        let tree = request.trees.get(&input.store).ok_or_else(|| {
            StoreError::unreachable(format!("no version of the store {} was opened for this render", input.store))
        })?;
        recordings.entry(&input.store).or_insert_with(|| Recording::new(tree.as_ref()));
    }
    let mut rendering = Rendering { request, problems: Problems::default(), files: Vec::new(), objects: 0, bytes: 0 };
    rendering.refuse_parameters();
    for input in request.inputs {
        let naming =
            if recordings.len() > 1 { Naming::of_one_among_several(&input.store) } else { Naming::of_one_store() };
        rendering.read_input(input, &recordings[&input.store], &naming)?;
    }
    let resources = rendering.finish()?;
    let reads = recordings.into_iter().map(|(store, recording)| (store.clone(), recording.into_reads())).collect();
    Ok(Rendered { resources, reads })
}

struct Rendering<'a> {
    request: &'a Request<'a>,
    problems: Problems,
    files: Vec<FileRead>,
    objects: usize,
    bytes: usize,
}

impl Rendering<'_> {
    fn refuse_parameters(&mut self) {
        if *self.request.parameters != Value::Map(Fields::new()) {
            self.problems.add(Problem::found(
                "spec.parameters of the App",
                "the plain renderer takes none, they would mean nothing",
                "remove them",
            ));
        }
    }

    fn read_input(&mut self, input: &Input, tree: &dyn Tree, naming: &Naming) -> Result<(), StoreError> {
        let mut files = files_below(tree, &input.path, naming, &mut self.problems)?;
        for folder in self.folders_of_others(&files, naming) {
            files.retain(|file| !is_below(file, &folder));
        }
        for path in files.into_iter().filter(|path| SUFFIXES.iter().any(|suffix| path.as_str().ends_with(suffix))) {
            if self.problems.is_full() || self.is_over_limits() {
                return Ok(());
            }
            self.read_file(input, path, tree, naming)?;
        }
        Ok(())
    }

    /// Folders another renderer is meant for, each told: reading them as they stand would declare something else than is meant.
    fn folders_of_others(&mut self, files: &[StorePath], naming: &Naming) -> Vec<StorePath> {
        let mut folders = Vec::new();
        for file in files {
            let known = OTHER_RENDERERS.iter().find(|(name, _)| file.name() == Some(name));
            let (Some((_, renderer)), Some(folder)) = (known, file.parent()) else { continue };
            self.problems.add(Problem::found(
                naming.name(file),
                format!("the folder is meant for {renderer}, and the {renderer} renderer is not there yet"),
                "commit what it renders as plain YAML, or move the folder out of the input",
            ));
            folders.push(folder);
        }
        folders
    }

    fn read_file(
        &mut self,
        input: &Input,
        path: StorePath,
        tree: &dyn Tree,
        naming: &Naming,
    ) -> Result<(), StoreError> {
        let name = naming.name(&path);
        let Some(Some(blob)) = self.problems.sort_out(&name, tree.read(&path))? else { return Ok(()) };
        let most = self.request.limits.file_bytes;
        if blob.bytes.len() > most {
            let what = format!("the file has {} bytes, the limit is {most}", blob.bytes.len());
            self.problems.add(Problem::found(name, what, "split it into several files"));
            return Ok(());
        }
        let contents = ContentFiles { tree, folder: &input.path, most_bytes: most };
        let mut completing = Completing { request: self.request, contents, takes: Vec::new(), blind: None };
        let outcome = Source::decode(&name, &blob.bytes).and_then(|source| {
            read_resources_with(&name, source.text(), &mut |manifest| completing.complete(manifest))
        });
        if let Some(blind) = completing.blind {
            return Err(blind);
        }
        let takes = completing.takes;
        for manifest in outcome.iter().flatten() {
            self.objects += 1;
            self.bytes += canonical::to_bytes(&manifest.body).len();
        }
        self.files.push(FileRead { store: input.store.clone(), path, name, outcome, takes });
        Ok(())
    }

    fn is_over_limits(&self) -> bool {
        self.objects > self.request.limits.objects || self.bytes > self.request.limits.rendered_bytes
    }

    fn finish(mut self) -> Result<Vec<RenderedResource>, Vec<Problem>> {
        self.refuse_what_is_over_limits();
        let contents = self.content_files();
        let mut manifests = Vec::new();
        for file in std::mem::take(&mut self.files) {
            if contents.contains(&(file.store, file.path)) {
                continue;
            }
            match file.outcome {
                Ok(found) => manifests.extend(found),
                Err(found) => self.problems.add_all(found),
            }
        }
        if let Err(found) = check_unique_resources(&manifests) {
            self.problems.add_all(found);
        }
        self.problems.or_value(manifests.into_iter().map(resource_of).collect())
    }

    fn refuse_what_is_over_limits(&mut self) {
        let limits = self.request.limits;
        let all = "all inputs of the app";
        if self.objects > limits.objects {
            let what = format!("they declare {} objects or more, the limit is {}", self.objects, limits.objects);
            self.problems.add(Problem::found(all, what, "split the app"));
        }
        if self.bytes > limits.rendered_bytes {
            let what = format!("they render to {} bytes or more, the limit is {}", self.bytes, limits.rendered_bytes);
            self.problems.add(Problem::found(all, what, "split the app"));
        }
    }

    /// The files that are content. One that takes content itself would be both, and what it declares would be lost in silence.
    fn content_files(&mut self) -> BTreeSet<(StoreName, StorePath)> {
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
                    self.problems.add(Problem::found(
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

/// Completes the resources of one file: checks their size, puts content in, and asks who knows the kind.
struct Completing<'a> {
    request: &'a Request<'a>,
    contents: ContentFiles<'a>,
    takes: Vec<(StorePath, Place)>,
    blind: Option<StoreError>,
}

impl Completing<'_> {
    fn complete(&mut self, manifest: &mut Manifest) -> Vec<FieldProblem> {
        let (size, most) = (canonical::to_bytes(&manifest.body).len(), self.request.limits.object_bytes);
        if size > most {
            let message = format!("the {} has {size} bytes, the limit for one object is {most}", manifest.kind);
            return vec![FieldProblem::new("", message, "split it, or take large content from a file")];
        }
        let mut problems = Vec::new();
        match self.contents.put_into(manifest) {
            Ok(Some(taken)) => {
                self.takes.extend(taken.file.map(|file| (file, manifest.place.clone())));
                problems.extend(taken.problem);
            }
            Ok(None) => {}
            Err(blind) => self.blind = Some(blind),
        }
        problems.extend((self.request.check)(&manifest.api_version, &manifest.kind, &manifest.body));
        problems
    }
}

fn resource_of(manifest: Manifest) -> RenderedResource {
    let Manifest { api_version, kind, body, place, .. } = manifest;
    RenderedResource { api_version, kind, body, place }
}

fn is_below(path: &StorePath, folder: &StorePath) -> bool {
    let mut names = path.components();
    folder.components().all(|name| names.next() == Some(name))
}
