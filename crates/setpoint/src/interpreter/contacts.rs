//! Logs when a store or a target cannot be read, and when it can be read again; the same for
//! versions that cannot be rendered. Each state is logged once, not at each retry.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::RenderOutcome;
use setpoint_target::Hint;
use tracing::{info, warn};

use crate::log::Log;

/// The shortest time between two equal lines: the observations of two apps can differ again and
/// again, because only one of them uses a kind that cannot be read.
const PAUSE: Span = Span::minutes(5);

/// The reason for a missing response.
const SILENCE: &str = "there was no response in time";

#[derive(Debug)]
pub(super) struct Contacts {
    log: Log,
    /// Locked for a moment at a time, never across an await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The names of the targets, which readers know better than their identities.
    names: BTreeMap<TargetIdentity, TargetName>,
    heads: BTreeMap<StoreName, VersionId>,
    stores: Failures<StoreName>,
    targets: Failures<TargetIdentity>,
    renders: Failures<AppId>,
    /// The kinds whose changes are not noticed, per target.
    unwatched: BTreeMap<TargetIdentity, String>,
    /// The reasons why targets can be observed only in part.
    degraded: BTreeMap<TargetIdentity, String>,
}

/// The last logged failure of each subject.
#[derive(Debug)]
struct Failures<S>(BTreeMap<S, Failure>);

impl<S> Default for Failures<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[derive(Debug)]
struct Failure {
    reason: String,
    logged: Timestamp,
    is_over: bool,
}

impl<S: Clone + Ord> Failures<S> {
    /// Notes a failure. Returns whether it is to be logged.
    fn failed(&mut self, subject: &S, reason: &str, now: Timestamp) -> bool {
        if let Some(last) = self.0.get_mut(subject)
            && last.reason == reason
            && (!last.is_over || now.since(last.logged) < PAUSE)
        {
            return false;
        }
        let failure = Failure { reason: reason.to_owned(), logged: now, is_over: false };
        self.0.insert(subject.clone(), failure);
        true
    }

    /// Notes a success. Returns whether a logged failure is over with it.
    fn succeeded(&mut self, subject: &S) -> bool {
        let open = self.0.get_mut(subject).filter(|failure| !failure.is_over);
        open.is_some_and(|failure| !std::mem::replace(&mut failure.is_over, true))
    }
}

impl Contacts {
    pub(super) fn new(log: Log) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Sets the names of the targets of the documents in force.
    pub(super) fn name(&self, names: &BTreeMap<TargetIdentity, TargetName>) {
        self.state().names.clone_from(names);
    }

    /// Returns the name of a target, or its identity if no document names it.
    pub(super) fn name_of(&self, target: &TargetIdentity) -> String {
        self.state().name_of(target)
    }

    /// Logs a new connection.
    pub(super) fn connected(&self, target: &TargetIdentity) {
        let name = self.name_of(target);
        self.log.with(|| info!(target = name, identity = %target, "target connected"));
    }

    /// Logs the result of a poll; `None` if there was none in time.
    pub(super) fn polled(&self, store: &StoreName, head: Option<&Observed<VersionId>>, now: Timestamp) {
        let mut state = self.state();
        let reason = match head {
            Some(Observed::Known { value, .. }) => {
                let (again, moved) = (state.stores.succeeded(store), state.heads.get(store) != Some(value));
                state.heads.insert(store.clone(), value.clone());
                drop(state);
                return self.log.with(|| {
                    if again {
                        info!(store = %store, "the store can be read again");
                    }
                    if moved {
                        info!(store = %store, version = %value, "new version in the store");
                    }
                });
            }
            Some(Observed::Unknown { reason }) => reason.to_string(),
            None => SILENCE.to_owned(),
        };
        if state.stores.failed(store, &reason, now) {
            self.log.with(|| warn!(store = %store, reason, "cannot read the store"));
        }
    }

    /// Logs the result of an observation; `None` if there was none in time.
    pub(super) fn observed(&self, target: &TargetIdentity, observation: Option<&Observation>, now: Timestamp) {
        let mut state = self.state();
        let name = state.name_of(target);
        match observation.map_or(Some(SILENCE.to_owned()), blindness) {
            None if observation.is_some_and(is_informative) && state.targets.succeeded(target) => {
                self.log.with(|| info!(target = name, "the target can be observed again"));
            }
            Some(reason) if state.targets.failed(target, &reason, now) => {
                self.log.with(|| warn!(target = name, reason, "cannot observe the target"));
            }
            // It was logged before, nothing was requested, or only single objects are unknown.
            None | Some(_) => {}
        }
    }

    /// Logs a version that cannot be rendered. A refused one is a decision, which is logged when it
    /// is recorded.
    pub(super) fn rendered(&self, app: &AppId, outcome: Option<&RenderOutcome>, now: Timestamp) {
        let mut state = self.state();
        let reason = match outcome {
            // These end by themselves in a moment.
            Some(RenderOutcome::Failed { reason: UnknownReason::OtherDocuments | UnknownReason::NotLooked }) => return,
            Some(RenderOutcome::Failed { reason }) => reason.to_string(),
            None => SILENCE.to_owned(),
            Some(_) => {
                if state.renders.succeeded(app) {
                    self.log.with(|| info!(app = %app, "the app can be rendered again"));
                }
                return;
            }
        };
        if state.renders.failed(app, &reason, now) {
            self.log.with(|| warn!(app = %app, reason, "cannot render the app"));
        }
    }

    /// Logs the reason why a target can be observed only in part, if there is one.
    pub(super) fn degraded(&self, target: &TargetIdentity, reason: Option<String>) {
        let mut state = self.state();
        let name = state.name_of(target);
        let before = match &reason {
            Some(reason) => state.degraded.insert(target.clone(), reason.clone()),
            None => state.degraded.remove(target),
        };
        self.log.with(|| match reason {
            Some(reason) if before.as_ref() != Some(&reason) => warn!(target = name, reason, "the target is degraded"),
            None if before.is_some() => info!(target = name, "the target is no longer degraded"),
            Some(_) | None => {}
        });
    }

    /// Logs kinds whose changes are not noticed at present.
    pub(super) fn hinted(&self, target: &TargetIdentity, hint: &Hint) {
        let Hint::Unwatched { kinds } = hint else { return };
        let mut state = self.state();
        let name = state.name_of(target);
        let shown = |kind: &setpoint_target::Unwatched| format!("{}: {}", kind.class, kind.why);
        let kinds = kinds.iter().map(shown).collect::<Vec<_>>().join("; ");
        let before = state.unwatched.insert(target.clone(), kinds.clone()).unwrap_or_default();
        if before == kinds {
            return;
        }
        self.log.with(|| match kinds.is_empty() {
            true => info!(target = name, "changes of all kinds are noticed at once again"),
            false => warn!(target = name, kinds, "changes of some kinds are noticed late, by polling"),
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn name_of(&self, target: &TargetIdentity) -> String {
        self.names.get(target).map_or_else(|| target.to_string(), ToString::to_string)
    }
}

/// Reports whether the state of any object is known.
fn is_informative(observation: &Observation) -> bool {
    observation.states.values().any(Observed::is_known)
}

/// Returns the reason why a whole target is unknown. A reason that applies to single objects does
/// not count.
fn blindness(observation: &Observation) -> Option<String> {
    let mut reasons = observation.states.values().map(Observed::blindness);
    let first = reasons.next()??;
    let of_target = |reason: &UnknownReason| {
        !matches!(reason, UnknownReason::Unobservable { .. } | UnknownReason::Denied { .. } | UnknownReason::NotLooked)
    };
    (of_target(first) && reasons.all(|reason| reason.is_some_and(of_target))).then(|| first.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::CollectedLines;

    fn contacts() -> (Contacts, CollectedLines) {
        let lines = CollectedLines::default();
        (Contacts::new(Log::collecting(&lines)), lines)
    }

    #[test]
    fn a_store_that_fails_is_logged_once_with_its_cause_and_so_is_its_return() {
        let (contacts, lines) = contacts();
        let store = StoreName::new("platform").unwrap();
        let detail = "HTTP 401; check `credentialsFrom`".to_owned();
        let failed = Observed::unknown(UnknownReason::Unauthenticated { detail });
        for second in 0..1_000 {
            contacts.polled(&store, Some(&failed), Timestamp::default() + Span::seconds(second));
        }
        let head = Observed::known(VersionId::new("3f2a").unwrap(), Timestamp::default());
        for _ in 0..3 {
            contacts.polled(&store, Some(&head), Timestamp::default());
        }
        assert_eq!(
            lines.all(),
            [
                "WARN  cannot read the store store=platform reason=\"authentication failed: HTTP 401; check `credentialsFrom`\"",
                "INFO  the store can be read again store=platform",
                "INFO  new version in the store store=platform version=3f2a",
            ]
        );
    }

    #[test]
    fn a_degraded_target_is_logged_when_its_reason_changes() {
        let (contacts, lines) = contacts();
        let target = TargetIdentity::new("kube-1").unwrap();
        contacts.name(&BTreeMap::from([(target.clone(), TargetName::new("prod").unwrap())]));
        for reason in [None, Some("no metrics"), Some("no metrics"), None] {
            contacts.degraded(&target, reason.map(str::to_owned));
        }
        let expected = [
            "WARN  the target is degraded target=prod reason=\"no metrics\"",
            "INFO  the target is no longer degraded target=prod",
        ];
        assert_eq!(lines.all(), expected);
    }

    #[test]
    fn a_failure_that_comes_and_goes_does_not_flood_the_log() {
        let (contacts, lines) = contacts();
        let (app, ok): (AppId, _) = ("web/shop".parse().unwrap(), RenderOutcome::Unchanged);
        for second in 0..600 {
            contacts.rendered(&app, None, Timestamp::default() + Span::seconds(second));
            contacts.rendered(&app, Some(&ok), Timestamp::default() + Span::seconds(second));
        }
        assert_eq!(lines.all().len(), 4, "{lines:?}");
    }
}
