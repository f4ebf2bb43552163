//! The sources of declared state in production: the stores and targets of the accepted control
//! documents, rendered by the accept plane. `connecting.rs` has their connections, `working.rs` the
//! threads. `shadowing.rs` and `explaining.rs` run further renders, for people only.

mod connecting;
mod explaining;
mod shadowing;
mod working;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_api::answer::UnreachedTarget;
use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_documents::{StoreSpec, TargetSpec};
use setpoint_engine::accept::{AppSource, By, Considered, ControlDocuments, NotRead, documents_of};
use setpoint_engine::{Controls, RenderOutcome};
use setpoint_store::{ReadSet, Store, StoreError, StorePath, Tree};
use setpoint_target::{Answer, Families, Kinds, Target};
use tracing::{debug, error, info, warn};

use self::working::Work;
use super::bootstrap::Bootstrap;
use super::connect::{Connector, Reach, folder_of};
use super::footprints::Footprints;
use super::lineage::{Lineages, worse};
use super::renderers::Renderers;
use super::renders::Renders;
use super::shadows::Shadows;
use crate::interpreter::{Governed, Rendering, Sources, Targets};
use crate::log::Log;

/// The interval at which an unreachable target is tried again.
const RETRY: Span = Span::seconds(30);

/// The stores and targets that are in use.
#[derive(Debug)]
pub(super) struct Provider {
    connector: Connector,
    installed: Mutex<Installed>,
    log: Log,
    state: Mutex<State>,
    footprints: Footprints,
    lineages: Lineages,
    renders: Arc<Renders>,
    renderers: Arc<Renderers>,
    shadows: Arc<Shadows>,
    /// Explanations run one at a time, however many people request.
    explaining: Arc<tokio::sync::Mutex<()>>,
    work: Arc<Work>,
}

/// The bootstrap document in force. It can be replaced while the agent runs.
#[derive(Debug)]
struct Installed {
    bootstrap: Bootstrap,
    /// The directory of the control documents.
    folder: StorePath,
}

/// The renderers, and the caches of their results.
pub(super) struct Renderings {
    pub(super) footprints: Footprints,
    pub(super) renders: Renders,
    pub(super) renderers: Arc<Renderers>,
    pub(super) shadows: Shadows,
}

#[derive(Debug, Default)]
struct State {
    documents: Arc<ControlDocuments>,
    /// The root app's bundle that they come from.
    of: Option<Digest>,
    stores: BTreeMap<StoreName, Connected<StoreSpec, Arc<dyn Store>>>,
    targets: BTreeMap<TargetName, Connected<TargetSpec, Reach>>,
    identities: BTreeMap<TargetName, TargetIdentity>,
    /// The targets that are not connected, with reasons.
    unreached: Vec<UnreachedTarget>,
    /// The last reads of the control documents, and the resulting bundle.
    root_reads: Option<(Digest, ReadSet)>,
}

/// A connection and the document it was created from.
#[derive(Debug)]
struct Connected<S, C> {
    /// `None` for the bootstrap's store.
    spec: Option<S>,
    /// The files it was created from, which can change too.
    made_from: Option<Digest>,
    connection: C,
}

/// A connected target, by the name of its document.
pub(super) struct Connection {
    pub(super) name: TargetName,
    /// The kind of system, as in the document.
    pub(super) kind: String,
    pub(super) identity: TargetIdentity,
    pub(super) target: Arc<dyn Target>,
}

impl Provider {
    pub(super) fn new(
        connector: Connector,
        bootstrap: Bootstrap,
        renderings: Renderings,
        log: Log,
    ) -> Result<Self, StoreError> {
        let store = connector.bootstrap_store(&bootstrap)?;
        let folder = folder_of(&bootstrap.spec.path)?;
        let mut state = State::default();
        state.stores.insert(Bootstrap::store(), Connected { spec: None, made_from: None, connection: store });
        let (state, lineages) = (Mutex::new(state), Lineages::default());
        let Renderings { footprints, renders, renderers, shadows } = renderings;
        let (renders, shadows, explaining) = (Arc::new(renders), Arc::new(shadows), Arc::default());
        Ok(Self {
            connector,
            installed: Mutex::new(Installed { bootstrap, folder }),
            log,
            state,
            footprints,
            lineages,
            renders,
            renderers,
            shadows,
            explaining,
            work: Arc::default(),
        })
    }

    /// Returns the controls before any document is accepted: the root app alone.
    pub(super) fn first_controls(&self) -> Controls {
        let mut controls = Controls::default();
        self.installed().bootstrap.govern(&mut controls, None);
        controls
    }

    /// Replaces the bootstrap document, and the connection to its store.
    pub(super) fn reload(&self, bootstrap: Bootstrap) -> Result<(), StoreError> {
        let store = self.connector.bootstrap_store(&bootstrap)?;
        let folder = folder_of(&bootstrap.spec.path)?;
        {
            let mut state = self.state();
            let connected = Connected { spec: None, made_from: None, connection: store };
            state.stores.insert(Bootstrap::store(), connected);
            // The documents of another directory or repository are read again.
            state.root_reads = None;
        }
        self.lineages.forget(&Bootstrap::store());
        *self.installed() = Installed { bootstrap, folder };
        Ok(())
    }

    fn installed(&self) -> MutexGuard<'_, Installed> {
        self.installed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn families(&self) -> &Families {
        &self.connector.families
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of renders. Apps whose inputs are all unchanged are not rendered, nor are
    /// those with a cached render.
    pub(super) fn renders(&self) -> u64 {
        self.renders.made()
    }

    /// Ends external renderers, so that nothing waits for them.
    pub(super) fn stop_renderers(&self) {
        self.renderers.stop();
    }

    /// Closes everything that is open on disk.
    pub(super) async fn close(&self) {
        let reaches: Vec<Reach> = self.state().targets.values().map(|target| target.connection.clone()).collect();
        for reach in reaches {
            reach.target.remember().await;
        }
        self.footprints.close().await;
    }

    pub(super) fn now(&self) -> Timestamp {
        self.connector.clock.now()
    }

    pub(super) fn documents(&self) -> Arc<ControlDocuments> {
        Arc::clone(&self.state().documents)
    }

    /// Returns the digest of the root app's bundle in force, whose documents determine how apps are
    /// rendered.
    pub(super) fn taken_up(&self) -> Option<Digest> {
        self.state().of
    }

    pub(super) fn store(&self, name: &StoreName) -> Option<Arc<dyn Store>> {
        self.state().stores.get(name).map(|connected| Arc::clone(&connected.connection))
    }

    pub(super) fn target_of(&self, identity: &TargetIdentity) -> Option<Arc<dyn Target>> {
        let state = self.state();
        let name = state.identities.iter().find(|(_, known)| *known == identity).map(|(name, _)| name)?;
        state.targets.get(name).map(|connected| Arc::clone(&connected.connection.target))
    }

    /// Returns the targets that are not connected, and the apps that wait for them.
    pub(super) fn unreached(&self) -> Vec<UnreachedTarget> {
        self.state().unreached.clone()
    }

    /// Returns the connected targets.
    pub(super) fn connections(&self) -> Vec<Connection> {
        let state = self.state();
        let connected = state.targets.iter().filter_map(|(name, connected)| {
            Some(Connection {
                name: name.clone(),
                kind: connected.spec.as_ref().map(|spec| spec.kind.to_owned()).unwrap_or_default(),
                identity: state.identities.get(name)?.clone(),
                target: Arc::clone(&connected.connection.target),
            })
        });
        connected.collect()
    }

    async fn open(&self, revision: &Revision) -> Result<BTreeMap<StoreName, Arc<dyn Tree>>, StoreError> {
        let mut trees = BTreeMap::new();
        for (name, version) in revision.iter() {
            let store = self.store(name).ok_or_else(|| unknown_store(name))?;
            trees.insert(name.clone(), store.open(version).await?);
        }
        Ok(trees)
    }

    /// Renders an app from a revision by these documents, if they are still in force.
    pub(super) async fn candidate(
        &self,
        app: &AppId,
        revision: &Revision,
        memory: Memory,
        documents: Option<Digest>,
    ) -> Candidate {
        let trees = match self.open(revision).await {
            Ok(trees) => trees,
            Err(StoreError::Refused { what, fix }) => return Candidate::Refused(vec![format!("{what}: {fix}")]),
            Err(error) => return Candidate::Failed(error.into()),
        };
        if *app == Bootstrap::root() {
            return self.root_candidate(trees, memory.accepted()).await;
        }
        let (source, kinds, target) = match self.source(app, documents) {
            Ok(found) => found,
            Err(reason) => return Candidate::Failed(reason),
        };
        let last = match memory.accepted() {
            Some(bundle) => self.footprints.of(app, bundle).await,
            None => None,
        };
        // Kept until this render is over, so that the next one finds them open.
        let of_render = trees.clone();
        let (renders, renderers) = (Arc::clone(&self.renders), Arc::clone(&self.renderers));
        let considered = self.work.done(app.clone(), move |stop| {
            let (kinds, stop) = (kinds.as_ref(), Some(stop));
            match memory {
                Memory::Asked { .. } => {
                    let by = By { kinds, external: Some(renderers.as_ref()), stop };
                    renders.consider(&source, &of_render, last.as_ref(), by)
                }
                Memory::NotAsked => {
                    let by = By { kinds, external: Some(&renderers.afresh()), stop };
                    renders.render(&source, &of_render, by)
                }
            }
        });
        let considered = considered.await.unwrap_or_else(|why| Considered::Failed { reason: why.into() });
        let candidate = match considered {
            Considered::Unchanged => Candidate::Unchanged,
            Considered::Refused { problems } => Candidate::Refused(problems.iter().map(ToString::to_string).collect()),
            Considered::Failed { reason } => Candidate::Failed(reason),
            Considered::Rendered { resources, footprint, .. } => {
                if let Ok(bundle) = Bundle::new(app.clone(), target, resources.clone()) {
                    self.footprints.keep(app, bundle.digest(), footprint, memory.accepted()).await;
                }
                Candidate::Rendered(resources)
            }
        };
        drop(trees);
        candidate
    }

    async fn root_candidate(
        &self,
        mut trees: BTreeMap<StoreName, Arc<dyn Tree>>,
        accepted: Option<Digest>,
    ) -> Candidate {
        let Some(tree) = trees.remove(&Bootstrap::store()) else { return Candidate::Failed(UnknownReason::NotLooked) };
        let last = self.state().root_reads.clone().filter(|(bundle, _)| Some(*bundle) == accepted);
        match last.map(|(_, reads)| reads.holds_on(tree.as_ref())) {
            Some(Ok(true)) => return Candidate::Unchanged,
            Some(Err(error)) => return Candidate::Failed(error.into()),
            Some(Ok(false)) | None => {}
        }
        let (folder, families) = (self.installed().folder.clone(), self.families().clone());
        let read = self.work.done(Bootstrap::root(), move |_| documents_of(tree.as_ref(), &folder, &families));
        match read.await.unwrap_or_else(|why| Err(NotRead::Failed { reason: why.into() })) {
            Ok((documents, reads)) => {
                let resources = documents.resources();
                let bundle = Bundle::new(Bootstrap::root(), Bootstrap::engine(), resources.clone());
                self.state().root_reads = bundle.ok().map(|bundle| (bundle.digest(), reads));
                Candidate::Rendered(resources)
            }
            Err(NotRead::Refused { problems }) => {
                Candidate::Refused(problems.iter().map(ToString::to_string).collect())
            }
            Err(NotRead::Failed { reason }) => Candidate::Failed(reason),
        }
    }

    /// Returns the inputs of an app by these documents, and its target.
    fn source(
        &self,
        app: &AppId,
        documents: Option<Digest>,
    ) -> Result<(AppSource, Arc<dyn Kinds + Send + Sync>, TargetIdentity), UnknownReason> {
        let state = self.state();
        if state.of != documents {
            return Err(UnknownReason::OtherDocuments);
        }
        let mut source = state.documents.source(app).ok_or(UnknownReason::NotLooked)?;
        let target = state.targets.get(&source.target).ok_or(UnknownReason::NotLooked)?;
        let identity = state.identities.get(&source.target).ok_or(UnknownReason::NotLooked)?.clone();
        let kinds = Arc::clone(&target.connection.kinds);
        // If the document names no namespace, the kubeconfig may: the app is rendered again once
        // that changes.
        source.namespace = kinds.namespace().map(str::to_owned);
        Ok((source, kinds, identity))
    }

    /// Relates the offered versions to those that they must descend from. Returns the worst result
    /// of all stores.
    async fn ancestry(&self, from: Option<&Revision>, offered: &Revision) -> Result<Ancestry, StoreError> {
        let Some(from) = from else { return Ok(Ancestry::First) };
        let mut worst = Ancestry::Same;
        for (name, version) in offered.iter() {
            // A store that the app did not read before has nothing to descend from.
            let Some(accepted) = from.get(name) else { continue };
            let store = self.store(name).ok_or_else(|| unknown_store(name))?;
            worst = worse(worst, self.lineages.ancestry(name, store.as_ref(), accepted, version).await?);
        }
        Ok(worst)
    }

    /// Forgets the cached state of apps that are no longer declared. If that fails, the next change
    /// of documents tries again.
    async fn forget_others(&self, documents: Arc<ControlDocuments>) {
        let (renders, shadows) = (Arc::clone(&self.renders), Arc::clone(&self.shadows));
        let forgotten = self.work.done(Bootstrap::root(), move |_| {
            renders.keep_only(documents.apps().keys());
            let shadowed = documents.apps().iter().filter(|(_, app)| app.spec.kustomize.shadow.is_some());
            shadows.keep_only(&shadowed.map(|(app, _)| app).collect());
        });
        if let Err(why) = forgotten.await {
            self.log.with(|| warn!(reason = %why, "cannot remove the cached state of removed apps"));
        }
    }

    /// Computes the controls again from the documents in force.
    async fn governed(
        &self,
        documents: Arc<ControlDocuments>,
        of: Digest,
        known: &BTreeMap<AppId, TargetIdentity>,
    ) -> Governed {
        let reached = self.connect(&documents, of).await;
        self.footprints.keep_only(|app| documents.apps().contains_key(app)).await;
        self.forget_others(Arc::clone(&documents)).await;
        let worked_out = documents.controls(self.connector.clock.now(), &reached, known);
        for (app, target) in &worked_out.unreached {
            self.log.with(|| debug!(app = %app, target = %target, "the app waits for the identity of its target"));
        }
        let mut controls = worked_out.controls;
        let retry = (!worked_out.unreached.is_empty()).then(|| self.connector.clock.now() + RETRY);
        controls.valid_until = worked_out.valid_until.into_iter().chain(retry).min();
        self.installed().bootstrap.govern(&mut controls, Some(of));
        let (mut targets, mut names) = (Targets::new(), BTreeMap::new());
        for Connection { name, identity, target, .. } in self.connections() {
            targets.insert(identity.clone(), target);
            names.insert(identity, name);
        }
        Governed { controls, targets, names }
    }
}

/// The permission to use cached results for a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Memory {
    /// They may: the check that the accepted bundle is unchanged, and earlier renders.
    Asked { accepted: Option<Digest> },
    /// Something may be deleted because of the result: the app is rendered.
    NotAsked,
}

impl Memory {
    /// Returns the bundle for which a render may be skipped.
    fn accepted(self) -> Option<Digest> {
        match self {
            Self::Asked { accepted } => accepted,
            Self::NotAsked => None,
        }
    }
}

/// The result of a candidate, before its ancestry is checked.
#[derive(Debug)]
pub(super) enum Candidate {
    Unchanged,
    Rendered(Vec<Resource>),
    Refused(Vec<String>),
    Failed(UnknownReason),
}

fn unknown_store(name: &StoreName) -> StoreError {
    StoreError::unreachable(format!("store {name} is not connected: check its document"))
}

impl Sources for Provider {
    fn poll<'a>(&'a self, store: &'a StoreName, now: Timestamp) -> Answer<'a, Observed<VersionId>> {
        Box::pin(async move {
            self.footprints.write_down().await;
            match self.store(store) {
                Some(connected) => {
                    let head = connected.poll(now).await;
                    for notice in connected.take_notices() {
                        self.log.with(|| info!(store = %store, "{notice}"));
                    }
                    head
                }
                None => Observed::unknown(unknown_store(store).into()),
            }
        })
    }

    fn render<'a>(&'a self, wanted: &'a Rendering) -> Answer<'a, RenderOutcome> {
        Box::pin(async move {
            let Rendering { app, revision, accepted, descends_from, documents } = wanted;
            let memory = Memory::Asked { accepted: accepted.as_ref().map(|accepted| accepted.bundle) };
            let candidate = self.candidate(app, revision, memory, *documents).await;
            match (&candidate, accepted) {
                (Candidate::Rendered(_) | Candidate::Refused(_), _) => {
                    self.shadow(app, revision, *documents, Shadows::take).await;
                }
                // The last changed version may not be compared yet, because the agent was stopped
                // or the program could not be run.
                (Candidate::Unchanged, Some(accepted)) => {
                    self.shadow(app, &accepted.revision, *documents, Shadows::take_accepted).await;
                }
                _ => {}
            }
            let resources = match candidate {
                Candidate::Unchanged => return RenderOutcome::Unchanged,
                Candidate::Refused(problems) => return RenderOutcome::Refused { problems },
                Candidate::Failed(reason) => return RenderOutcome::Failed { reason },
                Candidate::Rendered(resources) => resources,
            };
            match self.ancestry(descends_from.as_ref(), revision).await {
                Ok(ancestry) => RenderOutcome::Rendered { resources, ancestry },
                Err(error) => RenderOutcome::Failed { reason: error.into() },
            }
        })
    }

    fn govern<'a>(
        &'a self,
        bundle: &'a Bundle,
        known: &'a BTreeMap<AppId, TargetIdentity>,
    ) -> Answer<'a, Option<Governed>> {
        Box::pin(async move {
            match ControlDocuments::from_bundle(bundle, self.families()) {
                Ok(documents) => Some(self.governed(Arc::new(documents), bundle.digest(), known).await),
                Err(problems) => {
                    // They were valid when they were accepted, perhaps by another version of this
                    // program.
                    let problems = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                    self.log.with(|| error!(reason = problems, "cannot read the accepted control documents"));
                    None
                }
            }
        })
    }

    fn stores_of(&self, app: &AppId) -> BTreeSet<StoreName> {
        if *app == Bootstrap::root() {
            return [Bootstrap::store()].into();
        }
        let source = self.documents().source(app);
        source.map(|source| source.stores()).unwrap_or_default()
    }

    fn renders_apart(&self, app: &AppId) -> bool {
        self.documents().apps().get(app).is_some_and(|app| app.spec.kustomize.external.is_some())
    }

    fn render_afresh<'a>(
        &'a self,
        app: &'a AppId,
        heads: &'a Revision,
        documents: Option<Digest>,
    ) -> Answer<'a, Result<Digest, UnknownReason>> {
        Box::pin(async move {
            let (_, _, target) = self.source(app, documents)?;
            match self.candidate(app, heads, Memory::NotAsked, documents).await {
                Candidate::Rendered(resources) => Bundle::new(app.clone(), target, resources)
                    .map(|bundle| bundle.digest())
                    .map_err(|bad| UnknownReason::Malformed { detail: bad.to_string() }),
                Candidate::Failed(reason) => Err(reason),
                Candidate::Refused(problems) => Err(UnknownReason::Malformed { detail: problems.join("; ") }),
                Candidate::Unchanged => unreachable!("nothing was given that it could be unchanged from"),
            }
        })
    }
}
