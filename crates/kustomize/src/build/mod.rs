//! Builds: from a folder with a kustomization to the resources it declares.
//!
//! A kustomization takes in what its resources and bases hold, makes what its generators say, lets its components change that, then transforms it, and
//! hands it to whoever named it as a base. What has to know everything (hashes, names of each other, variables, order) is done once, at the end.

mod arguments;
mod bad;
mod configuration;
mod crds;
mod names;
mod patched;
mod patches;
mod plugins;
mod replacements;
mod trail;
mod transformers;
mod validators;
mod values;
mod vars;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::annotations::NEEDS_HASH;
use crate::field_spec::FieldSpec;
use crate::fields::Texts;
use crate::files::{FileError, Files};
use crate::folder::{Folder, is_remote};
use crate::generator::{Generator, Kind, Options as GeneratorOptions, absorb};
use crate::hash::hash;
use crate::identity::{Gvk, Id};
use crate::kustomization::{self, FILE_NAMES, Kustomization, Var};
use crate::load::{self, resources};
use crate::node::{Content, Map, Node};
use crate::order::Order;
use crate::origin::{Origin, Sources};
use crate::read::read_document;
use crate::references;
use crate::resource::{Behavior, Resource};
use crate::schema::{BuiltIn, Schema};
use crate::transform;

pub use bad::BadBuild;
use configuration::KnownFields;
use names::Registered;
use trail::{Asked, Written};

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What kustomize 5.8.1 calls itself there.
const MANAGER: &str = "kustomize-v5.8.1";
/// What is told of whatever would start a program.
const ELSEWHERE: &str = "is not run while rendering: commit what it makes, for example from a CI job";
/// How deep bases may name each other.
const DEEPEST: usize = 100;

/// What can be said of a build as a whole.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files have to be in the folder of the kustomization that names them, or below it.
    pub is_restricted: bool,
    /// In which order resources are, unless the kustomization says.
    pub order: Order,
    /// Who all resources are labelled to be managed by, also where a kustomization asks for that label.
    pub managed_by: Option<Arc<str>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { is_restricted: true, order: Order::legacy(), managed_by: None }
    }
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Built {
    pub resources: Vec<Resource>,
    /// The files that their nodes came from.
    pub sources: Sources,
    /// What should be written otherwise.
    pub warnings: Vec<String>,
    schema: Schema,
}

/// Builds the kustomization of a folder; its path is from the root of the tree.
pub fn build(files: &dyn Files, folder: &str, options: &Options) -> Result<Built, BadBuild> {
    let path: Vec<&str> = folder.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let path = files.real_folder(&path.join("/")).map_err(|error| BadBuild::new(&error))?;
    let folder = Folder::new(files, &path, options.is_restricted);
    let mut builder = Builder {
        files,
        sources: Sources::default(),
        schema: Schema::kubernetes(),
        has_own_schema: false,
        built_in: BuiltIn::default(),
        asked: Asked::default(),
        written: Written::default(),
        warnings: Vec::new(),
    };
    let kustomization = builder.kustomization(&folder)?;
    builder.asked = Asked::of(&kustomization);
    builder.use_schema(&folder, &kustomization)?;
    let order = match &kustomization.sort {
        Some(sort) => Order::of(sort).map_err(|error| BadBuild::new(&error))?,
        None => options.order.clone(),
    };
    let mut all = builder.accumulate(&folder, &kustomization, Accumulated::default(), 0)?;
    builder.finish(&mut all)?;
    order.sort(&mut all.resources, |resource| resource.id(&|gvk| builder.schema.is_cluster_scoped(gvk)));
    let own_name = || builder.asked.managed_by.then(|| MANAGER.into());
    if let Some(manager) = options.managed_by.clone().or_else(own_name) {
        let origin = builder.sources.add("".into(), Some("managedByLabel".into()));
        let label = Texts::from([(MANAGED_BY.into(), manager)]);
        let field = FieldSpec::new(Gvk::default(), "metadata/labels", true);
        transform::labels(&mut all.resources, &label, &[field], origin).map_err(|error| BadBuild::new(&error))?;
    }
    let Asked { origins, transformations, .. } = builder.asked;
    for resource in &mut all.resources {
        let origin = resource.node.origin;
        // Only a list can be without it.
        if let Some(fields) = resource.node.as_map_mut().filter(|fields| fields.get("metadata").is_none()) {
            fields.set("metadata", Node::new(Content::Map(Map::default()), origin));
        }
        resource.finish(origins, transformations).map_err(|error| BadBuild::new(&error))?;
    }
    let Builder { sources, warnings, schema, .. } = builder;
    Ok(Built { resources: all.resources, sources, warnings, schema })
}

/// What was taken in so far.
#[derive(Debug, Default)]
struct Accumulated {
    resources: Vec<Resource>,
    vars: Vec<Var>,
    fields: KnownFields,
}

struct Builder<'b> {
    files: &'b dyn Files,
    sources: Sources,
    schema: Schema,
    /// The schema is one that a kustomization named.
    has_own_schema: bool,
    built_in: BuiltIn,
    /// What the `buildMetadata` of the first kustomization asks for. That of others is not read.
    asked: Asked,
    written: Written,
    warnings: Vec<String>,
}

impl Builder<'_> {
    fn text(&self, path: &str) -> Result<String, BadBuild> {
        let bytes = self.files.read(path).map_err(|error| BadBuild::new(&error))?;
        utf8(path, &bytes).map(ToOwned::to_owned)
    }

    /// The kustomization of a folder.
    fn kustomization(&mut self, folder: &Folder<'_>) -> Result<Kustomization, BadBuild> {
        let mut found = None;
        for name in FILE_NAMES {
            let path = folder.file(name).map_err(|error| BadBuild::new(&error))?;
            match self.files.read(&path) {
                Ok(_) if found.is_some() => {
                    let folder = folder.path();
                    return Err(BadBuild::of(format!(
                        "Found multiple kustomization files under: /{folder}: keep one of them"
                    )));
                }
                Ok(bytes) => found = Some((path, bytes)),
                Err(FileError::Missing { .. } | FileError::Folder { .. }) => {}
                Err(error) => return Err(BadBuild::new(&error)),
            }
        }
        let Some((path, bytes)) = found else {
            let names = FILE_NAMES.map(|name| format!("'{name}'")).join(", ");
            return Err(BadBuild::absent(format!(
                "unable to find one of {names} in directory '/{}': add one",
                folder.path()
            )));
        };
        let text = utf8(&path, &bytes)?;
        let origin = self.sources.add(path.as_str().into(), None);
        let document = read_document(&path, text, origin).map_err(|error| BadBuild::new(&error))?;
        let kustomization = Kustomization::of(document.as_ref())
            .map_err(|error| BadBuild::of(format!("invalid Kustomization: {error}")).at(&path, error.origin))?;
        for (old, new) in &kustomization.deprecated {
            self.warnings.push(format!("{path}: '{old}' is deprecated: write it as '{new}'"));
        }
        Ok(kustomization)
    }

    fn use_schema(&mut self, folder: &Folder<'_>, kustomization: &Kustomization) -> Result<(), BadBuild> {
        let (path, version) = (kustomization.openapi.get("path"), kustomization.openapi.get("version"));
        let path = path.map(|path| folder.file(path).map_err(|error| BadBuild::new(&error))).transpose()?;
        let text = path.as_ref().map(|path| self.text(path)).transpose()?;
        // What names a base has its say before the base.
        if self.has_own_schema {
            return Ok(());
        }
        let (Some(path), Some(text)) = (path, text) else {
            let version = version.filter(|version| !version.is_empty());
            self.has_own_schema = version.is_some();
            return check_version(version);
        };
        if version.is_some() {
            let problem = "builtin version and custom schema provided, cannot use both: remove one of `openapi.path` and `openapi.version`";
            return Err(BadBuild::of(problem.to_owned()));
        }
        self.has_own_schema = true;
        let origin = self.sources.add(path.as_str().into(), None);
        // Kustomize does not look at it before it asks; where it never does, a mistake in it is refused here and not there.
        let wrong =
            |error: &(dyn std::error::Error + 'static)| BadBuild::new(error).within("reading the schema of `openapi`");
        let document = read_document(&path, &text, origin).map_err(|error| wrong(&error))?;
        // Nothing is known then. Of a file without a byte kustomize panics once it asks.
        let document = document.unwrap_or_else(|| Node::new(Content::Map(Map::default()), origin));
        self.schema = Schema::from_openapi(&document, self.built_in).map_err(|error| wrong(&error))?;
        Ok(())
    }

    fn accumulate(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        mut all: Accumulated,
        depth: usize,
    ) -> Result<Accumulated, BadBuild> {
        if depth > DEEPEST {
            return Err(BadBuild::of(format!("more than {DEEPEST} bases name each other: name fewer")));
        }
        if !kustomization.helm_charts.is_empty() {
            return Err(BadBuild::of(format!("`helmCharts` {ELSEWHERE}")));
        }
        self.take_in_all(folder, &kustomization.resources, &mut all, depth)
            .map_err(|error| error.within("accumulating resources"))?;
        self.configuration(folder, kustomization, &mut all.fields)?;
        self.custom_resources(folder, kustomization, &mut all.fields)?;
        self.generate(folder, kustomization, &mut all)?;
        self.run_generators(folder, kustomization, &mut all, depth + 1)?;
        for path in &kustomization.components {
            all = self.component(folder, path, all, depth).map_err(|error| error.within("accumulating components"))?;
        }
        self.transform(folder, kustomization, &mut all)?;
        self.run_transformers(folder, kustomization, &mut all.resources, depth + 1)?;
        self.run_validators(folder, kustomization, &mut all, depth + 1)?;
        self.merge_vars(&mut all, &kustomization.vars)?;
        Ok(all)
    }

    /// Takes in files of resources, and bases.
    fn take_in_all(
        &mut self,
        folder: &Folder<'_>,
        paths: &[Arc<str>],
        all: &mut Accumulated,
        depth: usize,
    ) -> Result<(), BadBuild> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut known = Registered::of(&all.resources, &|gvk| self.schema.is_cluster_scoped(gvk));
        paths.iter().try_for_each(|path| self.take_in(folder, path, all, &mut known, depth))
    }

    /// Takes in a file of resources, or a base.
    fn take_in(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        all: &mut Accumulated,
        known: &mut Registered,
        depth: usize,
    ) -> Result<(), BadBuild> {
        if is_remote(path) {
            return self.base(folder, path, all, known, depth);
        }
        let as_file = folder.file(path).and_then(|file| self.files.read(&file).map(|bytes| (file, bytes)));
        let (file, bytes) = match as_file {
            Ok(found) => found,
            Err(no_file) => return self.base(folder, path, all, known, depth).map_err(|error| error.beside(&no_file)),
        };
        let mut loaded = self.loaded(&file, &bytes)?;
        self.note_file(folder, path, &mut loaded)?;
        self.append(&mut all.resources, loaded, known)
            .map_err(|error| error.within(&format!("merging resources from '{path}'")))
    }

    fn load(&mut self, file: &str) -> Result<Vec<Resource>, BadBuild> {
        let bytes = self.files.read(file).map_err(|error| BadBuild::new(&error))?;
        self.loaded(file, &bytes)
    }

    /// The resources of a file that was read.
    fn loaded(&mut self, file: &str, bytes: &[u8]) -> Result<Vec<Resource>, BadBuild> {
        let text = utf8(file, bytes)?;
        self.warn_of_schemas(file, text);
        let origin = self.sources.add(file.into(), None);
        resources(file, text, origin)
            .map_err(|error| BadBuild::new(&error).within(&format!("accumulating resources from '{file}'")))
    }

    /// Kustomize reads schemas from comments behind fields, and merges lists by them. We do not read comments.
    fn warn_of_schemas(&mut self, file: &str, text: &str) {
        if !text.contains("# {") {
            return;
        }
        let has_schema = |line: &str| {
            let comment = line.split_once("# {").map(|(_, comment)| comment).unwrap_or_default();
            comment.contains("\"x-kubernetes-patch-") || comment.contains("\"$ref\"")
        };
        if let Some(at) = text.lines().position(has_schema) {
            let line = at + 1;
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
        all.fields.merge(&taken.fields)?;
        vars::merge_var_lists(&mut all.vars, taken.vars)
    }

    fn component(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        all: Accumulated,
        depth: usize,
    ) -> Result<Accumulated, BadBuild> {
        let base = folder.base(path).map_err(|error| BadBuild::new(&error))?;
        let inner = folder.below(&base, path);
        let kustomization = self.kustomization(&inner)?;
        if !kustomization.is_component {
            let problem = format!(
                "expected kind 'Component' for path '/{}' but got 'Kustomization': name it in `resources`",
                base.path
            );
            return Err(BadBuild::of(problem));
        }
        self.use_schema(&inner, &kustomization)?;
        let taken = self.accumulate(&inner, &kustomization, all, depth + 1)?;
        // All that there is comes back, and is taken in anew.
        let mut all = Accumulated { vars: taken.vars, ..Accumulated::default() };
        self.append(&mut all.resources, taken.resources, &mut Registered::default())
            .map_err(|error| error.within(&format!("recursed merging from path '/{}'", base.path)))?;
        all.fields.merge(&taken.fields)?;
        Ok(all)
    }

    /// Adds resources, none of which may be there already. `known` are those that are.
    fn append(&mut self, all: &mut Vec<Resource>, more: Vec<Resource>, known: &mut Registered) -> Result<(), BadBuild> {
        self.register(more.iter(), known)?;
        self.ask_for_schema_of(&more);
        all.extend(more);
        Ok(())
    }

    fn register<'r>(
        &self,
        mut more: impl Iterator<Item = &'r Resource>,
        known: &mut Registered,
    ) -> Result<(), BadBuild> {
        more.try_for_each(|resource| {
            let id = resource.id(&|gvk| self.schema.is_cluster_scoped(gvk));
            if known.add(&id) { Ok(()) } else { Err(registered(&id)) }
        })
    }

    fn ask_for_schema_of(&mut self, more: &[Resource]) {
        if self.built_in == BuiltIn::Unread && !more.iter().all(|resource| Schema::is_built_in(&resource.gvk())) {
            self.built_in = BuiltIn::Asked;
        }
    }

    fn generate(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut Accumulated,
    ) -> Result<(), BadBuild> {
        let common = kustomization.generator_options.as_ref();
        let of_maps = kustomization.config_maps.iter().map(|args| (args, false));
        let mut all_made = Vec::new();
        for (args, is_secret) in of_maps.chain(kustomization.secrets.iter().map(|args| (args, true))) {
            let (by, kind) = match is_secret {
                true => ("secretGenerator", "SecretGenerator"),
                false => ("configMapGenerator", "ConfigMapGenerator"),
            };
            let origin = self.by(folder, by, args.origin);
            let generator = generator(args, common, is_secret)?;
            let mut made = generator.generate(folder, origin).map_err(|error| BadBuild::new(&error))?;
            let step = self.builtin_step(folder, kustomization, kind);
            self.note_generated(step.as_ref(), std::slice::from_mut(&mut made));
            all_made.push(made);
        }
        self.absorb(all_made, all)
    }

    fn absorb(&self, made: Vec<Resource>, all: &mut Accumulated) -> Result<(), BadBuild> {
        if made.is_empty() {
            return Ok(());
        }
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let absorbed = absorb(&mut all.resources, made, &scope);
        absorbed.map_err(|error| BadBuild::new(&error).within("merging from generator"))
    }

    /// Where something that a field of a kustomization does comes from.
    fn by(&mut self, folder: &Folder<'_>, field: &str, at: Origin) -> Origin {
        let file = match self.sources.get(at).file.is_empty() {
            true => folder.path().into(),
            false => Arc::clone(&self.sources.get(at).file),
        };
        self.sources.add(file, Some(field.into())).on(at.line)
    }

    /// Puts hashes behind the names of what wants them.
    fn add_hashes(&mut self, all: &mut [Resource]) -> Result<(), BadBuild> {
        let origin = self.sources.add("".into(), Some("nameSuffixHash".into()));
        let wants = |resource: &&mut Resource| resource.needs_hash || resource.is_enabled(NEEDS_HASH);
        for resource in all.iter_mut().filter(wants) {
            if resource.node.at(&["metadata"]).and_then(Node::as_map).is_none() {
                load::check(&resource.node).map_err(|error| BadBuild::new(&error))?;
            }
            let suffix = hash(&resource.node).map_err(|error| BadBuild::new(&error))?;
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            resource.note_former(&scope).map_err(|error| BadBuild::new(&error))?;
            let name = format!("{}-{suffix}", resource.name());
            patches::set_metadata(&mut resource.node, "name", &name, origin);
        }
        Ok(())
    }

    /// What is done once, when everything is there.
    fn finish(&mut self, all: &mut Accumulated) -> Result<(), BadBuild> {
        self.add_hashes(&mut all.resources)?;
        let ids: Vec<Id> =
            all.resources.iter().map(|resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk))).collect();
        let origin = self.sources.add("".into(), Some("nameReference".into()));
        references::correct(&mut all.resources, &ids, &all.fields.get().name_reference, origin)
            .map_err(|error| BadBuild::new(&error))?;
        self.put_variables(all)?;
        all.resources.retain(|resource| !resource.node.as_map().is_some_and(Map::is_empty));
        all.resources
            .iter()
            .try_for_each(|resource| load::check(&resource.node))
            .map_err(|error| BadBuild::new(&error))?;
        let local: Vec<Resource> = all.resources.extract_if(.., |resource| is_local(resource)).collect();
        // What was renamed since it was taken in may have the name of another: kustomize panics here.
        self.register(all.resources.iter(), &mut Registered::default())?;
        self.ask_for_schema_of(&all.resources);
        // What is local goes by its name as it is written, so that none may have the same.
        let id = |resource: &Resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk));
        let mut ids: BTreeSet<Id> = match local.is_empty() {
            true => BTreeSet::new(),
            false => all.resources.iter().map(id).collect(),
        };
        local.iter().map(id).try_for_each(|id| if ids.insert(id.clone()) { Ok(()) } else { Err(registered(&id)) })
    }
}

fn registered(id: &Id) -> BadBuild {
    BadBuild::of(format!("may not add resource with an already registered id: {id}: keep one of them, or rename one"))
}

fn utf8<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, BadBuild> {
    str::from_utf8(bytes).map_err(|_| BadBuild::of(format!("`{path}` is not UTF-8: write it so")))
}

fn check_version(version: Option<&Arc<str>>) -> Result<(), BadBuild> {
    let known = Schema::BUILT_IN;
    match version {
        Some(version) if **version != *known => {
            Err(BadBuild::of(format!("the specified OpenAPI version is not built in: write {known}, not {version}")))
        }
        _ => Ok(()),
    }
}

/// What is only there for others to be made from.
fn is_local(resource: &Resource) -> bool {
    let local = resource.node.at(&["metadata", "annotations", "config.kubernetes.io/local-config"]);
    local.is_some_and(|value| value.as_text() != Some("false"))
}

fn generator(
    args: &kustomization::Generator,
    common: Option<&kustomization::GeneratorOptions>,
    is_secret: bool,
) -> Result<Generator, BadBuild> {
    let own = args.options.as_ref().map(generator_options).unwrap_or_default();
    let options = match common {
        Some(common) => own.or(&generator_options(common)),
        None => own,
    };
    let behavior = match &*args.behavior {
        "create" => Behavior::Create,
        "replace" => Behavior::Replace,
        "merge" => Behavior::Merge,
        _ => Behavior::Unspecified,
    };
    Ok(Generator {
        kind: if is_secret { Kind::Secret { r#type: Arc::clone(&args.kind_of_secret) } } else { Kind::ConfigMap },
        name: Arc::clone(&args.name),
        namespace: Arc::clone(&args.namespace),
        behavior,
        literals: args.literals.clone(),
        files: args.files.clone(),
        envs: args.envs.clone(),
        options,
    })
}

fn generator_options(written: &kustomization::GeneratorOptions) -> GeneratorOptions {
    GeneratorOptions {
        labels: written.labels.clone().unwrap_or_default(),
        annotations: written.annotations.clone().unwrap_or_default(),
        disables_hash: written.without_hash,
        is_immutable: written.immutable,
    }
}
