//! The hands: calls to targets, stores and people. Each waits for its turn, so that nobody is asked too much at once, and each
//! has an end.
//!
//! A call that takes longer than the machine waits is dropped without an answer: the machine has given its ticket up. An effect
//! on a target is the exception, because what is not known about it must be said.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::observed::{Blindness, Observed};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_engine::{Event, Note, Ticket};
use setpoint_target::{Fence, Outcome, Refusal, RefusalClass, Settlement, Target, Work};
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use super::surroundings::{Limits, Surroundings};
use crate::doors::duration;

#[derive(Debug)]
pub(super) struct Hands {
    surroundings: Arc<Surroundings>,
    patience: Span,
    fetch: Semaphore,
    render: Semaphore,
    deliver: Semaphore,
    /// A pool for each target, so that one that hangs keeps no other waiting.
    apply: BTreeMap<TargetIdentity, Semaphore>,
}

/// A target and the turns at it.
type Reach<'a> = (&'a dyn Target, &'a Semaphore);

impl Hands {
    pub(super) fn new(surroundings: Arc<Surroundings>, patience: Span, limits: Limits) -> Self {
        let pool = |identity: &TargetIdentity| (identity.clone(), Semaphore::new(limits.calls_per_target));
        Self {
            patience,
            fetch: Semaphore::new(limits.fetches),
            render: Semaphore::new(limits.renders),
            deliver: Semaphore::new(limits.deliveries),
            apply: surroundings.targets.keys().map(pool).collect(),
            surroundings,
        }
    }

    pub(super) async fn poll(self: Arc<Self>, ticket: Ticket, store: StoreName) -> Option<Event> {
        let call = async { self.surroundings.sources.poll(&store, self.now()).await };
        let head = self.in_turn(&self.fetch, call).await?;
        Some(Event::Polled { ticket, head })
    }

    pub(super) async fn render(
        self: Arc<Self>,
        ticket: Ticket,
        app: AppId,
        revision: Revision,
        accepted: Option<Revision>,
    ) -> Option<Event> {
        let call = self.surroundings.sources.render(&app, &revision, accepted.as_ref());
        let outcome = self.in_turn(&self.render, call).await?;
        Some(Event::Rendered { ticket, outcome })
    }

    pub(super) async fn render_afresh(self: Arc<Self>, ticket: Ticket, app: AppId) -> Option<Event> {
        let bundle = self.in_turn(&self.render, self.surroundings.sources.render_afresh(&app)).await?;
        Some(Event::RenderedAfresh { ticket, bundle })
    }

    pub(super) async fn observe(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        keys: BTreeSet<Key>,
    ) -> Option<Event> {
        let observation = match self.reach(&target) {
            // The instant of a look is when it begins, which is after the wait for a turn.
            Some((there, turns)) => self.in_turn(turns, async { there.observe(keys, self.now()).await }).await?,
            None => unseen(&keys, &target, self.now()),
        };
        Some(Event::Observed { ticket, observation })
    }

    pub(super) async fn preview(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        resource: Arc<Resource>,
    ) -> Option<Event> {
        let verdict = match self.reach(&target) {
            Some((there, turns)) => self.in_turn(turns, there.preview(&resource)).await?,
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
        let outcomes = match self.reach(&target) {
            Some(reach) => self.executed(reach, work, fence).await,
            None => refused(work.len(), &refusal(RefusalClass::Unavailable, not_connected(&target))),
        };
        Some(Event::Executed { ticket, outcomes })
    }

    /// An effect leaves in time or not at all, and is waited for until it can no longer land.
    async fn executed(&self, (there, turns): Reach<'_>, work: Vec<Work>, fence: Fence) -> Vec<Outcome> {
        let (clock, steps) = (self.surroundings.clock, work.len());
        let turn = timeout_at(clock.instant_of(fence.leave_by), turns.acquire()).await;
        let (Ok(Ok(_turn)), true) = (turn, clock.now() <= fence.leave_by) else {
            return fenced(steps, "it could not leave in time: decide anew");
        };
        let unknown = |_| {
            let detail = "the target did not answer before the effect could no longer land".to_owned();
            vec![Outcome::Unknown { detail }; steps]
        };
        timeout_at(clock.instant_of(fence.land_by), there.execute(work, fence)).await.unwrap_or_else(unknown)
    }

    pub(super) async fn settle(
        self: Arc<Self>,
        ticket: Ticket,
        target: TargetIdentity,
        intent: Box<Intent>,
        declared: Option<Arc<Resource>>,
    ) -> Option<Event> {
        let settlement = match self.reach(&target) {
            Some((there, turns)) => self.in_turn(turns, there.settle(&intent, declared.as_deref())).await?,
            None => Settlement::Unknown { detail: not_connected(&target) },
        };
        Some(Event::Settled { ticket, settlement })
    }

    pub(super) async fn notify(self: Arc<Self>, ticket: Ticket, note: Note) -> Option<Event> {
        let delivered = self.in_turn(&self.deliver, self.surroundings.messenger.deliver(&note)).await?;
        Some(Event::Notified { ticket, delivered })
    }

    /// Waits for a turn and then for the answer; `None` once the machine has given up.
    async fn in_turn<T>(&self, turns: &Semaphore, call: impl Future<Output = T>) -> Option<T> {
        let answer = async {
            let _turn = turns.acquire().await.expect("no pool is ever closed");
            call.await
        };
        timeout(duration(self.patience), answer).await.ok()
    }

    fn reach(&self, identity: &TargetIdentity) -> Option<Reach<'_>> {
        Some((&**self.surroundings.targets.get(identity)?, self.apply.get(identity)?))
    }

    fn now(&self) -> Timestamp {
        self.surroundings.clock.now()
    }
}

/// The answer for effects that did not leave.
pub(super) fn fenced(steps: usize, why: &str) -> Vec<Outcome> {
    refused(steps, &refusal(RefusalClass::Fenced, why.to_owned()))
}

fn refused(steps: usize, refusal: &Refusal) -> Vec<Outcome> {
    vec![Outcome::Refused { refusal: refusal.clone() }; steps]
}

fn refusal(class: RefusalClass, detail: String) -> Refusal {
    Refusal { class, detail, retry_after: None }
}

fn unseen(keys: &BTreeSet<Key>, target: &TargetIdentity, at: Timestamp) -> Observation {
    let blind = || Observed::unknown(Blindness::Unreachable { detail: not_connected(target) });
    Observation { at, states: keys.iter().map(|key| (key.clone(), blind())).collect() }
}

fn not_connected(target: &TargetIdentity) -> String {
    format!("nothing is connected to target `{target}`: check its document and its address")
}
