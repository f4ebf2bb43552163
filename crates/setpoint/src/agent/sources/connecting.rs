//! Connections to the stores and targets that the control documents name: kept while their documents are as they were.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use setpoint_api::answer::UnreachedTarget;
use setpoint_core::digest::Digest;
use setpoint_core::name::{TargetIdentity, TargetName};
use setpoint_documents::TargetSpec;
use setpoint_engine::accept::{ControlDocuments, ReachedTarget};

use super::{Connected, Provider};
use crate::agent::connect::Reach;

impl Provider {
    /// Keeps connections whose documents are as they were, makes new ones, and lets the others go.
    pub(super) async fn connect(
        &self,
        documents: &Arc<ControlDocuments>,
        of: Digest,
    ) -> BTreeMap<TargetName, ReachedTarget> {
        self.connect_stores(documents, of);
        let asked = documents
            .targets()
            .iter()
            .map(|(name, document)| async move { (name, document, self.reach(name, &document.spec).await) });
        let mut targets = BTreeMap::new();
        let mut reached = BTreeMap::new();
        let mut problems = BTreeMap::new();
        // All at once: one that does not answer keeps no other waiting.
        for (name, document, answer) in join_all(asked).await {
            match answer {
                Ok((found, _))
                    if document.spec.identity.as_ref().is_some_and(|wanted| wanted.as_str() != found.as_str()) =>
                {
                    let problem = format!("it says that it is {found}, its document says another: it is not touched");
                    problems.insert(name, problem);
                }
                Ok((identity, connection)) => {
                    let can = connection.target.capabilities();
                    let (granularity, fresh_reads, attributes) = (can.granularity, can.fresh_reads, can.attributes);
                    reached.insert(name.clone(), ReachedTarget { identity, granularity, fresh_reads, attributes });
                    targets.insert(name.clone(), Connected { spec: Some(document.spec.clone()), connection });
                }
                Err(problem) => drop(problems.insert(name, problem)),
            }
        }
        let unreached = problems.into_iter().map(|(name, problem)| self.not_reached(documents, name, problem));
        let unreached = unreached.collect();
        let mut state = self.state();
        state.unreached = unreached;
        state.identities = reached.iter().map(|(name, target)| (name.clone(), target.identity.clone())).collect();
        state.targets = targets;
        reached
    }

    fn not_reached(&self, documents: &ControlDocuments, name: &TargetName, problem: String) -> UnreachedTarget {
        self.log.say(&format!("target {name} cannot be reached: {problem}"));
        let waiting = documents.apps().iter().filter(|(_, app)| app.spec.target == *name);
        UnreachedTarget { target: name.clone(), problem, waiting: waiting.map(|(id, _)| id.clone()).collect() }
    }

    /// The connection there is, or a new one, and who is at its other end.
    async fn reach(&self, name: &TargetName, spec: &TargetSpec) -> Result<(TargetIdentity, Reach), String> {
        let kept = self.state().targets.remove(name).filter(|kept| kept.spec.as_ref() == Some(spec));
        let reach = match kept {
            Some(kept) => kept.connection,
            None => self.connector.target(spec)?,
        };
        let identity = reach.target.identity().await.map_err(|refusal| refusal.detail)?;
        Ok((identity, reach))
    }

    fn connect_stores(&self, documents: &Arc<ControlDocuments>, of: Digest) {
        let mut state = self.state();
        let declared = documents.stores();
        state.stores.retain(|name, kept| {
            kept.spec.is_none() || declared.get(name).is_some_and(|document| kept.spec.as_ref() == Some(&document.spec))
        });
        for (name, document) in declared {
            if state.stores.contains_key(name) {
                continue;
            }
            match self.connector.store(&document.spec) {
                Ok(connection) => {
                    self.lineages.forget(name);
                    state.stores.insert(name.clone(), Connected { spec: Some(document.spec.clone()), connection });
                }
                Err(error) => self.log.say(&format!("store {name} cannot be used: {error}")),
            }
        }
        (state.documents, state.of) = (Arc::clone(documents), Some(of));
    }
}
