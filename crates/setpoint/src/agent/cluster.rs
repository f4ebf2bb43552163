//! A Kubernetes cluster as a target of the agent: its credentials, its stored state, and its kinds
//! for the accept plane.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_documents::{AuditSenders, AuditTrail, Expression, FieldProblem, Line, TargetSpec};
use setpoint_engine::accept::Kinds;
use setpoint_kube::health::{BadRule, Expressions, Rules as HealthRules};
use setpoint_kube::key::group_of;
use setpoint_kube::{kinds, manifest, order, own};
use setpoint_ledger_sql::{Scratch, ScratchError};
use setpoint_target::{Target as _, Unidentifiable};
use setpoint_target_kube::http::{Connection, ConnectionError, HttpWire};
use setpoint_target_kube::{
    AuditSenders as KubeAuditSenders, AuditWebhook as KubeAuditWebhook, Changes, Clock as KubeClock, Complaint,
    Forgotten, KubeOptions, KubeTarget, Memory, Remembered,
};

use super::connect::Connector;
use crate::complaint::told;
use crate::doors::OwnCluster;

/// An API server reports an audit event when its request completes. Events of requests that were
/// under way at the same time arrive within this time.
const AUDIT_SETTLES: Span = Span::seconds(1);

impl Connector {
    /// Connects to a cluster; the error is for people.
    pub(super) fn cluster(&self, spec: &TargetSpec) -> Result<KubeTarget, String> {
        let connection = self.way_in(spec)?.map_err(|error| told(&error))?;
        let namespace = spec.namespace.as_ref().map(|name| name.as_str().to_owned()).or(connection.namespace.clone());
        let wire = HttpWire::new(connection).map_err(|error| told(&error))?;
        let clock = self.clock;
        let clock = KubeClock::new(Arc::new(move || clock.now()));
        let mut options = KubeOptions::new(Arc::new(wire), &self.installation, clock, self.digest_key.clone());
        let rules = health_rules(spec).map_err(|problems| {
            problems
                .iter()
                .map(|problem| format!("{}: {}", problem.path, problem.message))
                .collect::<Vec<_>>()
                .join("; ")
        })?;
        options.health = Arc::new(rules);
        options.audit = spec.audit.as_ref().map(audit_settles);
        if let Some(namespace) = namespace {
            options.namespace = namespace.into();
        }
        if let Some(scratch) = &self.scratch {
            options.memory = Arc::new(ClusterMemory(Arc::clone(scratch)));
        }
        Ok(KubeTarget::new(options))
    }

    fn way_in(&self, spec: &TargetSpec) -> Result<Result<Connection, ConnectionError>, String> {
        if let Some(file) = &spec.kubeconfig {
            let context = spec.context.as_ref().map(Line::as_str);
            return Ok(Connection::from_kubeconfig(Path::new(file.as_str()), context));
        }
        let Some(OwnCluster { host, port, account }) = &self.own_cluster else {
            return Err("the agent does not run in a cluster: name a `kubeconfig` in the Target document".to_owned());
        };
        Ok(Connection::in_cluster(host, port, &account.join("token"), &account.join("ca.crt")))
    }

    /// Returns the namespace of this process, if it runs in the cluster of the document.
    pub(super) fn own_namespace(&self, spec: &TargetSpec) -> Result<Option<String>, String> {
        let own_cluster = self.own_cluster.as_ref().filter(|_| spec.kubeconfig.is_none());
        let Some(file) = own_cluster.map(|own| own.account.join("namespace")) else { return Ok(None) };
        let unreadable = |error: io::Error| {
            let file = file.display();
            format!("cannot read {file}, which holds the agent's own namespace: {error}")
        };
        fs::read_to_string(&file).map(|text| Some(text.trim().to_owned())).map_err(unreadable)
    }
}

/// Returns the longest time by which an event may arrive after another that happened later.
fn audit_settles(audit: &AuditTrail) -> Span {
    AUDIT_SETTLES + audit.webhook.as_ref().map_or(Span::ZERO, |webhook| webhook.batch_wait.span())
}

/// Returns the tasks that follow a cluster's audit trail. Each must run as long as the cluster is
/// connected.
pub(super) fn audit_tasks(
    cluster: &KubeTarget,
    audit: &AuditTrail,
    complain: &Complaint,
) -> Vec<Pin<Box<dyn Future<Output = ()> + Send>>> {
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for log in &audit.logs {
        tasks.push(Box::pin(cluster.audit_log_task(log.as_str().into(), Arc::clone(complain))));
    }
    if let Some(webhook) = &audit.webhook {
        let senders = match &webhook.senders_from {
            AuditSenders::Token(file) => KubeAuditSenders::Token(file.as_str().into()),
            AuditSenders::Certificate(file) => KubeAuditSenders::Certificate(file.as_str().into()),
        };
        let webhook = KubeAuditWebhook {
            listen: webhook.listen.socket(),
            certificate: webhook.certificate.as_str().into(),
            key: webhook.key.as_str().into(),
            senders,
        };
        tasks.push(Box::pin(cluster.audit_webhook_task(webhook, Arc::clone(complain))));
    }
    tasks
}

/// Compiles the health expressions of a Target document.
fn health_rules(spec: &TargetSpec) -> Result<HealthRules, Vec<FieldProblem>> {
    let mut rules = HealthRules::default();
    let mut problems = Vec::new();
    for (n, rule) in spec.health.iter().enumerate() {
        let expressions = Expressions {
            healthy: rule.healthy.as_str(),
            progressing: rule.progressing.as_ref().map(Expression::as_str),
            degraded: rule.degraded.as_ref().map(Expression::as_str),
        };
        let (field, problem) = match rules.set(rule.kind.as_str(), expressions) {
            Ok(()) => continue,
            Err(bad @ BadRule::NotAKind { .. }) => ("kind", bad.to_string()),
            Err(BadRule::Expression { field, source, .. }) => (field, source.to_string()),
        };
        // Messages consist of the problem and the remedy.
        let (message, help) = problem.rsplit_once("; ").unwrap_or((&problem, "correct it"));
        problems.push(FieldProblem::new(format!("spec.health[{n}].{field}"), message, help));
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

/// Returns the problems of a Target document that show only when its expressions are compiled.
pub(crate) fn target_problems(spec: &TargetSpec) -> Vec<FieldProblem> {
    health_rules(spec).err().unwrap_or_default()
}

/// Returns the name of an installation in clusters: short, and valid as a label.
pub(super) fn installation_name(origin: &str) -> String {
    Digest::of(origin.as_bytes()).to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect()
}

/// The stored state of clusters, in the disposable database.
#[derive(Debug)]
struct ClusterMemory(Arc<Scratch>);

type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, Forgotten>> + Send + 'a>>;

fn area(target: &TargetIdentity) -> String {
    format!("cluster {target}")
}

fn forgotten(error: &ScratchError) -> Forgotten {
    Forgotten { detail: told(error) }
}

impl Memory for ClusterMemory {
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> Later<'a, Remembered> {
        Box::pin(async move { self.0.all(&area(target)).await.map_err(|error| forgotten(&error)) })
    }

    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: Changes) -> Later<'a, ()> {
        Box::pin(async move { self.0.change(&area(target), changes).await.map_err(|error| forgotten(&error)) })
    }
}

/// The kinds of a cluster, for the accept plane.
#[derive(Debug)]
pub(super) struct ClusterKinds {
    pub(super) cluster: KubeTarget,
    pub(super) own_namespace: Option<String>,
}

impl Kinds for ClusterKinds {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        let problem = |problem: manifest::Problem| FieldProblem::new(problem.path, problem.message, problem.hint);
        manifest::check(api_version, kind, body).into_iter().map(problem).collect()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        self.cluster.key(api_version, kind, body)
    }

    fn namespace(&self) -> Option<&str> {
        Some(self.cluster.namespace())
    }

    fn own_part(&self, key: &Key, body: &Value) -> Option<&'static str> {
        own::own_part(self.own_namespace.as_deref()?, key, body)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        order::after(declared)
    }

    fn wave(&self, body: &Value) -> i32 {
        // A version with an invalid number was refused before.
        order::wave(body).ok().flatten().unwrap_or(0)
    }

    fn is_awaited(&self, api_version: &str, kind: &str) -> bool {
        kinds::is_awaited(group_of(api_version), kind)
    }

    fn is_protected(&self, api_version: &str, kind: &str) -> bool {
        kinds::is_protected(group_of(api_version), kind)
    }

    fn runs_once(&self, body: &Value) -> bool {
        setpoint_kube::object::time_to_live(body).is_some()
    }
}
