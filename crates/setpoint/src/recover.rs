//! Recovery after the loss of the data directory: ownership is rebuilt from bundles and live
//! objects.
//!
//! A recovered claim means "this was declared, and it exists": enough to hold an object at its
//! declaration, never enough to delete it. A delete takes a person's release
//! ([`setpoint_engine::Order::Release`]). An object that cannot be observed stops the recovery: if
//! it were skipped, it would later be treated as a stranger's.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use setpoint_core::bundle::Bundle;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::facts::{Change, Facts};
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Presence};
use setpoint_core::name::{Actor, AppId, TargetIdentity};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Checkpoint;
use setpoint_ledger::{
    Batch, Entry, Gap, Kind, LeaseRequest, Ledger, LedgerError, Loaded, Origin, Record, Standing, lost_log_entry,
};
use setpoint_target::{Asker, Refusal, Target, Wanted};

use crate::doors::Clock;

/// Long enough for one batch.
const LEASE: Span = Span::minutes(1);

/// Connections to targets, by the identity of the target.
pub type Targets = BTreeMap<TargetIdentity, Arc<dyn Target>>;

/// The bundles to recover, and who requests it.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The new log.
    pub origin: Origin,
    pub holder: String,
    pub actor: Actor,
    pub reason: String,
    /// The bundles to hold the apps at, one for each app.
    pub bundles: Vec<Bundle>,
    /// The anchor of the ledger.
    pub anchor: Option<AnchorFile>,
    /// The checkpoint in the anchor file instead: of a log that was lost together with its key. The
    /// ledger must have been opened without it.
    pub lost: Option<Checkpoint>,
}

/// The result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The number of objects that are owned again.
    pub claims: usize,
    /// The copy of the lost log's anchor.
    pub former: Option<PathBuf>,
}

/// The reason why claims could not be rebuilt. Nothing was recorded, unless the message says so.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("cannot observe {key} at {target}, and {others} more: make the target readable and run this again")]
    Unseen { target: TargetIdentity, key: Key, others: usize, source: UnknownReason },
    #[error("{key} at {target} is declared by {} and by {}: remove it from one of them and run this again", apps.0, apps.1)]
    DeclaredTwice { target: TargetIdentity, key: Key, apps: Box<(AppId, AppId)> },
    #[error("there is no connection to target `{target}`: check its document and its address")]
    NotConnected { target: TargetIdentity },
    #[error("cannot read the identity of target `{target}`: make it reachable and run this again")]
    Unidentified { target: TargetIdentity, source: Refusal },
    #[error("the system at the address of `{expected}` is `{found}`: correct the address")]
    OtherTarget { expected: TargetIdentity, found: TargetIdentity },
    #[error(
        "log {origin} already has {claims} claims and {apps} apps: recover only into an empty data directory; \
         if an older copy was restored, record the loss with `setpoint ledger gap`"
    )]
    NotEmpty { origin: Origin, claims: usize, apps: usize },
    #[error("the claims could not be recorded")]
    NotRecorded { source: LedgerError },
    #[error("cannot keep a copy of the former anchor {}: make its directory writable and run this again", path.display())]
    NotKept { path: PathBuf, source: io::Error },
    #[error(
        "the claims are recorded, but the former anchor {} cannot be removed: make its directory writable and run this again",
        path.display()
    )]
    NotCleared { path: PathBuf, source: io::Error },
}

/// Rebuilds the claims on all declared objects that exist now. Pure.
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
                        rank: declared.rank,
                        protected: declared.resource.protected,
                        ..Claim::new(
                            target.clone(),
                            key.clone(),
                            app.clone(),
                            Some(live.uid.clone()),
                            ClaimOrigin::Recovered,
                        )
                    };
                    claims.insert(place, claim);
                }
                Some(Observed::Known { value: Presence::Absent, .. }) => {}
                Some(Observed::Unknown { reason }) => unseen.push((place, reason.clone())),
                None => unseen.push((place, UnknownReason::NotLooked)),
            }
        }
    }
    let others = unseen.len().saturating_sub(1);
    match unseen.into_iter().next() {
        None => Ok(claims.into_values().collect()),
        Some(((target, key), source)) => Err(RecoverError::Unseen { target, key, others, source }),
    }
}

/// Observes the targets, rebuilds the claims and records them, all or none, in a log that has none
/// yet.
///
/// The checkpoint in the anchor of the lost log is recorded with them. Its file is copied before
/// another checkpoint replaces it.
pub async fn recover(
    recovery: &Recovery,
    ledger: &dyn Ledger,
    targets: &Targets,
    clock: Clock,
) -> Result<Recovered, RecoverError> {
    let not_recorded = |source| RecoverError::NotRecorded { source };
    let Loaded { facts, head } = ledger.load(&recovery.origin).await.map_err(not_recorded)?;
    if is_answered(recovery, ledger, head.size).await.map_err(not_recorded)? {
        // An earlier recovery was interrupted after it had recorded everything: only the space for
        // the new anchor remains to be made.
        make_room(recovery)?;
        return Ok(Recovered { claims: facts.claims.len(), former: None });
    }
    refuse_a_used_log(recovery, &facts)?;
    let observations = look(&recovery.bundles, targets, clock).await?;
    let claims = recovered_claims(&recovery.bundles, &observations)?;
    let recovered = claims.len();
    let former = keep_former(recovery, head.standing, clock)?;
    record(recovery, ledger, head.standing, claims, former.as_deref(), clock).await.map_err(not_recorded)?;
    make_room(recovery)?;
    Ok(Recovered { claims: recovered, former })
}

/// Refuses a log with records of apps: its knowledge is worth more than what can be inferred from
/// outside.
fn refuse_a_used_log(recovery: &Recovery, facts: &Facts) -> Result<(), RecoverError> {
    let (claims, apps) = (facts.claims.len(), facts.apps.len());
    if claims == 0 && apps == 0 {
        return Ok(());
    }
    Err(RecoverError::NotEmpty { origin: recovery.origin.clone(), claims, apps })
}

/// The number of records at the beginning of a log that are searched for the loss of another log.
const BEGINNING: u64 = 1_000;

/// Reports whether the log already has the record that it replaces the lost one.
async fn is_answered(recovery: &Recovery, ledger: &dyn Ledger, size: u64) -> Result<bool, LedgerError> {
    let Some(lost) = &recovery.lost else { return Ok(false) };
    let (subject, root) = (lost.origin.to_string(), Value::from(lost.root.to_string()));
    for bytes in ledger.records(&recovery.origin, 0..size.min(BEGINNING)).await? {
        let record = Record::from_bytes(&bytes)?;
        if record.kind == Kind::LedgerGap && record.subject == subject && record.data.get("anchorRoot") == Some(&root) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies the anchor of the lost log, before anything is written in its place.
fn keep_former(recovery: &Recovery, standing: Standing, clock: Clock) -> Result<Option<PathBuf>, RecoverError> {
    match &recovery.anchor {
        Some(anchor) if recovery.lost.is_some() || standing != Standing::Sound => {
            let not_kept = |source| RecoverError::NotKept { path: anchor.path().to_owned(), source };
            anchor.keep_former(clock.now()).map(Some).map_err(not_kept)
        }
        _ => Ok(None),
    }
}

/// Removes the anchor of the other log, which is recorded and copied, so that this log can be
/// anchored there.
fn make_room(recovery: &Recovery) -> Result<(), RecoverError> {
    match &recovery.anchor {
        Some(anchor) if recovery.lost.is_some() => {
            anchor.clear().map_err(|source| RecoverError::NotCleared { path: anchor.path().to_owned(), source })
        }
        _ => Ok(()),
    }
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

async fn record(
    recovery: &Recovery,
    ledger: &dyn Ledger,
    standing: Standing,
    claims: Vec<Claim>,
    former: Option<&Path>,
    clock: Clock,
) -> Result<(), LedgerError> {
    let now = clock.now();
    let mut of_app: BTreeMap<AppId, Vec<Change>> = BTreeMap::new();
    for claim in claims {
        of_app.entry(claim.app.clone()).or_default().push(Change::PutClaim { claim: Arc::new(claim), from: None });
    }
    let (actor, reason) = (recovery.actor.clone(), recovery.reason.clone());
    let lost = recovery.lost.as_ref().map(|lost| {
        let kept = former.map(|former| former.display().to_string()).unwrap_or_default();
        lost_log_entry(lost, actor.clone(), &reason, now).with_data("kept", kept)
    });
    let claimed = of_app.into_iter().map(|(app, changes)| entry(recovery, &app, changes, clock));
    let entries: Vec<Entry> = lost.into_iter().chain(claimed).collect();
    let (origin, holder) = (recovery.origin.clone(), recovery.holder.clone());
    let request = LeaseRequest { origin, holder, now, length: LEASE };
    let lease = match standing {
        Standing::Sound if entries.is_empty() => return Ok(()),
        Standing::Sound => ledger.acquire(request).await?,
        // The log's key still exists, but its records do not: the epochs of the lost records must
        // not be used again.
        behind => ledger.record_gap(Gap { lease: request, actor, reason, lost: behind.lost() }).await?,
    };
    let appended = if entries.is_empty() {
        Ok(())
    } else {
        let bundles = recovery.bundles.iter().map(|bundle| (bundle.digest(), bundle.to_bytes())).collect();
        ledger.append(Batch { bundles, ..Batch::new(&lease, now, entries) }).await.map(drop)
    };
    // The lease is released whatever the result of the batch; otherwise it would only expire.
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
