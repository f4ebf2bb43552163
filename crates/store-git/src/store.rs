//! The Git store: polls, opens, relates and describes versions, each in a thread that may block.

use std::collections::BTreeSet;
use std::fs;
use std::future::ready;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gix_transport::Protocol;
use gix_transport::client::blocking_io::Transport;
use gix_transport::client::blocking_io::http::Transport as HttpTransport;
use setpoint_core::name::VersionId;
use setpoint_core::observed::Observed;
use setpoint_core::secret::Secret;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_store::{Answer, Inspector, Store, StoreError, Tree, VersionInfo};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::address::Address;
use crate::fetch::Poll;
use crate::mirror::Mirror;
use crate::options::{Credentials, Follow, GitOptions};
use crate::pace::{Interrupt, Pace};
use crate::reference::{Branch, Reference, Tag, commit};
use crate::repository::{Folders, Repository, beginning_of_an_id, only_version};
use crate::transport::http::{Authorization, HttpClient, client};
use crate::transport::ssh::{self, Destination};

/// The longest credentials file that is read.
const CREDENTIALS_BYTES: u64 = 16 << 10;

/// A store in a Git repository.
#[derive(Clone, Debug)]
pub struct GitStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: GitOptions,
    address: Address,
    reference: Reference,
    /// The only version that counts, if one is declared.
    pin: Option<Pin>,
    place: Place,
    inspector: Inspector,
    /// The version opened last, for as long as a reader holds it: the apps of a store are rendered
    /// from one version, several at a time.
    opened: Mutex<Option<(VersionId, Weak<dyn Tree>)>>,
}

/// A commit that has to be on the followed branch or tag.
#[derive(Debug)]
struct Pin {
    commit: gix::ObjectId,
    version: VersionId,
    /// The head whose history was searched last, and whether the commit is in it.
    looked: Mutex<Option<(gix::ObjectId, bool)>>,
}

/// The source of versions.
#[derive(Debug)]
enum Place {
    /// Our copy of a remote repository.
    Mirror(Arc<Mirror>),
    /// A local repository, read in place.
    Here { folder: PathBuf, folders: Arc<Mutex<Folders>> },
}

impl GitStore {
    /// Checks the options. Accesses neither disk nor network: the first poll does.
    pub fn open(options: GitOptions) -> Result<Self, StoreError> {
        let address = Address::parse(&options.url, options.allow_local)?;
        let reference = match &options.follow {
            Follow::Branch(name) => Reference::Branch(Branch::parse(name)?),
            Follow::Tag(name) => Reference::Tag(Tag::parse(name)?),
        };
        let pin = options.commit.as_deref().map(Pin::parse).transpose()?;
        if matches!(address, Address::Ssh { .. }) && options.ssh.is_none() {
            return Err(StoreError::refused(
                "an ssh URL needs a key and known hosts",
                "name both files in the store's document",
            ));
        }
        if pin.is_some() && options.shallow {
            return Err(StoreError::refused(
                "a commit is searched for in the history, and a shallow store has none",
                "remove `shallow` from the store's document",
            ));
        }
        let place = match &address {
            Address::Local { path } => Place::Here { folder: path.clone(), folders: Arc::default() },
            _ => {
                let way_in = format!("{:?} {:?}", options.credentials, options.ssh);
                Place::Mirror(options.cache.mirror(&address, &reference, options.shallow, &way_in))
            }
        };
        let inspector = Inspector::new(options.limits.version);
        let opened = Mutex::default();
        Ok(Self { inner: Arc::new(Inner { options, address, reference, pin, place, inspector, opened }) })
    }

    pub fn address(&self) -> &Address {
        &self.inner.address
    }

    async fn head(&self) -> Result<VersionId, StoreError> {
        let inner = self.inner.clone();
        let head = match &self.inner.place {
            Place::Here { .. } => blocking(move || inner.local_head().and_then(|head| inner.offered(head))).await?,
            Place::Mirror(mirror) => {
                let follow = move |mirror: &Mirror, poll: &Poll<'_>| mirror.follow(poll);
                self.in_turn(mirror, move |talk| inner.converse(talk, follow).and_then(|head| inner.offered(head)))
                    .await?
            }
        };
        version_of(head)
    }

    /// Finds a version that a person names, anywhere in the store.
    async fn find_offered(&self, name: &str) -> Result<VersionId, StoreError> {
        let (inner, wanted) = (self.inner.clone(), name.to_owned());
        let followed = blocking(move || inner.find(&wanted)).await;
        if self.inner.pin.is_some() || !matches!(followed, Err(StoreError::Vanished { .. })) {
            return followed;
        }
        let name = beginning_of_an_id(name)?;
        let (inner, wanted) = (self.inner.clone(), name.clone());
        let found = match &self.inner.place {
            Place::Here { .. } => blocking(move || inner.find_here(&wanted)).await?,
            Place::Mirror(mirror) => {
                let bring = move |mirror: &Mirror, poll: &Poll<'_>| mirror.bring_named(poll, &wanted);
                self.in_turn(mirror, move |talk| inner.converse(talk, bring)).await?
            }
        };
        if found.is_empty() {
            let fix = "push it to a branch of the store's repository, then name its commit";
            return Err(StoreError::vanished(format!("version `{name}` on any branch of the repository"), fix));
        }
        only_version(&name, found)
    }

    /// Runs work that contacts the server, one at a time, within the store's time limit.
    async fn in_turn<T: Send + 'static>(
        &self,
        mirror: &Mirror,
        work: impl FnOnce(Talk) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = mirror.turn.lock().await;
        let interrupt = Arc::new(Interrupt::default());
        let _give_up = GiveUp(interrupt.clone());
        let talk = Talk { runtime: Handle::current(), interrupt: interrupt.clone() };
        let mut work = std::pin::pin!(blocking(move || work(talk)));
        match timeout(self.inner.options.patience.total, &mut work).await {
            Ok(done) => done,
            // Local work, such as resolving a pack, checks the flag at its next step.
            Err(_) => {
                interrupt.ring();
                work.await
            }
        }
    }
}

fn version_of(commit: gix::ObjectId) -> Result<VersionId, StoreError> {
    VersionId::new(&commit.to_string()).map_err(|bad| StoreError::damaged(bad.to_string()))
}

impl Pin {
    fn parse(id: &str) -> Result<Self, StoreError> {
        let commit = commit(id)?;
        Ok(Self { commit, version: version_of(commit)?, looked: Mutex::default() })
    }

    /// Reports whether the commit is in the history of a head. A history is searched once.
    fn is_on(&self, head: gix::ObjectId, store: &Inner) -> Result<bool, StoreError> {
        let known = *self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known.filter(|(of, _)| *of == head) {
            return Ok(found);
        }
        let most = store.options.limits.history;
        let found = store.repository()?.reaches(head, self.commit, most)?.ok_or_else(|| {
            let (commit, reference) = (self.commit, &store.reference);
            let what = format!("commit {commit} is not among the newest {most} commits of {reference}");
            StoreError::refused(what, "declare a newer one")
        })?;
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some((head, found));
        Ok(found)
    }
}

/// The parts of the process that a conversation with a server needs.
struct Talk {
    runtime: Handle,
    interrupt: Arc<Interrupt>,
}

/// Ends the work of a poll whose caller no longer waits.
struct GiveUp(Arc<Interrupt>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// Runs blocking work where blocking is allowed. A panic in it is an error of this store only.
#[expect(clippy::disallowed_methods, reason = "the door: work on a repository blocks, one for each poll or read")]
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StoreError::damaged("reading the repository failed unexpectedly")))
}

impl Inner {
    fn local_head(&self) -> Result<gix::ObjectId, StoreError> {
        self.repository()?.head(&self.reference)?.ok_or_else(|| self.reference.vanished())
    }

    /// Returns the version while the branch or tag leads to this head: the declared commit, or else
    /// the head itself.
    fn offered(&self, head: gix::ObjectId) -> Result<gix::ObjectId, StoreError> {
        let Some(pin) = &self.pin else { return Ok(head) };
        let (commit, reference) = (pin.commit, &self.reference);
        if self.noting_damage(pin.is_on(head, self))? {
            return Ok(commit);
        }
        Err(StoreError::vanished(
            format!("commit {commit} on {reference}"),
            "push it there, or declare another commit; nothing is removed because of it",
        ))
    }

    /// Lets our copy contact the server.
    fn converse<T>(
        &self,
        Talk { runtime, interrupt }: Talk,
        ask: impl FnOnce(&Mirror, &Poll<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Place::Mirror(mirror) = &self.place else { unreachable!("a repository on this machine is read in place") };
        let options = &self.options;
        let pace = Arc::new(Pace::new(runtime, options.patience, &options.limits, interrupt));
        let connect = || self.connect(&pace);
        let poll = Poll {
            reference: &self.reference,
            shallow: options.shallow,
            limits: &options.limits,
            pace: &pace,
            connect: &connect,
        };
        ask(mirror, &poll)
    }

    /// Returns the versions of a local repository whose id has this prefix, on any branch or tag.
    fn find_here(&self, name: &str) -> Result<BTreeSet<gix::ObjectId>, StoreError> {
        let repository = self.repository()?;
        repository.find_behind(repository.tips()?, name, self.options.limits.history)
    }

    fn connect(&self, pace: &Arc<Pace>) -> Result<Box<dyn Transport + Send>, StoreError> {
        match &self.address {
            Address::Https { url } => {
                let client = client(self.options.authorities.as_deref(), self.options.patience)?;
                let http = HttpClient::new(client, authorization(&self.options.credentials)?, pace.clone());
                let url = gix::url::parse(url.as_str()).map_err(|error| {
                    StoreError::refused(format!("the URL cannot be used: {error}"), "correct the store's document")
                })?;
                Ok(Box::new(HttpTransport::new_http(http, url, Protocol::V2, false)))
            }
            Address::Ssh { user, host, port, path } => {
                let options = self.options.ssh.as_ref().expect("asked for when the store was opened");
                ssh::connect(&Destination { user, host, port: *port, path }, options, pace.clone())
            }
            Address::Local { .. } => unreachable!("a repository on this machine is read in place"),
        }
    }

    fn repository(&self) -> Result<Arc<Repository>, StoreError> {
        match &self.place {
            Place::Mirror(mirror) => mirror.current(&self.options.limits),
            Place::Here { folder, folders } => {
                if !folder.exists() {
                    let fix = "restore it, or correct the path; nothing is removed because of it. For a new installation, `setpoint init` creates one";
                    return Err(StoreError::vanished(format!("the repository {}", folder.display()), fix));
                }
                Repository::open(folder, &self.options.limits, folders.clone()).map(Arc::new)
            }
        }
    }

    /// Reports damage of our copy, so that the next poll fetches everything again.
    fn noting_damage<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(StoreError::Damaged { detail }), Place::Mirror(mirror)) = (&result, &self.place) {
            mirror.report_damage(detail.clone());
        }
        result
    }

    fn tree(&self, version: &VersionId) -> Result<Arc<dyn Tree>, StoreError> {
        if let Some(pin) = self.pin.as_ref().filter(|pin| pin.version != *version) {
            let fix = format!("its document declares only commit {}", pin.version);
            return Err(StoreError::vanished(format!("version {version}"), fix));
        }
        if let Some(tree) = self.open_now(version) {
            return Ok(tree);
        }
        let tree = self.repository()?.tree(version, self.options.path.as_ref(), &self.inspector);
        let tree = self.noting_damage(tree)?;
        *self.opened() = Some((version.clone(), Arc::downgrade(&tree)));
        Ok(tree)
    }

    /// Returns the tree of a version that a reader still holds.
    fn open_now(&self, version: &VersionId) -> Option<Arc<dyn Tree>> {
        let opened = self.opened();
        let (of, tree) = opened.as_ref()?;
        tree.upgrade().filter(|_| of == version)
    }

    fn ancestry(&self, accepted: &VersionId, offered: &VersionId) -> Result<Ancestry, StoreError> {
        let ancestry = self.noting_damage(self.repository()?.ancestry(accepted, offered, &self.options.limits))?;
        match &self.place {
            // A commit that a person declared by its id does not depend on the tag.
            Place::Mirror(mirror) if ancestry != Ancestry::Same && self.pin.is_none() && self.reference.is_tag() => {
                Ok(if mirror.standing().was_moved()? { Ancestry::Rewritten } else { ancestry })
            }
            _ => Ok(ancestry),
        }
    }

    fn find(&self, name: &str) -> Result<VersionId, StoreError> {
        let Some(pin) = &self.pin else {
            return self.noting_damage(self.repository()?.find(&self.reference, name, self.options.limits.history));
        };
        let name = beginning_of_an_id(name)?;
        let named = pin.version.as_str().starts_with(&name).then(|| pin.version.clone());
        setpoint_store::only_one(&name, named.into_iter().collect())
    }

    fn opened(&self) -> MutexGuard<'_, Option<(VersionId, Weak<dyn Tree>)>> {
        // It is replaced as a whole.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the secret and converts it to a header.
fn authorization(credentials: &Credentials) -> Result<Option<Authorization>, StoreError> {
    let account = match credentials {
        Credentials::None => return Ok(None),
        // Servers accept a token as the password of any user; this name is the one of the largest
        // server.
        Credentials::Token { file } => format!("x-access-token:{}", secret_in(file)?.open()),
        Credentials::Basic { file } => {
            let secret = secret_in(file)?;
            if !secret.open().contains(':') {
                let what = format!("{} does not hold `user:password`", file.display());
                return Err(StoreError::denied(format!("{what}; write both into it, or declare it as a token")));
            }
            secret.open().clone()
        }
    };
    Ok(Some(Secret::new(format!("Basic {}", data_encoding::BASE64.encode(account.as_bytes())))))
}

fn secret_in(file: &Path) -> Result<Secret<String>, StoreError> {
    let denied = |error: std::io::Error| {
        StoreError::denied(format!("the credentials in {} cannot be read: {error}", file.display()))
    };
    let mut text = String::new();
    fs::File::open(file).map_err(denied)?.take(CREDENTIALS_BYTES).read_to_string(&mut text).map_err(denied)?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(StoreError::denied(format!("{} is empty; write the credentials into it", file.display())));
    }
    Ok(Secret::new(text.to_owned()))
}

impl Store for GitStore {
    fn poll(&self, now: Timestamp) -> Answer<'_, Observed<VersionId>> {
        Box::pin(async move {
            match self.head().await {
                Ok(head) => Observed::known(head, now),
                Err(error) => Observed::unknown(error.into()),
            }
        })
    }

    fn open<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<Arc<dyn Tree>, StoreError>> {
        if let Some(tree) = self.inner.open_now(version) {
            return Box::pin(ready(Ok(tree)));
        }
        let (inner, version) = (self.inner.clone(), version.clone());
        Box::pin(blocking(move || inner.tree(&version)))
    }

    fn ancestry<'a>(
        &'a self,
        accepted: &'a VersionId,
        offered: &'a VersionId,
    ) -> Answer<'a, Result<Ancestry, StoreError>> {
        let (inner, accepted, offered) = (self.inner.clone(), accepted.clone(), offered.clone());
        Box::pin(blocking(move || inner.ancestry(&accepted, &offered)))
    }

    fn find<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
        let (inner, name) = (self.inner.clone(), name.to_owned());
        Box::pin(blocking(move || inner.find(&name)))
    }

    fn find_offered<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
        Box::pin(GitStore::find_offered(self, name))
    }

    fn describe<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<VersionInfo, StoreError>> {
        let (inner, version) = (self.inner.clone(), version.clone());
        Box::pin(blocking(move || inner.noting_damage(inner.repository()?.describe(&version))))
    }

    fn take_notices(&self) -> Vec<String> {
        match &self.inner.place {
            Place::Mirror(mirror) => mirror.take_notices(),
            Place::Here { .. } => Vec::new(),
        }
    }
}
