//! Our bare copy of one branch or tag of a remote repository, and its updates.
//!
//! A copy has a directory of its own below the cache. All stores with the same URL, branch or tag
//! and credentials share it. It may be lost at any time: then it is fetched again. Copies are
//! numbered: a new one never replaces one that is still read. One process uses a cache at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_store::StoreError;

use crate::address::Address;
use crate::failure::causes;
use crate::fetch::{Followed, Poll, fetch, fetch_named};
use crate::options::GitLimits;
use crate::reference::Reference;
use crate::repository::{Folders, Repository, isolated};
use crate::standing::Standing;

/// After this many inconsistent fetches in a row, our own copy is suspected.
const SUSPICIOUS: u32 = 3;

/// The directory with the copies of remote repositories.
#[derive(Clone, Debug)]
pub struct GitCache {
    folder: Arc<Path>,
    mirrors: Arc<Mutex<BTreeMap<String, Arc<Mirror>>>>,
}

impl GitCache {
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Arc::from(folder.into()), mirrors: Arc::default() }
    }

    /// Returns the copy for one address, branch or tag, and credentials. A user of one store must
    /// not read the copy of another.
    pub(crate) fn mirror(&self, address: &Address, of: &Reference, shallow: bool, way_in: &str) -> Arc<Mirror> {
        let text = format!("{address}\n{}\n{shallow}\n{way_in}", of.full_name());
        let key = Digest::of(text.as_bytes()).to_string()[..32].to_owned();
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.join(&key);
        let mirror = mirrors.entry(key).or_insert_with(|| Arc::new(Mirror::new(folder, address.to_string())));
        mirror.clone()
    }
}

/// A copy of one branch or tag.
#[derive(Debug)]
pub(crate) struct Mirror {
    folder: PathBuf,
    address: String,
    /// Admits one poll at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    folders: Arc<Mutex<Folders>>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Arc<Repository>>,
    damage: Option<String>,
    /// The number of inconsistent fetches in a row.
    failures: u32,
    /// The notices for people. The store works in spite of them.
    notices: Vec<String>,
}

/// The state of our copy.
enum Condition {
    Absent,
    Damaged(String),
    Whole(Arc<Repository>),
}

impl Mirror {
    fn new(folder: PathBuf, address: String) -> Self {
        let turn = tokio::sync::Mutex::new(());
        Self { folder, address, turn, state: Mutex::default(), folders: Arc::default() }
    }

    /// Returns the copy that the last poll fetched.
    pub(crate) fn current(&self, limits: &GitLimits) -> Result<Arc<Repository>, StoreError> {
        if let Some(repository) = &self.state().current {
            return Ok(repository.clone());
        }
        let opened = self.reopen(limits)?;
        opened.ok_or_else(|| StoreError::vanished("our copy of the repository", "poll the store first"))
    }

    /// Reports that our copy is inconsistent, so that the next poll fetches everything again.
    pub(crate) fn report_damage(&self, detail: String) {
        self.state().damage.get_or_insert(detail);
    }

    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notices)
    }

    /// Reads the head of the branch or tag and fetches it if it is new. Blocks.
    pub(crate) fn follow(&self, poll: &Poll<'_>) -> Result<gix::ObjectId, StoreError> {
        let head = self.bring(poll)?;
        if poll.reference.is_tag() {
            // Recorded before the head is reported: a reported head is never forgotten.
            self.standing().note(head)?;
        }
        Ok(head)
    }

    /// Fetches commits that a person names, which need not be on the branch or tag. Blocks; takes
    /// its turn with polls.
    pub(crate) fn bring_named(&self, poll: &Poll<'_>, name: &str) -> Result<BTreeSet<gix::ObjectId>, StoreError> {
        let mut repository = self.current(poll.limits)?;
        if repository.packs() >= poll.limits.packs {
            self.fetch_anew(poll)?;
            repository = self.current(poll.limits)?;
        }
        let found = fetch_named(&repository, poll, name)?;
        if !found.is_empty() {
            self.take_into_use(repository.again(poll.limits)?);
        }
        Ok(found)
    }

    /// Returns the record of the commits that the tag of this copy led to.
    pub(crate) fn standing(&self) -> Standing {
        Standing::at(self.folder.join("standing"))
    }

    fn bring(&self, poll: &Poll<'_>) -> Result<gix::ObjectId, StoreError> {
        let repository = match self.condition(poll) {
            Condition::Absent => return self.fetch_anew(poll),
            Condition::Damaged(reason) => return self.start_over(poll, &reason),
            Condition::Whole(repository) => repository,
        };
        let known = repository.target(poll.reference)?;
        match fetch(&repository, poll, known, repository.packs() < poll.limits.packs) {
            Ok(Followed::Here(head)) => {
                self.state().failures = 0;
                Ok(head)
            }
            Ok(Followed::Fetched(head)) => {
                // An open repository has no room in its table for packs that were added later.
                self.take_into_use(repository.again(poll.limits)?);
                Ok(head)
            }
            Ok(Followed::TooManyPacks) => self.fetch_anew(poll),
            Err(StoreError::Damaged { detail }) if self.is_suspicious() => self.start_over(poll, &detail),
            Err(error) => Err(error),
        }
    }

    /// Counts a failure and reports whether our copy is suspected. The server's data may not fit
    /// because of the server, or because of an undetected gap in our copy.
    fn is_suspicious(&self) -> bool {
        let mut state = self.state();
        state.failures += 1;
        state.failures.is_multiple_of(SUSPICIOUS)
    }

    /// Fetches everything because our copy is damaged. Until that succeeds, the old copy stays in
    /// use as far as it is readable.
    fn start_over(&self, poll: &Poll<'_>, reason: &str) -> Result<gix::ObjectId, StoreError> {
        let head = self.fetch_anew(poll)?;
        let mut state = self.state();
        state.damage = None;
        let (address, folder) = (&self.address, self.folder.display());
        state.notices.push(format!(
            "the copy of {address} in {folder} was damaged and was fetched again; if that recurs, check the disk: {reason}"
        ));
        Ok(head)
    }

    /// Returns the state of our copy: whether a fetch can extend it.
    fn condition(&self, poll: &Poll<'_>) -> Condition {
        if let Some(reason) = self.state().damage.clone() {
            return Condition::Damaged(reason);
        }
        let repository = match self.reopen(poll.limits) {
            Ok(None) => return Condition::Absent,
            Ok(Some(repository)) => repository,
            Err(error) => return Condition::Damaged(error.to_string()),
        };
        match repository.head(poll.reference) {
            Ok(Some(head)) if !repository.holds(head) => Condition::Damaged(format!("version {head} cannot be read")),
            Ok(_) => Condition::Whole(repository),
            Err(error) => Condition::Damaged(error.to_string()),
        }
    }

    /// Opens the newest copy on disk; `None` if there is none.
    fn reopen(&self, limits: &GitLimits) -> Result<Option<Arc<Repository>>, StoreError> {
        let mut state = self.state();
        if state.current.is_none()
            && let Some(newest) = self.copies()?.last()
        {
            let repository = Repository::open(&self.copy(*newest), limits, self.folders.clone())?;
            state.current = Some(Arc::new(repository));
        }
        Ok(state.current.clone())
    }

    /// Fetches everything into a new copy, and uses it once it is complete.
    fn fetch_anew(&self, poll: &Poll<'_>) -> Result<gix::ObjectId, StoreError> {
        let arriving = self.folder.join("arriving");
        remove(&arriving)?;
        let fetched = self.create(&arriving, poll.limits).and_then(|repository| fetch(&repository, poll, None, true));
        let head = match fetched {
            Ok(Followed::Here(head) | Followed::Fetched(head)) => head,
            Ok(Followed::TooManyPacks) => unreachable!("an empty copy has room"),
            Err(error) => {
                // If it cannot be removed now, the next attempt removes it or reports the error.
                let _ = remove(&arriving);
                return Err(error);
            }
        };
        let copies = self.copies()?;
        let folder = self.copy(copies.last().map_or(1, |newest| newest + 1));
        std::fs::rename(&arriving, &folder).map_err(|error| disk(&self.folder, &error))?;
        self.take_into_use(Repository::open(&folder, poll.limits, self.folders.clone())?);
        // The previous copy may still be read; older ones had enough time.
        for old in copies.iter().rev().skip(1) {
            remove(&self.copy(*old))?;
        }
        Ok(head)
    }

    fn take_into_use(&self, repository: Repository) {
        let mut state = self.state();
        state.current = Some(Arc::new(repository));
        state.failures = 0;
    }

    fn create(&self, folder: &Path, limits: &GitLimits) -> Result<Repository, StoreError> {
        std::fs::create_dir_all(&self.folder).map_err(|error| disk(&self.folder, &error))?;
        let shared = gix::ThreadSafeRepository::init_opts(
            folder,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            isolated(limits),
        );
        let shared =
            shared.map_err(|error| StoreError::damaged(format!("no copy can be created: {}", causes(&error))))?;
        Repository::new(shared, self.folders.clone())
    }

    fn copy(&self, generation: u32) -> PathBuf {
        self.folder.join(format!("{generation}.git"))
    }

    /// Returns the numbers of the copies on disk, in order.
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

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment, so a panic of another thread leaves at worst an older
        // handle.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(folder: &Path) -> Result<(), StoreError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(folder, &error)),
        _ => Ok(()),
    }
}

fn disk(folder: &Path, error: &std::io::Error) -> StoreError {
    StoreError::damaged(format!(
        "the cache in {} cannot be used: {error}; check its permissions and free space",
        folder.display()
    ))
}
