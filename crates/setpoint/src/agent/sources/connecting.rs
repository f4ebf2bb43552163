//! Connections to the stores and targets of the control documents, kept while their documents are
//! unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use setpoint_api::answer::UnreachedTarget;
use setpoint_core::digest::Digest;
use setpoint_core::name::{TargetIdentity, TargetName};
use setpoint_documents::TargetSpec;
use setpoint_engine::accept::{ControlDocuments, ReachedTarget};
use tracing::warn;

use super::{Connected, Provider};
use crate::agent::connect::Reach;

impl Provider {
    /// Keeps connections whose documents are unchanged, creates new ones, and closes the others.
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
        // All at once: an unresponsive one does not delay the others.
        for (name, document, answer) in join_all(asked).await {
            match answer {
                Ok((found, ..))
                    if document.spec.identity.as_ref().is_some_and(|wanted| wanted.as_str() != found.as_str()) =>
                {
                    let problem =
                        format!("its identity is {found}, but its document names another: Setpoint does not change it");
                    problems.insert(name, problem);
                }
                Ok((identity, made_from, connection)) => {
                    let can = connection.target.capabilities();
                    let (granularity, fresh_reads, attributes) = (can.granularity, can.fresh_reads, can.attributes);
                    reached.insert(name.clone(), ReachedTarget { identity, granularity, fresh_reads, attributes });
                    targets
                        .insert(name.clone(), Connected { spec: Some(document.spec.clone()), made_from, connection });
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
        let before = self.state().unreached.iter().any(|before| before.target == *name && before.problem == problem);
        // It is tried again every half minute.
        if !before {
            self.log.with(|| warn!(target = %name, reason = problem, "the target cannot be reached"));
        }
        let waiting = documents.apps().iter().filter(|(_, app)| app.spec.target == *name);
        let waiting = waiting.map(|(id, _)| id.clone()).collect();
        let kind = documents.targets().get(name).map(|document| document.spec.kind.to_owned()).unwrap_or_default();
        UnreachedTarget { target: name.clone(), kind, problem, waiting }
    }

    /// Returns the identity of a target, the digest of the files it is connected by, and a
    /// connection: the existing one, or a new one. A new one is also created if one of these files
    /// has changed, and if another system responds than before: a connection trusts one system only.
    async fn reach(
        &self,
        name: &TargetName,
        spec: &TargetSpec,
    ) -> Result<(TargetIdentity, Option<Digest>, Reach), String> {
        // Read before the connection is created: a later change is noticed the next time.
        let made_from = self.connector.made_from(spec);
        let (kept, before) = {
            let mut state = self.state();
            (state.targets.remove(name), state.identities.get(name).cloned())
        };
        // A file that cannot be read does not invalidate the existing connection.
        let is_current = |kept: &Connected<TargetSpec, Reach>| {
            kept.spec.as_ref() == Some(spec) && (made_from.is_none() || kept.made_from == made_from)
        };
        if let Some(kept) = kept.filter(is_current) {
            let identity = identity_of(&kept.connection).await?;
            if before.is_none_or(|before| before == identity) {
                return Ok((identity, kept.made_from, kept.connection));
            }
        }
        let reach = self.connector.target(spec)?;
        Ok((identity_of(&reach).await?, made_from, reach))
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
                    let spec = Some(document.spec.clone());
                    state.stores.insert(name.clone(), Connected { spec, made_from: None, connection });
                }
                Err(error) => self.log.with(|| warn!(store = %name, reason = %error, "the store cannot be used")),
            }
        }
        (state.documents, state.of) = (Arc::clone(documents), Some(of));
    }
}

async fn identity_of(reach: &Reach) -> Result<TargetIdentity, String> {
    reach.target.identity().await.map_err(|refusal| refusal.detail)
}
