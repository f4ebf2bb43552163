//! `configurations`: files with field specs for transformers, in addition to kustomize's defaults.

use super::arguments::prepare_configuration;
use super::{BadBuild, Builder};
use crate::defaults::{Defaults, NameReference};
use crate::field_spec::FieldSpec;
use crate::fields::{BadField, Fields};
use crate::folder::Folder;
use crate::kustomization::Kustomization;
use crate::limits::{Budget, Weight};
use crate::node::Node;
use crate::read::read_strictly;

const FIELD: &str = "configurations";

impl Builder<'_> {
    /// Adds the field specs of a kustomization to the defaults, and both to those of its bases.
    /// Merged specs are merged again, as in kustomize: for a field that applies to all kinds and
    /// also to a single kind, this drops the others.
    pub(super) fn configuration(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        into: &mut KnownFields,
    ) -> Result<(), BadBuild> {
        let mut said: Option<Defaults> = None;
        for (at, path) in kustomization.configurations.iter().enumerate() {
            let own = self.configured(folder, path);
            let own = own.map_err(|error| error.or_at(&self.sources, kustomization.place_of_item(FIELD, at)))?;
            let Some(own) = own else { continue };
            let said = said.get_or_insert_default();
            merged(said, &own, self.budget)
                .map_err(|error| error.or_at(&self.sources, kustomization.place_of_item(FIELD, at)))?;
        }
        let known = match said {
            None => into.merge(&KnownFields::Defaults, self.budget),
            Some(said) => {
                let mut all = Defaults::get().clone();
                merged(&mut all, &said, self.budget)
                    .and_then(|()| into.merge(&KnownFields::Own(all.into()), self.budget))
            }
        };
        known.map_err(|error| error.or_at(&self.sources, kustomization.place(FIELD)))
    }

    /// Reads the field specs of a file.
    fn configured(&mut self, folder: &Folder<'_>, path: &str) -> Result<Option<Defaults>, BadBuild> {
        let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
        let text = self.text(&path)?;
        let origin = self.sources.add(path.as_str().into(), None);
        let document = read_strictly(&path, &text, origin).map_err(|error| BadBuild::new(&error))?;
        let Some(mut document) = document else { return Ok(None) };
        self.budget.hold(Weight::of(&document).bytes)?;
        prepare_configuration(&mut document);
        defaults(&document).map(Some).map_err(|error| BadBuild::new(&error).at(&path, error.origin))
    }
}

/// The field specs known to transformers.
#[derive(Debug, Default)]
pub(super) enum KnownFields {
    /// None were configured yet.
    #[default]
    Nothing,
    /// The defaults of kustomize.
    Defaults,
    Own(Box<Defaults>),
}

impl KnownFields {
    pub(super) fn get(&self) -> &Defaults {
        match self {
            Self::Nothing | Self::Defaults => Defaults::get(),
            Self::Own(own) => own,
        }
    }

    pub(super) fn merge(&mut self, more: &Self, budget: &Budget) -> Result<(), BadBuild> {
        let mut all = match (&*self, more) {
            (_, Self::Nothing) => return Ok(()),
            (Self::Nothing | Self::Defaults, Self::Defaults) => {
                *self = Self::Defaults;
                return Ok(());
            }
            (Self::Nothing, Self::Own(_)) => Defaults::default(),
            (own, _) => own.get().clone(),
        };
        merged(&mut all, more.get(), budget)?;
        *self = Self::Own(all.into());
        Ok(())
    }
}

/// Merges more field specs, within the budget.
fn merged(all: &mut Defaults, more: &Defaults, budget: &Budget) -> Result<(), BadBuild> {
    budget.steps(all.cost_of_merge(more))?;
    all.merge(more).map_err(|error| BadBuild::new(&error))
}

fn defaults(document: &Node) -> Result<Defaults, BadField> {
    let fields = Fields::of(document, "")?;
    let own = Defaults {
        name_prefix: fields.list("namePrefix", FieldSpec::read)?,
        name_suffix: fields.list("nameSuffix", FieldSpec::read)?,
        namespace: fields.list("namespace", FieldSpec::read)?,
        common_labels: fields.list("commonLabels", FieldSpec::read)?,
        template_labels: fields.list("templateLabels", FieldSpec::read)?,
        labels: fields.list("labels", FieldSpec::read)?,
        common_annotations: fields.list("commonAnnotations", FieldSpec::read)?,
        images: fields.list("images", FieldSpec::read)?,
        replicas: fields.list("replicas", FieldSpec::read)?,
        var_reference: fields.list("varReference", FieldSpec::read)?,
        name_reference: fields.list("nameReference", name_reference)?,
    };
    fields.end()?;
    Ok(own)
}

fn name_reference(node: &Node, path: &str) -> Result<NameReference, BadField> {
    let fields = Fields::of(node, path)?;
    let reference = NameReference { referred: fields.gvk()?, fields: fields.list("fieldSpecs", FieldSpec::read)? };
    fields.end()?;
    Ok(reference)
}
