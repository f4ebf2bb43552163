//! The interface of a running interpreter for the rest of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::machine::{AppStatus, Changes, Standing, StoreStatus, WhatIf};
use setpoint_engine::{Command, Controls, Declined, Event, Machine, Statement};
use setpoint_ledger::LedgerError;
use setpoint_target::{Asker, Wanted};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::event_loop::{Message, Pulse, Question};

/// A running interpreter. Dropping it without [`stop`](Self::stop) ends it as a crash would. That
/// is safe, because every effect in flight has its intent in the ledger, but the next start has to
/// wait for those and settle them.
#[derive(Debug)]
pub struct Handle {
    messages: mpsc::Sender<Message>,
    pulse: watch::Receiver<Pulse>,
    task: JoinHandle<Result<(), StopError>>,
}

/// Counts steps of the engine, so that a waiting caller knows when to check its condition again.
#[derive(Clone, Debug)]
pub struct Steps(watch::Receiver<Pulse>);

impl Steps {
    /// Waits until something has happened since the last call.
    pub async fn next(&mut self) -> Result<(), Ended> {
        self.0.changed().await.map_err(|_| Ended)
    }
}

/// The interpreter has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine has ended; start the agent again")]
pub struct Ended;

/// The reason why an interpreter did not stop cleanly. The records are safe in every case.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error(
        "the lease could not be released, or the ledger not closed; the next start may have to wait for the lease to expire"
    )]
    NotLeft { source: LedgerError },
    #[error("the ledger did not close within {patience}; the next start may have to wait for the lease to expire")]
    Silent { patience: Span },
    #[error("the agent has stopped changing anything: {what}")]
    Removed { what: String },
    #[error("the engine crashed before it could stop; check the last messages in the log and start the agent again")]
    Crashed,
}

/// The number of parts of statuses that are read in one visit to the engine, which waits meanwhile.
pub const PORTION: usize = 500;

/// What may have become different, with its current status.
#[derive(Debug)]
pub struct Renewed {
    pub changes: Changes,
    pub holding: bool,
    /// Targets that failed too often, and until when they are left alone.
    pub left_alone: BTreeMap<TargetIdentity, Timestamp>,
    /// The changed stores; `None` for one that is gone.
    pub stores: BTreeMap<StoreName, Option<StoreStatus>>,
    /// The first portion of the changed apps, or of all apps if all of them changed.
    pub apps: Vec<(AppId, Option<AppStatus>)>,
}

impl Renewed {
    fn take(machine: &mut Machine, all: bool) -> Self {
        if all {
            machine.watch_changes(false);
        }
        machine.watch_changes(true);
        let changes = machine.take_changes();
        let first: Vec<_> = changes.apps.iter().take(PORTION).cloned().collect();
        let (stores, apps) = if changes.all {
            let stores = machine.store_statuses().into_iter().map(|(store, status)| (store, Some(status)));
            (stores.collect(), statuses_after(machine, None))
        } else {
            let stores = changes.stores.iter().map(|store| (store.clone(), machine.store_status(store)));
            (stores.collect(), machine.statuses(&first, PORTION))
        };
        Self { changes, holding: machine.is_holding(), left_alone: machine.left_alone(), stores, apps }
    }
}

fn statuses_after(machine: &Machine, after: Option<&AppId>) -> Vec<(AppId, Option<AppStatus>)> {
    let portion = machine.statuses_after(after, PORTION).into_iter();
    portion.map(|(app, status)| (app, Some(status))).collect()
}

/// An app at one moment.
#[derive(Clone, Debug)]
pub struct AppNow {
    pub status: AppStatus,
    /// The keys that it owns.
    pub owned: BTreeSet<Key>,
    /// The bundle that it is held at.
    pub bundle: Option<Arc<Bundle>>,
}

impl Handle {
    pub(super) fn new(
        messages: mpsc::Sender<Message>,
        pulse: watch::Receiver<Pulse>,
        task: JoinHandle<Result<(), StopError>>,
    ) -> Self {
        Self { messages, pulse, task }
    }

    /// Sends the accepted control documents, all of them, to the engine.
    pub async fn control(&self, controls: Controls) -> Result<(), Ended> {
        self.send(Message::Event(Event::Controls(controls))).await
    }

    /// Reports to the engine that the settings of the agent have changed: it requests the controls
    /// again.
    pub async fn settings_changed(&self) -> Result<(), Ended> {
        self.send(Message::Event(Event::SettingsChanged)).await
    }

    /// Sends a person's order to the engine and waits until it is recorded; the error is the reason
    /// why it does not count. The id must be new.
    pub async fn order(&self, command: Command) -> Result<Result<(), Declined>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Order { command, reply }).await?;
        answer.await.map_err(|_| Ended)
    }

    /// Records a statement and waits until it is recorded. The id must be new among those of orders
    /// and statements.
    pub async fn state(&self, statement: Statement) -> Result<Result<(), Declined>, Ended> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Statement { statement, reply }).await?;
        answer.await.map_err(|_| Ended)
    }

    /// Returns the status of an app; `None` for one that the engine does not know.
    pub async fn status(&self, app: &AppId) -> Result<Option<AppStatus>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.status(&app)).await
    }

    /// Returns the status of an app with what it owns and declares, all of one moment: between two
    /// questions a new version may be accepted.
    pub async fn app(&self, app: &AppId) -> Result<Option<AppNow>, Ended> {
        let app = app.clone();
        self.ask(move |machine| {
            let status = machine.status(&app)?;
            Some(AppNow { status, owned: machine.owned(&app), bundle: machine.bundle(&app) })
        })
        .await
    }

    /// Returns the state of all apps, stores and targets.
    pub async fn standing(&self) -> Result<Standing, Ended> {
        self.ask(|machine| machine.standing()).await
    }

    /// Reports whether the engine holds the ledger, and whether it has tried to read its stores.
    pub async fn readiness(&self) -> Result<(bool, bool), Ended> {
        self.ask(|machine| (machine.is_holding(), machine.has_tried_stores())).await
    }

    /// Returns the number of apps that wait to be observed.
    pub async fn queued(&self) -> Result<usize, Ended> {
        self.ask(|machine| machine.queued()).await
    }

    /// Returns what may have become different since the last call, and its current status. The
    /// engine collects changes from the first call on, which returns everything; so does a call for
    /// `all`.
    pub async fn take_changes(&self, all: bool) -> Result<Renewed, Ended> {
        self.ask(move |machine| Renewed::take(machine, all)).await
    }

    /// Ends the collection of changes.
    pub async fn forget_changes(&self) -> Result<(), Ended> {
        self.ask(|machine| machine.watch_changes(false)).await
    }

    /// Returns the status of these apps, as far as they fit into one portion; `None` for apps that
    /// are gone.
    pub async fn statuses(&self, apps: Vec<AppId>) -> Result<Vec<(AppId, Option<AppStatus>)>, Ended> {
        self.ask(move |machine| machine.statuses(&apps, PORTION)).await
    }

    /// Returns one portion of the status of all apps, after the given one. After the last app it is
    /// empty.
    pub async fn statuses_after(&self, after: Option<AppId>) -> Result<Vec<(AppId, Option<AppStatus>)>, Ended> {
        self.ask(move |machine| statuses_after(machine, after.as_ref())).await
    }

    /// Returns the names of all apps; `None` if they are not known, because this process is not the
    /// writer of the log.
    pub async fn app_names(&self) -> Result<Option<Vec<AppId>>, Ended> {
        self.ask(|machine| machine.is_holding().then(|| machine.app_names())).await
    }

    /// Returns the keys that an app owns.
    pub async fn owned(&self, app: &AppId) -> Result<BTreeSet<Key>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.owned(&app)).await
    }

    /// Returns the bundle that an app is held at.
    pub async fn bundle(&self, app: &AppId) -> Result<Option<Arc<Bundle>>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.bundle(&app)).await
    }

    /// Returns everything that an app declares or owns, with its declarations.
    pub async fn wanted(&self, app: &AppId) -> Result<Wanted, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.wanted_of(&app)).await
    }

    /// Returns the target of an app, the objects to observe to plan for it with this bundle, and on
    /// whose behalf.
    pub async fn wanted_for(
        &self,
        app: &AppId,
        bundle: &Arc<Bundle>,
    ) -> Result<Option<(TargetIdentity, Wanted, Asker)>, Ended> {
        let (app, bundle) = (app.clone(), Arc::clone(bundle));
        self.ask(move |machine| machine.wanted_for(&app, &bundle)).await
    }

    /// Returns the newest accepted bundle of an app, whether it is held at it or not.
    pub async fn accepted_bundle(&self, app: &AppId) -> Result<Option<Arc<Bundle>>, Ended> {
        let app = app.clone();
        self.ask(move |machine| machine.accepted_bundle(&app)).await
    }

    /// Returns the decision for an app with this observation, if it were held at this bundle.
    pub async fn what_if(
        &self,
        app: &AppId,
        bundle: &Arc<Bundle>,
        observation: Observation,
    ) -> Result<Option<WhatIf>, Ended> {
        let (app, bundle) = (app.clone(), Arc::clone(bundle));
        self.ask(move |machine| machine.what_if(&app, &bundle, &observation)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Machine) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (reply, answer) = oneshot::channel();
        // The caller may be gone, which needs no action.
        let ask = Question(Box::new(move |machine| drop(reply.send(question(machine)))));
        self.send(Message::Ask(ask)).await?;
        answer.await.map_err(|_| Ended)
    }

    /// Requests a poll of a store that may have a new head.
    pub async fn hint_store(&self, store: StoreName) -> Result<(), Ended> {
        self.send(Message::Event(Event::StoreHinted { store })).await
    }

    /// Returns the steps of the engine, for callers that wait for a condition.
    pub fn steps(&self) -> Steps {
        Steps(self.pulse.clone())
    }

    /// Waits until something has happened since the last call.
    pub async fn stepped(&mut self) -> Result<(), Ended> {
        self.pulse.changed().await.map_err(|_| Ended)
    }

    /// Returns the ledger's last failure, until a request succeeds again. While there is one, the
    /// apps may not be held.
    pub fn trouble(&self) -> Option<String> {
        self.pulse.borrow().trouble.clone()
    }

    /// Stops starting effects, waits for those in flight until they can no longer land, records
    /// their results, releases the lease and closes the ledger.
    pub async fn stop(mut self) -> Result<(), StopError> {
        // An interpreter that has already ended returns its reason below.
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
