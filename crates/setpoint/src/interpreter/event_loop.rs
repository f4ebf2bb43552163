//! The event loop: passes one event at a time to the machine and starts its effects. It is the only
//! place that starts tasks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::{Command, Controls, Declined, Effect, Event, Machine, OrderId, Settings, Statement, Ticket};
use setpoint_ledger::Class;
use setpoint_target::{Hint, Target};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{timeout, timeout_at};
use tracing::{error, info};

use super::environment::{Environment, Governed, Limits, Rendering, Targets};
use super::executor::{Executor, fenced};
use super::handle::StopError;
use super::ledger_queue::{LedgerQueue, Request};
use super::measured::Measuring;
use super::worker::Worker;
use crate::doors::{Clock, duration};
use crate::log::Log;

/// A message to the loop.
#[derive(Debug)]
pub(super) enum Message {
    Event(Event),
    /// Control documents were evaluated.
    Governed(Governed),
    /// A person's order; the reply is sent once it is recorded or has failed.
    Order {
        command: Command,
        reply: oneshot::Sender<Result<(), Declined>>,
    },
    /// A record about something outside of the machine; the reply is sent like that of an order.
    Statement {
        statement: Statement,
        reply: oneshot::Sender<Result<(), Declined>>,
    },
    /// A query that the machine answers between two steps.
    Ask(Question),
    /// Finish the work in flight, then end.
    Stop,
}

/// Reads the machine and sends the result to the caller.
pub(super) struct Question(pub(super) Box<dyn FnOnce(&mut Machine) + Send>);

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Question")
    }
}

/// The state of the loop that can be read without a message to it.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Counts steps, so that a caller that waits for a condition knows when to check it again.
    steps: u64,
    /// The ledger's last failure, until a request succeeds again.
    pub(super) trouble: Option<String>,
}

pub(super) struct EventLoop {
    machine: Machine,
    clock: Clock,
    patience: Span,
    log: Log,
    measuring: Measuring,
    hands: Arc<Executor>,
    desk: Arc<LedgerQueue>,
    lane: mpsc::UnboundedSender<Request>,
    messages: mpsc::Sender<Message>,
    pulse: watch::Sender<Pulse>,
    /// Every task but the loop itself. Dropping the set aborts them.
    tasks: JoinSet<()>,
    /// The bundle of the documents in force.
    documents: Option<Digest>,
    /// The time at which the machine wants to be woken.
    wake: Option<Timestamp>,
    /// Effects that were sent to targets, and when they can no longer land.
    acting: BTreeMap<Ticket, Timestamp>,
    /// Batches in flight to the ledger.
    writing: BTreeSet<Ticket>,
    /// The senders of orders that wait for the record.
    ordering: BTreeMap<OrderId, oneshot::Sender<Result<(), Declined>>>,
    /// The tasks that listen for each target's hints.
    listening: BTreeMap<TargetIdentity, AbortHandle>,
    /// Set once the loop is to end: the instant after which it waits for nothing more.
    stop_by: Option<Timestamp>,
}

impl EventLoop {
    pub(super) fn new(
        surroundings: &Arc<Environment>,
        settings: Settings,
        limits: Limits,
        messages: mpsc::Sender<Message>,
        pulse: watch::Sender<Pulse>,
    ) -> Self {
        let (clock, patience) = (surroundings.clock, settings.patience);
        let desk = Arc::new(LedgerQueue::new(Arc::clone(surroundings), patience));
        let (lane, requests) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(Worker::new(Arc::clone(&desk), clock, requests).serve(messages.clone()));
        let mut conductor = Self {
            machine: Machine::new(settings),
            clock,
            patience,
            log: surroundings.log.clone(),
            measuring: Measuring::new(Arc::clone(&surroundings.meters), patience),
            hands: Arc::new(Executor::new(Arc::clone(surroundings), patience, limits)),
            desk,
            lane,
            messages,
            pulse,
            tasks,
            documents: None,
            wake: None,
            acting: BTreeMap::new(),
            writing: BTreeSet::new(),
            ordering: BTreeMap::new(),
            listening: BTreeMap::new(),
            stop_by: None,
        };
        conductor.connect(&surroundings.targets);
        conductor
    }

    /// Connects the targets and listens to the new ones. Returns those that were connected before,
    /// by another connection: hints of the former connection are lost, and the new one watches
    /// nothing before a request for it.
    fn connect(&mut self, targets: &Targets) -> Vec<TargetIdentity> {
        let mut replaced = Vec::new();
        for (identity, target) in targets {
            if self.hands.connect(identity, target) {
                let (hands, messages) = (Arc::clone(&self.hands), self.messages.clone());
                let hints = hint(identity.clone(), Arc::clone(target), hands, messages);
                let listener = self.tasks.spawn(hints);
                if let Some(former) = self.listening.insert(identity.clone(), listener) {
                    former.abort();
                    replaced.push(identity.clone());
                }
            }
        }
        replaced
    }

    /// Runs until it is stopped, then releases the lease and closes the ledger.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Message>) -> Result<(), StopError> {
        self.step(Event::Started);
        while !self.is_done() {
            match self.next(&mut inbox).await {
                Some(Message::Event(event)) => self.step(event),
                Some(Message::Governed(Governed { controls, targets, names })) => {
                    self.hands.contacts.name(&names);
                    let replaced = self.connect(&targets);
                    self.note_controls(&controls);
                    self.step(Event::Controls(controls));
                    for target in replaced {
                        self.step(Event::Hinted { target, hint: Hint::Lost });
                    }
                }
                Some(Message::Order { command, reply }) => {
                    self.ordering.insert(command.id, reply);
                    self.step(Event::Command(command));
                }
                Some(Message::Statement { statement, reply }) => {
                    self.ordering.insert(statement.id, reply);
                    self.step(Event::Statement(statement));
                }
                Some(Message::Ask(Question(ask))) => ask(&mut self.machine),
                Some(Message::Stop) => self.begin_to_stop(),
                None => self.step(Event::Woke),
            }
            // The result of a task does not matter: a task that panicked sent no event, and the
            // machine gives its ticket up.
            while self.tasks.try_join_next().is_some() {}
        }
        if let Some(what) = self.desk.removed() {
            // Work in flight ends with its task, and there is no ledger to close.
            self.tasks.shutdown().await;
            return Err(StopError::Removed { what });
        }
        if self.lane.is_closed() {
            return Err(StopError::Crashed);
        }
        self.leave().await
    }

    /// Returns the next message; `None` at the time at which the machine wants to be woken.
    async fn next(&self, inbox: &mut mpsc::Receiver<Message>) -> Option<Message> {
        match self.wake.into_iter().chain(self.stop_by).min() {
            Some(at) => timeout_at(self.clock.instant_of(at), inbox.recv()).await.ok().flatten(),
            None => inbox.recv().await,
        }
    }

    fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.note_answer(&event);
            self.wake = None;
            let began = self.clock.elapsed();
            self.measuring.answered(&event, began);
            let effects = self.machine.step(self.clock.now(), event);
            let now = self.clock.elapsed();
            self.measuring.stepped(began, now);
            for effect in effects {
                self.measuring.begun(&effect, now);
                events.extend(self.begin(effect));
            }
        }
        self.pulse.send_modify(|pulse| pulse.steps += 1);
    }

    fn note_answer(&mut self, event: &Event) {
        match event {
            Event::Executed { ticket, .. } => {
                self.acting.remove(ticket);
            }
            Event::Appended { ticket } | Event::AppendFailed { ticket, .. } => {
                self.writing.remove(ticket);
            }
            _ => {}
        }
        match event {
            // The batch was refused because of its content, which is no failure of the ledger.
            Event::AppendFailed { class: Class::Conflict | Class::Input, .. } => {}
            Event::LeaseRefused { detail, .. }
            | Event::LoadFailed { detail, .. }
            | Event::AppendFailed { detail, .. } => {
                self.note_trouble(Some(detail));
            }
            Event::Loaded { .. } | Event::Appended { .. } => self.note_trouble(None),
            _ => {}
        }
    }

    /// Logs a failure of the ledger when it changes, not at each retry.
    fn note_trouble(&self, trouble: Option<&String>) {
        if self.pulse.borrow().trouble.as_ref() == trouble {
            return;
        }
        self.log.with(|| match trouble {
            Some(trouble) => error!(reason = trouble, "nothing is changed, because the ledger is in trouble"),
            None => info!("the ledger works again"),
        });
        self.pulse.send_modify(|pulse| pulse.trouble = trouble.cloned());
    }

    /// Logs documents that come into force. They are evaluated again for other reasons, too.
    fn note_controls(&mut self, controls: &Controls) {
        if controls.of == self.documents {
            return;
        }
        self.documents = controls.of;
        let [apps, stores, targets] =
            [controls.apps.len(), controls.stores.len(), controls.targets.len()].map(|count| count as u64);
        self.log.with(|| info!(apps, stores, targets, "control documents in force"));
    }

    /// Starts an effect. Returns an event at once only for effects that are no longer executed.
    fn begin(&mut self, effect: Effect) -> Option<Event> {
        let (hands, stopping) = (Arc::clone(&self.hands), self.stop_by.is_some());
        match effect {
            Effect::WakeAt { at } => self.wake = Some(at),
            Effect::Ordered { id, outcome } => {
                // The sender of the order may be gone: the order counts all the same.
                self.ordering.remove(&id).map(|reply| reply.send(outcome));
            }
            Effect::Renew { epoch, length } => self.ask_ledger(Request::Renew { epoch, length }),
            Effect::Load { epoch } => self.ask_ledger(Request::Load { epoch }),
            Effect::Append { ticket, epoch, entries, bundles } => {
                self.writing.insert(ticket);
                self.ask_ledger(Request::Append { ticket, epoch, entries, bundles });
            }
            Effect::Execute { ticket, work, .. } if stopping => {
                // The intents are recorded, so the result must be, too: the effect was never sent.
                let outcomes = fenced(work.len(), "the engine is stopping");
                return Some(Event::Executed { ticket, outcomes });
            }
            // The next process can send queries again, and a process that stops does not become the
            // writer again.
            _ if stopping => {}
            Effect::Acquire { length } => self.ask_ledger(Request::Acquire { length }),
            Effect::Execute { ticket, target, work, fence } => {
                self.acting.insert(ticket, fence.land_by);
                self.spawn(hands.execute(ticket, target, work, fence));
            }
            Effect::Control { bundle, known } => {
                let governed = hands.govern(bundle, known);
                self.spawn_message(async move { governed.await.map(Message::Governed) });
            }
            Effect::Poll { ticket, store } => self.spawn(hands.poll(ticket, store)),
            Effect::Render { ticket, app, revision, accepted, descends_from, documents } => {
                let rendering = Rendering { app, revision, accepted, descends_from, documents };
                self.spawn(hands.render(ticket, rendering));
            }
            Effect::RenderAfresh { ticket, app, documents } => {
                self.spawn(hands.render_afresh(ticket, app, documents));
            }
            Effect::Observe { ticket, target, wanted, asker } => {
                self.spawn(hands.observe(ticket, target, wanted, asker));
            }
            Effect::Preview { ticket, target, resource, asker } => {
                self.spawn(hands.preview(ticket, target, (resource, asker), <dyn Target>::preview));
            }
            Effect::PreviewReplacement { ticket, target, resource, asker } => {
                self.spawn(hands.preview(ticket, target, (resource, asker), <dyn Target>::preview_replacement));
            }
            Effect::Settle { ticket, target, intent, declared } => {
                self.spawn(hands.settle(ticket, target, intent, declared));
            }
            Effect::Notify { ticket, note } => self.spawn(hands.notify(ticket, note)),
            Effect::Attribute { ticket, target, seen } => self.spawn(hands.attribute(ticket, target, seen)),
        }
        None
    }

    fn ask_ledger(&self, request: Request) {
        // A closed channel to the worker ends the loop: see `is_done`.
        drop(self.lane.send(request));
    }

    fn spawn(&mut self, effect: impl Future<Output = Option<Event>> + Send + 'static) {
        self.spawn_message(async move { effect.await.map(Message::Event) });
    }

    fn spawn_message(&mut self, answer: impl Future<Output = Option<Message>> + Send + 'static) {
        let messages = self.messages.clone();
        self.tasks.spawn(async move {
            if let Some(message) = answer.await {
                // The loop has ended: no one receives the message.
                drop(messages.send(message).await);
            }
        });
    }

    /// Stops starting effects. Effects that were sent are awaited, and their results recorded.
    fn begin_to_stop(&mut self) {
        let now = self.clock.now();
        let landed = self.acting.values().copied().max().unwrap_or(now).max(now);
        self.stop_by.get_or_insert(landed + self.patience);
    }

    fn is_done(&self) -> bool {
        let quiet = self.acting.is_empty() && self.writing.is_empty();
        let stopped = self.stop_by.is_some_and(|by| quiet || self.clock.now() >= by);
        stopped || self.lane.is_closed() || self.desk.removed().is_some()
    }

    async fn leave(mut self) -> Result<(), StopError> {
        self.tasks.shutdown().await;
        match timeout(duration(self.patience), self.desk.leave()).await {
            Ok(left) => left.map_err(|source| StopError::NotLeft { source }),
            Err(_elapsed) => Err(StopError::Silent { patience: self.patience }),
        }
    }
}

/// Forwards a target's hints for as long as the loop runs.
async fn hint(
    identity: TargetIdentity,
    target: Arc<dyn Target>,
    hands: Arc<Executor>,
    messages: mpsc::Sender<Message>,
) {
    loop {
        let hint = target.hints().await;
        hands.contacts.hinted(&identity, &hint);
        let event = Event::Hinted { target: identity.clone(), hint };
        if messages.send(Message::Event(event)).await.is_err() {
            return;
        }
    }
}
