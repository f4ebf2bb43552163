//! The executor: calls to targets, stores and notifiers. Each call waits for a permit, which bounds
//! the concurrent calls, and each has a timeout.
//!
//! A call that takes longer than the machine waits is dropped without an event: the machine has
//! given its ticket up. An effect on a target is the exception, because an unknown outcome must be
//! reported.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::intent::Intent;
use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_engine::{Event, Note, Ticket};
use setpoint_target::{
    Answer, Asker, Fence, Outcome, Refusal, RefusalClass, Settlement, Sightings, Target, Wanted, Work,
};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::changes::Batch;
use super::contacts::Contacts;
use super::environment::{Environment, Governed, Limits, Rendering};
use crate::doors::duration;
use crate::metrics::Call;

/// The longest wait for the connection of a target whose intent is to be settled.
const CONNECTS_WITHIN: Span = Span::seconds(20);

/// The extra time for a target to report its results after an effect can no longer land. The
/// machine waits longer than that.
const LAST_WORDS: Span = Span::millis(500);

#[derive(Debug)]
pub(super) struct Executor {
    surroundings: Arc<Environment>,
    /// The systems that were reached or not, for the log.
    pub(super) contacts: Contacts,
    patience: Span,
    /// Permits for stores that responded to their last poll.
    fetch: Semaphore,
    /// Permits for stores that did not, or were never polled: however many of them hang, they delay
    /// only each other.
    fetch_in_doubt: Semaphore,
    answered: Mutex<BTreeSet<StoreName>>,
    render: Semaphore,
    /// Permits for renders that may take long: they delay only each other.
    render_apart: Semaphore,
    /// The number of requests to load documents. `governing` serves them one by one.
    governs: AtomicU64,
    governing: tokio::sync::Mutex<()>,
    deliver: Semaphore,
    calls_per_target: usize,
    reaches: RwLock<BTreeMap<TargetIdentity, Reach>>,
    /// Notifies tasks that wait for a target of a new connection.
    connected: Notify,
}

/// A target and its permits: a pool per target, so that one that hangs delays no other.
type Reach = (Arc<dyn Target>, Arc<Semaphore>);

/// A query whether a target would accept a resource.
type Preview = for<'a> fn(&'a (dyn Target + 'static), &'a Resource, &'a Asker) -> Answer<'a, Result<(), Refusal>>;

impl Executor {
    pub(super) fn new(surroundings: Arc<Environment>, patience: Span, limits: Limits) -> Self {
        Self {
            contacts: Contacts::new(surroundings.log.clone()),
            patience,
            fetch: Semaphore::new(limits.fetches),
            fetch_in_doubt: Semaphore::new(limits.fetches),
            answered: Mutex::default(),
            render: Semaphore::new(limits.renders),
            render_apart: Semaphore::new(limits.renders_apart),
            governs: AtomicU64::new(0),
            governing: tokio::sync::Mutex::default(),
            deliver: Semaphore::new(limits.deliveries),
            calls_per_target: limits.calls_per_target,
            reaches: RwLock::default(),
            connected: Notify::new(),
            surroundings,
        }
    }

    /// Sets the connection of a target. Returns whether it is new.
    pub(super) fn connect(&self, identity: &TargetIdentity, target: &Arc<dyn Target>) -> bool {
        let mut reaches = self.reaches.write().unwrap_or_else(PoisonError::into_inner);
        if reaches.get(identity).is_some_and(|(there, _)| Arc::ptr_eq(there, target)) {
            return false;
        }
        let turns = Arc::new(Semaphore::new(self.calls_per_target));
        reaches.insert(identity.clone(), (Arc::clone(target), turns));
        self.contacts.connected(identity);
        self.connected.notify_waiters();
        true
    }

    /// Loads documents, one set after the other: the set that was requested last is in force in the
    /// end.
    pub(super) fn govern(
        self: Arc<Self>,
        bundle: Arc<Bundle>,
        known: BTreeMap<AppId, TargetIdentity>,
    ) -> impl Future<Output = Option<Governed>> + Send + 'static {
        // Counted when it is requested, not when its task first runs.
        let number = self.governs.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            let _turn = self.governing.lock().await;
            let is_newest = self.governs.load(Ordering::Relaxed) == number;
            let sources = &self.surroundings.sources;
            if is_newest {
                self.in_turn(Call::Render, &self.render, || sources.govern(&bundle, &known)).await?
            } else {
                None
            }
        }
    }

    pub(super) async fn poll(self: Arc<Self>, ticket: Ticket, store: StoreName) -> Option<Event> {
        let head = self.head_of(&store).await?;
        Some(Event::Polled { ticket, head })
    }

    async fn head_of(&self, store: &StoreName) -> Option<Observed<VersionId>> {
        let trusted = self.answered().remove(store);
        let turns = if trusted { &self.fetch } else { &self.fetch_in_doubt };
        let head = self.in_turn(Call::Poll, turns, || self.surroundings.sources.poll(store, self.now())).await;
        self.contacts.polled(store, head.as_ref(), self.now());
        let head = head?;
        if head.is_known() {
            self.answered().insert(store.clone());
        }
        Some(head)
    }

    fn answered(&self) -> MutexGuard<'_, BTreeSet<StoreName>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn render(self: Arc<Self>, ticket: Ticket, wanted: Rendering) -> Option<Event> {
        let call = || self.surroundings.sources.render(&wanted);
        let outcome = self.in_turn(Call::Render, self.turns_of(&wanted.app), call).await;
        self.contacts.rendered(&wanted.app, outcome.as_ref(), self.now());
        Some(Event::Rendered { ticket, outcome: outcome? })
    }

    pub(super) async fn render_afresh(
        self: Arc<Self>,
        ticket: Ticket,
        app: AppId,
        documents: Option<Digest>,
    ) -> Option<Event> {
        let sources = &self.surroundings.sources;
        // Polled before the permit to render is taken: a store that hangs must not delay renders.
        let bundle = match self.heads_for(&app).await? {
            Ok(heads) => {
                self.in_turn(Call::Render, self.turns_of(&app), || sources.render_afresh(&app, &heads, documents))
                    .await?
            }
            Err(reason) => Err(reason),
        };
        Some(Event::RenderedAfresh { ticket, bundle })
    }

    fn turns_of(&self, app: &AppId) -> &Semaphore {
        if self.surroundings.sources.renders_apart(app) { &self.render_apart } else { &self.render }
    }

    /// Returns the current heads of an app's stores.
    async fn heads_for(&self, app: &AppId) -> Option<Result<Revision, UnknownReason>> {
        let mut heads = BTreeMap::new();
        for store in self.surroundings.sources.stores_of(app) {
            match self.head_of(&store).await? {
                Observed::Known { value, .. } => drop(heads.insert(store, value)),
                Observed::Unknown { reason } => return Some(Err(reason)),
            }
        }
        Some(Ok(Revision::from(heads)))
    }

    pub(super) async fn observe(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        wanted: Wanted,
        asker: Asker,
    ) -> Option<Event> {
        let observation = match self.reach(&target) {
            // The time of an observation is when it begins, which is after the wait for a permit.
            Some((there, turns)) => {
                let observation =
                    self.in_turn(Call::Observe, &turns, || there.observe(wanted, asker, self.now())).await;
                self.contacts.degraded(&target, there.degraded());
                observation
            }
            None => Some(unseen(&wanted, &target, self.now())),
        };
        self.contacts.observed(&target, observation.as_ref(), self.now());
        Some(Event::Observed { ticket, observation: observation? })
    }

    /// Asks a target whether it would accept a resource, by one of its preview calls.
    pub(super) async fn preview(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        (resource, asker): (Arc<Resource>, Asker),
        ask: Preview,
    ) -> Option<Event> {
        let verdict = match self.reach(&target) {
            Some((there, turns)) => self.in_turn(Call::Preview, &turns, || ask(&*there, &resource, &asker)).await?,
            None => Err(refusal(RefusalClass::Unavailable, not_connected(&target))),
        };
        Some(Event::Previewed { ticket, verdict })
    }

    pub(super) async fn execute(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        work: Vec<Work>,
        fence: Fence,
    ) -> Option<Event> {
        let batch = Batch::of(&work);
        let outcomes = match self.reach(&target) {
            Some(reach) => self.executed(reach, work, fence).await,
            None => refused(work.len(), &refusal(RefusalClass::Unavailable, not_connected(&target))),
        };
        batch.log(&self.surroundings.log, &self.contacts.name_of(&target), &outcomes);
        Some(Event::Executed { ticket, outcomes })
    }

    /// Sends an effect in time or not at all. Waits until it can no longer land, and a moment
    /// longer: a target abandons a step without a response at that very instant, and its results
    /// for all other steps must not be lost.
    async fn executed(&self, (there, turns): Reach, work: Vec<Work>, fence: Fence) -> Vec<Outcome> {
        let (clock, steps) = (self.surroundings.clock, work.len());
        let began = clock.elapsed();
        let turn = timeout_at(clock.instant_of(fence.leave_by), turns.acquire()).await;
        let (Ok(Ok(_turn)), true) = (turn, clock.now() <= fence.leave_by) else {
            return fenced(steps, "it could not be sent in time: Setpoint reads the object again and retries");
        };
        self.waited(Call::Execute, began);
        let unknown = |_| {
            let detail = "the target did not respond while the effect could still land".to_owned();
            vec![Outcome::Unknown { detail }; steps]
        };
        timeout_at(clock.instant_of(fence.land_by + LAST_WORDS), there.execute(work, fence))
            .await
            .unwrap_or_else(unknown)
    }

    pub(super) async fn settle(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        intent: Box<Intent>,
        declared: Option<Arc<Resource>>,
    ) -> Option<Event> {
        let settlement = match self.reach_soon(&target).await {
            Some((there, turns)) => {
                self.in_turn(Call::Settle, &turns, || there.settle(&intent, declared.as_deref())).await?
            }
            None => Settlement::Unknown { detail: not_connected(&target) },
        };
        Some(Event::Settled { ticket, settlement })
    }

    /// Takes no permit: it may wait for minutes, and sends no requests to the target's system.
    pub(super) async fn attribute(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        seen: Sightings,
    ) -> Option<Event> {
        let (there, _) = self.reach(&target)?;
        let writers = there.attribute(seen).await;
        Some(Event::Attributed { ticket, writers })
    }

    pub(super) async fn notify(self: Arc<Self>, ticket: Ticket, note: Note) -> Option<Event> {
        let delivered =
            self.in_turn(Call::Notify, &self.deliver, || self.surroundings.messenger.deliver(&note)).await?;
        Some(Event::Notified { ticket, delivered })
    }

    /// Waits for a permit, makes the call only then, and waits for its result; `None` once the
    /// machine has given up.
    async fn in_turn<'a, T>(&self, kind: Call, turns: &Semaphore, call: impl FnOnce() -> Answer<'a, T>) -> Option<T> {
        let began = self.surroundings.clock.elapsed();
        let answer = async {
            let _turn = turns.acquire().await.expect("no pool is ever closed");
            self.waited(kind, began);
            call().await
        };
        timeout(duration(self.patience), answer).await.ok()
    }

    /// Measures the wait for a permit.
    fn waited(&self, kind: Call, since: Duration) {
        let wait = self.surroundings.clock.elapsed().saturating_sub(since);
        self.surroundings.meters.waits[kind].observe(wait);
    }

    pub(super) fn reach(&self, identity: &TargetIdentity) -> Option<Reach> {
        self.reaches.read().unwrap_or_else(PoisonError::into_inner).get(identity).cloned()
    }

    /// Waits for a target that the control documents may be about to add. Open intents are settled
    /// as soon as there is a ledger, and the documents are evaluated after that. Reporting an
    /// unknown outcome too early would wake people for nothing.
    async fn reach_soon(&self, identity: &TargetIdentity) -> Option<Reach> {
        let connected = async {
            loop {
                let connected = self.connected.notified();
                if let Some(reach) = self.reach(identity) {
                    return reach;
                }
                connected.await;
            }
        };
        timeout(duration(CONNECTS_WITHIN.min(self.patience)), connected).await.ok()
    }

    fn now(&self) -> Timestamp {
        self.surroundings.clock.now()
    }
}

/// Returns the outcomes of effects that were not sent.
pub(super) fn fenced(steps: usize, why: &str) -> Vec<Outcome> {
    refused(steps, &refusal(RefusalClass::Fenced, why.to_owned()))
}

fn refused(steps: usize, refusal: &Refusal) -> Vec<Outcome> {
    vec![Outcome::Refused { refusal: refusal.clone() }; steps]
}

fn refusal(class: RefusalClass, detail: String) -> Refusal {
    Refusal { class, detail, retry_after: None }
}

fn unseen(wanted: &Wanted, target: &TargetIdentity, at: Timestamp) -> Observation {
    let blind = || Observed::unknown(UnknownReason::Unreachable { detail: not_connected(target) });
    Observation { at, states: wanted.keys().map(|key| (key.clone(), blind())).collect() }
}

fn not_connected(target: &TargetIdentity) -> String {
    format!("there is no connection to target `{target}`: check its document and its address")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use setpoint_core::key::Key;
    use setpoint_core::name::VersionId;
    use setpoint_core::value::Value;
    use setpoint_engine::RenderOutcome;
    use setpoint_ledger::Origin;
    use setpoint_target::conformance::Steps;
    use setpoint_target::{MemoryOptions, MemoryTarget, MemoryWorld};

    use super::super::environment::{Messenger, Sources};
    use super::*;
    use crate::doors::Clock;
    use crate::log::Log;

    /// Stores and notifiers that never respond. Loading documents takes a moment.
    #[derive(Debug, Default)]
    struct Silence {
        taking_up: Mutex<Vec<(Digest, &'static str)>>,
    }

    impl Sources for Silence {
        fn poll<'a>(&'a self, _: &'a StoreName, _: Timestamp) -> Answer<'a, Observed<VersionId>> {
            Box::pin(pending())
        }

        fn render<'a>(&'a self, _: &'a Rendering) -> Answer<'a, RenderOutcome> {
            Box::pin(pending())
        }

        fn govern<'a>(
            &'a self,
            bundle: &'a Bundle,
            _: &'a BTreeMap<AppId, TargetIdentity>,
        ) -> Answer<'a, Option<Governed>> {
            Box::pin(async move {
                self.taking_up.lock().unwrap().push((bundle.digest(), "begins"));
                tokio::task::yield_now().await;
                self.taking_up.lock().unwrap().push((bundle.digest(), "ends"));
                None
            })
        }

        fn stores_of(&self, _: &AppId) -> BTreeSet<StoreName> {
            BTreeSet::new()
        }

        fn render_afresh<'a>(
            &'a self,
            _: &'a AppId,
            _: &'a Revision,
            _: Option<Digest>,
        ) -> Answer<'a, Result<Digest, UnknownReason>> {
            Box::pin(pending())
        }
    }

    impl Messenger for Silence {
        fn deliver<'a>(&'a self, _: &'a Note) -> Answer<'a, bool> {
            Box::pin(pending())
        }
    }

    fn identity() -> TargetIdentity {
        TargetIdentity::new("machine-1").unwrap()
    }

    fn hands(target: &MemoryTarget, clock: Clock) -> Arc<Executor> {
        hands_among(Arc::default(), target, clock)
    }

    fn hands_among(sources: Arc<Silence>, target: &MemoryTarget, clock: Clock) -> Arc<Executor> {
        let there: Arc<dyn Target> = Arc::new(target.clone());
        let surroundings = Environment {
            clock,
            origin: Origin::new("setpoint.test").unwrap(),
            holder: "test".to_owned(),
            open_ledger: Box::new(|| Box::pin(pending())),
            targets: BTreeMap::new(),
            sources,
            messenger: Arc::new(Silence::default()),
            log: Log::silent(),
            meters: Arc::default(),
        };
        let hands = Executor::new(Arc::new(surroundings), Span::seconds(60), Limits::default());
        assert!(hands.connect(&identity(), &there), "no other target has this name");
        Arc::new(hands)
    }

    fn resource() -> Resource {
        let key = Key::new("test/Thing", "lab", "a").unwrap();
        Resource::new(key, "test/v1", "Thing", Value::Null)
    }

    fn work() -> Vec<Work> {
        vec![Steps::new(identity()).create(&resource())]
    }

    async fn outcomes(hands: &Arc<Executor>, target: TargetIdentity, leave_by: Timestamp) -> Vec<Outcome> {
        let fence = Fence { epoch: Steps::EPOCH, leave_by, land_by: leave_by + Span::seconds(30) };
        match Arc::clone(hands).execute(Ticket(1), target, work(), fence).await {
            Some(Event::Executed { outcomes, .. }) => outcomes,
            other => panic!("{other:?}"),
        }
    }

    fn refusal_class(outcomes: &[Outcome]) -> Option<RefusalClass> {
        match outcomes {
            [Outcome::Refused { refusal }] => Some(refusal.class),
            _ => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_effect_leaves_at_the_last_instant_and_not_after_it() {
        let (target, clock) =
            (MemoryTarget::new(MemoryWorld::new(identity(), MemoryOptions::default())), Clock::start());
        let hands = hands(&target, clock);
        let late = outcomes(&hands, identity(), clock.now() - Span::millis(1)).await;
        assert_eq!(refusal_class(&late), Some(RefusalClass::Fenced));
        assert_eq!(target.with_world(|world| world.change_count()), 0);
        let in_time = outcomes(&hands, identity(), clock.now()).await;
        assert!(matches!(in_time[..], [Outcome::Done { .. }]), "{in_time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_nobody_is_connected_to_is_unseen_and_not_empty() {
        let target = MemoryTarget::new(MemoryWorld::new(identity(), MemoryOptions::default()));
        let hands = hands(&target, Clock::start());
        let other = TargetIdentity::new("machine-2").unwrap();
        let wanted: Wanted = work().into_iter().map(|work| (work.step.key, work.step.resource)).collect();
        let seen = Arc::clone(&hands).observe(Ticket(1), other.clone(), wanted.clone(), Asker::default()).await;
        let Some(Event::Observed { observation, .. }) = seen else { panic!("{seen:?}") };
        assert_eq!(observation.states.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        assert!(observation.states.values().all(|state| !state.is_known()));
        let refused = outcomes(&hands, other, Timestamp::from_millis(u64::MAX / 2)).await;
        assert_eq!(refusal_class(&refused), Some(RefusalClass::Unavailable));
    }

    #[tokio::test(start_paused = true)]
    async fn an_intent_is_settled_once_its_target_is_connected_and_not_given_up_before() {
        let world = MemoryWorld::new(TargetIdentity::new("machine-2").unwrap(), MemoryOptions::default());
        let (late, clock) = (MemoryTarget::new(world), Clock::start());
        let hands = hands(&late, clock);
        let identity = TargetIdentity::new("machine-2").unwrap();
        let steps = Steps::new(identity.clone());
        let intent = steps.intent(&steps.create(&resource()), Timestamp::default());
        let settle = || Arc::clone(&hands).settle(Ticket(1), identity.clone(), Box::new(intent.clone()), None);
        let settlement = |event| match event {
            Some(Event::Settled { settlement, .. }) => settlement,
            other => panic!("{other:?}"),
        };
        let alone = settlement(settle().await);
        assert!(matches!(alone, Settlement::Unknown { .. }), "{alone:?}");

        let there: Arc<dyn Target> = Arc::new(late);
        let connect = async {
            tokio::task::yield_now().await;
            hands.connect(&identity, &there)
        };
        let before = clock.now();
        let (settled, connected) = tokio::join!(settle(), connect);
        assert!(connected);
        assert_ne!(settlement(settled), alone, "the target itself has answered");
        assert_eq!(clock.now(), before, "nothing is waited for longer than needed");
    }

    #[tokio::test(start_paused = true)]
    async fn documents_that_were_asked_for_last_are_in_force_in_the_end() {
        let target = MemoryTarget::new(MemoryWorld::new(identity(), MemoryOptions::default()));
        let sources = Arc::<Silence>::default();
        let hands = hands_among(Arc::clone(&sources), &target, Clock::start());
        let documents = |resources| {
            let root: AppId = "setpoint/root".parse().unwrap();
            Arc::new(Bundle::new(root, identity(), resources).unwrap())
        };
        let (older, newer) = (documents(vec![]), documents(vec![resource()]));
        let take_up = |bundle: &Arc<Bundle>| Arc::clone(&hands).govern(Arc::clone(bundle), BTreeMap::new());

        // Requested one after the other; the task of the second runs first.
        let (first, second) = (take_up(&older), take_up(&newer));
        let _nothing = tokio::join!(second, first);
        let taken_up = std::mem::take(&mut *sources.taking_up.lock().unwrap());
        assert_eq!(taken_up, [(newer.digest(), "begins"), (newer.digest(), "ends")]);

        // The second is requested while the first is being loaded.
        let _nothing = tokio::join!(take_up(&older), async { take_up(&newer).await });
        let taken_up = sources.taking_up.lock().unwrap().clone();
        let in_turn = [&older, &newer].map(|bundle| [(bundle.digest(), "begins"), (bundle.digest(), "ends")]);
        assert_eq!(taken_up, in_turn.concat());
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_nobody_answers_ends_when_the_machine_gives_up() {
        let (target, clock) =
            (MemoryTarget::new(MemoryWorld::new(identity(), MemoryOptions::default())), Clock::start());
        let asked = clock.now();
        let answer = hands(&target, clock).poll(Ticket(1), StoreName::new("store").unwrap()).await;
        assert!(answer.is_none(), "{answer:?}");
        assert_eq!(clock.now().since(asked), Span::seconds(60));
    }
}
