//! What the rest of the process may ask of a running interpreter.

use setpoint_core::name::AppId;
use setpoint_core::time::Span;
use setpoint_engine::machine::AppStatus;
use setpoint_engine::{Command, Controls, Event};
use setpoint_ledger::LedgerError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::conductor::{Message, Pulse};

/// A running interpreter. Dropping it without [`stop`](Self::stop) ends it as a crash would: safely, because every effect under
/// way has its intent in the ledger, but the next start has to wait for those and settle them.
#[derive(Debug)]
pub struct Handle {
    messages: mpsc::Sender<Message>,
    pulse: watch::Receiver<Pulse>,
    task: JoinHandle<Result<(), StopError>>,
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

    /// Hands over the accepted control documents, all of them.
    pub async fn control(&self, controls: Controls) -> Result<(), Ended> {
        self.send(Message::Event(Event::Controls(controls))).await
    }

    /// Hands over a person's order and waits until it is recorded; the error says why it does not count. The id must be new.
    pub async fn order(&self, command: Command) -> Result<Result<(), &'static str>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Order { command, reply }).await?;
        answer.await.map_err(|_| Ended)
    }

    /// How an app stands; `None` for one the engine has never heard of.
    pub async fn status(&self, app: &AppId) -> Result<Option<AppStatus>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Status { app: app.clone(), reply }).await?;
        answer.await.map_err(|_| Ended)
    }

    /// Waits until something has happened since this was last asked.
    pub async fn stepped(&mut self) -> Result<(), Ended> {
        self.pulse.changed().await.map_err(|_| Ended)
    }

    /// What the ledger last failed with, until it does what it is asked again. While there is trouble nothing may be held.
    pub fn trouble(&self) -> Option<String> {
        self.pulse.borrow().trouble.clone()
    }

    /// Lets nothing new leave, waits for what has left until it can no longer land, records its end, gives the lease back and
    /// closes the ledger.
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
