//! Builtin plugins as documents of their own, listed in `generators` and `transformers`.

use std::sync::Arc;

use super::ELSEWHERE;
use super::arguments::arguments;
use super::generated::generator;
use super::names::Registered;
use super::patched::Patched;
use super::patches::StrategicPatches;
use super::service_account::service_account;
use super::trail::Step;
use super::{Accumulated, BadBuild, Builder};
use crate::field_spec::FieldSpec;
use crate::fields::{BadField, Fields};
use crate::folder::Folder;
use crate::identity::Gvk;
use crate::kustomization::{self, Kustomization, Patch};
use crate::load::{inline_resources, is_like_a_path};
use crate::node::Node;
use crate::origin::Origin;
use crate::resource::Resource;
use crate::transform::{self, Namespace, NewImage, Subjects};

impl Builder<'_> {
    pub(super) fn run_generators(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut Accumulated,
        depth: usize,
    ) -> Result<(), BadBuild> {
        let mut all_made = Vec::new();
        for mut plugin in self.plugins(folder, kustomization, "generators", depth)? {
            plugin.node.origin = self.by(folder, "generators", plugin.node.origin);
            let made = self.run_generator(folder, &plugin);
            all_made.push(made.map_err(|error| error.or_at(&self.sources, plugin.node.origin))?);
        }
        self.absorb(all_made, all)
    }

    fn run_generator(&mut self, folder: &Folder<'_>, plugin: &Resource) -> Result<Resource, BadBuild> {
        let made = match kind_of(plugin)? {
            "ConfigMapGenerator" => self.generated(folder, plugin, false)?,
            "SecretGenerator" => self.generated(folder, plugin, true)?,
            "IAMPolicyGenerator" => service_account(plugin)?,
            kind => return Err(unknown(plugin, kind, "generator")),
        };
        let mut made = [made];
        self.hold(&made)?;
        self.note_generated(Step::plugin(plugin)?.as_ref(), &mut made)?;
        let [made] = made;
        Ok(made)
    }

    fn generated(&self, folder: &Folder<'_>, plugin: &Resource, is_secret: bool) -> Result<Resource, BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let mut written = arguments(plugin)?;
        let fields = Fields::of(&written, "").map_err(bad)?;
        let (name, namespace) = metadata(&fields).map_err(bad)?;
        // Deprecated fields are only allowed in a kustomization.
        fields.text("env").map_err(bad)?;
        let is_argument = |name: &str| !["env", "metadata"].iter().any(|other| other.eq_ignore_ascii_case(name));
        written.as_map_mut().into_iter().for_each(|fields| fields.retain(is_argument));
        let mut args = kustomization::generator(&written, "", is_secret).map_err(bad)?;
        if args.name.is_empty() {
            args.name = name;
        }
        if args.namespace.is_empty() {
            args.namespace = namespace;
        }
        let generator = generator(&args, None, is_secret);
        generator.generate(folder, plugin.node.origin).map_err(|error| BadBuild::new(&error))
    }

    pub(super) fn run_transformers(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut Vec<Resource>,
        depth: usize,
    ) -> Result<(), BadBuild> {
        for mut plugin in self.plugins(folder, kustomization, "transformers", depth)? {
            plugin.node.origin = self.by(folder, "transformers", plugin.node.origin);
            let done = self.run_transformer(folder, &plugin, all).and_then(|()| Step::plugin(&plugin));
            let done = done.and_then(|step| self.note_transformed(step.as_ref(), all));
            done.map_err(|error| error.or_at(&self.sources, plugin.node.origin))?;
        }
        Ok(())
    }

    pub(super) fn run_transformer(
        &mut self,
        folder: &Folder<'_>,
        plugin: &Resource,
        all: &mut Vec<Resource>,
    ) -> Result<(), BadBuild> {
        self.run(folder, plugin, &arguments(plugin)?, all)
    }

    /// Reads the plugin documents that are listed as files or written inline.
    pub(super) fn plugins(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        field: &str,
        depth: usize,
    ) -> Result<Vec<Resource>, BadBuild> {
        let named = match field {
            "generators" => &kustomization.generators,
            "transformers" => &kustomization.transformers,
            _ => &kustomization.validators,
        };
        let (mut all, mut known) = (Accumulated::default(), Registered::default());
        let mut paths = Vec::new();
        for (at, entry) in named.iter().enumerate() {
            let place = kustomization.place_of_item(field, at);
            let origin = self.by(folder, field, place);
            match inline_resources("<inline>", entry, origin) {
                Ok(mut inline) => {
                    self.hold(&inline)?;
                    let file = Arc::clone(&self.sources.get(kustomization.origin).file);
                    self.note_file(folder, file.rsplit('/').next().unwrap_or_default(), &mut inline)?;
                    self.append(&mut all.resources, inline, &mut known)
                        .map_err(|error| error.or_at(&self.sources, place))?;
                }
                Err(no_plugin) => {
                    let no_plugin = BadBuild::new(&no_plugin).of_inner_text().within(&format!("{field}[{at}]"));
                    paths.push((entry, place, no_plugin));
                }
            }
        }
        for (path, place, no_plugin) in paths {
            let taken = match path.contains('\n') {
                true => Err(no_plugin),
                false => self
                    .take_in(folder, path, &mut all, &mut known, depth)
                    .map_err(|error| if is_like_a_path(path) || error.limit().is_some() { error } else { no_plugin }),
            };
            taken.map_err(|error| error.or_at(&self.sources, place))?;
        }
        Ok(all.resources)
    }

    fn run(
        &mut self,
        folder: &Folder<'_>,
        plugin: &Resource,
        arguments: &Node,
        all: &mut Vec<Resource>,
    ) -> Result<(), BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let fields = &Fields::of(arguments, "").map_err(bad)?;
        let origin = plugin.node.origin;
        let specs = || fields.list("fieldSpecs", FieldSpec::read).map_err(bad);
        match kind_of(plugin)? {
            "PatchTransformer" => {
                let patch = kustomization::patch(arguments, "").map_err(bad)?;
                let mut patched = Patched::new(all);
                self.patch(folder, &patch, &mut patched)?;
                patched.end();
                Ok(())
            }
            "PatchStrategicMergeTransformer" => {
                let (paths, inline) = (fields.texts("paths").map_err(bad)?, fields.text("patches").map_err(bad)?);
                self.run_strategic_patches(folder, &paths, inline.as_deref(), origin, all)
            }
            "PatchJson6902Transformer" => {
                let patch = Patch {
                    path: fields.text_or_empty("path").map_err(bad)?,
                    patch: fields.text_or_empty("jsonOp").map_err(bad)?,
                    target: fields.inner("target", kustomization::target).map_err(bad)?,
                    may_change_name: false,
                    may_change_kind: false,
                    origin,
                };
                self.json_patch(folder, &patch, all)
            }
            "ReplacementTransformer" => {
                let entries = fields.list("replacements", kustomization::replacement_entry).map_err(bad)?;
                self.replace_all(folder, &entries, "transformers", all)
            }
            "ValueAddTransformer" => self.add_value(folder, fields, origin, all),
            "HashTransformer" => self.add_hashes(all),
            "PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer" => {
                self.run_affixes(plugin, fields, origin, all)
            }
            "NamespaceTransformer" => self.run_namespace(fields, &specs()?, origin, all),
            _ => self.run_values(plugin, fields, &specs()?, origin, all),
        }
    }

    fn run_strategic_patches(
        &mut self,
        folder: &Folder<'_>,
        paths: &[Arc<str>],
        inline: Option<&str>,
        origin: Origin,
        all: &mut Vec<Resource>,
    ) -> Result<(), BadBuild> {
        let inline = inline.filter(|inline| !inline.is_empty());
        if paths.is_empty() && inline.is_none() {
            let problem = "empty file path and empty patch content: write `paths` or `patches`";
            return Err(BadBuild::of(problem.to_owned()));
        }
        let mut patched = Patched::new(all);
        let written = StrategicPatches { field: "paths", paths, inline };
        self.strategic_patches(folder, written, &|_| origin, &mut patched)?;
        patched.end();
        Ok(())
    }

    fn run_affixes(
        &self,
        plugin: &Resource,
        fields: &Fields<'_>,
        origin: Origin,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let (prefix, suffix) =
            (fields.text_or_empty("prefix").map_err(bad)?, fields.text_or_empty("suffix").map_err(bad)?);
        if fields.node("fieldSpecs").is_none() {
            let problem =
                "fieldSpecs is not expected to be nil: write `fieldSpecs`, for example `[{path: metadata/name}]`";
            return Err(BadBuild::of(problem.to_owned()));
        }
        let specs = fields.list("fieldSpecs", FieldSpec::read).map_err(bad)?;
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        // An empty prefix or suffix still creates missing fields.
        if plugin.kind() != "SuffixTransformer" {
            let done = transform::prefix(all, &prefix, &specs, &scope, origin, self.budget);
            done.map_err(|error| BadBuild::new(&error))?;
        }
        if plugin.kind() != "PrefixTransformer" {
            let done = transform::suffix(all, &suffix, &specs, &scope, origin, self.budget);
            done.map_err(|error| BadBuild::new(&error))?;
        }
        Ok(())
    }

    fn run_namespace(
        &self,
        fields: &Fields<'_>,
        specs: &[FieldSpec],
        origin: Origin,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let subjects = fields.text_or_empty("setRoleBindingSubjects").map_err(bad)?;
        let subjects = Subjects::from_written(&subjects).ok_or_else(|| {
            let known = "must be one of \"defaultOnly\", \"none\" or \"allServiceAccounts\"";
            BadBuild::of(format!("invalid value \"{subjects}\" for setRoleBindingSubjects: {known}"))
        })?;
        let unset_only = fields.flag("unsetOnly").map_err(bad)?.unwrap_or_default();
        let (_, name) = metadata(fields).map_err(bad)?;
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        transform::namespace(all, &Namespace { name, unset_only, subjects }, specs, &scope, origin, self.budget)
            .map_err(|error| BadBuild::new(&error))
    }

    fn run_values(
        &self,
        plugin: &Resource,
        fields: &Fields<'_>,
        specs: &[FieldSpec],
        origin: Origin,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let done = match plugin.kind() {
            "LabelTransformer" => {
                let labels = fields.text_map("labels").map_err(bad)?.unwrap_or_default();
                transform::labels(all, &labels, specs, origin, self.budget)
            }
            "AnnotationsTransformer" => {
                let annotations = fields.text_map("annotations").map_err(bad)?.unwrap_or_default();
                transform::annotations(all, &annotations, specs, origin, self.budget)
            }
            "ImageTagTransformer" => {
                let Some(image) = fields.inner("imageTag", kustomization::image).map_err(bad)? else { return Ok(()) };
                let new = NewImage {
                    name: image.name,
                    new_name: image.new_name,
                    tag_suffix: image.tag_suffix,
                    new_tag: image.new_tag,
                    digest: image.digest,
                };
                transform::images(all, &new, specs, origin, self.budget)
            }
            "ReplicaCountTransformer" => {
                let replica = fields.inner("replica", kustomization::replica).map_err(bad)?;
                let Some(replica) = replica else {
                    return Err(BadBuild::of("`replica` is missing: write it".to_owned()));
                };
                transform::replicas(all, &replica.name, replica.count, specs, origin, self.budget)
            }
            kind => return Err(unknown(plugin, kind, "transformer")),
        };
        done.map_err(|error| BadBuild::new(&error))
    }
}

/// Reads the name and namespace of a plugin that uses them for its resources.
fn metadata(fields: &Fields<'_>) -> Result<(Arc<str>, Arc<str>), BadField> {
    let metadata = fields.inner("metadata", |node: &Node, path: &str| {
        let fields = Fields::of(node, path)?;
        fields.text_map("labels")?;
        fields.text_map("annotations")?;
        Ok((fields.text_or_empty("name")?, fields.text_or_empty("namespace")?))
    })?;
    Ok(metadata.unwrap_or_default())
}

/// Returns the kind of a builtin plugin. All others are programs, and none is started while
/// rendering.
fn kind_of(plugin: &Resource) -> Result<&str, BadBuild> {
    let api_version = plugin.node.at(&["apiVersion"]).and_then(Node::as_text).unwrap_or_default();
    match (api_version, plugin.kind()) {
        ("builtin", "HelmChartInflationGenerator") => {
            Err(BadBuild::of(format!("`HelmChartInflationGenerator` {ELSEWHERE}")))
        }
        ("builtin", kind) => Ok(kind),
        (_, kind) => {
            let known = format!("external plugins disabled; unable to load external plugin '{kind}'");
            Err(BadBuild::of(format!("{known}: a program {ELSEWHERE}")))
        }
    }
}

fn unknown(plugin: &Resource, kind: &str, wanted: &str) -> BadBuild {
    match BUILTIN.contains(&kind) {
        true => BadBuild::of(format!("plugin {kind} `{}` not a {wanted}: name it where it belongs", plugin.name())),
        false => BadBuild::of(format!("unable to load builtin {}: correct its kind, or leave it out", plugin.gvk())),
    }
}

/// The builtin plugins of kustomize.
const BUILTIN: [&str; 17] = [
    "AnnotationsTransformer",
    "ConfigMapGenerator",
    "HashTransformer",
    "IAMPolicyGenerator",
    "ImageTagTransformer",
    "LabelTransformer",
    "NamespaceTransformer",
    "PatchJson6902Transformer",
    "PatchStrategicMergeTransformer",
    "PatchTransformer",
    "PrefixSuffixTransformer",
    "PrefixTransformer",
    "ReplacementTransformer",
    "ReplicaCountTransformer",
    "SecretGenerator",
    "SuffixTransformer",
    "ValueAddTransformer",
];
