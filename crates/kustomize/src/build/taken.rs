//! Accumulates resources from files, bases and components.

use super::names::Registered;
use super::{Accumulated, BadBuild, Builder, NAMED, utf8, vars};
use crate::files::FileError;
use crate::folder::{BadPath, Folder, is_remote};
use crate::identity::Id;
use crate::kustomization::Kustomization;
use crate::limits::Weight;
use crate::load::resources;
use crate::origin::Origin;
use crate::resource::Resource;
use crate::schema::{BuiltIn, Schema};

impl Builder<'_> {
    /// Adds the resource files and bases that a kustomization names.
    pub(super) fn take_in_all(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut Accumulated,
        depth: usize,
    ) -> Result<(), BadBuild> {
        if kustomization.resources.is_empty() {
            return Ok(());
        }
        let mut known = Registered::of(&all.resources, &|gvk| self.schema.is_cluster_scoped(gvk));
        for (at, path) in kustomization.resources.iter().enumerate() {
            let taken = self.take_in(folder, path, all, &mut known, depth);
            taken.map_err(|error| error.or_at(&self.sources, kustomization.place_of_resource(at)))?;
        }
        Ok(())
    }

    /// Adds a resource file or a base.
    pub(super) fn take_in(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        all: &mut Accumulated,
        known: &mut Registered,
        depth: usize,
    ) -> Result<(), BadBuild> {
        // A path that looks like a repository may also be a file: some projects store copies under
        // the name of their origin.
        let as_file = folder.file(path).and_then(|file| self.files.read(&file).map(|bytes| (file, bytes)));
        let (file, bytes) = match as_file {
            Ok(found) => found,
            Err(limit @ FileError::Limit { .. }) => return Err(BadBuild::new(&limit)),
            // An error about a local file is irrelevant for a repository, and it would repeat the
            // password.
            Err(_) if is_remote(path) => return self.base(folder, path, all, known, depth),
            Err(no_file) => {
                let taken = self.base(folder, path, all, known, depth);
                return taken.map_err(|no_base| match &no_file {
                    // A mistyped base is also above the directory, so this error is only meaningful
                    // if a file exists there.
                    FileError::Path(BadPath::Above { .. }) if !folder.has_file(path) => no_base,
                    FileError::Path(BadPath::Above { .. }) => no_base.instead(&no_file),
                    _ => no_base.behind(&no_file),
                });
            }
        };
        let mut loaded = self.loaded(&file, &bytes, None)?;
        self.note_file(folder, path, &mut loaded)?;
        self.append(&mut all.resources, loaded, known)
            .map_err(|error| error.within(&format!("merging resources from '{path}'")))
    }

    /// Loads the patches of a file that a field names.
    pub(super) fn load(&mut self, file: &str, by: &str) -> Result<Vec<Resource>, BadBuild> {
        let bytes = self.files.read(file).map_err(|error| BadBuild::new(&error))?;
        self.loaded(file, &bytes, Some(by))
    }

    /// Loads resources from the content of a file.
    fn loaded(&mut self, file: &str, bytes: &[u8], by: Option<&str>) -> Result<Vec<Resource>, BadBuild> {
        let text = utf8(file, bytes)?;
        self.warn_of_schemas(file, text);
        let origin = self.sources.add(file.into(), by.map(Into::into));
        let what = format!("accumulating resources from '{}'", self.files.told(file));
        let loaded = resources(file, text, origin)
            .map_err(|error| BadBuild::new(&error).within(&what).or_at(&self.sources, origin))?;
        self.hold(&loaded)?;
        Ok(loaded)
    }

    /// Counts resources that were read or generated.
    pub(super) fn hold(&self, resources: &[Resource]) -> Result<(), BadBuild> {
        for resource in resources {
            let counted = self.budget.fields(&resource.node);
            let counted = counted.and_then(|()| self.budget.hold(Weight::of(&resource.node).bytes));
            counted.map_err(|error| self.at_resource(error, resource))?;
        }
        Ok(())
    }

    /// Warns of schemas in comments after fields: kustomize reads them and merges lists by them. We
    /// do not read comments.
    pub(super) fn warn_of_schemas(&mut self, file: &str, text: &str) {
        if !text.contains("# {") {
            return;
        }
        let has_schema = |line: &str| {
            let comment = line.split_once("# {").map(|(_, comment)| comment).unwrap_or_default();
            comment.contains("\"x-kubernetes-patch-") || comment.contains("\"$ref\"")
        };
        if let Some(at) = text.lines().position(has_schema) {
            let (file, line) = (self.files.told(file), at + 1);
            self.warnings
                .push(format!("{file}:{line}: the schema in this comment is not read: name it under `openapi`"));
        }
    }

    fn base(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        all: &mut Accumulated,
        known: &mut Registered,
        depth: usize,
    ) -> Result<(), BadBuild> {
        let base = folder.base(path).map_err(|error| BadBuild::new(&error))?;
        let inner = folder.below(&base, path);
        let kustomization = self.kustomization(&inner)?;
        if kustomization.is_component {
            return Err(BadBuild::of(format!(
                "expected kind != 'Component' for path '/{}': name it in `components`",
                base.path
            )));
        }
        self.use_schema(&inner, &kustomization)?;
        let taken = self.accumulate(&inner, &kustomization, Accumulated::default(), depth + 1)?;
        self.append(&mut all.resources, taken.resources, known)
            .map_err(|error| error.within(&format!("recursed merging from path '/{}'", base.path)))?;
        all.fields.merge(&taken.fields, self.budget)?;
        vars::merge_var_lists(&mut all.vars, taken.vars, self.budget)
    }

    pub(super) fn component(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        all: Accumulated,
        depth: usize,
    ) -> Result<Accumulated, BadBuild> {
        let base = folder.base(path).map_err(|error| BadBuild::new(&error))?;
        let inner = folder.below(&base, path);
        let kustomization = self.kustomization(&inner).map_err(|bad| match folder.read(path).is_ok() {
            true => BadBuild::of(format!(
                "must build at directory: '/{}': file is not directory: name the directory of a component",
                base.path
            )),
            false => bad,
        })?;
        if !kustomization.is_component {
            let problem = format!(
                "expected kind 'Component' for path '/{}' but got 'Kustomization': name it in `resources`",
                base.path
            );
            return Err(BadBuild::of(problem));
        }
        self.use_schema(&inner, &kustomization)?;
        let taken = self.accumulate(&inner, &kustomization, all, depth + 1)?;
        // The component returns all resources, which are added again.
        let mut all = Accumulated { vars: taken.vars, ..Accumulated::default() };
        self.append(&mut all.resources, taken.resources, &mut Registered::default())
            .map_err(|error| error.within(&format!("recursed merging from path '/{}'", base.path)))?;
        all.fields.merge(&taken.fields, self.budget)?;
        Ok(all)
    }

    /// Adds resources, none of which may exist already. `known` has the ids of the existing ones.
    pub(super) fn append(
        &mut self,
        all: &mut Vec<Resource>,
        more: Vec<Resource>,
        known: &mut Registered,
    ) -> Result<(), BadBuild> {
        self.count(all.len() + more.len(), &more)?;
        self.register(all, more.iter(), known)?;
        self.ask_for_schema_of(&more);
        all.extend(more);
        Ok(())
    }

    pub(super) fn ask_for_schema_of(&mut self, more: &[Resource]) {
        if self.built_in == BuiltIn::Unread && !more.iter().all(|resource| Schema::is_built_in(&resource.gvk())) {
            self.built_in = BuiltIn::Asked;
        }
    }

    /// Checks the number of resources, the last of which are new.
    pub(super) fn count(&self, count: usize, last: &[Resource]) -> Result<(), BadBuild> {
        let counted = self.budget.resources(count).and_then(|()| self.budget.steps(NAMED * last.len()));
        counted.map_err(|error| match last.last() {
            Some(resource) => self.at_resource(error, resource),
            None => error.into(),
        })
    }

    /// Records the ids of more resources. All must be distinct.
    pub(super) fn register<'r>(
        &self,
        all: &'r [Resource],
        more: impl Iterator<Item = &'r Resource> + Clone,
        known: &mut Registered,
    ) -> Result<(), BadBuild> {
        let same = more.clone();
        for (at, resource) in more.enumerate() {
            let id = self.id(resource);
            if !known.add(&id) {
                let others = all.iter().chain(same.take(at));
                return Err(self.registered(&id, resource, others));
            }
        }
        Ok(())
    }

    /// Reports two resources with the same id, and the places of both.
    pub(super) fn registered<'r>(
        &self,
        id: &Id,
        resource: &Resource,
        mut others: impl Iterator<Item = &'r Resource>,
    ) -> BadBuild {
        let other = others.find(|other| self.id(other).is_same(id)).map(|other| self.shown(other.node.origin));
        let other = other.filter(|place| !place.is_empty()).map(|place| format!(" (the other is in {place})"));
        let other = other.unwrap_or_default();
        BadBuild::of(format!(
            "may not add resource with an already registered id: {id}{other}: keep one of them, or rename one"
        ))
        .or_at(&self.sources, resource.node.origin)
    }

    fn id(&self, resource: &Resource) -> Id {
        resource.id(&|gvk| self.schema.is_cluster_scoped(gvk))
    }

    /// Formats a place for messages.
    fn shown(&self, origin: Origin) -> String {
        match &*self.sources.get(origin).file {
            "" => String::new(),
            file => format!("{}:{}", self.files.told(file), origin.line().max(1)),
        }
    }
}
