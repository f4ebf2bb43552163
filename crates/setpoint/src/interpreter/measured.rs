//! Derives metrics from the events and effects of the machine. All of them pass through the event
//! loop, so nothing else needs to report anything, and the machine does not know that it is
//! measured.
//!
//! Lives in the loop, without locks. What it remembers is bounded by the work under way and by the
//! number of apps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use setpoint_core::facts::{Accepted, Change};
use setpoint_core::modes::Cause;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::observed::Observed;
use setpoint_core::time::Span;
use setpoint_core::version::Revision;
use setpoint_engine::{Effect, Event, RenderOutcome, Ticket};
use setpoint_ledger::{Entry, Kind};
use setpoint_target::{Outcome, Work};

use crate::doors::duration;
use crate::metrics::{Call, Meters};

/// The newest versions of a store whose first observation is remembered.
const VERSIONS: usize = 16;

#[derive(Debug)]
pub(super) struct Measuring {
    meters: Arc<Meters>,
    /// The time after which an effect has no result any more.
    patience: Duration,
    /// The effects under way. Tickets are numbered, so the oldest comes first.
    calls: BTreeMap<Ticket, Begun>,
    /// When the newest versions of each store were first observed.
    versions: BTreeMap<StoreName, VecDeque<(VersionId, Duration)>>,
    /// Since when the version that an app was rendered from is known, until it is judged.
    candidates: BTreeMap<AppId, Duration>,
    /// Since when apps have drifted.
    drifting: BTreeMap<AppId, Duration>,
}

/// An effect under way.
#[derive(Debug)]
struct Begun {
    at: Duration,
    call: Call,
    subject: Subject,
}

#[derive(Debug)]
enum Subject {
    Other,
    Poll(StoreName),
    Render { app: AppId, since: Duration },
    Execute { target: TargetIdentity, app: Option<AppId>, drifted: Vec<bool> },
    Record(Vec<Fact>),
}

/// What a record in the ledger means for the metrics.
#[derive(Debug)]
enum Fact {
    Accepted(AppId),
    Refused(AppId),
    Converged { after: Duration },
    Drifted(u64),
    DriftOver(u64),
}

impl Measuring {
    /// Creates it with the time for which the machine waits for most results.
    pub(super) fn new(meters: Arc<Meters>, patience: Span) -> Self {
        Self {
            meters,
            patience: duration(patience) * 2,
            calls: BTreeMap::new(),
            versions: BTreeMap::new(),
            candidates: BTreeMap::new(),
            drifting: BTreeMap::new(),
        }
    }

    /// Notes a step of the machine that began at this time.
    pub(super) fn stepped(&mut self, began: Duration, now: Duration) {
        self.meters.steps.observe(now.saturating_sub(began));
        while let Some(oldest) = self.calls.first_entry().filter(|oldest| oldest.get().at + self.patience < now) {
            let Begun { call, subject, .. } = oldest.remove();
            self.meters.ended[call].add(1);
            if let Subject::Poll(store) = subject {
                self.meters.polls.of(&store)[1].add(1);
            }
        }
    }

    /// Notes an effect that begins.
    pub(super) fn begun(&mut self, effect: &Effect, now: Duration) {
        let (ticket, call, subject) = match effect {
            Effect::Poll { ticket, store } => (ticket, Call::Poll, Subject::Poll(store.clone())),
            Effect::Render { ticket, app, revision, accepted, .. } => {
                let since = self.since(revision, accepted.as_ref(), now);
                (ticket, Call::Render, Subject::Render { app: app.clone(), since })
            }
            Effect::RenderAfresh { ticket, .. } => (ticket, Call::Render, Subject::Other),
            Effect::Observe { ticket, .. } => (ticket, Call::Observe, Subject::Other),
            Effect::Preview { ticket, .. } | Effect::PreviewReplacement { ticket, .. } => {
                (ticket, Call::Preview, Subject::Other)
            }
            Effect::Execute { ticket, target, work, .. } => (ticket, Call::Execute, execution(target, work)),
            Effect::Settle { ticket, .. } => (ticket, Call::Settle, Subject::Other),
            Effect::Attribute { ticket, .. } => (ticket, Call::Attribute, Subject::Other),
            Effect::Notify { ticket, .. } => (ticket, Call::Notify, Subject::Other),
            Effect::Append { ticket, entries, .. } => (ticket, Call::Record, Subject::Record(self.facts(entries, now))),
            Effect::Acquire { .. }
            | Effect::Renew { .. }
            | Effect::Load { .. }
            | Effect::Control { .. }
            | Effect::Ordered { .. }
            | Effect::WakeAt { .. } => return,
        };
        self.meters.begun[call].add(1);
        self.calls.insert(*ticket, Begun { at: now, call, subject });
    }

    /// Notes the result of an effect.
    pub(super) fn answered(&mut self, event: &Event, now: Duration) {
        let ticket = match event {
            Event::Polled { ticket, .. }
            | Event::Rendered { ticket, .. }
            | Event::RenderedAfresh { ticket, .. }
            | Event::Observed { ticket, .. }
            | Event::Previewed { ticket, .. }
            | Event::Executed { ticket, .. }
            | Event::Settled { ticket, .. }
            | Event::Attributed { ticket, .. }
            | Event::Notified { ticket, .. }
            | Event::Appended { ticket }
            | Event::AppendFailed { ticket, .. } => ticket,
            _ => return,
        };
        let Some(Begun { at, call, subject }) = self.calls.remove(ticket) else { return };
        self.meters.ended[call].add(1);
        self.meters.calls[call].observe(now.saturating_sub(at));
        match (subject, event) {
            (Subject::Poll(store), Event::Polled { head, .. }) => self.polled(store, head, now),
            (Subject::Render { app, since }, Event::Rendered { outcome, .. }) => self.rendered(app, since, outcome),
            (Subject::Execute { target, app, drifted }, Event::Executed { outcomes, .. }) => {
                self.executed(&target, app.as_ref(), &drifted, outcomes, now);
            }
            (Subject::Record(facts), Event::Appended { .. }) => self.recorded(facts, now),
            (_, Event::Notified { delivered: true, .. }) => self.meters.notes_delivered.add(1),
            (_, Event::Notified { delivered: false, .. }) => self.meters.notes_undelivered.add(1),
            _ => {}
        }
    }

    fn polled(&mut self, store: StoreName, head: &Observed<VersionId>, now: Duration) {
        let [answered, failed] = &*self.meters.polls.of(&store);
        let Observed::Known { value, .. } = head else { return failed.add(1) };
        answered.add(1);
        let versions = self.versions.entry(store).or_default();
        if versions.iter().all(|(version, _)| version != value) {
            versions.truncate(VERSIONS - 1);
            versions.push_front((value.clone(), now));
        }
    }

    /// Returns since when the newest version of a revision is known that the accepted one lacks. A
    /// version of an app that has none yet, or whose documents have changed, is not new: then the
    /// time counts from its render.
    fn since(&self, revision: &Revision, accepted: Option<&Accepted>, now: Duration) -> Duration {
        let Some(accepted) = accepted else { return now };
        let is_new = |store: &StoreName, version: &VersionId| {
            accepted.revision.iter().all(|(known, before)| known != store || before != version)
        };
        let new = revision.iter().filter(|(store, version)| is_new(store, version));
        let known = new.filter_map(|(store, version)| {
            let versions = self.versions.get(store)?;
            versions.iter().find(|(known, _)| known == version).map(|(_, since)| *since)
        });
        known.max().unwrap_or(now)
    }

    fn rendered(&mut self, app: AppId, since: Duration, outcome: &RenderOutcome) {
        match outcome {
            RenderOutcome::Rendered { .. } | RenderOutcome::Refused { .. } => drop(self.candidates.insert(app, since)),
            RenderOutcome::Unchanged | RenderOutcome::Failed { .. } => drop(self.candidates.remove(&app)),
        }
    }

    fn executed(
        &mut self,
        target: &TargetIdentity,
        app: Option<&AppId>,
        drifted: &[bool],
        outcomes: &[Outcome],
        now: Duration,
    ) {
        let counts = self.meters.changes.of(target);
        let mut healed = 0;
        for (outcome, of_drift) in outcomes.iter().zip(drifted) {
            let place = match outcome {
                Outcome::Done { .. } => 0,
                Outcome::Refused { .. } => 1,
                Outcome::Unknown { .. } => 2,
            };
            counts[place].add(1);
            healed += u64::from(place == 0 && *of_drift);
        }
        self.meters.drift_healed.add(healed);
        let since = app.filter(|_| healed > 0).and_then(|app| self.drifting.remove(app));
        if let Some(since) = since {
            self.meters.healed.observe(now.saturating_sub(since));
        }
    }

    /// Returns the facts of entries that are being recorded. Drift counts from now on: it may be
    /// corrected before its record is durable.
    fn facts(&mut self, entries: &[Entry], now: Duration) -> Vec<Fact> {
        // A batch may have thousands of intents and results, which are counted as effects.
        let is_fact = |entry: &&Entry| {
            use Kind::{AppState, DriftObserved, DriftOver, VersionAccepted, VersionRefused};
            matches!(entry.kind, AppState | DriftObserved | DriftOver | VersionAccepted | VersionRefused)
        };
        entries.iter().filter(is_fact).filter_map(|entry| self.fact(entry, now)).collect()
    }

    fn fact(&mut self, entry: &Entry, now: Duration) -> Option<Fact> {
        let app: AppId = entry.subject.parse().ok()?;
        let count = || entry.data.get("count").and_then(serde_json::Value::as_u64).unwrap_or_default();
        match entry.kind {
            Kind::VersionAccepted => Some(Fact::Accepted(app)),
            Kind::VersionRefused => Some(Fact::Refused(app)),
            Kind::DriftObserved => {
                self.drifting.entry(app).or_insert(now);
                Some(Fact::Drifted(count()))
            }
            Kind::DriftOver => {
                self.drifting.remove(&app);
                Some(Fact::DriftOver(count()))
            }
            _ => match entry.data.get("what").and_then(serde_json::Value::as_str) {
                Some("converged") => convergence(entry),
                Some("forgotten") => {
                    self.drifting.remove(&app);
                    self.candidates.remove(&app);
                    None
                }
                _ => None,
            },
        }
    }

    fn recorded(&mut self, facts: Vec<Fact>, now: Duration) {
        for fact in facts {
            match fact {
                Fact::Accepted(app) => {
                    self.meters.versions_accepted.add(1);
                    if let Some(since) = self.candidates.remove(&app) {
                        self.meters.accepted.observe(now.saturating_sub(since));
                    }
                }
                Fact::Refused(app) => {
                    self.meters.versions_refused.add(1);
                    if let Some(since) = self.candidates.remove(&app) {
                        self.meters.refused.observe(now.saturating_sub(since));
                    }
                }
                Fact::Converged { after } => self.meters.converged.observe(after),
                Fact::Drifted(objects) => self.meters.drift_observed.add(objects),
                Fact::DriftOver(objects) => self.meters.drift_over.add(objects),
            }
        }
    }
}

fn execution(target: &TargetIdentity, work: &[Work]) -> Subject {
    let app = work.first().map(|work| work.step.claim.app.clone());
    let drifted = work.iter().map(|work| work.step.cause == Cause::Drift).collect();
    Subject::Execute { target: target.clone(), app, drifted }
}

/// Returns the convergence that an entry records. The time of the acceptance is in the facts, so it
/// is right after a restart, too.
fn convergence(entry: &Entry) -> Option<Fact> {
    let good = entry.changes.iter().find_map(|change| match change {
        Change::PutApp { facts, .. } => facts.last_good.as_ref(),
        _ => None,
    })?;
    let after = Duration::from_millis(entry.time.since(good.at).as_millis());
    Some(Fact::Converged { after })
}

#[cfg(test)]
mod tests {
    use setpoint_core::digest::Digest;
    use setpoint_core::name::{Actor, Scope};
    use setpoint_core::time::Timestamp;

    use super::*;

    fn store() -> StoreName {
        StoreName::new("main").unwrap()
    }

    fn version(name: &str) -> VersionId {
        VersionId::new(name).unwrap()
    }

    fn app() -> AppId {
        "web/shop".parse().unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn measuring() -> Measuring {
        Measuring::new(Arc::default(), Span::seconds(60))
    }

    impl Measuring {
        fn poll(&mut self, at: Duration, name: &str) {
            self.begun(&Effect::Poll { ticket: Ticket(1), store: store() }, at);
            let head = Observed::known(version(name), Timestamp::default());
            self.answered(&Event::Polled { ticket: Ticket(1), head }, at);
        }

        /// Renders a version of an app that has this one, and refuses it.
        fn refuse(&mut self, at: Duration, name: &str, accepted: &str) {
            let revision = |name| Revision::from(BTreeMap::from([(store(), version(name))]));
            let (bundle, revision_before) = (Digest::of(b""), revision(accepted));
            let accepted = Accepted { bundle, sequence: 1, revision: revision_before, at: Timestamp::default() };
            let render = Effect::Render {
                ticket: Ticket(2),
                app: app(),
                revision: revision(name),
                accepted: Some(accepted),
                descends_from: None,
                documents: None,
            };
            self.begun(&render, at);
            let outcome = RenderOutcome::Refused { problems: Vec::new() };
            self.answered(&Event::Rendered { ticket: Ticket(2), outcome }, at);
            self.record(at, Kind::VersionRefused, "");
        }

        fn record(&mut self, at: Duration, kind: Kind, what: &str) {
            let actor = Actor::new("setpoint").unwrap();
            let entry = Entry::new(kind, Scope::default_scope(), app().to_string(), actor, Timestamp::default());
            let entries = vec![entry.with_data("what", what).with_data("count", 2)];
            self.begun(&Effect::Append { ticket: Ticket(3), epoch: 1, entries, bundles: BTreeMap::new() }, at);
            self.answered(&Event::Appended { ticket: Ticket(3) }, at);
        }
    }

    #[test]
    fn a_version_counts_from_its_first_observation() {
        let mut measuring = measuring();
        measuring.poll(seconds(10), "old");
        measuring.poll(seconds(100), "new");
        measuring.poll(seconds(130), "new");
        measuring.refuse(seconds(140), "new", "old");
        assert_eq!(measuring.meters.refused.sum(), seconds(40));
        measuring.refuse(seconds(200), "new", "new");
        assert_eq!(measuring.meters.refused.sum(), seconds(40), "the same version again counts from its render");
        assert_eq!(measuring.meters.versions_refused.get(), 2);
    }

    #[test]
    fn an_effect_without_a_result_ends_and_a_poll_without_one_has_failed() {
        let mut measuring = measuring();
        measuring.begun(&Effect::Poll { ticket: Ticket(1), store: store() }, seconds(0));
        measuring.stepped(seconds(120), seconds(120));
        assert_eq!(measuring.meters.ended[Call::Poll].get(), 0);
        measuring.stepped(seconds(121), seconds(121));
        assert_eq!(measuring.meters.ended[Call::Poll].get(), 1);
        assert_eq!(measuring.meters.polls.of(&store())[1].get(), 1);
    }

    #[test]
    fn drift_is_counted_by_objects_and_forgotten_when_it_is_over() {
        let mut measuring = measuring();
        measuring.record(seconds(1), Kind::DriftObserved, "");
        assert_eq!(measuring.meters.drift_observed.get(), 2);
        assert_eq!(measuring.drifting.len(), 1);
        measuring.record(seconds(2), Kind::DriftOver, "");
        assert_eq!(measuring.meters.drift_over.get(), 2);
        assert!(measuring.drifting.is_empty());
        measuring.record(seconds(3), Kind::DriftObserved, "");
        measuring.record(seconds(4), Kind::AppState, "forgotten");
        assert!(measuring.drifting.is_empty(), "the app is gone");
    }
}
