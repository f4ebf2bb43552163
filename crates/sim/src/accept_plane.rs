//! The accept plane of an instance, arranged as in the shipped agent. The documents in force and
//! the footprints of renders are memory, which is lost with the process; the shipped accept plane
//! does everything else.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName};
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_engine::accept::{
    AppSource, Considered, ControlDocuments, Footprint, NotRead, ReachedTarget, consider, documents_of,
};
use setpoint_store::{MemoryTree, StorePath, Tree};

use crate::recall::Recall;
use crate::repository::{CONTROL_FOLDER, Things, root};
use crate::universe::families;

/// The memory of an instance about the accept plane.
#[derive(Debug, Default)]
pub(crate) struct AcceptPlane {
    documents: Arc<ControlDocuments>,
    /// The bundle that contains the documents.
    of: Option<Digest>,
    identities: BTreeMap<TargetName, TargetIdentity>,
    /// The footprints of an app's last renders, by the resulting bundle.
    footprints: BTreeMap<AppId, BTreeMap<Digest, Footprint>>,
}

/// The result of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Candidate {
    /// A skipped render. `afresh` is the result of a full render, which must be the accepted
    /// bundle.
    Unchanged {
        afresh: Option<Digest>,
    },
    Rendered(Vec<Resource>),
    Refused(Vec<String>),
    Failed(UnknownReason),
}

impl AcceptPlane {
    /// Puts these documents into force.
    pub(crate) fn govern(
        &mut self,
        documents: Arc<ControlDocuments>,
        of: Digest,
        reached: &BTreeMap<TargetName, ReachedTarget>,
    ) {
        (self.documents, self.of) = (documents, Some(of));
        self.identities = reached.iter().map(|(name, target)| (name.clone(), target.identity.clone())).collect();
    }

    /// Reports whether an app is to be rendered by the documents in force. The root app needs none.
    pub(crate) fn is_to_render(&self, app: &AppId, documents: Option<Digest>) -> bool {
        *app == root() || self.of == documents
    }

    /// Returns the store of an app.
    pub(crate) fn store_of(&self, app: &AppId) -> Option<StoreName> {
        self.documents.source(app)?.inputs.first().map(|input| input.store.clone())
    }

    pub(crate) fn target_of(&self, app: &AppId) -> Option<&TargetIdentity> {
        self.identities.get(&self.documents.source(app)?.target)
    }

    /// Considers a version for an app. If `accepted` is the bundle that this version gives too, the
    /// render may be skipped.
    pub(crate) fn candidate(
        &mut self,
        app: &AppId,
        store: &StoreName,
        tree: Arc<MemoryTree>,
        accepted: Option<Digest>,
        recall: &mut Recall,
    ) -> Candidate {
        if *app == root() {
            let folder = StorePath::new(CONTROL_FOLDER).expect("a plain path");
            return recall.control_candidate(&tree, &folder, || control_candidate(tree.as_ref(), &folder));
        }
        let (Some(source), Some(target)) = (self.documents.source(app), self.target_of(app).cloned()) else {
            return Candidate::Failed(UnknownReason::NotLooked);
        };
        let trees = BTreeMap::from([(store.clone(), tree as Arc<dyn Tree>)]);
        let last = accepted.and_then(|bundle| self.footprints.get(app)?.get(&bundle));
        let considered = match last {
            Some(_) => consider(&source, &trees, last, &Things),
            None => recall.render(&source, &trees),
        };
        match considered {
            Considered::Unchanged => Candidate::Unchanged { afresh: render_afresh(&source, &target, &trees) },
            Considered::Refused { problems } => Candidate::Refused(problems.iter().map(ToString::to_string).collect()),
            Considered::Failed { reason } => Candidate::Failed(reason),
            Considered::Rendered { mut resources, footprint, .. } => {
                // Documents come in any order; the bundle must not depend on it (S12).
                resources.reverse();
                if let Ok(bundle) = Bundle::new(app.clone(), target, resources.clone()) {
                    let kept = self.footprints.entry(app.clone()).or_default();
                    kept.retain(|digest, _| Some(*digest) == accepted);
                    kept.insert(bundle.digest(), footprint);
                }
                Candidate::Rendered(resources)
            }
        }
    }
}

fn render_afresh(
    source: &AppSource,
    target: &TargetIdentity,
    trees: &BTreeMap<StoreName, Arc<dyn Tree>>,
) -> Option<Digest> {
    match consider(source, trees, None, &Things) {
        Considered::Rendered { resources, .. } => {
            Bundle::new(source.app.clone(), target.clone(), resources).ok().map(|bundle| bundle.digest())
        }
        Considered::Unchanged | Considered::Refused { .. } | Considered::Failed { .. } => None,
    }
}

fn control_candidate(tree: &MemoryTree, folder: &StorePath) -> Candidate {
    match documents_of(tree, folder, &families()) {
        Ok((documents, _)) => Candidate::Rendered(documents.resources()),
        Err(NotRead::Refused { problems }) => Candidate::Refused(problems.iter().map(ToString::to_string).collect()),
        Err(NotRead::Failed { reason }) => Candidate::Failed(reason),
    }
}
