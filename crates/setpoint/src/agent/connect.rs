//! Connects to the systems that documents declare: a Store document to a Git store, a Target
//! document to a target of its family.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_documents::{Reference, RelativePath, StoreCredentials, StoreSpec, TargetSpec};
use setpoint_engine::accept::store_path;
use setpoint_store::{Store, StoreError, StorePath};
use setpoint_store_git::{Credentials, Follow, GitCache, GitOptions, GitStore, SshOptions};
use setpoint_target::{Agent, Connection, Families, Kinds, Target};

use tokio::task::AbortHandle;

use super::bootstrap::Bootstrap;
use crate::complaint::told;
use crate::doors::Clock;

/// Creates connections.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) clock: Clock,
    pub(super) families: Families,
    pub(super) agent: Agent,
    /// Shared, so that several stores of one repository share one copy and one poll.
    pub(super) stores: GitCache,
}

/// A target, with the kinds that the accept plane needs to know.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    pub(super) target: Arc<dyn Target>,
    pub(super) kinds: Arc<dyn Kinds + Send + Sync>,
    /// The tasks of the target, which end when the last clone is dropped.
    _tasks: Arc<Tasks>,
}

/// The tasks of a connection: streams that are kept open, an audit trail that is followed.
#[derive(Debug)]
struct Tasks(Vec<AbortHandle>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Connector {
    pub(super) fn store(&self, spec: &StoreSpec) -> Result<Arc<dyn Store>, StoreError> {
        let follow = match spec.reference() {
            Reference::Branch(branch) => Follow::branch(branch.as_str()),
            Reference::Tag(tag) => Follow::tag(tag.as_str()),
        };
        let mut options = GitOptions::new(spec.url.as_str(), follow, self.stores.clone());
        options.commit = spec.commit.as_ref().map(ToString::to_string);
        options.path = spec.path.as_ref().map(folder_of).transpose()?;
        options.shallow = spec.shallow;
        options.authorities = spec.authorities.as_ref().map(|file| file.as_str().into());
        let known_hosts = spec.known_hosts.as_ref().map(|file| file.as_str().into());
        enter(&mut options, spec.credentials_from.as_ref(), known_hosts);
        Ok(Arc::new(GitStore::open(options)?))
    }

    /// Opens the store of the bootstrap: the only one that may be a directory of this machine.
    pub(super) fn bootstrap_store(&self, bootstrap: &Bootstrap) -> Result<Arc<dyn Store>, StoreError> {
        let store = &bootstrap.spec.store;
        let mut options =
            GitOptions::new(store.url.as_str(), Follow::branch(store.branch.as_str()), self.stores.clone());
        options.allow_local = true;
        options.authorities = store.authorities.as_ref().map(|file| file.as_str().into());
        let known_hosts = store.known_hosts.as_ref().map(|file| file.as_str().into());
        enter(&mut options, store.credentials_from.as_ref(), known_hosts);
        Ok(Arc::new(GitStore::open(options)?))
    }

    /// Returns a digest of the files that a connection is made from, to detect changes of them;
    /// `None` if there are none, or if any cannot be read.
    pub(super) fn made_from(&self, spec: &TargetSpec) -> Option<Digest> {
        let files = self.families.of(spec).sources(spec);
        let read = files.iter().map(|file| fs::read(file).ok()).collect::<Option<Vec<_>>>()?;
        (!read.is_empty()).then(|| Digest::of(&read.concat()))
    }

    /// Connects to a target; the error is for people.
    #[expect(clippy::disallowed_methods, reason = "the door: the tasks of a target, ended with its connection")]
    pub(super) fn target(&self, spec: &TargetSpec) -> Result<Reach, String> {
        let connected = self.families.of(spec).connect(spec, &self.agent);
        let Connection { target, kinds, tasks } = connected.map_err(|error| told(error.as_ref()))?;
        let tasks = tasks.into_iter().map(|task| tokio::spawn(task).abort_handle());
        Ok(Reach { target, kinds, _tasks: Arc::new(Tasks(tasks.collect())) })
    }
}

fn enter(options: &mut GitOptions, credentials: Option<&StoreCredentials>, known_hosts: Option<PathBuf>) {
    let over_ssh = !options.url.starts_with("https://");
    match credentials {
        Some(StoreCredentials::File(file)) if over_ssh => {
            // Without known hosts, the store reports an error.
            let key = file.as_str().into();
            options.ssh = known_hosts.map(|known_hosts| SshOptions { key, known_hosts });
        }
        Some(StoreCredentials::File(file)) => {
            options.credentials = Credentials::Token { file: file.as_str().into() };
        }
        Some(StoreCredentials::Basic(file)) => {
            options.credentials = Credentials::Basic { file: file.as_str().into() };
        }
        None => {}
    }
}

/// Converts a directory of a document to a path of a tree.
pub(super) fn folder_of(path: &RelativePath) -> Result<StorePath, StoreError> {
    store_path(path).map_err(|bad| StoreError::refused(bad.to_string(), "correct the path"))
}
