//! `configMapGenerator` and `secretGenerator`: runs the generators and adds their resources.

use std::sync::Arc;

use super::{Accumulated, BadBuild, Builder, NAMED};
use crate::fields::Texts;
use crate::folder::Folder;
use crate::generator::{Generator, Kind, Options as GeneratorOptions, absorb};
use crate::identity::Gvk;
use crate::kustomization::{self, Kustomization};
use crate::node::Node;
use crate::origin::Origin;
use crate::resource::{Behavior, Resource};

impl Builder<'_> {
    pub(super) fn generate(
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
            let made = generator(args, common, is_secret).generate(folder, origin);
            let made = made.map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            let mut made = [made];
            if let Some(common) = common {
                let origin = self.by(folder, "generatorOptions", kustomization.place("generatorOptions"));
                come_from_options(&mut made[0].node, args.options.as_ref(), common, origin);
            }
            self.hold(&made)?;
            let step = self.builtin_step(folder, kustomization, kind);
            self.note_generated(step.as_ref(), &mut made)?;
            all_made.extend(made);
        }
        self.absorb(all_made, all)
    }

    /// Adds generated resources, or merges or replaces existing ones of the same name.
    pub(super) fn absorb(&self, made: Vec<Resource>, all: &mut Accumulated) -> Result<(), BadBuild> {
        let Some(last) = made.last().map(|resource| resource.node.origin) else { return Ok(()) };
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let origins: Vec<_> = made.iter().map(|resource| (resource.id(&scope), resource.node.origin)).collect();
        let names: usize = all.resources.iter().map(|resource| NAMED * (1 + resource.former.len())).sum();
        let counted = self.budget.resources(all.resources.len() + made.len());
        counted
            .and_then(|()| self.budget.steps(names + NAMED * made.len()))
            .map_err(|error| BadBuild::from(error).or_at(&self.sources, last))?;
        let absorbed = absorb(&mut all.resources, made, &scope, self.budget);
        absorbed.map_err(|error| {
            let origin = origins.iter().find(|(id, _)| id == error.id()).map_or(last, |(_, origin)| *origin);
            BadBuild::new(&error).within("merging from generator").or_at(&self.sources, origin)
        })
    }
}

pub(super) fn generator(
    args: &kustomization::Generator,
    common: Option<&kustomization::GeneratorOptions>,
    is_secret: bool,
) -> Generator {
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
    Generator {
        kind: if is_secret { Kind::Secret { r#type: Arc::clone(&args.kind_of_secret) } } else { Kind::ConfigMap },
        name: Arc::clone(&args.name),
        namespace: Arc::clone(&args.namespace),
        behavior,
        literals: args.literals.clone(),
        files: args.files.clone(),
        envs: args.envs.clone(),
        options,
    }
}

/// Sets the origin of fields that the options of all generators set, and not the generator's own.
fn come_from_options(
    node: &mut Node,
    own: Option<&kustomization::GeneratorOptions>,
    common: &kustomization::GeneratorOptions,
    origin: Origin,
) {
    let own = own.cloned().unwrap_or_default();
    let Some(fields) = node.as_map_mut() else { return };
    if let Some(immutable) = fields.get_mut("immutable").filter(|_| !own.immutable) {
        immutable.origin = origin;
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    for (field, own, common) in
        [("labels", own.labels, &common.labels), ("annotations", own.annotations, &common.annotations)]
    {
        let Some(texts) = metadata.get_mut(field).and_then(Node::as_map_mut) else { continue };
        let is_own = |name: &Arc<str>| own.as_ref().is_some_and(|own| own.contains_key(name));
        for name in common.iter().flat_map(Texts::keys).filter(|name| !is_own(name)) {
            texts.get_mut(name).into_iter().for_each(|text| text.origin = origin);
        }
    }
}

fn generator_options(written: &kustomization::GeneratorOptions) -> GeneratorOptions {
    GeneratorOptions {
        labels: written.labels.clone().unwrap_or_default(),
        annotations: written.annotations.clone().unwrap_or_default(),
        disables_hash: written.without_hash,
        is_immutable: written.immutable,
    }
}
