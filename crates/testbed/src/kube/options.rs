//! The options of a separate server, and the flags that they become.

use std::fs;
use std::path::Path;

use super::cluster::Cluster;
use super::kubeconfig::{self, Identity};

/// Omitted options are as in the shared server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Writes the audit log to [`ApiServer::audit_log`](super::ApiServer::audit_log).
    pub audit_log: bool,
    /// Sends audit events to a webhook.
    pub audit_webhook: Option<AuditWebhook>,
    /// Runs kube-controller-manager, too: garbage collection, deletion of namespaces, the status of
    /// Deployments.
    pub controllers: bool,
    /// Users with a token, in addition to [`User::standing`].
    pub users: Vec<User>,
    /// More flags of kube-apiserver; the last one of a name counts.
    pub flags: Vec<String>,
}

/// The receiver of audit events.
#[derive(Clone, Debug)]
pub struct AuditWebhook {
    pub url: String,
    /// The CA that signed its certificate, as PEM; if omitted, the cluster's own CA.
    pub authority: Option<String>,
    pub sender: AuditSender,
}

/// The identity with which a server sends audit events.
#[derive(Clone, Debug)]
pub enum AuditSender {
    Nobody,
    Token(String),
    /// A certificate that the cluster's CA has signed.
    Certificate,
}

/// A user with a token for the server.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub fn new(name: &str, groups: &[&str]) -> Self {
        Self { name: name.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    /// Returns the users that every server knows: `admin` may do everything, `viewer` may read
    /// public objects (no Secrets), `stranger` may do nothing until
    /// [`ApiServer::grant`](super::ApiServer::grant) permits it.
    pub fn standing() -> [Self; 3] {
        [
            Self::new("admin", &["system:masters"]),
            Self::new("viewer", &["setpoint:viewers"]),
            Self::new("stranger", &["setpoint:strangers"]),
        ]
    }
}

/// The audited events: all requests of all users, once each, without bodies.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

impl Options {
    /// Returns the flags for these options; the files they name are written into the cluster's
    /// directory.
    pub(super) fn to_flags(&self, cluster: &Cluster, audit_log: &Path) -> Vec<String> {
        let (folder, mut flags) = (cluster.folder(), Vec::new());
        if self.audit_log || self.audit_webhook.is_some() {
            let policy = folder.join("audit-policy.yaml");
            fs::write(&policy, AUDIT_POLICY).expect("the folder is ours");
            flags.push(format!("--audit-policy-file={}", policy.display()));
        }
        if self.audit_log {
            flags.push(format!("--audit-log-path={}", audit_log.display()));
        }
        if let Some(webhook) = &self.audit_webhook {
            let file = folder.join("audit-webhook.yaml");
            fs::write(&file, webhook.to_config(cluster)).expect("the folder is ours");
            flags.push(format!("--audit-webhook-config-file={}", file.display()));
            flags.push("--audit-webhook-batch-max-wait=100ms".to_owned());
        }
        flags.extend(self.flags.iter().cloned());
        flags
    }
}

impl AuditWebhook {
    fn to_config(&self, cluster: &Cluster) -> String {
        let authority = self.authority.as_deref().unwrap_or(cluster.authority().pem());
        let pair;
        let identity = match &self.sender {
            AuditSender::Nobody => Identity::Nobody,
            AuditSender::Token(token) => Identity::Token(token),
            AuditSender::Certificate => {
                pair = cluster.authority().for_client("kube-apiserver", None);
                Identity::Certificate(&pair)
            }
        };
        kubeconfig::self_contained(&self.url, authority, &identity)
    }
}
