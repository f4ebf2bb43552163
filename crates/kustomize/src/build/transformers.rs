//! Runs the transformers of a kustomization in kustomize's order.

use std::sync::Arc;

use super::patched::Patched;
use super::patches::StrategicPatches;
use super::{Accumulated, BadBuild, Builder};
use crate::defaults::Defaults;
use crate::field_spec::FieldSpec;
use crate::folder::Folder;
use crate::identity::Gvk;
use crate::kustomization::{Kustomization, Label};
use crate::limits::Budget;
use crate::resource::Resource;
use crate::transform::{self, Namespace, NewImage, Subjects};

impl Builder<'_> {
    pub(super) fn transform(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        accumulated: &mut Accumulated,
    ) -> Result<(), BadBuild> {
        let Accumulated { resources: all, fields, .. } = accumulated;
        let fields = fields.get();
        let mut patched = Patched::new(all);
        if !kustomization.strategic_patches.is_empty() {
            let places = |at| kustomization.place_of_item("patchesStrategicMerge", at);
            let written = StrategicPatches {
                field: "patchesStrategicMerge",
                paths: &kustomization.strategic_patches,
                inline: None,
            };
            self.strategic_patches(folder, written, &places, &mut patched)?;
            self.note_patched(folder, kustomization, "PatchStrategicMergeTransformer", &mut patched)?;
        }
        for patch in &kustomization.patches {
            self.patch(folder, patch, &mut patched)?;
            self.note_patched(folder, kustomization, "PatchTransformer", &mut patched)?;
        }
        patched.end();
        self.rename(folder, kustomization, fields, all)?;
        self.label(folder, kustomization, fields, all)?;
        for patch in &kustomization.json_patches {
            self.json_patch(folder, patch, all)?;
            self.note(folder, kustomization, "PatchJson6902Transformer", all)?;
        }
        self.resize(folder, kustomization, fields, all)?;
        self.replace(folder, kustomization, all)
    }

    /// Records a transformer on resources that are being patched.
    fn note_patched(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        kind: &str,
        patched: &mut Patched<'_>,
    ) -> Result<(), BadBuild> {
        match self.asked.anything {
            true => self.note(folder, kustomization, kind, patched.rest()),
            false => Ok(()),
        }
    }

    /// Records that resources passed through a transformer.
    fn note(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        kind: &str,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let step = self.builtin_step(folder, kustomization, kind);
        self.note_transformed(step.as_ref(), all)
    }

    fn rename(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        specs: &Defaults,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        if !kustomization.namespace.is_empty() {
            let origin = self.by(folder, "namespace", kustomization.place("namespace"));
            let name = Arc::clone(&kustomization.namespace);
            let namespace = Namespace { name, unset_only: false, subjects: Subjects::default() };
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            transform::namespace(all, &namespace, &specs.namespace, &scope, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "NamespaceTransformer", all)?;
        }
        if !kustomization.name_prefix.is_empty() {
            let origin = self.by(folder, "namePrefix", kustomization.place("namePrefix"));
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            transform::prefix(all, &kustomization.name_prefix, &specs.name_prefix, &scope, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "PrefixTransformer", all)?;
        }
        if !kustomization.name_suffix.is_empty() {
            let origin = self.by(folder, "nameSuffix", kustomization.place("nameSuffix"));
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            transform::suffix(all, &kustomization.name_suffix, &specs.name_suffix, &scope, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "SuffixTransformer", all)?;
        }
        Ok(())
    }

    fn label(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        specs: &Defaults,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        for (at, label) in kustomization.labels.iter().enumerate() {
            let origin = self.by(folder, "labels", kustomization.place_of_item("labels", at));
            let fields = label_fields(label, specs, self.budget);
            let fields = fields.map_err(|error| error.or_at(&self.sources, origin))?;
            transform::labels(all, &label.pairs, &fields, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "LabelTransformer", all)?;
        }
        // If `labels` is set, kustomize also runs the transformer for `commonLabels`, even if that
        // is empty.
        if !kustomization.common_labels.is_empty() || !kustomization.labels.is_empty() {
            let origin = self.by(folder, "commonLabels", kustomization.place("commonLabels"));
            transform::labels(all, &kustomization.common_labels, &specs.common_labels, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "LabelTransformer", all)?;
        }
        if !kustomization.common_annotations.is_empty() {
            let origin = self.by(folder, "commonAnnotations", kustomization.place("commonAnnotations"));
            transform::annotations(
                all,
                &kustomization.common_annotations,
                &specs.common_annotations,
                origin,
                self.budget,
            )
            .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "AnnotationsTransformer", all)?;
        }
        Ok(())
    }

    fn resize(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        specs: &Defaults,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        for replica in &kustomization.replicas {
            let origin = self.by(folder, "replicas", replica.origin);
            transform::replicas(all, &replica.name, replica.count, &specs.replicas, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "ReplicaCountTransformer", all)?;
        }
        for image in &kustomization.images {
            let origin = self.by(folder, "images", image.origin);
            let new = NewImage {
                name: Arc::clone(&image.name),
                new_name: Arc::clone(&image.new_name),
                tag_suffix: Arc::clone(&image.tag_suffix),
                new_tag: Arc::clone(&image.new_tag),
                digest: Arc::clone(&image.digest),
            };
            transform::images(all, &new, &specs.images, origin, self.budget)
                .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
            self.note(folder, kustomization, "ImageTagTransformer", all)?;
        }
        Ok(())
    }

    fn replace(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        if kustomization.replacements.is_empty() {
            return Ok(());
        }
        self.replace_all(folder, &kustomization.replacements, "replacements", all)?;
        self.note(folder, kustomization, "ReplacementTransformer", all)
    }
}

/// Returns the fields that a label is set in.
fn label_fields(label: &Label, specs: &Defaults, budget: &Budget) -> Result<Vec<FieldSpec>, BadBuild> {
    let mut fields = label.fields.clone();
    let mut add = |more: &[FieldSpec]| {
        budget.steps(more.len() * (4 + fields.len() / 16))?;
        FieldSpec::merge(&mut fields, more).map_err(|error| BadBuild::new(&error))
    };
    add(&specs.labels)?;
    if label.include_selectors {
        add(&specs.common_labels)?;
    } else {
        if label.include_templates {
            add(&specs.template_labels)?;
        }
        add(&[FieldSpec::new(Gvk::default(), "metadata/labels", true)])?;
    }
    Ok(fields)
}
