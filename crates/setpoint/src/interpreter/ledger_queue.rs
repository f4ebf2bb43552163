//! The ledger queue: executes requests to the ledger and turns the results into events. It opens
//! the ledger, reopens it after it could not make something durable, and keeps the lease.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::bundle::{BadBundle, Bundle};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::{BundleCache, Event, Ticket};
use setpoint_ledger::{Batch, Class, Entry, Lease, LeaseRequest, Ledger, LedgerError};
use tokio::time::timeout;
use tracing::{info, warn};

use super::environment::Environment;
use super::recorded::Lines;
use crate::complaint::told;
use crate::doors::duration;

/// A request to the ledger.
#[derive(Debug)]
pub(super) enum Request {
    Acquire {
        length: Span,
    },
    Renew {
        epoch: u64,
        length: Span,
    },
    Load {
        epoch: u64,
    },
    Append {
        ticket: Ticket,
        epoch: u64,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
    },
    /// Sign the records that are due while nothing else happens.
    Checkpoint,
}

/// The reason why a request to the ledger failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the ledger could not be opened")]
    NotOpened { source: Box<dyn Error + Send + Sync> },
    #[error("the ledger is not open, and is opened again with the next lease: {why}")]
    NotOpen { why: String },
    #[error("the ledger did not respond within {patience}")]
    Silent { patience: Span },
    #[error("bundle {digest} is not in the ledger: run `setpoint ledger verify` and restore a copy")]
    NoBundle { digest: Digest },
    #[error("bundle {digest} cannot be used: run `setpoint ledger verify` and restore a copy")]
    BadBundle { digest: Digest, source: Box<BadBundle> },
    #[error("the ledger refused the request")]
    Refused { source: LedgerError },
}

impl Failure {
    fn class(&self) -> Class {
        match self {
            Self::Refused { source } => source.class(),
            Self::NoBundle { .. } | Self::BadBundle { .. } => Class::Corrupt,
            Self::NotOpened { .. } | Self::NotOpen { .. } | Self::Silent { .. } => Class::Unavailable,
        }
    }

    fn held_until(&self) -> Option<Timestamp> {
        match self {
            Self::Refused { source: LedgerError::Held { until, .. } } => Some(*until),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct LedgerQueue {
    surroundings: Arc<Environment>,
    patience: Span,
    /// Locked for a moment at a time, never across an await.
    state: Mutex<State>,
    /// The last reported failure of the anchor.
    anchor_trouble: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct State {
    ledger: Option<Arc<dyn Ledger>>,
    lease: Option<Lease>,
    checkpoint_due: Option<Timestamp>,
    /// The reason why the last open ledger was dropped.
    let_go: Option<String>,
    /// The ledger's files were removed while this process ran: it is never opened again.
    removed: Option<String>,
}

impl LedgerQueue {
    pub(super) fn new(surroundings: Arc<Environment>, patience: Span) -> Self {
        Self { surroundings, patience, state: Mutex::default(), anchor_trouble: Mutex::default() }
    }

    /// Returns when a checkpoint is due if nothing more is written.
    pub(super) fn checkpoint_due(&self) -> Option<Timestamp> {
        self.state().checkpoint_due
    }

    /// Executes a request. Every request gives an event except a checkpoint, which the machine does
    /// not know.
    pub(super) async fn carry_out(self: Arc<Self>, request: Request) -> Option<Event> {
        match request {
            Request::Acquire { length } => Some(self.acquire(length).await),
            Request::Renew { epoch, length } => Some(self.renew(epoch, length).await),
            Request::Load { epoch } => Some(self.load(epoch).await),
            Request::Append { ticket, epoch, entries, bundles } => {
                Some(self.append(ticket, epoch, entries, bundles).await)
            }
            Request::Checkpoint => {
                self.checkpoint().await;
                None
            }
        }
    }

    /// Releases the lease and closes the ledger. Without an open ledger there is nothing to do.
    pub(super) async fn leave(&self) -> Result<(), LedgerError> {
        let (ledger, lease) = {
            let mut state = self.state();
            (state.ledger.take(), state.lease.take())
        };
        let Some(ledger) = ledger else { return Ok(()) };
        let released = match &lease {
            Some(lease) => ledger.release(lease).await,
            None => Ok(()),
        };
        // Closing signs the records that are not signed yet, so it happens whatever the result of
        // the release.
        ledger.close().await.and(released)
    }

    async fn acquire(&self, length: Span) -> Event {
        match self.bounded(self.acquired(length)).await {
            Ok(Lease { epoch, expires, .. }) => {
                self.surroundings.log.with(|| info!(epoch, "lease of the ledger acquired"));
                Event::LeaseGranted { epoch, expires }
            }
            Err(failure) => Event::LeaseRefused { until: failure.held_until(), detail: told(&failure) },
        }
    }

    async fn acquired(&self, length: Span) -> Result<Lease, Failure> {
        let ledger = self.opened().await?;
        let Environment { origin, holder, clock, .. } = &*self.surroundings;
        let request = LeaseRequest { origin: origin.clone(), holder: holder.clone(), now: clock.now(), length };
        let lease = self.judged(&ledger, ledger.acquire(request).await)?;
        self.state().lease = Some(lease.clone());
        Ok(lease)
    }

    async fn renew(&self, epoch: u64, length: Span) -> Event {
        match self.bounded(self.renewed(epoch, length)).await {
            Ok(expires) => Event::LeaseRenewed { epoch, expires },
            Err(failure) => {
                let reason = told(&failure);
                self.surroundings.log.with(|| warn!(epoch, reason, "cannot renew the lease of the ledger"));
                Event::LeaseNotRenewed { epoch }
            }
        }
    }

    async fn renewed(&self, epoch: u64, length: Span) -> Result<Timestamp, Failure> {
        let ledger = self.ledger()?;
        let lease = self.state().lease.clone().filter(|lease| lease.epoch == epoch).ok_or_else(|| self.not_open())?;
        let lease = self.judged(&ledger, ledger.renew(&lease, self.surroundings.clock.now(), length).await)?;
        if let Ok(head) = ledger.head(&self.surroundings.origin).await {
            self.note_anchor(head.anchor_trouble);
        }
        let expires = lease.expires;
        let mut state = self.state();
        // A lease acquired in the meantime takes precedence.
        if state.lease.as_ref().is_some_and(|held| held.epoch == epoch) {
            state.lease = Some(lease);
        }
        Ok(expires)
    }

    async fn load(&self, epoch: u64) -> Event {
        match self.bounded(self.loaded()).await {
            Ok((facts, bundles)) => {
                let (apps, objects) = (facts.apps.len() as u64, facts.claims.len() as u64);
                self.surroundings.log.with(|| info!(apps, objects, "state read from the ledger"));
                Event::Loaded { epoch, facts: Box::new(facts), bundles }
            }
            Err(failure) => Event::LoadFailed { epoch, detail: told(&failure) },
        }
    }

    /// Returns the facts and exactly the bundles they name. If one bundle cannot be loaded, all of
    /// it fails: an app without its bundle would seem to declare nothing.
    async fn loaded(&self) -> Result<(Facts, BundleCache), Failure> {
        let ledger = self.ledger()?;
        let facts = self.judged(&ledger, ledger.load(&self.surroundings.origin).await)?.facts;
        let bundles = BundleCache::default();
        for digest in facts.bundles() {
            let bytes = self.judged(&ledger, ledger.bundle(&digest).await)?.ok_or(Failure::NoBundle { digest })?;
            let unusable = |source| Failure::BadBundle { digest, source: Box::new(source) };
            bundles.put(Arc::new(Bundle::from_bytes(&bytes, digest).map_err(unusable)?));
        }
        Ok((facts, bundles))
    }

    async fn append(
        &self,
        ticket: Ticket,
        epoch: u64,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
    ) -> Event {
        let lines = Lines::of(&entries);
        match self.bounded(self.appended(epoch, entries, bundles)).await {
            Ok(()) => {
                lines.log(&self.surroundings.log);
                Event::Appended { ticket }
            }
            Err(failure) => Event::AppendFailed { ticket, class: failure.class(), detail: told(&failure) },
        }
    }

    async fn appended(
        &self,
        epoch: u64,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
    ) -> Result<(), Failure> {
        let ledger = self.ledger()?;
        let Environment { origin, clock, .. } = &*self.surroundings;
        let batch = Batch { origin: origin.clone(), epoch, now: clock.now(), entries, bundles };
        self.judged(&ledger, ledger.append(batch).await)?;
        // The batch is recorded, whether or not the ledger can report when it is due to be signed.
        if let Ok(head) = ledger.head(origin).await {
            self.state().checkpoint_due = head.checkpoint_due;
            self.note_anchor(head.anchor_trouble);
        }
        Ok(())
    }

    /// Logs a failure of the anchor when it changes. Work continues without the anchor.
    fn note_anchor(&self, trouble: Option<String>) {
        let mut said = self.anchor_trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if *said == trouble {
            return;
        }
        self.surroundings.log.with(|| match &trouble {
            Some(trouble) => warn!("{trouble}"),
            None => info!("the anchor of the ledger is written again"),
        });
        *said = trouble;
    }

    /// Signs a checkpoint. One that fails is retried after the next record; if the disk refused it,
    /// the ledger stops as after any failed write.
    async fn checkpoint(&self) {
        self.state().checkpoint_due = None;
        if let Ok(ledger) = self.ledger() {
            let signed = async { self.judged(&ledger, ledger.checkpoint(&self.surroundings.origin).await) };
            drop(self.bounded(signed).await);
        }
    }

    /// Returns the open ledger, and opens it if necessary.
    async fn opened(&self) -> Result<Arc<dyn Ledger>, Failure> {
        if let Ok(open) = self.ledger() {
            return Ok(open);
        }
        let ledger = (self.surroundings.open_ledger)().await.map_err(|source| {
            self.note_removed(source.downcast_ref());
            Failure::NotOpened { source }
        })?;
        self.state().ledger = Some(Arc::clone(&ledger));
        Ok(ledger)
    }

    fn ledger(&self) -> Result<Arc<dyn Ledger>, Failure> {
        let open = self.state().ledger.clone();
        open.ok_or_else(|| self.not_open())
    }

    fn not_open(&self) -> Failure {
        let why = self.state().let_go.clone();
        Failure::NotOpen { why: why.unwrap_or_else(|| "no lease has been acquired".to_owned()) }
    }

    /// Drops a ledger that could not make something durable: the next lease reopens it.
    fn judged<T>(&self, ledger: &Arc<dyn Ledger>, answer: Result<T, LedgerError>) -> Result<T, Failure> {
        answer.map_err(|source| {
            self.note_removed(Some(&source));
            let mut state = self.state();
            // A late result of a dropped ledger means nothing for the one opened since.
            let current = state.ledger.as_ref().is_some_and(|open| Arc::ptr_eq(open, ledger));
            if current && source.class() == Class::NotDurable {
                let removed = state.removed.take();
                *state = State { let_go: Some(told(&source)), removed, ..State::default() };
            }
            Failure::Refused { source }
        })
    }

    /// Returns what was removed while this process ran, if anything. Then nothing may be changed
    /// any more, because actions cannot be recorded and another process may have started in its
    /// place.
    pub(super) fn removed(&self) -> Option<String> {
        self.state().removed.clone()
    }

    fn note_removed(&self, error: Option<&LedgerError>) {
        if let Some(error @ LedgerError::Removed { .. }) = error {
            self.state().removed = Some(error.to_string());
        }
    }

    async fn bounded<T>(&self, request: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let silent = Failure::Silent { patience: self.patience };
        timeout(duration(self.patience), request).await.unwrap_or(Err(silent))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics between two changes of the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
