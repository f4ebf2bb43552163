//! Recovery after the data folder was lost: ownership is rebuilt from bundles and live objects.
//!
//! A recovered claim says "this was declared, and it is there": enough to hold an object at its declaration, never enough to
//! delete it. That takes a person's release ([`setpoint_engine::Order::Release`]). What cannot be seen stops the recovery: an
//! object that was skipped would later look like a stranger's.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::facts::Change;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Presence};
use setpoint_core::name::{Actor, AppId, TargetIdentity};
use setpoint_core::observed::{Blindness, Observed};
use setpoint_core::time::Span;
use setpoint_ledger::{Batch, Entry, Kind, LeaseRequest, Ledger, LedgerError, Origin};
use setpoint_target::{Asker, Refusal, Target, Wanted};

use crate::doors::Clock;

/// Long enough for one batch.
const LEASE: Span = Span::minutes(1);

/// Connections to targets, by what they are.
pub type Targets = BTreeMap<TargetIdentity, Arc<dyn Target>>;

/// What to recover, and who wants it.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The log to begin.
    pub origin: Origin,
    pub holder: String,
    pub actor: Actor,
    pub reason: String,
    /// What the apps are to be held at, one bundle for each.
    pub bundles: Vec<Bundle>,
}

/// Why claims could not be rebuilt. Nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("{key} at {target} cannot be seen, and {others} more: make the target readable and run it again")]
    Unseen { target: TargetIdentity, key: Key, others: usize, source: Blindness },
    #[error("{key} at {target} is declared by {} and by {}: decide whose it is and run it again", apps.0, apps.1)]
    DeclaredTwice { target: TargetIdentity, key: Key, apps: Box<(AppId, AppId)> },
    #[error("nothing is connected to target `{target}`: check its document and its address")]
    NotConnected { target: TargetIdentity },
    #[error("target `{target}` cannot say what it is: make it reachable and run it again")]
    Unidentified { target: TargetIdentity, source: Refusal },
    #[error("the system at the address of `{expected}` is `{found}`: correct the address")]
    OtherTarget { expected: TargetIdentity, found: TargetIdentity },
    #[error("log {origin} already has {claims} claims and {apps} apps: recover into an empty data folder only")]
    NotEmpty { origin: Origin, claims: usize, apps: usize },
    #[error("the claims could not be recorded")]
    NotRecorded { source: LedgerError },
}

/// Rebuilds the claims on everything the bundles declare that is there now. Pure.
pub fn recovered_claims(
    bundles: &[Bundle],
    observations: &BTreeMap<TargetIdentity, Observation>,
) -> Result<Vec<Claim>, RecoverError> {
    let mut claims: BTreeMap<(TargetIdentity, Key), Claim> = BTreeMap::new();
    let mut unseen = Vec::new();
    for bundle in bundles {
        let (app, target) = (bundle.app(), bundle.target());
        let seen = observations.get(target);
        for (key, declared) in bundle.resources() {
            let place = (target.clone(), key.clone());
            if let Some(other) = claims.get(&place).map(|claim| claim.app.clone()) {
                let (target, key) = place;
                return Err(RecoverError::DeclaredTwice { target, key, apps: Box::new((other, app.clone())) });
            }
            match seen.and_then(|seen| seen.states.get(key)) {
                Some(Observed::Known { value: Presence::Present(live), .. }) => {
                    let claim = Claim {
                        target: target.clone(),
                        key: key.clone(),
                        app: app.clone(),
                        uid: Some(live.uid.clone()),
                        origin: ClaimOrigin::Recovered,
                        tombstone: false,
                        rank: declared.rank,
                        protected: declared.resource.protected,
                        ended: None,
                        made: None,
                        told: None,
                        folding: None,
                    };
                    claims.insert(place, claim);
                }
                Some(Observed::Known { value: Presence::Absent, .. }) => {}
                Some(Observed::Unknown { reason }) => unseen.push((place, reason.clone())),
                None => unseen.push((place, Blindness::NotLooked)),
            }
        }
    }
    let others = unseen.len().saturating_sub(1);
    match unseen.into_iter().next() {
        None => Ok(claims.into_values().collect()),
        Some(((target, key), source)) => Err(RecoverError::Unseen { target, key, others, source }),
    }
}

/// Looks at the targets, rebuilds the claims and records them, all or none, in a log that has none yet. Answers how many.
pub async fn recover(
    recovery: &Recovery,
    ledger: &dyn Ledger,
    targets: &Targets,
    clock: Clock,
) -> Result<usize, RecoverError> {
    refuse_a_used_log(recovery, ledger).await?;
    let observations = look(&recovery.bundles, targets, clock).await?;
    let claims = recovered_claims(&recovery.bundles, &observations)?;
    let recovered = claims.len();
    record(recovery, ledger, claims, clock).await.map_err(|source| RecoverError::NotRecorded { source })?;
    Ok(recovered)
}

/// What a log knows is worth more than what can be guessed from the outside.
async fn refuse_a_used_log(recovery: &Recovery, ledger: &dyn Ledger) -> Result<(), RecoverError> {
    let loaded = ledger.load(&recovery.origin).await.map_err(|source| RecoverError::NotRecorded { source })?;
    let (claims, apps) = (loaded.facts.claims.len(), loaded.facts.apps.len());
    if claims == 0 && apps == 0 {
        return Ok(());
    }
    Err(RecoverError::NotEmpty { origin: recovery.origin.clone(), claims, apps })
}

async fn look(
    bundles: &[Bundle],
    targets: &Targets,
    clock: Clock,
) -> Result<BTreeMap<TargetIdentity, Observation>, RecoverError> {
    let mut wanted: BTreeMap<TargetIdentity, Wanted> = BTreeMap::new();
    for bundle in bundles {
        let declared = bundle.resources().iter();
        let declared = declared.map(|(key, declared)| (key.clone(), Some(Arc::clone(&declared.resource))));
        wanted.entry(bundle.target().clone()).or_default().extend(declared);
    }
    let mut observations = BTreeMap::new();
    for (expected, wanted) in wanted {
        let Some(target) = targets.get(&expected) else {
            return Err(RecoverError::NotConnected { target: expected });
        };
        match target.identity().await {
            Ok(found) if found == expected => {}
            Ok(found) => return Err(RecoverError::OtherTarget { expected, found }),
            Err(source) => return Err(RecoverError::Unidentified { target: expected, source }),
        }
        observations.insert(expected, target.observe(wanted, Asker::default(), clock.now()).await);
    }
    Ok(observations)
}

async fn record(recovery: &Recovery, ledger: &dyn Ledger, claims: Vec<Claim>, clock: Clock) -> Result<(), LedgerError> {
    let now = clock.now();
    let mut of_app: BTreeMap<AppId, Vec<Change>> = BTreeMap::new();
    for claim in claims {
        of_app.entry(claim.app.clone()).or_default().push(Change::PutClaim { claim: Arc::new(claim), from: None });
    }
    let entries: Vec<Entry> = of_app.into_iter().map(|(app, changes)| entry(recovery, &app, changes, clock)).collect();
    if entries.is_empty() {
        return Ok(());
    }
    let (origin, holder) = (recovery.origin.clone(), recovery.holder.clone());
    let lease = ledger.acquire(LeaseRequest { origin, holder, now, length: LEASE }).await?;
    let bundles = recovery.bundles.iter().map(|bundle| (bundle.digest(), bundle.to_bytes())).collect();
    let appended = ledger.append(Batch { bundles, ..Batch::new(&lease, now, entries) }).await;
    // The lease goes back whatever came of the batch; it would run out by itself.
    appended.and(ledger.release(&lease).await)
}

fn entry(recovery: &Recovery, app: &AppId, changes: Vec<Change>, clock: Clock) -> Entry {
    let mut entry = Entry::new(Kind::Override, app.scope.clone(), app.to_string(), recovery.actor.clone(), clock.now())
        .with_data("what", "claims recovered")
        .with_data("claims", changes.len())
        .with_data("reason", recovery.reason.as_str());
    entry.changes = changes;
    entry
}
