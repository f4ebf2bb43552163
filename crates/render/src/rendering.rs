//! A render: passes each input to its renderer and joins the results.

use std::collections::BTreeMap;

use setpoint_core::fields::Fields;
use setpoint_core::name::StoreName;
use setpoint_core::value::Value;
use setpoint_documents::{Manifest, check_unique_resources};
use setpoint_store::{Recording, StoreError, StorePath, Tree};

use crate::completing::Totals;
use crate::kustomize::{self, Kustomized, Made};
use crate::plain::Plain;
use crate::problem::{Problem, Problems};
use crate::request::{Input, NotRendered, ReadSets, Rendered, RenderedResource, Request};
use crate::walk::Naming;

/// The versions of the renderers. It changes when the same input gives another output, so that no
/// input is skipped because of an older renderer's result.
pub const RECIPE: &str = "plain/2, kustomize/4";

/// Renders all inputs, or returns all problems with them.
pub fn render(request: &Request<'_>) -> Result<Rendered, NotRendered> {
    let recordings = Recordings::of(request)?;
    let mut warnings = Vec::new();
    let manifests = declared(request, &recordings, &mut |_, made| warnings.extend(made.warnings))?;
    let resources = manifests.into_iter().map(resource_of).collect();
    Ok(Rendered { resources, reads: recordings.into_reads(), warnings })
}

/// Returns the resources of all inputs. Passes each rendered kustomization to `show`.
pub(crate) fn declared(
    request: &Request<'_>,
    recordings: &Recordings<'_>,
    show: &mut dyn FnMut(&Kustomized<'_>, Made),
) -> Result<Vec<Manifest>, NotRendered> {
    let (mut problems, mut totals) = (Problems::default(), Totals::new(request.limits));
    let (mut plain, mut manifests, mut takes_parameters) = (Plain::new(request), Vec::new(), false);
    for input in request.inputs {
        if request.is_stopped() {
            return Err(NotRendered::Stopped);
        }
        let (naming, tree) = (recordings.naming_of(input), recordings.tree(&input.store)?);
        if kustomize::is_meant_for(tree, &input.path)? {
            takes_parameters = true;
            let kustomized = Kustomized { request, input, tree, trees: recordings, naming: &naming };
            manifests.extend(kustomized.read(&mut totals, &mut problems, show)?);
        } else {
            plain.read_input(input, tree, &naming, &mut totals, &mut problems)?;
        }
    }
    if !takes_parameters {
        refuse_parameters(request, &mut problems);
    }
    totals.refuse_what_is_over(&mut problems);
    manifests.extend(plain.finish(&mut problems));
    if let Err(found) = check_unique_resources(&manifests) {
        problems.add_all(found);
    }
    Ok(problems.or_value(manifests)?)
}

/// The versions that an app reads, each with a record of its reads.
pub(crate) struct Recordings<'a>(BTreeMap<&'a StoreName, Recording<'a>>);

impl<'a> Recordings<'a> {
    pub(crate) fn of(request: &Request<'a>) -> Result<Self, StoreError> {
        let inputs = request.inputs.iter().map(|input| &input.store);
        let stores = inputs.chain(request.kustomize.bases.iter().map(|base| &base.store));
        let recorded = stores.map(|store| {
            let tree = request.trees.get(store).ok_or_else(|| unopened(store))?;
            Ok((store, Recording::new(tree.as_ref())))
        });
        recorded.collect::<Result<_, StoreError>>().map(Self)
    }

    /// Returns the version of an input's store.
    pub(crate) fn tree(&self, store: &StoreName) -> Result<&dyn Tree, StoreError> {
        self.get(store).ok_or_else(|| unopened(store))
    }

    /// Returns the naming of files in an input's store.
    pub(crate) fn naming_of(&self, input: &Input) -> Naming {
        if self.0.len() > 1 { Naming::of_one_among_several(&input.store) } else { Naming::of_one_store() }
    }

    pub(crate) fn get(&self, store: &StoreName) -> Option<&dyn Tree> {
        self.0.get(store).map(|recording| recording as &dyn Tree)
    }

    /// Returns the version itself, for a reader that may read all of it. The whole version is
    /// recorded as read.
    pub(crate) fn whole(&self, store: &StoreName) -> Result<Option<&'a dyn Tree>, StoreError> {
        let Some(recording) = self.0.get(store) else { return Ok(None) };
        recording.list(&StorePath::root())?;
        Ok(Some(recording.tree()))
    }

    fn into_reads(self) -> ReadSets {
        self.0.into_iter().map(|(store, recording)| (store.clone(), recording.into_reads())).collect()
    }
}

fn unopened(store: &StoreName) -> StoreError {
    StoreError::unreachable(format!("no version of the store {store} was opened for this render"))
}

fn refuse_parameters(request: &Request<'_>, problems: &mut Problems) {
    if *request.parameters != Value::Map(Fields::new()) {
        problems.add(Problem::found(
            "spec.parameters of the App",
            "no input takes parameters, so they have no effect",
            "remove them, or add a kustomization.yaml to an input: they replace `${NAME}` in its resources",
        ));
    }
}

fn resource_of(manifest: Manifest) -> RenderedResource {
    let Manifest { api_version, kind, body, place, .. } = manifest;
    RenderedResource { api_version, kind, body, place }
}
