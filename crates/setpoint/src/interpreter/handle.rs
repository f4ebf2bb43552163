//! What the rest of the process may ask of a running interpreter.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::decide::Decision;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::time::Span;
use setpoint_engine::machine::{AppStatus, Standing};
use setpoint_engine::{Command, Controls, Declined, Event, Machine};
use setpoint_ledger::LedgerError;
use setpoint_target::{Asker, Wanted};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::event_loop::{Message, Pulse, Question};

/// A running interpreter. Dropping it without [`stop`](Self::stop) ends it as a crash would:
/// safely, because every effect under way has its intent in the ledger, but the next start has to
/// wait for those and settle them.
#[derive(Debug)]
pub struct Handle {
    messages: mpsc::Sender<Message>,
    pulse: watch::Receiver<Pulse>,
    task: JoinHandle<Result<(), StopError>>,
}

/// Counts steps of the engine, so that whoever waits knows when to look again.
#[derive(Clone, Debug)]
pub struct Steps(watch::Receiver<Pulse>);

impl Steps {
    /// Waits until something has happened since this was last asked.
    pub async fn next(&mut self) -> Result<(), Ended> {
        self.0.changed().await.map_err(|_| Ended)
    }
}

/// There is no interpreter any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine has ended: start it again")]
pub struct Ended;

/// Why an interpreter did not end well. What is recorded is safe in every case.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error(
        "the lease could not be given back or the ledger not closed: the next start may have to wait for the lease"
    )]
    NotLeft { source: LedgerError },
    #[error("the ledger did not close within {patience}: the next start may have to wait for the lease")]
    Silent { patience: Span },
    #[error("the agent has stopped changing anything: {what}")]
    Removed { what: String },
    #[error("the engine crashed before it could stop: look at its last messages and start it again")]
    Crashed,
}

impl Handle {
    pub(super) fn new(
        messages: mpsc::Sender<Message>,
        pulse: watch::Receiver<Pulse>,
        task: JoinHandle<Result<(), StopError>>,
    ) -> Self {
        Self { messages, pulse, task }
    }

    /// Executor over the accepted control documents, all of them.
    pub async fn control(&self, controls: Controls) -> Result<(), Ended> {
        self.send(Message::Event(Event::Controls(controls))).await
    }

    /// Executor over a person's order and waits until it is recorded; the error says why it does
    /// not count. The id must be new.
    pub async fn order(&self, command: Command) -> Result<Result<(), Declined>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Order { command, reply }).await?;
        answer.await.map_err(|_| Ended)
    }

    /// How an app stands; `None` for one the engine has never heard of.
    pub async fn status(&self, app: &AppId) -> Result<Option<AppStatus>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.status(&app)).await
    }

    /// How everything stands.
    pub async fn standing(&self) -> Result<Standing, Ended> {
        self.ask(|machine| machine.standing()).await
    }

    /// What an app owns.
    pub async fn owned(&self, app: &AppId) -> Result<BTreeSet<Key>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.owned(&app)).await
    }

    /// What an app is held at.
    pub async fn bundle(&self, app: &AppId) -> Result<Option<Arc<Bundle>>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.bundle(&app)).await
    }

    /// Everything an app declares or owns, with its declarations.
    pub async fn wanted(&self, app: &AppId) -> Result<Wanted, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.wanted_of(&app)).await
    }

    /// Where an app is held, what has to be looked at to plan for it with this bundle, and on whose
    /// behalf.
    pub async fn wanted_for(
        &self,
        app: &AppId,
        bundle: &Arc<Bundle>,
    ) -> Result<Option<(TargetIdentity, Wanted, Asker)>, Ended> {
        let (app, bundle) = (app.clone(), Arc::clone(bundle));
        self.ask(move |machine| machine.wanted_for(&app, &bundle)).await
    }

    /// What would be decided for an app that has been seen like this, were it to be held at this
    /// bundle.
    pub async fn what_if(
        &self,
        app: &AppId,
        bundle: &Arc<Bundle>,
        observation: Observation,
    ) -> Result<Option<Decision>, Ended> {
        let (app, bundle) = (app.clone(), Arc::clone(bundle));
        self.ask(move |machine| machine.what_if(&app, &bundle, &observation)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Machine) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may have gone: nothing to do about it.
        let ask = Question(Box::new(move |machine| drop(reply.send(question(machine)))));
        self.send(Message::Ask(ask)).await?;
        answer.await.map_err(|_| Ended)
    }

    /// A store may have moved: ask for its head now.
    pub async fn hint_store(&self, store: StoreName) -> Result<(), Ended> {
        self.send(Message::Event(Event::StoreHinted { store })).await
    }

    /// The steps of the engine, for those who wait for something to become true.
    pub fn steps(&self) -> Steps {
        Steps(self.pulse.clone())
    }

    /// Waits until something has happened since this was last asked.
    pub async fn stepped(&mut self) -> Result<(), Ended> {
        self.pulse.changed().await.map_err(|_| Ended)
    }

    /// What the ledger last failed with, until it does what it is asked again. While there is
    /// trouble nothing may be held.
    pub fn trouble(&self) -> Option<String> {
        self.pulse.borrow().trouble.clone()
    }

    /// Lets nothing new leave, waits for what has left until it can no longer land, records its
    /// end, gives the lease back and closes the ledger.
    pub async fn stop(mut self) -> Result<(), StopError> {
        // One that has ended already says below how.
        let _ = self.send(Message::Stop).await;
        (&mut self.task).await.unwrap_or(Err(StopError::Crashed))
    }

    async fn send(&self, message: Message) -> Result<(), Ended> {
        self.messages.send(message).await.map_err(|_| Ended)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}
