//! A repository, a server in front of it, and stores that follow it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use setpoint_core::name::VersionId;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Timestamp;
use setpoint_store::{Store, StoreError, StorePath, Tree};
use setpoint_store_git::{Follow, GitCache, GitOptions, GitStore, Patience};
use setpoint_testbed::{GitRepository, GitServer};
use tempfile::TempDir;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) repository: GitRepository,
    pub(crate) server: GitServer,
    pub(crate) cache: GitCache,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let repository = GitRepository::init(&folder.path().join("state.git"));
        let server = GitServer::start(folder.path());
        let cache = GitCache::at(folder.path().join("cache"));
        Self { folder, repository, server, cache }
    }

    pub(crate) fn options(&self) -> GitOptions {
        let mut options = GitOptions::new(&self.server.url("state.git"), Follow::branch("main"), self.cache.clone());
        options.authorities = Some(self.server.authority());
        options
    }

    pub(crate) fn store(&self) -> GitStore {
        self.store_with(|_| ())
    }

    pub(crate) fn store_with(&self, change: impl FnOnce(&mut GitOptions)) -> GitStore {
        let mut options = self.options();
        change(&mut options);
        GitStore::open(options).expect("the options of tests are valid")
    }

    /// Opens a store as another process would: without the state of this one.
    pub(crate) fn store_of_a_new_process(&self) -> GitStore {
        self.store_with(|options| options.cache = GitCache::at(self.folder.path().join("cache")))
    }

    /// Returns the directory of the only copy in the cache.
    pub(crate) fn copy(&self) -> std::path::PathBuf {
        let mirror = only_entry(&self.folder.path().join("cache"));
        only_entry(&mirror)
    }
}

fn only_entry(folder: &Path) -> std::path::PathBuf {
    let entries: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// Returns short time limits, for slow servers.
pub(crate) fn impatient() -> Patience {
    Patience {
        connect: Duration::from_secs(2),
        idle: Duration::from_secs(1),
        total: Duration::from_secs(20),
        rate: 1_000,
        window: Duration::from_millis(500),
    }
}

pub(crate) async fn poll(store: &GitStore) -> Result<VersionId, UnknownReason> {
    match store.poll(NOW).await {
        Observed::Known { value, at } => {
            assert_eq!(at, NOW);
            Ok(value)
        }
        Observed::Unknown { reason } => Err(reason),
    }
}

pub(crate) async fn head(store: &GitStore) -> VersionId {
    poll(store).await.expect("the store answers")
}

pub(crate) async fn opened(store: &GitStore) -> Result<Arc<dyn Tree>, StoreError> {
    let version = head(store).await;
    store.open(&version).await
}

pub(crate) fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("paths of tests are valid")
}

pub(crate) fn read(tree: &dyn Tree, at: &str) -> Option<String> {
    let blob = tree.read(&path(at)).expect("the tree can be read");
    blob.map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned())
}

pub(crate) fn refusal<T>(result: Result<T, StoreError>) -> String {
    match result {
        Err(error @ StoreError::Refused { .. }) => error.to_string(),
        Err(other) => panic!("expected a refusal, got {other:?}"),
        Ok(_) => panic!("expected a refusal, got an answer"),
    }
}
