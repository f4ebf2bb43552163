//! Implements the [`Target`] trait for the host. Calls to the disk run on the runtime's threads for
//! blocking work.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;
use setpoint_target::{
    Answer, Asker, Capabilities, Fence, Granularity, Hint, Outcome, Refusal, RefusalClass, Settlement, Target,
    Unidentifiable, Wanted, Work,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::declaration::{HostResource, key_of};
use crate::host::Host;
use crate::identity::NoIdentity;
use crate::options::HostOptions;
use crate::path::HostPath;
use crate::resolve::{Folders, Purpose};
use crate::stamp::Stamp;
use crate::watch::{POLL_INTERVAL, Watching};

/// This machine, or a directory of it, as a system under management. Calls must be made within a
/// tokio runtime with I/O.
#[derive(Clone, Debug)]
pub struct HostTarget(Arc<Host>);

impl HostTarget {
    /// Reads the identity of the machine. From then on, another machine or another root directory
    /// is refused.
    pub fn open(options: HostOptions) -> Result<Self, NoIdentity> {
        Host::open(options).map(|host| Self(Arc::new(host)))
    }

    /// Returns how much of the target is watched. No change is lost in a gap: unwatched paths are
    /// polled.
    pub fn watching(&self) -> Watching {
        self.0.watch.watching()
    }

    /// Runs a call that may block. Returns `None` if it panicked, which the runtime has logged.
    #[expect(clippy::disallowed_methods, reason = "the door: calls of a host block, one for each that is waited for")]
    fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Host) -> T + Send + 'static,
    ) -> Answer<'static, Option<T>> {
        let host = Arc::clone(&self.0);
        // Nothing happens before it is polled: an effect whose future is never polled has not
        // started.
        Box::pin(async move { spawn_blocking(move || call(&host)).await.ok() })
    }

    /// Returns the next hint.
    async fn next_hint(&self) -> Hint {
        loop {
            if !self.0.watch.is_overdue(self.0.now())
                && let Some(hint) = self.next_event().await
            {
                return hint;
            }
            if let Some(Some(hint)) = self.blocking(Host::poll).await {
                return hint;
            }
        }
    }

    /// Waits for an event; `None` when it is time to poll.
    #[expect(clippy::disallowed_methods, reason = "the door: a target waits for events that may never come")]
    async fn next_event(&self) -> Option<Hint> {
        let watch = &self.0.watch;
        if let Some(events) = watch.events() {
            let ready = self.0.disk.copy_to_wait(&events).and_then(wait_for);
            watch.cannot_wait(ready.as_ref().err());
            let error = match ready {
                Ok(ready) => match self.read_until_poll(&ready).await {
                    Ok(hint) => return hint,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            watch.cannot_wait(Some(&error));
        }
        sleep(POLL_INTERVAL).await;
        None
    }

    /// Returns the next hint of the events; `None` when unwatched paths are to be polled. An
    /// observation may add such a path at any time.
    async fn read_until_poll(&self, ready: &AsyncFd<OwnedFd>) -> io::Result<Option<Hint>> {
        loop {
            match timeout(POLL_INTERVAL, self.read_events(ready)).await {
                Ok(hint) => return hint.map(Some),
                Err(_) if self.0.watch.is_degraded() => return Ok(None),
                Err(_) => {}
            }
        }
    }

    async fn read_events(&self, ready: &AsyncFd<OwnedFd>) -> io::Result<Hint> {
        loop {
            let mut guard = ready.readable().await?;
            // Cleared before the read: a change between a read and a later clearing would never be
            // noticed.
            guard.clear_ready();
            if let Some(hint) = self.0.watch.take(|path| self.0.inode_at(path)) {
                return Ok(hint);
            }
        }
    }

    /// Reports whether a resource is declared at a path of Setpoint itself. Only the declared path
    /// is compared.
    pub fn is_own(&self, declared: &HostResource) -> bool {
        declared.path().is_some_and(|path| self.0.own.hold(path.as_str()))
    }
}

impl Host {
    /// Polls unwatched paths, and requests an inotify instance if there is none. With a new one,
    /// everything is observed again, and watched from then on.
    fn poll(&self) -> Option<Hint> {
        self.watch.begin_poll(self.now());
        if self.watch.begin(&self.disk) {
            self.watch.end_polling();
            return Some(Hint::Lost);
        }
        let root = self.visit().ok()?;
        self.watch.watch_again(&root);
        let mut folders = Folders::new(&root, Purpose::Look);
        self.watch.poll(|path| {
            let path = HostPath::new(path).map_err(|_| Errno::INVAL)?;
            let folder = folders.get(path.folder()).map_err(|_| Errno::NOENT)?;
            present(Stamp::at(folder.fd(), path.name()))
        })
    }

    /// Returns the inode at a path, if it exists.
    fn inode_at(&self, path: &str) -> Result<Option<u64>, Errno> {
        let path = HostPath::new(path).map_err(|_| Errno::INVAL)?;
        let root = self.visit().map_err(|_| Errno::IO)?;
        let folder = root.folder(path.folder(), Purpose::Look).map_err(|_| Errno::NOENT)?;
        present(Stamp::at(folder.fd(), path.name())).map(|stamp| stamp.map(|stamp| stamp.inode))
    }
}

fn present(stamp: Result<Stamp, Errno>) -> Result<Option<Stamp>, Errno> {
    match stamp {
        Ok(stamp) => Ok(Some(stamp)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Waits for a descriptor to become readable.
#[expect(
    unsafe_code,
    reason = "tokio has no safe way to wait for a descriptor of the kernel that is no socket and no pipe"
)]
fn wait_for(events: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and names the same description until it is dropped, which the
    // `AsyncFd` does last.
    Ok(unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) }?)
}

const PANICKED: &str = "the call panicked, which is a bug in Setpoint: please report it with the log";

fn panicked() -> Refusal {
    Refusal { class: RefusalClass::Unavailable, detail: PANICKED.to_owned(), retry_after: None }
}

impl Target for HostTarget {
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>> {
        let identity = self.blocking(|host| {
            let unavailable = |error: NoIdentity| Refusal {
                class: RefusalClass::Unavailable,
                detail: error.to_string(),
                retry_after: None,
            };
            host.source.open().map(|(_, identity)| identity).map_err(unavailable)
        });
        Box::pin(async { identity.await.unwrap_or_else(|| Err(panicked())) })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            granularity: Granularity::Resource,
            checks_epochs: false,
            fresh_reads: true,
            previews: true,
            incarnations: false,
            attributes: false,
        }
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        key_of(api_version, kind, body)
    }

    fn observe(&self, wanted: Wanted, _: Asker, now: Timestamp) -> Answer<'_, Observation> {
        let keys: Vec<Key> = wanted.keys().cloned().collect();
        let seen = self.blocking(move |host| host.observe(&wanted, now));
        Box::pin(async move {
            let blind = || Observed::unknown(UnknownReason::Unreachable { detail: PANICKED.to_owned() });
            let nothing = || Observation { at: now, states: keys.into_iter().map(|key| (key, blind())).collect() };
            seen.await.unwrap_or_else(nothing)
        })
    }

    fn preview<'a>(&'a self, resource: &'a Resource, _: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        let resource = resource.clone();
        let verdict = self.blocking(move |host| host.preview(&resource));
        Box::pin(async { verdict.await.unwrap_or_else(|| Err(panicked())) })
    }

    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>> {
        let steps = work.len();
        let begun = self.0.under_way.begin(&work);
        let outcomes = self.blocking(move |host| {
            let outcomes = host.execute(&work, fence);
            drop(begun);
            outcomes
        });
        Box::pin(async move {
            let unknown = || vec![Outcome::Unknown { detail: PANICKED.to_owned() }; steps];
            outcomes.await.unwrap_or_else(unknown)
        })
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        let (intent, declared) = (intent.clone(), declared.cloned());
        let settled = self.blocking(move |host| host.settle(&intent, declared.as_ref()));
        Box::pin(async { settled.await.unwrap_or_else(|| Settlement::Unknown { detail: PANICKED.to_owned() }) })
    }

    fn hints(&self) -> Answer<'_, Hint> {
        Box::pin(self.next_hint())
    }

    fn degraded(&self) -> Option<String> {
        self.watching().gap
    }
}
