//! Builds the kustomization of a directory to the resources it declares.
//!
//! A kustomization reads its resources and bases, runs its generators, applies its components, then
//! its transformers, and passes the result to the kustomization that names it as a base. Steps that
//! need all resources (hashes, references by name, variables, order) run once, at the end.

mod arguments;
mod bad;
mod configuration;
mod crds;
mod generated;
mod names;
mod patched;
mod patches;
mod plugins;
mod replacements;
mod service_account;
mod taken;
mod trail;
mod transformers;
mod validators;
mod values;
mod vars;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use setpoint_yaml::Source;

use crate::annotations::NEEDS_HASH;
use crate::field_spec::FieldSpec;
use crate::fields::Texts;
use crate::files::{Counted, FileError, Files};
use crate::folder::Folder;
use crate::hash::hash;
use crate::identity::{Gvk, Id};
use crate::kustomization::{FILE_NAMES, Kustomization, Var};
use crate::limits::{BYTES, Budget, Exceeded, Limits, Spent, Weight, found_among, named};
use crate::load;
use crate::node::{Content, Map, Node};
use crate::order::Order;
use crate::origin::{Origin, Sources};
use crate::read::read_document;
use crate::references;
use crate::resource::Resource;
use crate::schema::{BuiltIn, Schema};
use crate::transform;

pub use bad::BadBuild;
use configuration::KnownFields;
use names::Registered;
use trail::{Asked, Written};

/// The steps to read the identity of a resource and compare it with others.
const NAMED: usize = 150;
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of the label `app.kubernetes.io/managed-by` that kustomize 5.8.1 sets.
pub const MANAGER: &str = "kustomize-v5.8.1";
/// The hint for everything that would start a program.
const ELSEWHERE: &str = "is not run while rendering: commit its output, for example from a CI job";

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files must be in the directory of the kustomization that names them, or below it.
    pub is_restricted: bool,
    /// The order of resources, unless the kustomization sets one.
    pub order: Order,
    /// The value of the label `app.kubernetes.io/managed-by` on all resources, also if a
    /// kustomization sets that label.
    pub managed_by: Option<Arc<str>>,
    pub limits: Limits,
    /// Once it is set, the build ends with an error for which [`BadBuild::is_stopped`] is true. It
    /// is no verdict on the files.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Self {
        let (order, limits) = (Order::legacy(), Limits::default());
        Self { is_restricted: true, order, managed_by: None, limits, stop: None }
    }
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Built {
    pub resources: Vec<Resource>,
    /// The sources of their nodes.
    pub sources: Sources,
    /// Deprecated fields, unused variables, and schemas in comments, which are ignored.
    pub warnings: Vec<String>,
    /// The cost of the build.
    pub spent: Spent,
    schema: Schema,
    limits: Limits,
}

/// Builds the kustomization of a directory. The path is relative to the root of the tree.
pub fn build(files: &dyn Files, folder: &str, options: &Options) -> Result<Built, BadBuild> {
    let budget = Budget::new(options.limits).stopped_by(options.stop.clone());
    let built = build_within(files, folder, options, &budget);
    // Code that was stopped may have reported this as another error, or taken another branch.
    if budget.is_stopped() { Err(BadBuild::stopped()) } else { built }
}

fn build_within(files: &dyn Files, folder: &str, options: &Options, budget: &Budget) -> Result<Built, BadBuild> {
    let path: Vec<&str> = folder.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let path = files.real_folder(&path.join("/")).map_err(|error| BadBuild::new(&error))?;
    let files = Counted { files, budget };
    let folder = Folder::new(&files, &path, options.is_restricted);
    let mut builder = Builder {
        files: &files,
        budget,
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
        Some(sort) => Order::of(sort)
            .map_err(|error| BadBuild::new(&error).or_at(&builder.sources, kustomization.place("sortOptions")))?,
        None => options.order.clone(),
    };
    let mut all = builder.accumulate(&folder, &kustomization, Accumulated::default(), 0)?;
    builder.finish(&mut all)?;
    budget.steps(all.resources.len() * (NAMED + order.len() / 4))?;
    order.sort(&mut all.resources, |resource| resource.id(&|gvk| builder.schema.is_cluster_scoped(gvk)));
    let own_name = || builder.asked.managed_by.then(|| MANAGER.into());
    if let Some(manager) = options.managed_by.clone().or_else(own_name) {
        let origin = builder.sources.add("".into(), Some("managedByLabel".into()));
        let label = Texts::from([(MANAGED_BY.into(), manager)]);
        let field = FieldSpec::new(Gvk::default(), "metadata/labels", true);
        transform::labels(&mut all.resources, &label, &[field], origin, budget)
            .map_err(|error| BadBuild::new(&error))?;
    }
    let Asked { origins, transformations, .. } = builder.asked;
    for resource in &mut all.resources {
        let origin = resource.node.origin;
        // Only a list can lack it.
        if let Some(fields) = resource.node.as_map_mut().filter(|fields| fields.get("metadata").is_none()) {
            fields.set("metadata", Node::new(Content::Map(Map::default()), origin));
        }
        let finished = resource.finish(origins, transformations);
        finished.map_err(|error| BadBuild::new(&error).or_at(&builder.sources, origin))?;
    }
    budget.steps(0)?;
    let Builder { sources, warnings, schema, .. } = builder;
    let (spent, limits) = (budget.spent(), options.limits);
    Ok(Built { resources: all.resources, sources, warnings, spent, schema, limits })
}

/// The resources and settings accumulated so far.
#[derive(Debug, Default)]
struct Accumulated {
    resources: Vec<Resource>,
    vars: Vec<Var>,
    fields: KnownFields,
}

struct Builder<'b> {
    files: &'b dyn Files,
    budget: &'b Budget,
    sources: Sources,
    schema: Schema,
    /// A kustomization set the schema.
    has_own_schema: bool,
    built_in: BuiltIn,
    /// The `buildMetadata` of the first kustomization. The setting of other kustomizations is
    /// ignored.
    asked: Asked,
    written: Written,
    warnings: Vec<String>,
}

impl Builder<'_> {
    fn text(&self, path: &str) -> Result<String, BadBuild> {
        let bytes = self.files.read(path).map_err(|error| BadBuild::new(&error))?;
        utf8(path, &bytes).map(ToOwned::to_owned)
    }

    /// Reads the first document of a file that kustomize itself defines.
    fn document(&mut self, path: &str, text: &str) -> Result<Option<Node>, BadBuild> {
        let origin = self.sources.add(path.into(), None);
        let document = read_document(path, text, origin).map_err(|error| BadBuild::new(&error))?;
        if let Some(document) = &document {
            let held = self.budget.hold(Weight::of(document).bytes);
            held.map_err(|error| BadBuild::from(error).or_at(&self.sources, origin))?;
        }
        Ok(document)
    }

    /// Reports an exceeded limit at a resource.
    fn at_resource(&self, error: Exceeded, resource: &Resource) -> BadBuild {
        BadBuild::from(error).or_at(&self.sources, resource.node.origin)
    }

    /// Reads the kustomization of a directory.
    fn kustomization(&mut self, folder: &Folder<'_>) -> Result<Kustomization, BadBuild> {
        let mut found = None;
        for name in FILE_NAMES {
            let path = folder.file(name).map_err(|error| BadBuild::new(&error))?;
            match self.files.read(&path) {
                Ok(_) if found.is_some() => {
                    let folder = folder.path();
                    return Err(BadBuild::of(format!(
                        "Found multiple kustomization files under: /{folder}: keep one of them"
                    ))
                    .at(&path, Origin::default().on(1)));
                }
                Ok(bytes) => found = Some((path, bytes)),
                Err(FileError::Missing { .. } | FileError::Folder { .. }) => {}
                Err(error) => return Err(BadBuild::new(&error)),
            }
        }
        let Some((path, bytes)) = found else {
            let names = FILE_NAMES.map(|name| format!("'{name}'")).join(", ");
            return Err(BadBuild::absent(format!(
                "unable to find one of {names} in directory '/{}': add one, or correct the path",
                folder.path()
            )));
        };
        let text = utf8(&path, &bytes)?;
        let document = self.document(&path, text);
        let document =
            document.map_err(|error| if is_behind_first(text, &error) { error.offering() } else { error })?;
        let kustomization = Kustomization::of(document.as_ref())
            .map_err(|error| BadBuild::of(format!("invalid Kustomization: {error}")).at(&path, error.origin))?;
        for (old, new) in &kustomization.deprecated {
            self.warnings.push(format!("{}: '{old}' is deprecated: write it as '{new}'", self.files.told(&path)));
        }
        Ok(kustomization)
    }

    fn use_schema(&mut self, folder: &Folder<'_>, kustomization: &Kustomization) -> Result<(), BadBuild> {
        let used = self.use_schema_of(folder, kustomization);
        used.map_err(|error| error.or_at(&self.sources, kustomization.place("openapi")))
    }

    fn use_schema_of(&mut self, folder: &Folder<'_>, kustomization: &Kustomization) -> Result<(), BadBuild> {
        let (path, version) = (kustomization.openapi.get("path"), kustomization.openapi.get("version"));
        let path = path.map(|path| folder.file(path).map_err(|error| BadBuild::new(&error))).transpose()?;
        let text = path.as_ref().map(|path| self.text(path)).transpose()?;
        // A kustomization takes precedence over its bases.
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
        // Kustomize reads the schema only when it needs it. If it never does, a mistake in the
        // schema is an error here but not there.
        let wrong = |error: BadBuild| error.within("reading the schema of `openapi`");
        let document = self.document(&path, &text).map_err(wrong)?;
        // An empty document is an empty schema. Given an empty file, kustomize panics when it needs
        // the schema.
        let document = document.unwrap_or_else(|| Node::new(Content::Map(Map::default()), Origin::default()));
        let schema = Schema::from_openapi(&document, self.built_in);
        self.schema = schema.map_err(|error| wrong(BadBuild::new(&error)).or_at(&self.sources, document.origin))?;
        Ok(())
    }

    fn accumulate(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: Accumulated,
        depth: usize,
    ) -> Result<Accumulated, BadBuild> {
        let accumulated = self.budget.kustomization(depth).map_err(BadBuild::from);
        let accumulated = accumulated.and_then(|()| self.accumulate_all(folder, kustomization, all, depth));
        // An error without a place of its own is placed at the kustomization.
        accumulated.map_err(|error| error.or_at(&self.sources, kustomization.origin))
    }

    fn accumulate_all(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        mut all: Accumulated,
        depth: usize,
    ) -> Result<Accumulated, BadBuild> {
        if !kustomization.helm_charts.is_empty() {
            let place = kustomization.place("helmCharts");
            return Err(BadBuild::of(format!("`helmCharts` {ELSEWHERE}")).or_at(&self.sources, place));
        }
        self.take_in_all(folder, kustomization, &mut all, depth)
            .map_err(|error| error.within("accumulating resources"))?;
        self.configuration(folder, kustomization, &mut all.fields)?;
        self.custom_resources(folder, kustomization, &mut all.fields)?;
        self.generate(folder, kustomization, &mut all)?;
        self.run_generators(folder, kustomization, &mut all, depth + 1)?;
        for (at, path) in kustomization.components.iter().enumerate() {
            let place = kustomization.place_of_item("components", at);
            all = self
                .component(folder, path, all, depth)
                .map_err(|error| error.within("accumulating components").or_at(&self.sources, place))?;
        }
        self.transform(folder, kustomization, &mut all)?;
        self.run_transformers(folder, kustomization, &mut all.resources, depth + 1)?;
        self.run_validators(folder, kustomization, &mut all, depth + 1)?;
        self.merge_vars(&mut all, kustomization)?;
        Ok(all)
    }

    /// Returns the origin of changes that a field of a kustomization makes.
    fn by(&mut self, folder: &Folder<'_>, field: &str, at: Origin) -> Origin {
        let file = match self.sources.get(at).file.is_empty() {
            true => folder.path().into(),
            false => Arc::clone(&self.sources.get(at).file),
        };
        self.sources.add(file, Some(field.into())).on(at.line())
    }

    /// Appends hashes to the names of the resources that need them.
    fn add_hashes(&mut self, all: &mut [Resource]) -> Result<(), BadBuild> {
        let origin = self.sources.add("".into(), Some("nameSuffixHash".into()));
        let wants = |resource: &&mut Resource| resource.needs_hash || resource.is_enabled(NEEDS_HASH);
        let annotations = |resource: &Resource| resource.node.at(&["metadata", "annotations"])?.as_map().map(Map::len);
        let asked =
            |resource: &Resource| named(&resource.node) + found_among(annotations(resource).unwrap_or_default());
        self.budget.steps(all.iter().map(|resource| 1 + asked(resource)).sum())?;
        for resource in all.iter_mut().filter(wants) {
            let place = resource.node.origin;
            if resource.node.at(&["metadata"]).and_then(Node::as_map).is_none() {
                load::check(&resource.node).map_err(|error| BadBuild::new(&error).or_at(&self.sources, place))?;
            }
            let weight = Weight::of(&resource.node);
            // The hash covers the whole resource.
            self.budget.steps(4 * weight.nodes + weight.texts() / BYTES)?;
            let suffix = hash(&resource.node);
            let suffix = suffix.map_err(|error| BadBuild::new(&error).or_at(&self.sources, place))?;
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            let noted = resource.note_former(&scope);
            noted.map_err(|error| BadBuild::new(&error).or_at(&self.sources, place))?;
            let name = format!("{}-{suffix}", resource.name());
            patches::set_metadata(&mut resource.node, "name", &name, origin);
        }
        Ok(())
    }

    /// Runs the final steps, which need all resources.
    fn finish(&mut self, all: &mut Accumulated) -> Result<(), BadBuild> {
        self.add_hashes(&mut all.resources)?;
        let ids: Vec<Id> =
            all.resources.iter().map(|resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk))).collect();
        let origin = self.sources.add("".into(), Some("nameReference".into()));
        references::correct(&mut all.resources, &ids, &all.fields.get().name_reference, origin, self.budget)
            .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
        self.put_variables(all)?;
        all.resources.retain(|resource| !resource.node.as_map().is_some_and(Map::is_empty));
        all.resources
            .iter()
            .try_for_each(|resource| load::check(&resource.node))
            .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
        let local: Vec<Resource> = all.resources.extract_if(.., |resource| is_local(resource)).collect();
        // Resources that were renamed after they were added may now have equal names: kustomize
        // panics here.
        self.count(all.resources.len(), &all.resources)?;
        self.register(&[], all.resources.iter(), &mut Registered::default())?;
        self.ask_for_schema_of(&all.resources);
        // Local resources are compared by the names they are written with, and these must be
        // unique.
        let id = |resource: &Resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk));
        let mut ids: BTreeSet<Id> = match local.is_empty() {
            true => BTreeSet::new(),
            false => all.resources.iter().map(id).collect(),
        };
        local.iter().enumerate().try_for_each(|(at, resource)| match ids.insert(id(resource)) {
            true => Ok(()),
            false => {
                let others = all.resources.iter().chain(&local[..at]);
                Err(self.registered(&id(resource), resource, others))
            }
        })
    }
}

fn utf8<'b>(path: &'b str, bytes: &'b [u8]) -> Result<&'b str, BadBuild> {
    Source::decode(path, bytes).map(Source::text).map_err(|error| {
        let is_utf_16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let bad = BadBuild::new(&error);
        if is_utf_16 { bad.offering() } else { bad }
    })
}

/// Reports whether an error is after the first document of a text, which kustomize does not read.
fn is_behind_first(text: &str, error: &BadBuild) -> bool {
    let Some((_, wrong)) = &error.place else { return false };
    let (mut end, mut has_content) = (0, false);
    for line in text.split_inclusive('\n').take(wrong.saturating_sub(1) as usize) {
        let is_mark = line.starts_with("---") || line.starts_with("...");
        if is_mark && has_content {
            return read_document("", &text[..end], Origin::default()).is_ok();
        }
        has_content |= !is_mark && !line.trim().is_empty() && !line.starts_with('#');
        end += line.len();
    }
    false
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

/// Reports whether a resource is only input for others and not part of the output.
fn is_local(resource: &Resource) -> bool {
    let local = resource.node.at(&["metadata", "annotations", "config.kubernetes.io/local-config"]);
    local.is_some_and(|value| value.as_text() != Some("false"))
}
