//! What a server of one's own can be given, and the flags that come of it.

use std::fs;
use std::path::Path;

use super::cluster::Cluster;
use super::kubeconfig::{self, Identity};

/// Everything that is not said is as in the shared server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Writes who did what to [`ApiServer::audit_log`](super::ApiServer::audit_log).
    pub audit_log: bool,
    /// Sends who did what to a webhook.
    pub audit_webhook: Option<AuditWebhook>,
    /// Runs kube-controller-manager too: garbage collection, namespaces that end, the status of
    /// Deployments.
    pub controllers: bool,
    /// Users with a token beside [`User::standing`].
    pub users: Vec<User>,
    /// More flags of kube-apiserver; the last one of a name counts.
    pub flags: Vec<String>,
}

/// Where audit events are sent.
#[derive(Clone, Debug)]
pub struct AuditWebhook {
    pub url: String,
    /// The authority that signed its certificate, as PEM; the cluster's own if unsaid.
    pub authority: Option<String>,
    pub sender: AuditSender,
}

/// As whom a server sends audit events.
#[derive(Clone, Debug)]
pub enum AuditSender {
    Nobody,
    Token(String),
    /// By a certificate that the cluster's authority has signed.
    Certificate,
}

/// Who may use the server by a token.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub fn new(name: &str, groups: &[&str]) -> Self {
        Self { name: name.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    /// Those every server knows: `admin` may do everything, `viewer` may read what everybody may
    /// see (no Secrets), `stranger` may do nothing until
    /// [`ApiServer::grant`](super::ApiServer::grant) says so.
    pub fn standing() -> [Self; 3] {
        [
            Self::new("admin", &["system:masters"]),
            Self::new("viewer", &["setpoint:viewers"]),
            Self::new("stranger", &["setpoint:strangers"]),
        ]
    }
}

/// What is worth a line: everybody's requests, once each, without bodies.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

impl Options {
    /// The flags for what is asked here; the files they name are written into the cluster's folder.
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
