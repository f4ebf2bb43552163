//! One version and its way through the apps: who wrote it, which apps accepted or refused it, and
//! what it changed in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use setpoint_api::answer::{VersionDetail, VersionInApp, VersionNote, VersionOutcome};
use setpoint_api::question::VersionQuestion;
use setpoint_api::{Problem, ProblemKind};
use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Accepted, AppFacts, Change};
use setpoint_core::key::Key;
use setpoint_core::name::AppId;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_ledger::record::Record;
use setpoint_ledger::{Kind, Ledger, LedgerError};

use super::answers::{Answers, unread};
use super::history::{PAGE, text_of, walk_back};
use super::rights::View;

/// The number of digits with which a revision names a version.
const SHORT: usize = 12;

/// The fewest digits that name a version.
const SHORTEST: usize = 7;

/// The number of apps whose changes are worked out: each needs two bundles.
const MOST_COMPARED: usize = 100;

/// The number of changed objects that are named for each app.
const MOST_NAMED: usize = 200;

/// The largest difference between the clock of a committer and ours.
const CLOCKS_DIFFER: Span = Span::hours(24);

/// The records of one version in the ledger.
#[derive(Default)]
struct Found {
    apps: Vec<InLedger>,
    /// The newest convergence of each app, and the newest acceptance, reading backwards.
    converged: BTreeMap<AppId, (Digest, Timestamp)>,
    superseded: BTreeMap<AppId, Timestamp>,
    /// The apps whose newest refusal was read.
    refused: BTreeSet<AppId>,
}

/// An app that accepted or refused the version.
struct InLedger {
    line: VersionInApp,
    /// The accepted bundle, and the last one before it at which the app converged.
    bundles: Option<(Digest, Option<Digest>)>,
    revision: Option<Revision>,
}

impl Answers {
    pub(super) async fn version_of(&self, question: VersionQuestion, view: &View) -> Result<VersionDetail, Problem> {
        let wanted = question.version.to_ascii_lowercase();
        let is_name = wanted.len() >= SHORTEST && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unknown = || Problem::new(ProblemKind::Missing, format!("no app has used a version {}", question.version));
        if !is_name {
            return Err(unknown());
        }
        let position = self.feed.position();
        let ledger = self.ledger(view).await?;
        let since = self.committed(&wanted, view).await;
        let Found { mut apps, .. } = self.found(ledger.as_ref(), &wanted, since, view).await.map_err(|e| unread(&e))?;
        if apps.is_empty() {
            return Err(unknown());
        }
        for app in apps.iter_mut().take(MOST_COMPARED) {
            if let Some((new, old)) = app.bundles {
                compare(ledger.as_ref(), new, old, &mut app.line).await.map_err(|error| unread(&error))?;
            }
        }
        let revision = apps.iter().find_map(|app| app.revision.clone());
        let notes = match revision {
            Some(revision) => self.describe(&revision).await,
            None => Vec::new(),
        };
        let is_of_version =
            |note: &VersionNote| note.version.as_str().starts_with(&wanted) && view.sees_store(&note.store);
        let note = notes.into_iter().find(is_of_version);
        let version = note.as_ref().map_or(wanted, |note| note.version.to_string());
        let apps = apps.into_iter().map(|app| app.line).collect();
        Ok(VersionDetail { now: self.clock.now(), position, version, note, apps })
    }

    /// Returns the time before which no record can be about the version: that of its commit, if an
    /// app is at this version now.
    async fn committed(&self, wanted: &str, view: &View) -> Option<Timestamp> {
        let fleet = self.fleet().await.ok()?;
        let accepted = fleet.apps.iter().filter_map(|app| app.accepted.as_ref());
        let revision = accepted.map(|accepted| &accepted.revision).find(|revision| names(revision, wanted))?;
        let notes = self.describe(revision).await;
        let note =
            notes.iter().find(|note| note.version.as_str().starts_with(wanted) && view.sees_store(&note.store))?;
        Some(Timestamp::from_millis(note.at.as_millis().saturating_sub(CLOCKS_DIFFER.as_millis())))
    }

    /// Reads the ledger backwards.
    async fn found(
        &self,
        ledger: &dyn Ledger,
        wanted: &str,
        since: Option<Timestamp>,
        view: &View,
    ) -> Result<Found, LedgerError> {
        let mut found = Found::default();
        walk_back(ledger, &self.origin, None, PAGE, |record| {
            found.take(&record, wanted, view);
            if since.is_some_and(|since| record.time < since) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .await?;
        found.apps.sort_by(|a, b| a.line.at.cmp(&b.line.at).then_with(|| a.line.app.cmp(&b.line.app)));
        Ok(found)
    }
}

impl Found {
    fn take(&mut self, record: &Record, wanted: &str, view: &View) {
        let is_about = matches!(record.kind, Kind::VersionAccepted | Kind::VersionRefused | Kind::AppState);
        let app = if is_about { record.subject.parse::<AppId>().ok() } else { None };
        let Some(app) = app.filter(|app| view.sees(app)) else { return };
        match record.kind {
            Kind::AppState if text_of(record, "what") == "converged" => {
                if let Some(good) = facts_of(record).and_then(|facts| facts.last_good.as_ref()) {
                    self.converged.insert(app, (good.bundle, record.time));
                }
            }
            Kind::VersionRefused => self.refused(app, record, wanted, view),
            Kind::VersionAccepted => self.accepted(app, record, wanted),
            _ => {}
        }
    }

    fn refused(&mut self, app: AppId, record: &Record, wanted: &str, view: &View) {
        // The newest refusal counts: it may have other reasons than an earlier one.
        if mentions(&text_of(record, "revision"), wanted) && self.refused.insert(app.clone()) {
            let mut problem = text_of(record, "problem");
            view.redact(&mut problem);
            let line = line(app, record, VersionOutcome::Refused { problem });
            self.apps.push(InLedger { line, bundles: None, revision: None });
        }
    }

    fn accepted(&mut self, app: AppId, record: &Record, wanted: &str) {
        let superseded = self.superseded.insert(app.clone(), record.time);
        let facts = facts_of(record);
        let Some(accepted) = facts.and_then(|facts| facts.accepted.as_ref()) else { return };
        if !names(&accepted.revision, wanted) {
            self.converged.remove(&app);
            return;
        }
        let of_bundle = |(bundle, at): (Digest, Timestamp)| (bundle == accepted.bundle).then_some(at);
        let converged = self.converged.remove(&app).and_then(of_bundle);
        let before = facts.and_then(|facts| facts.last_good.as_ref()).map(|good: &Accepted| good.bundle);
        let outcome = VersionOutcome::Accepted { converged, superseded };
        let line = line(app, record, outcome);
        let revision = Some(accepted.revision.clone());
        self.apps.push(InLedger { line, bundles: Some((accepted.bundle, before)), revision });
    }
}

fn line(app: AppId, record: &Record, outcome: VersionOutcome) -> VersionInApp {
    let revision = text_of(record, "revision");
    let at = record.time;
    VersionInApp { app, at, revision, outcome, created: Vec::new(), changed: Vec::new(), removed: Vec::new(), more: 0 }
}

fn facts_of(record: &Record) -> Option<&AppFacts> {
    record.changes.iter().find_map(|change| match change {
        Change::PutApp { facts, .. } => Some(&**facts),
        _ => None,
    })
}

/// Reports whether a revision has a version that begins like this.
fn names(revision: &Revision, wanted: &str) -> bool {
    revision.versions().any(|version| version.as_str().starts_with(wanted))
}

/// Reports whether the text of a revision, such as `platform@3f2a91c03f2a, base@…`, has a version
/// that begins like this.
fn mentions(revision: &str, wanted: &str) -> bool {
    let short = &wanted[..wanted.len().min(SHORT)];
    revision.split(", ").filter_map(|part| part.split_once('@')).any(|(_, version)| version.starts_with(short))
}

/// Adds the objects that differ between two bundles. A bundle that is no longer stored leaves them
/// out.
async fn compare(
    ledger: &dyn Ledger,
    new: Digest,
    old: Option<Digest>,
    line: &mut VersionInApp,
) -> Result<(), LedgerError> {
    let Some(new) = bundle(ledger, new).await? else { return Ok(()) };
    let old = match old {
        Some(digest) => bundle(ledger, digest).await?,
        None => None,
    };
    let none = BTreeMap::new();
    let (new, old) = (new.resources(), old.as_ref().map_or(&none, Bundle::resources));
    let mut left = MOST_NAMED;
    let mut more = 0;
    let mut add = |list: &mut Vec<Key>, key: &Key| match left {
        0 => more += 1,
        _ => {
            left -= 1;
            list.push(key.clone());
        }
    };
    for (key, declared) in new {
        match old.get(key) {
            None => add(&mut line.created, key),
            Some(former) if former.digest != declared.digest => add(&mut line.changed, key),
            Some(_) => {}
        }
    }
    old.keys().filter(|key| !new.contains_key(*key)).for_each(|key| add(&mut line.removed, key));
    line.more = more;
    Ok(())
}

async fn bundle(ledger: &dyn Ledger, digest: Digest) -> Result<Option<Bundle>, LedgerError> {
    let bytes = ledger.bundle(&digest).await?;
    let read = |bytes: Vec<u8>| Bundle::from_bytes(&bytes, digest);
    bytes.map(read).transpose().map_err(|source| LedgerError::corrupt("cannot read a bundle", source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_by_its_first_digits() {
        let text = "platform@3f2a91c03f2a, base@76e2133bd61c";
        assert!(mentions(text, "3f2a91c") && mentions(text, "76e2133bd61c00112233"));
        assert!(!mentions(text, "f2a91c0") && !mentions(text, "platform"));
    }
}
