//! The host behind the [`Target`] trait. What touches the disk runs on the runtime's threads for blocking work.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::{Blindness, Observed};
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

use crate::declaration::{HostResource, read_as};
use crate::host::Host;
use crate::identity::NoIdentity;
use crate::options::HostOptions;
use crate::path::HostPath;
use crate::resolve::Purpose;
use crate::stamp::Stamp;
use crate::watch::Watching;

/// This machine, or a folder of it, as a system under management. Calls must be made within a tokio runtime with I/O.
#[derive(Clone, Debug)]
pub struct HostTarget(Arc<Host>);

impl HostTarget {
    /// Asks the machine what it is; from then on, another machine or another root folder is refused.
    pub fn open(options: HostOptions) -> Result<Self, NoIdentity> {
        Host::open(options).map(|host| Self(Arc::new(host)))
    }

    /// How far changes are hinted at. A gap is nothing lost: the regular look finds what no hint told.
    pub fn watching(&self) -> Watching {
        self.0.watch.watching()
    }

    /// Runs a call where it may block; `None` where it panicked, of which the runtime has told.
    #[expect(clippy::disallowed_methods, reason = "the door: calls of a host block, one for each that is waited for")]
    fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Host) -> T + Send + 'static,
    ) -> Answer<'static, Option<T>> {
        let host = Arc::clone(&self.0);
        // Nothing happens before it is waited for: an effect nobody asks about has not left.
        Box::pin(async move { spawn_blocking(move || call(&host)).await.ok() })
    }

    /// The next thing to hint at.
    async fn next_hint(&self) -> io::Result<Hint> {
        let Some(events) = self.0.watch.events() else { return std::future::pending().await };
        let ready = wait_for(events.try_clone()?)?;
        loop {
            let mut guard = ready.readable().await?;
            // A change between the read and the clearing would be waited for in vain: clear first.
            guard.clear_ready();
            if let Some(hint) = self.0.watch.take(|path| self.inode_at(path)) {
                return Ok(hint);
            }
        }
    }

    /// Whether something is declared where Setpoint itself runs from, as far as its path tells.
    pub fn is_own(&self, declared: &HostResource) -> bool {
        declared.path().is_some_and(|path| self.0.own.hold(path.as_str()))
    }

    /// What stands at a path now: an inode or nothing.
    fn inode_at(&self, path: &str) -> Result<Option<u64>, Errno> {
        let path = HostPath::new(path).map_err(|_| Errno::INVAL)?;
        let root = self.0.visit().map_err(|_| Errno::IO)?;
        let folder = root.folder(path.folder(), Purpose::Look).map_err(|_| Errno::NOENT)?;
        match Stamp::at(folder.fd(), path.name()) {
            Ok(stamp) => Ok(Some(stamp.inode)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// Waits for a descriptor to become readable.
#[expect(
    unsafe_code,
    reason = "tokio has no safe way to wait for a descriptor of the kernel that is no socket and no pipe"
)]
fn wait_for(events: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and names the same description until it is dropped, which the `AsyncFd` does last.
    Ok(unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) }?)
}

const PANICKED: &str =
    "the call ended in a panic, which is a mistake in Setpoint: please report what the log says of it";

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
        read_as(api_version, kind, body).map(|resource| resource.key()).map_err(|problem| Unidentifiable { problem })
    }

    fn observe(&self, wanted: Wanted, _: Asker, now: Timestamp) -> Answer<'_, Observation> {
        let keys: Vec<Key> = wanted.keys().cloned().collect();
        let seen = self.blocking(move |host| host.observe(&wanted, now));
        Box::pin(async move {
            let blind = || Observed::unknown(Blindness::Unreachable { detail: PANICKED.to_owned() });
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
        // A watch that cannot be waited for has told nothing: everything must be looked at again.
        Box::pin(async { self.next_hint().await.unwrap_or(Hint::Lost) })
    }
}
