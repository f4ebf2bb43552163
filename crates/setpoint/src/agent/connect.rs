//! Connects to the systems that documents declare: a Store document to a Git store, a Target
//! document to a host or a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::digest::{Digest, DigestKey};
use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_documents::{
    FieldProblem, Reference, RelativePath, StoreCredentials, StoreSpec, TargetFamily, TargetSpec,
};
use setpoint_engine::accept::{Kinds, after_implied, store_path};
use setpoint_ledger_sql::Scratch;
use setpoint_store::{Store, StoreError, StorePath};
use setpoint_store_git::{Credentials, Follow, GitCache, GitOptions, GitStore, SshOptions};
use setpoint_target::{Target, Unidentifiable};
use setpoint_target_host::{HostOptions, HostResource, HostTarget};
use setpoint_target_kube::{Complaint, KubeTarget};

use tokio::task::AbortHandle;
use tracing::warn;

use super::bootstrap::Bootstrap;
use super::cluster::{ClusterKinds, audit_tasks};
use crate::complaint::told;
use crate::doors::{Clock, OwnCluster};
use crate::log::Log;

/// Creates connections.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) clock: Clock,
    pub(super) digest_key: DigestKey,
    pub(super) data: PathBuf,
    /// The files and directories that this process itself needs: no app may declare them.
    pub(super) own: Vec<PathBuf>,
    /// The cluster that this process runs in.
    pub(super) own_cluster: Option<OwnCluster>,
    /// Shared, so that several stores of one repository share one copy and one poll.
    pub(super) cache: GitCache,
    /// The name of this installation in clusters.
    pub(super) installation: String,
    pub(super) log: Log,
    /// The disposable database.
    pub(super) scratch: Option<Arc<Scratch>>,
}

/// A target, with the kinds that the accept plane needs to know.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    pub(super) target: Arc<dyn Target>,
    pub(super) kinds: Arc<dyn Kinds + Send + Sync>,
    /// The tasks of a cluster, which end when the last clone is dropped.
    watching: Option<Arc<Watching>>,
}

impl Reach {
    /// Stores the state known of a cluster for the next process.
    pub(super) async fn remember(&self) {
        if let Some(watching) = &self.watching {
            watching.cluster.remember().await;
        }
    }
}

/// The tasks that keep a cluster's streams open and follow its audit trail.
#[derive(Debug)]
struct Watching {
    cluster: KubeTarget,
    tasks: Vec<AbortHandle>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Connector {
    pub(super) fn store(&self, spec: &StoreSpec) -> Result<Arc<dyn Store>, StoreError> {
        let follow = match spec.reference() {
            Reference::Branch(branch) => Follow::branch(branch.as_str()),
            Reference::Tag(tag) => Follow::tag(tag.as_str()),
        };
        let mut options = GitOptions::new(spec.url.as_str(), follow, self.cache.clone());
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
            GitOptions::new(store.url.as_str(), Follow::branch(store.branch.as_str()), self.cache.clone());
        options.allow_local = true;
        options.authorities = store.authorities.as_ref().map(|file| file.as_str().into());
        let known_hosts = store.known_hosts.as_ref().map(|file| file.as_str().into());
        enter(&mut options, store.credentials_from.as_ref(), known_hosts);
        Ok(Arc::new(GitStore::open(options)?))
    }

    /// Returns a digest of the kubeconfig of a connection, to detect changes of it; `None` if there
    /// is none, or if it cannot be read.
    pub(super) fn made_from(spec: &TargetSpec) -> Option<Digest> {
        let file = spec.kubeconfig.as_ref()?;
        fs::read(file.as_str()).ok().map(|text| Digest::of(&text))
    }

    /// Connects to a target; the error is for people.
    #[expect(
        clippy::disallowed_methods,
        reason = "the door: one task for each cluster and for each source of its audit trail, ended with its connection"
    )]
    pub(super) fn target(&self, spec: &TargetSpec) -> Result<Reach, String> {
        match spec.family {
            TargetFamily::Host => {
                let clock = self.clock;
                let root = spec.root.as_ref().map(|root| PathBuf::from(root.as_str()));
                let mut options =
                    HostOptions::new(root, self.data.clone(), Arc::new(move || clock.now()), self.digest_key.clone());
                // The lock of the ledger's directory makes this process the only one of its
                // installation.
                options.alone = true;
                options.own.clone_from(&self.own);
                let log = self.log.clone();
                options.complaint = Some(Arc::new(move |problem: &str| log.with(|| warn!("{problem}"))));
                let host = Arc::new(HostTarget::open(options).map_err(|error| told(&error))?);
                Ok(Reach { target: Arc::clone(&host) as _, kinds: Arc::new(HostKinds(host)), watching: None })
            }
            TargetFamily::Kubernetes => {
                let cluster = self.cluster(spec)?;
                let own_namespace = self.own_namespace(spec)?;
                let mut tasks = vec![tokio::spawn(cluster.watch_task()).abort_handle()];
                if let Some(audit) = &spec.audit {
                    let log = self.log.clone();
                    let complain: Complaint = Arc::new(move |problem: &str| log.with(|| warn!("{problem}")));
                    let following = audit_tasks(&cluster, audit, &complain).into_iter();
                    tasks.extend(following.map(|task| tokio::spawn(task).abort_handle()));
                }
                let watching = Watching { cluster: cluster.clone(), tasks };
                let kinds = Arc::new(ClusterKinds { cluster: cluster.clone(), own_namespace });
                Ok(Reach { target: Arc::new(cluster), kinds, watching: Some(Arc::new(watching)) })
            }
            TargetFamily::Memory => {
                Err("this version does not support targets of this kind: use `kind: host` or `kind: kubernetes`"
                    .to_owned())
            }
        }
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

/// Checks an object of a host, as far as that needs no host.
pub(crate) fn check_on_host(api_version: &str, kind: &str, body: &Value) -> Result<HostResource, Vec<FieldProblem>> {
    if api_version != setpoint_target_host::API_VERSION {
        let message = format!("a host has no `{api_version}`");
        let help = format!("write `apiVersion: {}`", setpoint_target_host::API_VERSION);
        return Err(vec![FieldProblem::new("apiVersion", message, help)]);
    }
    let problem =
        |problem: setpoint_target_host::Problem| FieldProblem::new(problem.path, problem.message, problem.hint);
    setpoint_target_host::check(kind, body).map_err(|problems| problems.into_iter().map(problem).collect())
}

/// The kinds of a host, for the accept plane.
#[derive(Debug)]
struct HostKinds(Arc<HostTarget>);

impl Kinds for HostKinds {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        match check_on_host(api_version, kind, body) {
            Ok(declared) if self.0.is_own(&declared) => {
                let message = "the path belongs to Setpoint itself";
                vec![FieldProblem::new("spec.path", message, "choose another path")]
            }
            Ok(_) => Vec::new(),
            Err(problems) => problems,
        }
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        self.0.key(api_version, kind, body)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, setpoint_target_host::implied_dependencies)
    }

    /// A directory with entries is never deleted, and removing a command undoes nothing.
    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}
