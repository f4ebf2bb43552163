//! The accept plane: from a store's head to a durable bundle. Nothing here touches a target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Accepted, AppFacts, Change};
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, StoreName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::snapshot::Answers;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_ledger::{Entry, Kind};

use crate::effect::{Effect, NoteKind, Ticket};
use crate::event::RenderOutcome;

use super::queue::Priority;
use super::status::{Refused, StoreStatus};
use super::timers::Timer;
use super::{Awaited, Machine, Then};

const LONGEST_PAUSE: Span = Span::minutes(5);

/// The number of apps that external programs may render at once. They take processors of their own.
const MOST_APART: usize = 2;

/// Apps that wait to be rendered, and the number of renders that are running.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: BTreeSet<AppId>,
    pub(super) running: usize,
}

/// A store in the machine's memory.
#[derive(Debug)]
pub(super) struct Store {
    /// The source of the head.
    repository: Digest,
    head: Option<VersionId>,
    /// The time of the last response, or of the first poll.
    answered: Timestamp,
    failures: u32,
    /// The reason why the last poll failed.
    problem: Option<String>,
    polling: bool,
}

impl Machine {
    pub(super) fn take_up_stores(&mut self) {
        // A store with a new source is another store: its former head no longer counts.
        self.stores.retain(|store, kept| {
            self.controls.stores.get(store).is_some_and(|control| control.repository == kept.repository)
        });
        for (store, control) in &self.controls.stores {
            if self.stores.contains_key(store) {
                continue;
            }
            let repository = control.repository;
            let new = Store { repository, head: None, answered: self.now, failures: 0, problem: None, polling: false };
            self.stores.insert(store.clone(), new);
            self.timers.cancel(&Timer::Stale(store.clone()));
            self.timers.set(Timer::Poll(store.clone()), self.now);
        }
    }

    /// Polls a store's head, unless a poll of its repository is under way already, also for another
    /// store.
    pub(super) fn poll(&mut self, store: &StoreName) {
        let Some(interval) = self.interval_of(store) else { return };
        // A fallback: the store for which the poll was sent may be gone before the response.
        self.timers.set(Timer::Poll(store.clone()), self.now + interval.max(self.settings.patience));
        let Some(repository) = self.stores.get(store).map(|kept| kept.repository) else { return };
        if self.stores.values().any(|kept| kept.repository == repository && kept.polling) {
            return;
        }
        self.stores.entry(store.clone()).and_modify(|kept| kept.polling = true);
        let ticket = self.ask(Awaited::Poll { store: store.clone(), repository }, self.settings.patience);
        self.effects.push(Effect::Poll { ticket, store: store.clone() });
    }

    pub(super) fn store_hinted(&mut self, store: &StoreName) {
        if self.stores.contains_key(store) {
            self.timers.set(Timer::Poll(store.clone()), self.now);
        }
    }

    pub(super) fn polled(&mut self, ticket: Ticket, head: Observed<VersionId>) {
        let Some(Awaited::Poll { store, repository }) = self.take(ticket) else { return };
        match head {
            Observed::Known { value, .. } => {
                for sharing in self.stores_of(repository) {
                    self.head_seen(&sharing, value.clone());
                }
            }
            // A store that cannot be read is not an empty store: the accepted versions stay.
            Observed::Unknown { reason } => self.poll_failed(&store, repository, &reason.to_string()),
        }
    }

    /// Returns the stores whose head comes from this source.
    fn stores_of(&self, repository: Digest) -> Vec<StoreName> {
        let is_of = |(_, kept): &(&StoreName, &Store)| kept.repository == repository;
        self.stores.iter().filter(is_of).map(|(name, _)| name.clone()).collect()
    }

    fn head_seen(&mut self, store: &StoreName, head: VersionId) {
        let now = self.now;
        let Some(interval) = self.interval_of(store) else { return };
        let was_stale = self.is_stale(store);
        if self.stale_problem(store).is_some() {
            self.mark_readers(store);
        }
        let Some(kept) = self.stores.get_mut(store) else { return };
        kept.polling = false;
        kept.failures = 0;
        kept.problem = None;
        kept.answered = now;
        let moved = kept.head.as_ref() != Some(&head);
        kept.head = Some(head);
        if moved {
            self.mark_readers(store);
        }
        self.mark_store(store);
        self.note_store_moment(store);
        self.timers.set(Timer::Poll(store.clone()), now + self.spread(store, interval));
        self.timers.set(Timer::Stale(store.clone()), now + self.stale_after(interval));
        self.is_over(NoteKind::StoreStale, &store.to_string());
        if moved || was_stale {
            for app in self.apps_reading(store) {
                self.consider(&app);
                if was_stale {
                    self.wants_look(&app, Priority::Drift);
                }
            }
        }
    }

    pub(super) fn status_of(&self, name: &StoreName, store: &Store) -> StoreStatus {
        StoreStatus {
            head: store.head.clone(),
            answered: store.head.is_some().then_some(store.answered),
            stale: self.is_stale(name),
            failures: store.failures,
            problem: store.problem.clone(),
        }
    }

    pub(super) fn poll_failed(&mut self, store: &StoreName, repository: Digest, problem: &str) {
        // A store that is gone, or has another source now, may have failed for that reason alone:
        // others poll for themselves.
        if self.stores.get(store).is_none_or(|kept| kept.repository != repository) {
            return;
        }
        for sharing in self.stores_of(repository) {
            self.not_answered(&sharing, problem);
        }
    }

    fn not_answered(&mut self, store: &StoreName, problem: &str) {
        let Some(interval) = self.interval_of(store) else { return };
        let (stale, problem_before) = (self.is_stale(store), self.stale_problem(store));
        if stale && problem_before != Some(problem) {
            self.mark_readers(store);
        }
        self.mark_store(store);
        let Some(kept) = self.stores.get_mut(store) else { return };
        kept.polling = false;
        kept.problem = Some(problem.to_owned());
        kept.failures += 1;
        let pause = interval.doubled(kept.failures - 1, LONGEST_PAUSE.max(interval));
        let stale_at = kept.answered + self.stale_after(interval);
        self.timers.set(Timer::Poll(store.clone()), self.now + self.spread(store, pause));
        self.timers.set_no_later(Timer::Stale(store.clone()), stale_at.max(self.now));
    }

    /// Returns a pause that is up to a tenth longer, by chance: agents that were started together
    /// must not poll a server together for ever.
    fn spread(&self, store: &StoreName, pause: Span) -> Span {
        let chance = Digest::of(format!("{store} {}", self.now.as_millis()).as_bytes());
        let share = u64::from(chance.as_bytes()[0]);
        Span::millis(pause.as_millis() + pause.as_millis() * share / 2_560)
    }

    pub(super) fn store_is_stale(&mut self, store: &StoreName) {
        if self.is_stale(store) {
            let problem = self.stores.get(store).and_then(|kept| kept.problem.as_deref());
            let text = format!(
                "store {store} cannot be read: {}. The accepted versions stay in force, and nothing is deleted",
                problem.unwrap_or("there was no response")
            );
            self.tell(NoteKind::StoreStale, store.to_string(), text);
        }
    }

    /// Reports whether the store has not responded for several intervals, so that its current head
    /// is unknown.
    pub(super) fn is_stale(&self, store: &StoreName) -> bool {
        let Some(interval) = self.interval_of(store) else { return true };
        self.stores
            .get(store)
            .is_none_or(|kept| kept.head.is_none() || self.now.since(kept.answered) >= self.stale_after(interval))
    }

    /// Returns when a store becomes stale if it does not respond before.
    pub(super) fn stale_at(&self, store: &StoreName) -> Option<Timestamp> {
        let kept = self.stores.get(store).filter(|kept| kept.head.is_some())?;
        Some(kept.answered + self.stale_after(self.interval_of(store)?))
    }

    /// Returns why a stale store could not be read, as the status of its apps shows it.
    pub(super) fn stale_problem(&self, store: &StoreName) -> Option<&str> {
        let problem = self.stores.get(store)?.problem.as_deref();
        problem.filter(|_| self.is_stale(store))
    }

    /// Returns the stores of an app that were polled and have not responded for several intervals.
    pub(super) fn stale_stores_of(&self, app: &AppId) -> Vec<(StoreName, String)> {
        let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
        let stores = control.into_iter().flat_map(|control| &control.stores);
        stores.filter_map(|store| Some((store.clone(), self.stale_problem(store)?.to_owned()))).collect()
    }

    fn stale_after(&self, interval: Span) -> Span {
        Span::millis(interval.as_millis() * u64::from(self.settings.stale_after))
    }

    fn interval_of(&self, store: &StoreName) -> Option<Span> {
        self.controls.stores.get(store).map(|control| control.interval)
    }

    pub(super) fn apps_reading(&self, store: &StoreName) -> Vec<AppId> {
        let reads = |control: &crate::controls::AppControl| control.stores.contains(store);
        self.apps
            .iter()
            .filter(|(_, kept)| kept.control.as_deref().is_some_and(reads))
            .map(|(app, _)| app.clone())
            .collect()
    }

    /// Returns the heads of all stores that the app is rendered from; `None` while one of them is
    /// unknown.
    pub(super) fn offered(&self, app: &AppId) -> Option<Revision> {
        let control = self.apps.get(app)?.control.as_ref()?;
        let head = |store: &StoreName| Some((store.clone(), self.stores.get(store)?.head.clone()?));
        control.stores.iter().map(head).collect::<Option<BTreeMap<_, _>>>().map(Revision::from)
    }

    /// Renders the app if its stores offer a revision that was not considered yet.
    pub(super) fn consider(&mut self, app: &AppId) {
        let offered = self.offered(app);
        let Some(kept) = self.apps.get(app) else { return };
        let is_over = kept.considered == offered && kept.unrendered.is_some();
        if is_over && let Some(kept) = self.apps.get_mut(app) {
            // The revision that could not be rendered is not offered any more.
            kept.unrendered = None;
        }
        let Some(kept) = self.apps.get(app) else { return };
        if offered.is_some() && kept.considered != offered && !kept.sent.retiring && !kept.is_undecided() {
            let apart = kept.control.as_ref().is_some_and(|control| control.renders_apart);
            self.turns(apart).waiting.insert(app.clone());
        }
    }

    /// Reports whether the app's stores have heads that it was not rendered from yet but will be.
    pub(super) fn is_yet_to_consider(&self, app: &AppId) -> bool {
        let Some(kept) = self.apps.get(app) else { return false };
        kept.rendering || !kept.sent.retiring && !kept.is_undecided() && kept.considered != self.offered(app)
    }

    pub(super) fn turns(&mut self, apart: bool) -> &mut Turns {
        if apart { &mut self.renders_apart } else { &mut self.renders }
    }

    pub(super) fn start_renders(&mut self) {
        self.start_renders_of(false, self.settings.most_renders);
        self.start_renders_of(true, MOST_APART);
    }

    fn start_renders_of(&mut self, apart: bool, most: usize) {
        let mut later = BTreeSet::new();
        while self.turns(apart).running < most {
            let Some(app) = self.turns(apart).waiting.pop_first() else { break };
            if self.root_comes_first(&app) {
                later.insert(app);
                continue;
            }
            let (Some(revision), Some(kept)) = (self.offered(&app), self.apps.get_mut(&app)) else { continue };
            if kept.rendering || kept.considered.as_ref() == Some(&revision) {
                continue;
            }
            kept.rendering = true;
            let accepted = kept.sent.accepted.clone();
            let descends_from = to_descend_from(&kept.sent);
            self.turns(apart).running += 1;
            let awaited = Awaited::Render {
                app: app.clone(),
                revision: revision.clone(),
                descends_from: descends_from.clone(),
                apart,
            };
            let ticket = self.ask(awaited, self.settings.patience);
            let documents = self.controls.of;
            self.effects.push(Effect::Render { ticket, app, revision, accepted, descends_from, documents });
        }
        self.turns(apart).waiting.append(&mut later);
    }

    pub(super) fn rendered(&mut self, ticket: Ticket, outcome: RenderOutcome) {
        let Some(Awaited::Render { app, revision, descends_from, apart }) = self.take(ticket) else { return };
        self.turns(apart).running -= 1;
        if let RenderOutcome::Failed { reason } = &outcome {
            self.doubt_controls(reason);
            // A failure that passes in a moment is not worth reporting.
            let passing = matches!(reason, UnknownReason::OtherDocuments | UnknownReason::NotLooked);
            return self.render_failed(&app, (!passing).then(|| reason.to_string()));
        }
        if let Some(kept) = self.apps.get_mut(&app)
            && to_descend_from(&kept.sent) != descends_from
        {
            // A person has named another version since, or the acceptance was not recorded: this
            // render was judged by a revision that no longer counts.
            kept.rendering = false;
            kept.considered = None;
            return self.consider(&app);
        }
        if let Some(kept) = self.apps.get_mut(&app) {
            (kept.refused, kept.unrendered, kept.set_back) = (None, None, None);
        }
        match outcome {
            RenderOutcome::Failed { .. } => {}
            RenderOutcome::Unchanged => self.is_over(NoteKind::Rewritten, &app.to_string()),
            RenderOutcome::Refused { ref problems } => self.refuse(&app, &revision, &problems.join("\n")),
            RenderOutcome::Rendered { resources, ancestry } => self.judge(&app, &revision, resources, ancestry),
        }
        let Some(kept) = self.apps.get_mut(&app) else { return };
        kept.rendering = false;
        kept.render_failures = 0;
        kept.considered = Some(revision);
        // The stores may have new heads since the render began.
        self.consider(&app);
    }

    pub(super) fn render_failed(&mut self, app: &AppId, why: Option<String>) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.unrendered = why;
        kept.rendering = false;
        kept.render_failures += 1;
        let pause = Span::seconds(1).doubled(kept.render_failures - 1, LONGEST_PAUSE);
        self.timers.set(Timer::Consider(app.clone()), self.now + pause);
    }

    /// Checks the gates that need no more than the candidate and the accepted version.
    fn judge(&mut self, app: &AppId, revision: &Revision, resources: Vec<Resource>, ancestry: Ancestry) {
        let Some(kept) = self.apps.get(app) else { return };
        let blessed = kept.sent.blessed.is_some();
        let descends = matches!(ancestry, Ancestry::First | Ancestry::Same | Ancestry::Descendant);
        let told_last = ancestry == Ancestry::Older && Mutant::OrderByArrival.is_on()
            || ancestry == Ancestry::Unknown && Mutant::FollowUnknownHistory.is_on();
        if !descends && !told_last && !Mutant::FollowRewrittenHistory.is_on() {
            return match ancestry {
                Ancestry::Older => self.tell_older(app, revision),
                _ => self.hold_rewritten(app, revision),
            };
        }
        let target = kept.sent.target.clone();
        self.is_over(NoteKind::Rewritten, &app.to_string());
        let Some(kept) = self.apps.get(app) else { return };
        match Bundle::new(app.clone(), target, resources) {
            Err(problem) => self.refuse(app, revision, &problem.to_string()),
            Ok(bundle) if bundle.is_empty() && self.is_root(app) && !Mutant::AcceptNoDocuments.is_on() => {
                self.refuse(app, revision, "the store has no control documents: every app would freeze");
            }
            Ok(bundle)
                if kept.sent.accepted.as_ref().is_some_and(|accepted| accepted.bundle == bundle.digest())
                    && !blessed => {}
            Ok(bundle) => self.accept(app, revision, bundle),
        }
    }

    fn refuse(&mut self, app: &AppId, revision: &Revision, problem: &str) {
        let problem: String = problem.chars().take(4_000).collect();
        if let Some(kept) = self.apps.get_mut(app) {
            kept.refused = Some(Refused { revision: revision.clone(), problem: problem.clone(), at: self.now });
        }
        let entry = self
            .app_entry(Kind::VersionRefused, app)
            .with_data("revision", revision.to_string())
            .with_data("problem", problem.as_str());
        self.append(vec![entry], BTreeMap::new(), Then::Nothing);
        let text = format!("{revision} is refused for {app}, and the accepted version stays in force: {problem}");
        self.tell(NoteKind::Refused, app.to_string(), text);
    }

    /// Notifies people of an older version. A lagging mirror catches up; a branch that was set back
    /// on purpose needs a person. Either way the app does not move back.
    fn tell_older(&mut self, app: &AppId, revision: &Revision) {
        if let Some(kept) = self.apps.get_mut(app) {
            kept.set_back = Some(revision.clone());
        }
        let text = format!(
            "{revision} is older than the accepted version of {app} and is not followed; to follow it, run `setpoint release --accept`"
        );
        self.tell(NoteKind::Rewritten, app.to_string(), text);
    }

    fn hold_rewritten(&mut self, app: &AppId, revision: &Revision) {
        let Some(kept) = self.apps.get(app) else { return };
        let mut facts = AppFacts::clone(&kept.sent);
        let Some(accepted) = facts.accepted.as_ref().map(|accepted| accepted.revision.clone()) else { return };
        let offered = revision.clone();
        let text = format!(
            "history was rewritten, or a tag was moved: {accepted} was accepted, {offered} came in its place. {app} is held"
        );
        self.tell(NoteKind::Rewritten, app.to_string(), text);
        if facts.hold.is_some() {
            // A person's hold or a rollback stays as it is; the head is not followed either way.
            return;
        }
        let bundle = self.pin_of(app, &facts);
        let why = HoldReason::Rewritten { accepted, offered };
        facts.hold = Some(Hold { bundle, why, by: super::entries::engine(), at: self.now });
        self.put_app(app, facts, Kind::GateDecision, "held: history rewritten", Then::Nothing);
    }

    /// Handles an acceptance that the ledger refuses to record: the app does not get that version,
    /// and the accepted one stays.
    pub(super) fn acceptance_refused(&mut self, app: &AppId, entries: &[Entry]) {
        let offered = entries.iter().flat_map(|entry| &entry.changes).find_map(|change| match change {
            Change::PutApp { facts, .. } => facts.accepted.as_ref().map(|accepted| accepted.revision.clone()),
            _ => None,
        });
        let Some(revision) = offered else { return };
        let problem = "the ledger cannot record it";
        let text = format!("{revision} is refused for {app}, and the accepted version stays in force: {problem}");
        if let Some(kept) = self.apps.get_mut(app) {
            kept.refused = Some(Refused { revision, problem: problem.to_owned(), at: self.now });
        }
        self.tell(NoteKind::Refused, app.to_string(), text);
    }

    fn accept(&mut self, app: &AppId, revision: &Revision, bundle: Bundle) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let mut facts = AppFacts::clone(&kept.sent);
        if !Mutant::BlessForEver.is_on() {
            facts.blessed = None;
        }
        let sequence = facts.accepted.as_ref().map_or(1, |accepted| accepted.sequence + 1);
        let (digest, at) = (bundle.digest(), self.now);
        facts.accepted = Some(Accepted { bundle: digest, sequence, revision: revision.clone(), at });
        facts.hold = facts.hold.filter(|hold| !hold.why.ends_with(sequence));
        let entry = self
            .app_entry(Kind::VersionAccepted, app)
            .with_data("revision", revision.to_string())
            .with_data("bundle", digest.to_string())
            .with_data("resources", bundle.resources().len());
        let bytes = bundle.to_bytes();
        self.bundles.put(Arc::new(bundle));
        let bundles = BTreeMap::from([(digest, bytes)]);
        self.put_app_by(app, facts, entry, bundles, Then::Accepted { app: app.clone(), priority: Priority::NewBundle });
    }

    /// Holds the app at a bundle whose acceptance is durable.
    pub(super) fn accepted(&mut self, app: &AppId, priority: Priority) {
        self.is_over(NoteKind::Refused, &app.to_string());
        self.is_over(NoteKind::Rewritten, &app.to_string());
        let hold = self.holdings.facts().apps.get(app).and_then(|facts| facts.hold.as_ref());
        if !hold.is_some_and(|hold| matches!(hold.why, HoldReason::RolledBack { .. })) {
            self.is_over(NoteKind::RolledBack, &app.to_string());
        }
        self.bundle_moved(app, priority);
        self.consider(app);
    }

    /// Updates the app after a change of the bundle it may be held at.
    pub(super) fn bundle_moved(&mut self, app: &AppId, priority: Priority) {
        let now = self.now;
        let keys = self.keys_of(app);
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.failed = None;
        kept.baselines.retain(|key, _| keys.contains(key));
        kept.converged = false;
        // An object that cannot be changed in place to a declaration cannot be in another bundle
        // either: a new try with each bundle would only lengthen the back-off.
        let mut immutable = std::mem::take(&mut kept.answers.immutable);
        immutable.retain(|key, _| keys.contains(key));
        kept.answers = Answers { immutable, ..Answers::default() };
        let deadline = kept.control.as_ref().map(|control| control.deadline);
        if let Some(deadline) = deadline {
            self.timers.set(Timer::Deadline(app.clone()), now + deadline);
        }
        self.redeclare(app);
        self.forget_unused_bundles();
        self.wants_look(app, priority);
    }

    /// Drops bundles from memory that no app is held at any more, now and then. The ledger retains
    /// them.
    fn forget_unused_bundles(&mut self) {
        if self.bundles.len() <= self.apps.len() * 3 + 16 {
            return;
        }
        let mut used = self.holdings.facts().bundles();
        used.extend(self.apps.values().flat_map(|kept| kept.sent.bundles()));
        self.bundles.retain(|digest| used.contains(digest));
    }
}

/// Returns the revision that the next one must descend from: for each store the version that a
/// person named, else the accepted one. To name a version of one store says nothing about others.
pub(super) fn to_descend_from(facts: &AppFacts) -> Option<Revision> {
    let accepted = facts.accepted.as_ref().map(|accepted| &accepted.revision);
    match (accepted, &facts.blessed) {
        (Some(accepted), Some(blessed)) => Some(accepted.overlaid(blessed)),
        (accepted, blessed) => accepted.or(blessed.as_ref()).cloned(),
    }
}
