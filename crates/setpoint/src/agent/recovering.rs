//! Restores the claims of an installation whose data directory was lost: observes the objects that
//! its stores declare now, and claims those that exist. [`crate::recover`] has the rules.

use std::collections::BTreeMap;

use setpoint_core::bundle::{BadBundle, Bundle};
use setpoint_core::name::{Actor, AppId, StoreName, TargetIdentity};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::version::Revision;
use setpoint_engine::Controls;
use setpoint_ledger::{Ledger, LedgerError};
use tracing::warn;

use super::bootstrap::Bootstrap;
use super::folder::Installation;
use super::opening::{Opened, OpeningError, Purpose};
use super::sources::{Candidate, Memory, Provider};
use super::{AgentOptions, HOLDER, opening};
use crate::interpreter::{Governed, Sources};
use crate::recover::{RecoverError, Recovered, Recovery, Targets, recover};

/// The reason why an installation cannot be started over. Nothing was recorded, unless the message
/// says so.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("cannot read the declarations in store {store}: make it reachable and run this again")]
    Unread { store: StoreName, source: UnknownReason },
    #[error(
        "the declaration of {app} is refused, so the objects it owns are unknown: correct it with a new commit\n{problems}"
    )]
    Refused { app: AppId, problems: String },
    #[error("cannot render {app}: make its stores and its target reachable and run this again")]
    Unrendered { app: AppId, source: UnknownReason },
    #[error("the declaration of {app} is not a valid bundle: correct it with a new commit")]
    BadBundle { app: AppId, source: Box<BadBundle> },
    #[error("cannot read the control documents back: check the log lines above")]
    Unreadable,
    #[error("the identity of the target of {app} is not known: make it reachable and run this again")]
    Unreached { app: AppId },
    #[error(transparent)]
    Recover(#[from] RecoverError),
    #[error("the claims are recorded, but the ledger could not be closed: start the agent and check `setpoint status`")]
    NotClosed { source: LedgerError },
}

/// Claims again the objects that the stores of an installation declare and that exist on its
/// targets. Needs a data directory without any claims.
///
/// An anchor outlives the data directory: an anchor of another log belongs to the lost
/// installation. It is kept and recorded, but never trusted, because the key that could verify it
/// is lost too.
pub async fn recover_lost(
    options: AgentOptions,
    actor: Actor,
    reason: String,
) -> Result<(Recovered, Vec<AppId>), RecoveryError> {
    let AgentOptions { bootstrap, data, clock, families, program, log, .. } = options;
    let anchor = bootstrap.anchor();
    // The ledger's lock prevents an agent from running meanwhile.
    let opened = opening::open(bootstrap, &data, Purpose::Recover, clock, (families, program), &log).await?;
    let Opened { ledger, provider, lost, installation: Installation { origin, .. }, .. } = opened;
    let (bundles, targets) = declared(&provider).await?;
    let apps = bundles.iter().map(|bundle| bundle.app().clone()).collect();
    let holder = HOLDER.to_owned();
    let recovery = Recovery { origin, holder, actor, reason, bundles, anchor, lost };
    let recovered = recover(&recovery, &ledger, &targets, clock).await?;
    let closed = async {
        ledger.close().await?;
        ledger.head(&recovery.origin).await
    };
    let head = closed.await.map_err(|source| RecoveryError::NotClosed { source })?;
    head.anchor_trouble.into_iter().for_each(|trouble| log.with(|| warn!("{trouble}")));
    Ok((recovered, apps))
}

/// Renders every app at the heads of its stores, and returns the targets of the apps. All apps or
/// none: an app that is left out would lose the objects it owns.
async fn declared(provider: &Provider) -> Result<(Vec<Bundle>, Targets), RecoveryError> {
    let documents = bundle(provider, &Bootstrap::root(), Bootstrap::engine(), [Bootstrap::store()]).await?;
    let governed = provider.govern(&documents, &BTreeMap::new()).await.ok_or(RecoveryError::Unreadable)?;
    let Governed { controls: Controls { apps: reached, .. }, targets, .. } = governed;
    let mut bundles = Vec::new();
    for app in provider.documents().apps().keys() {
        let control = reached.get(app).ok_or_else(|| RecoveryError::Unreached { app: app.clone() })?;
        bundles.push(bundle(provider, app, control.target.clone(), control.stores.clone()).await?);
    }
    Ok((bundles, targets))
}

/// Renders an app at the heads of its stores.
async fn bundle(
    provider: &Provider,
    app: &AppId,
    target: TargetIdentity,
    stores: impl IntoIterator<Item = StoreName>,
) -> Result<Bundle, RecoveryError> {
    let mut heads = BTreeMap::new();
    for store in stores {
        match provider.poll(&store, provider.now()).await {
            Observed::Known { value, .. } => drop(heads.insert(store, value)),
            Observed::Unknown { reason: source } => return Err(RecoveryError::Unread { store, source }),
        }
    }
    let app = app.clone();
    match provider.candidate(&app, &Revision::from(heads), Memory::NotAsked, provider.taken_up()).await {
        Candidate::Rendered(resources) => Bundle::new(app.clone(), target, resources)
            .map_err(|source| RecoveryError::BadBundle { app, source: Box::new(source) }),
        Candidate::Refused(problems) => Err(RecoveryError::Refused { app, problems: problems.join("\n") }),
        Candidate::Failed(source) => Err(RecoveryError::Unrendered { app, source }),
        Candidate::Unchanged => unreachable!("nothing was given that it could be unchanged from"),
    }
}
