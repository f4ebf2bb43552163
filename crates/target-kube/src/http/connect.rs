//! Connects an agent to the cluster of a Target document.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use setpoint_core::time::Span;
use setpoint_documents::Line;
use setpoint_target::{Agent, Connection as Connected, NotConnected, Task};

use super::{Connection, HttpWire};
use crate::document::{AuditSenders as DeclaredSenders, AuditTrail, ClusterSection};
use crate::family::{OwnCluster, health_rules};
use crate::kinds::ClusterKinds;
use crate::{AuditSenders, AuditWebhook, Clock, KubeOptions, KubeTarget};

/// An API server reports an audit event when its request completes. Events of requests that were
/// under way at the same time arrive within this time.
const AUDIT_SETTLES: Span = Span::seconds(1);

pub(crate) fn connect(
    own_cluster: Option<&OwnCluster>,
    section: &ClusterSection,
    agent: &Agent,
) -> Result<Connected, NotConnected> {
    // A document that names a kubeconfig may mean another cluster.
    let own_cluster = own_cluster.filter(|_| section.kubeconfig.is_none());
    let connection = connection(own_cluster, section)?;
    let declared = section.namespace.as_ref().map(|name| name.as_str().to_owned());
    let namespace = declared.or_else(|| connection.namespace.clone());
    let wire = Arc::new(HttpWire::new(connection)?);
    let clock = Clock::new(Arc::clone(&agent.clock));
    let mut options = KubeOptions::new(wire, &agent.installation, clock, agent.digest_key.clone());
    let rules = health_rules(section).map_err(|problems| {
        problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>().join("; ")
    })?;
    options.health = Arc::new(rules);
    options.audit = section.audit.as_ref().map(audit_settles);
    if let Some(namespace) = namespace {
        options.namespace = namespace.into();
    }
    options.memory = Arc::clone(&agent.cache);
    let own_namespace = own_cluster.map(namespace_of).transpose()?;
    let cluster = KubeTarget::new(options);
    let mut tasks: Vec<Task> = vec![Box::pin(cluster.watch_task())];
    if let Some(audit) = &section.audit {
        tasks.extend(audit_tasks(&cluster, audit, agent));
    }
    let kinds = Arc::new(ClusterKinds { namespace: cluster.namespace().into(), own_namespace });
    Ok(Connected { target: Arc::new(cluster), kinds, tasks })
}

fn connection(own_cluster: Option<&OwnCluster>, section: &ClusterSection) -> Result<Connection, NotConnected> {
    if let Some(file) = &section.kubeconfig {
        let context = section.context.as_ref().map(Line::as_str);
        return Ok(Connection::from_kubeconfig(Path::new(file.as_str()), context)?);
    }
    let Some(OwnCluster { host, port, account }) = own_cluster else {
        return Err("the agent does not run in a cluster: name a `kubeconfig` in the Target document".into());
    };
    Ok(Connection::in_cluster(host, port, &account.join("token"), &account.join("ca.crt"))?)
}

/// Returns the namespace of this process.
fn namespace_of(own_cluster: &OwnCluster) -> Result<String, Box<dyn Error + Send + Sync>> {
    let file = own_cluster.account.join("namespace");
    let unreadable = |error: io::Error| {
        let file = file.display();
        format!("cannot read {file}, which holds the agent's own namespace: {error}")
    };
    Ok(fs::read_to_string(&file).map(|text| text.trim().to_owned()).map_err(unreadable)?)
}

/// Returns the longest time by which an event may arrive after another that happened later.
fn audit_settles(audit: &AuditTrail) -> Span {
    AUDIT_SETTLES + audit.webhook.as_ref().map_or(Span::ZERO, |webhook| webhook.batch_wait.span())
}

/// Returns the tasks that follow a cluster's audit trail.
fn audit_tasks(cluster: &KubeTarget, audit: &AuditTrail, agent: &Agent) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for log in &audit.logs {
        tasks.push(Box::pin(cluster.audit_log_task(log.as_str().into(), Arc::clone(&agent.log))));
    }
    if let Some(webhook) = &audit.webhook {
        let senders = match &webhook.senders_from {
            DeclaredSenders::Token(file) => AuditSenders::Token(file.as_str().into()),
            DeclaredSenders::Certificate(file) => AuditSenders::Certificate(file.as_str().into()),
        };
        let webhook = AuditWebhook {
            listen: webhook.listen.socket(),
            certificate: webhook.certificate.as_str().into(),
            key: webhook.key.as_str().into(),
            senders,
        };
        tasks.push(Box::pin(cluster.audit_webhook_task(webhook, Arc::clone(&agent.log))));
    }
    tasks
}
