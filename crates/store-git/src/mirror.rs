//! Our bare copy of one branch of a remote repository, and how it follows it.
//!
//! A copy lies in a folder of its own below the cache and is shared by all stores of the same URL, branch and credentials.
//! It may be lost at any time: then it is fetched again. One process uses a cache at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_store::StoreError;

use crate::address::{Address, Branch};
use crate::failure::causes;
use crate::fetch::{Followed, Poll, fetch};
use crate::options::GitLimits;
use crate::repository::{Folders, Repository, isolated};

/// Every fetch adds a pack. With more than these, the next one fetches everything into a new copy.
const PACKS: usize = 200;

/// Something a person should know, although the store works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Our copy was damaged and is fetched anew.
    StartedOver { address: String, reason: String },
}

/// The folder in which copies of remote repositories are kept.
#[derive(Clone, Debug)]
pub struct GitCache {
    folder: Arc<Path>,
    mirrors: Arc<Mutex<BTreeMap<String, Arc<Mirror>>>>,
}

impl GitCache {
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Arc::from(folder.into()), mirrors: Arc::default() }
    }

    /// The copy for one address, branch and way in. Who may read one store must not read another one's copy.
    pub(crate) fn mirror(&self, address: &Address, branch: &Branch, shallow: bool, way_in: &str) -> Arc<Mirror> {
        let text = format!("{address}\n{branch}\n{shallow}\n{way_in}");
        let key = Digest::of(text.as_bytes()).to_string()[..32].to_owned();
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.join(&key);
        let mirror = mirrors.entry(key).or_insert_with(|| Arc::new(Mirror::new(folder, address.to_string())));
        mirror.clone()
    }
}

/// A copy of one branch.
#[derive(Debug)]
pub(crate) struct Mirror {
    folder: PathBuf,
    address: String,
    /// One poll at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    folders: Arc<Mutex<Folders>>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Arc<Repository>>,
    /// Copies are numbered; a new one never takes the place of one that is still read from.
    generation: u32,
    damage: Option<String>,
    notices: Vec<Notice>,
}

impl Mirror {
    fn new(folder: PathBuf, address: String) -> Self {
        let turn = tokio::sync::Mutex::new(());
        Self { folder, address, turn, state: Mutex::default(), folders: Arc::default() }
    }

    /// What a poll brought here last.
    pub(crate) fn current(&self, limits: &GitLimits) -> Result<Arc<Repository>, StoreError> {
        if let Some(repository) = &self.state().current {
            return Ok(repository.clone());
        }
        let opened = self.reopen(limits)?;
        opened.ok_or_else(|| StoreError::vanished("our copy of the repository", "poll the store first"))
    }

    /// Somebody found that our copy does not hold together: the next poll starts over.
    pub(crate) fn report_damage(&self, detail: String) {
        self.state().damage.get_or_insert(detail);
    }

    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state().notices)
    }

    /// Looks for the branch's head and brings it here if it is new. Blocks.
    pub(crate) fn follow(&self, poll: &Poll<'_>) -> Result<gix::ObjectId, StoreError> {
        let repository = match self.usable(poll)? {
            Some(repository) => repository,
            None => return self.fetch_anew(poll),
        };
        let known = repository.head(poll.branch)?;
        match fetch(&repository, poll, known, repository.packs() < PACKS)? {
            Followed::Here(head) => Ok(head),
            Followed::Fetched(head) => {
                // Packs that were added since it was opened have no room in its table.
                let folder = repository.handle().path().to_owned();
                let repository = Repository::open(&folder, poll.limits, self.folders.clone())?;
                self.state().current = Some(Arc::new(repository));
                Ok(head)
            }
            Followed::TooManyPacks => self.fetch_anew(poll),
        }
    }

    /// The copy we have, if it can be built upon. One that cannot is removed, and told.
    fn usable(&self, poll: &Poll<'_>) -> Result<Option<Arc<Repository>>, StoreError> {
        let damage = self.state().damage.take();
        let opened = match damage {
            Some(detail) => Err(detail),
            None => self.reopen(poll.limits).map_err(|error| error.to_string()),
        };
        let reason = match opened {
            Ok(None) => return Ok(None),
            Ok(Some(repository)) => match repository.head(poll.branch) {
                Ok(None) => return Ok(Some(repository)),
                Ok(Some(head)) if repository.holds(head) => return Ok(Some(repository)),
                Ok(Some(head)) => format!("version {head} cannot be read"),
                Err(error) => error.to_string(),
            },
            Err(reason) => reason,
        };
        self.state().current = None;
        self.remove_all()?;
        let mut state = self.state();
        state.notices.push(Notice::StartedOver { address: self.address.clone(), reason });
        Ok(None)
    }

    /// Opens the newest copy on disk and removes the older ones; `None` if there is none.
    fn reopen(&self, limits: &GitLimits) -> Result<Option<Arc<Repository>>, StoreError> {
        let mut state = self.state();
        if state.current.is_some() {
            return Ok(state.current.clone());
        }
        let mut copies = self.copies()?;
        let Some(newest) = copies.pop() else { return Ok(None) };
        for old in copies {
            std::fs::remove_dir_all(self.copy(old)).map_err(|error| disk(&self.folder, &error))?;
        }
        state.generation = newest;
        let repository = Arc::new(Repository::open(&self.copy(newest), limits, self.folders.clone())?);
        state.current = Some(repository.clone());
        Ok(Some(repository))
    }

    /// Fetches everything into a new copy, and takes it into use when all of it is here.
    fn fetch_anew(&self, poll: &Poll<'_>) -> Result<gix::ObjectId, StoreError> {
        let generation = self.copies()?.last().map_or(1, |newest| newest + 1);
        let folder = self.copy(generation);
        let fetched = self.create(&folder, poll.limits).and_then(|repository| fetch(&repository, poll, None, true));
        let head = match fetched {
            Ok(Followed::Here(head) | Followed::Fetched(head)) => head,
            Ok(Followed::TooManyPacks) => unreachable!("an empty copy has no packs"),
            Err(error) => {
                // If it cannot be removed it is opened, found wanting and removed by a later poll.
                let _ = std::fs::remove_dir_all(&folder);
                return Err(error);
            }
        };
        let repository = Repository::open(&folder, poll.limits, self.folders.clone())?;
        let mut state = self.state();
        state.generation = generation;
        state.current = Some(Arc::new(repository));
        Ok(head)
    }

    fn create(&self, folder: &Path, limits: &GitLimits) -> Result<Repository, StoreError> {
        std::fs::create_dir_all(&self.folder).map_err(|error| disk(&self.folder, &error))?;
        let shared = gix::ThreadSafeRepository::init_opts(
            folder,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            isolated(limits),
        );
        let shared = shared.map_err(|error| StoreError::damaged(format!("no copy can be made: {}", causes(&error))))?;
        Repository::new(shared, self.folders.clone())
    }

    fn copy(&self, generation: u32) -> PathBuf {
        self.folder.join(format!("{generation}.git"))
    }

    /// The numbers of the copies on disk, in order.
    fn copies(&self) -> Result<Vec<u32>, StoreError> {
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk(&self.folder, &error)),
        };
        let mut copies = Vec::new();
        for file in files {
            let name = file.map_err(|error| disk(&self.folder, &error))?.file_name();
            copies.extend(name.to_str().and_then(|name| name.strip_suffix(".git")?.parse::<u32>().ok()));
        }
        copies.sort_unstable();
        Ok(copies)
    }

    fn remove_all(&self) -> Result<(), StoreError> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(&self.folder, &error)),
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment; what a panicking thread left is at worst an older handle.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn disk(folder: &Path, error: &std::io::Error) -> StoreError {
    StoreError::damaged(format!(
        "the cache in {} cannot be used: {error}; check its rights and space",
        folder.display()
    ))
}
