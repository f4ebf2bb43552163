//! Candidates: an app's revision is skipped because none of its inputs has changed, rendered into
//! resources, refused, or unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use setpoint_core::boundary::Boundary;
use setpoint_core::canonical;
use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, StoreName, TargetName};
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_documents::{AppSpec, LoadRestrictor, Reference, RelativePath, Undeclared};
use setpoint_render::problem::Problems;
use setpoint_render::request::CheckKind;
use setpoint_render::{
    Explanation, External, Input, Kustomize, Limits, NotExplained, NotRendered, Problem, ReadSets, RemoteBase,
    RenderedResource, Request, Trees, Wanted, explain, render, rendering,
};
use setpoint_store::{BadPath, StoreError, StorePath};
use setpoint_target::{Kinds, Unidentifiable};
use setpoint_yaml::{Class, Diagnostic, Place};

use super::additions::{AddedRule, additions_in};
use super::documents::ControlDocuments;
use super::replacing::replaced_in;
use super::selector::Selector;
use super::sharing::{SharingRule, shared_in};

/// The source of an app, from the control documents accepted *before*. A candidate cannot define
/// its own source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSource {
    pub app: AppId,
    pub target: TargetName,
    /// The namespace that the target gives to objects without one: it is part of their keys.
    pub namespace: Option<String>,
    pub inputs: Vec<Input>,
    pub parameters: Value,
    /// The settings with which kustomizations are rendered.
    pub kustomize: Kustomize,
    /// The fields of its resources that others may set.
    pub shared: Vec<SharingRule>,
    /// The rules for additions to its resources.
    pub additions: Vec<AddedRule>,
    /// The boundary of its resources.
    pub boundary: Boundary,
    /// Set if the app may declare the objects that Setpoint itself runs from.
    pub manages_setpoint: bool,
    /// The resources that may be deleted and created again.
    pub replaced: Vec<Selector>,
}

/// The inputs of a render, in enough detail to know whether another render would give the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// The digest of the renderer and the app's source.
    recipe: Digest,
    reads: ReadSets,
}

/// The result of considering a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Considered {
    /// All paths that the last render read, listed or missed resolve to the same content.
    Unchanged,
    /// May be without resources: the consequences are decided elsewhere.
    Rendered { resources: Vec<Resource>, footprint: Footprint, warnings: Vec<String> },
    /// The declaration is wrong, and will be wrong in the same way until a store's head moves.
    Refused { problems: Vec<Problem> },
    /// A store could not be read, or a program could not be run.
    Failed { reason: UnknownReason },
}

impl ControlDocuments {
    /// Returns the source of an app; `None` if no document declares it.
    pub fn source(&self, app: &AppId) -> Option<AppSource> {
        let spec = &self.apps.get(app)?.spec;
        let input = |input: &setpoint_documents::Input| {
            Some(Input { store: input.store.clone(), path: store_path(&input.path).ok()? })
        };
        Some(AppSource {
            app: app.clone(),
            target: spec.target.clone(),
            namespace: self.namespace_of(spec),
            inputs: spec.inputs.iter().map(input).collect::<Option<_>>()?,
            parameters: spec.parameters.value().clone(),
            kustomize: self.kustomize(&spec.kustomize),
            shared: SharingRule::all_of(spec),
            additions: AddedRule::all_of(spec),
            boundary: self.boundary_of(app, spec),
            manages_setpoint: self.manages_setpoint(&app.scope),
            replaced: replaced_in(spec),
        })
    }
}

impl ControlDocuments {
    fn namespace_of(&self, app: &AppSpec) -> Option<String> {
        let target = &self.targets.get(&app.target)?.spec;
        self.families.of(target).namespace(target)
    }

    fn kustomize(&self, declared: &setpoint_documents::Kustomize) -> Kustomize {
        let base = |store: &StoreName| {
            let spec = &self.stores.get(store)?.spec;
            let reference = match spec.reference() {
                Reference::Branch(branch) => branch.as_str().to_owned(),
                Reference::Tag(tag) => tag.as_str().to_owned(),
            };
            let commit = spec.commit.as_ref().map(|commit| commit.as_str().to_owned());
            Some(RemoteBase {
                store: store.clone(),
                url: spec.url.as_str().to_owned(),
                folder: spec.path.as_ref().map(|path| path.as_str().to_owned()),
                references: [reference].into_iter().chain(commit).collect(),
            })
        };
        Kustomize {
            is_restricted: declared.load_restrictor == LoadRestrictor::RootOnly,
            keeps_undeclared: declared.undeclared == Undeclared::Keep,
            bases: declared.bases.iter().filter_map(base).collect(),
            external: declared.external.as_ref().map(|external| external.digest.as_str().to_owned()),
            shadow: declared.shadow.as_ref().map(|shadow| shadow.digest.as_str().to_owned()),
        }
    }
}

/// Converts a path of a document to a path of a tree; `.` is the tree's own root.
pub fn store_path(path: &RelativePath) -> Result<StorePath, BadPath> {
    match path.as_str() {
        "." | "./" => Ok(StorePath::root()),
        text => StorePath::new(text),
    }
}

impl AppSource {
    /// Returns the stores that the app is rendered from.
    pub fn stores(&self) -> BTreeSet<StoreName> {
        let bases = self.kustomize.bases.iter().map(|base| &base.store);
        self.inputs.iter().map(|input| &input.store).chain(bases).cloned().collect()
    }

    /// Builds the render request.
    fn request<'a>(
        &'a self,
        trees: &'a Trees,
        check: CheckKind<'a>,
        external: Option<&'a dyn External>,
        stop: Option<&'a Arc<AtomicBool>>,
    ) -> Request<'a> {
        let Self { inputs, parameters, kustomize, .. } = self;
        Request { inputs, parameters, kustomize, trees, check, external, limits: Limits::default(), stop }
    }

    /// Explains which inputs set the fields of a resource that the app declares in these versions.
    pub fn explain(
        &self,
        trees: &Trees,
        wanted: &Wanted<'_>,
        stop: Option<&Arc<AtomicBool>>,
    ) -> Result<Explanation, NotExplained> {
        explain(&self.request(trees, &|_, _, _| Vec::new(), None, stop), wanted)
    }

    /// Returns the digest of the inputs of its kustomizations and of our way to render them,
    /// whichever program renders them. Parameters are applied afterwards and are not part of it.
    pub fn recipe_of_kustomizations(&self) -> Digest {
        let Kustomize { is_restricted, bases, .. } = &self.kustomize;
        canonical::digest_of(&(rendering::RECIPE, self.input_paths(), is_restricted, bases))
    }

    fn input_paths(&self) -> Vec<(&StoreName, &StorePath)> {
        self.inputs.iter().map(|input| (&input.store, &input.path)).collect()
    }

    /// Returns the digest of the renderer and the source, under which a render is remembered.
    pub fn recipe(&self) -> Digest {
        let inputs = self.input_paths();
        let rules = (&self.shared, &self.replaced, &self.additions);
        let given = (inputs, &self.parameters, &self.kustomize, rules, &self.boundary, self.manages_setpoint);
        canonical::digest_of(&(rendering::RECIPE, &self.app, (&self.target, &self.namespace), given))
    }
}

impl Footprint {
    /// Reports whether rendering the source from these trees would give the same result as before.
    pub fn holds(&self, source: &AppSource, trees: &Trees) -> Result<bool, StoreError> {
        if self.recipe != source.recipe() {
            return Ok(false);
        }
        if Mutant::SkipWithoutReadSet.is_on() {
            return Ok(true);
        }
        for (store, reads) in &self.reads {
            let Some(tree) = trees.get(store) else { return Ok(false) };
            if !reads.holds_on(tree.as_ref())? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the result for a revision without rendering it, judged by the footprint of the render
/// that was accepted last; `None` if a render is needed.
pub fn known_beforehand(source: &AppSource, trees: &Trees, last: Option<&Footprint>) -> Option<Considered> {
    match last?.holds(source, trees) {
        Ok(true) => Some(Considered::Unchanged),
        Ok(false) => None,
        Err(blind) => Some(Considered::Failed { reason: blind.into() }),
    }
}

/// Considers a revision without ever running an external program. `last` is the footprint of the
/// render that was accepted last; without one everything is rendered.
pub fn consider(source: &AppSource, trees: &Trees, last: Option<&Footprint>, kinds: &dyn Kinds) -> Considered {
    known_beforehand(source, trees, last)
        .unwrap_or_else(|| rendered(source, trees, By { kinds, external: None, stop: None }))
}

/// The parties to a render other than its source.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    pub kinds: &'a dyn Kinds,
    /// The runner of external programs for apps that name one, if there is one.
    pub external: Option<&'a dyn External>,
    /// Set once no caller waits for the render any more.
    pub stop: Option<&'a Arc<AtomicBool>>,
}

/// Renders a revision.
pub fn rendered(source: &AppSource, trees: &Trees, by: By<'_>) -> Considered {
    let kinds = by.kinds;
    let check: CheckKind<'_> = &|api_version, kind, body| kinds.check(api_version, kind, body);
    let rendered = match render(&source.request(trees, check, by.external, by.stop)) {
        Ok(rendered) => rendered,
        Err(NotRendered::Refused { problems }) => return Considered::Refused { problems },
        Err(NotRendered::Failed { source }) => return Considered::Failed { reason: source.into() },
        Err(NotRendered::Unavailable { what }) => {
            return Considered::Failed { reason: UnknownReason::NotRun { detail: what } };
        }
        Err(stopped @ NotRendered::Stopped) => {
            return Considered::Failed { reason: UnknownReason::NotRun { detail: stopped.to_string() } };
        }
    };
    match identified(rendered.resources, source, kinds) {
        Ok(resources) => {
            let footprint = Footprint { recipe: source.recipe(), reads: rendered.reads };
            Considered::Rendered { resources, footprint, warnings: rendered.warnings }
        }
        Err(problems) => Considered::Refused { problems },
    }
}

/// Assigns keys and order to resources. Two resources that are one object on the target are
/// reported with both places: documents with different names may be the same object there.
pub(super) fn identified(
    rendered: Vec<RenderedResource>,
    source: &AppSource,
    kinds: &dyn Kinds,
) -> Result<Vec<Resource>, Vec<Problem>> {
    let mut problems = Problems::default();
    let mut places: BTreeMap<Key, Place> = BTreeMap::new();
    let mut resources: Vec<Resource> = Vec::new();
    for RenderedResource { api_version, kind, body, place } in rendered {
        let key = match kinds.key(&api_version, &kind, &body) {
            Ok(key) => key,
            Err(Unidentifiable { problem }) => {
                problems.add(Diagnostic::new(Class::Value, place, problem));
                continue;
            }
        };
        if let Some(lacking) = source.boundary.lacks(&key) {
            let message = format!("{key} is outside of the scope `{}`", lacking.scope);
            let help = format!("{lacking}, or declare it elsewhere");
            problems.add(Diagnostic::new(Class::Value, place.clone(), message).with_help(help));
        }
        if let Some(part) = kinds.own_part(&key, &body).filter(|_| !source.manages_setpoint) {
            let help = format!("remove it, or set `spec.manageSetpoint: true` in the Scope `{}`", source.app.scope);
            problems.add(Diagnostic::new(Class::Value, place.clone(), format!("{key} is {part}")).with_help(help));
        }
        if let Some(first) = places.insert(key.clone(), place.clone()) {
            let twice = Diagnostic::new(Class::Duplicate, place, format!("{key} is declared twice"));
            problems.add(twice.with_other(first, "first here").with_help("keep one of them"));
        }
        let protected = kinds.is_protected(&api_version, &kind);
        let shared = shared_in(&source.shared, &api_version, &kind, &key);
        let additions = additions_in(&source.additions, &api_version, &kind, &key);
        let replace = source.replaced.iter().any(|rule| rule.is_about(&api_version, &kind, &key)) && !protected;
        let (wave, awaited) = (kinds.wave(&body), kinds.is_awaited(&api_version, &kind));
        let once = kinds.runs_once(&body);
        resources.push(Resource {
            wave,
            awaited,
            protected,
            shared,
            replace,
            additions,
            once,
            ..Resource::new(key, api_version, kind, body)
        });
    }
    let declared: Vec<(Key, &Value)> = resources.iter().map(|one| (one.key.clone(), one.body.as_ref())).collect();
    let mut after = kinds.after(&declared);
    for resource in &mut resources {
        resource.after = after.remove(&resource.key).unwrap_or_default();
    }
    problems.or_value(resources)
}
