//! The fields of a Target document that belong to a cluster.

use std::collections::BTreeSet;

use setpoint_documents::declaration::{Class, Node, Reader, object, one_of};
use setpoint_documents::{AbsolutePath, Address, Duration, Expression, GroupKind, Label, Line, MINUTE, Principal};

object! {
    /// A Kubernetes cluster.
    pub struct ClusterSection => is_consistent {
        /// The kubeconfig file of a cluster, on the agent's machine. If omitted, the agent must run
        /// in the cluster and connects with its own service account.
        "kubeconfig" kubeconfig: Option<AbsolutePath> = None,
        /// The kubeconfig context. If omitted, the current context is used.
        "context" context: Option<Line> = None,
        /// The namespace of objects that do not name one. If omitted: the namespace of the
        /// kubeconfig context, else `default`.
        "namespace" namespace: Option<Label> = None,
        /// The source of a cluster's audit events. With them, Setpoint can prove who caused drift.
        "audit" audit: Option<AuditTrail> = None,
        /// Health rules for kinds that report health in their own way; at most one rule per kind.
        "health" health: Vec<HealthRule> = Vec::new(),
        /// The users and groups that apps of other scopes may impersonate on this cluster, with
        /// `actAs` in their Scope. If set, other scopes without `actAs` cannot use this target.
        "identities" identities: Option<Vec<Principal>> = None,
    }
}

/// Reports contradictions between the fields.
fn is_consistent(section: &ClusterSection, node: Node<'_>, reader: &mut Reader) -> bool {
    // In the cluster, the agent uses its service account: there are no contexts to choose from.
    let lacks_kubeconfig = section.context.is_some() && section.kubeconfig.is_none();
    if lacks_kubeconfig {
        let place = node.get("context").unwrap_or(node);
        let help = "add `kubeconfig: /path/of/the/file`, or remove `context`";
        reader.report::<()>(Class::Value, place, "`context` requires `kubeconfig`", help);
    }
    let duplicate = kind_with_two_rules(&section.health);
    if let Some(kind) = duplicate {
        let place = node.get("health").unwrap_or(node);
        reader.report::<()>(Class::Duplicate, place, format!("`{kind}` has two rules"), "keep one of them");
    }
    !lacks_kubeconfig && duplicate.is_none()
}

fn kind_with_two_rules(rules: &[HealthRule]) -> Option<&GroupKind> {
    let mut kinds = BTreeSet::new();
    rules.iter().map(|rule| &rule.kind).find(|kind| !kinds.insert(*kind))
}

object! {
    /// The source of a cluster's audit events.
    pub struct AuditTrail => audit_has_a_source {
        /// The audit log files of the API servers (`--audit-log-path`), on the agent's machine; one
        /// for each server.
        "logs" logs: Vec<AbsolutePath> = Vec::new(),
        /// A webhook to which the API servers post audit events
        /// (`--audit-webhook-config-file`).
        "webhook" webhook: Option<AuditWebhook> = None,
    }
}

object! {
    /// The agent's HTTPS endpoint for audit events.
    pub struct AuditWebhook {
        /// The address to listen on.
        "listen" listen: Address,
        /// A PEM file with the server certificate and its chain. It is read for each connection.
        "certificateFile" certificate: AbsolutePath,
        /// A PEM file with the private key of the certificate.
        "keyFile" key: AbsolutePath,
        /// The credentials by which API servers authenticate. Requests of other senders are not
        /// read.
        "sendersFrom" senders_from: AuditSenders,
        /// The longest time for which an API server collects events before it sends them
        /// (`--audit-webhook-batch-max-wait`). The agent waits this long for events of other
        /// servers before it reports a writer as proven.
        "batchWait" batch_wait: Duration<1, MINUTE> = Duration::seconds(30),
    }
}

one_of! {
    /// The file that authenticates API servers. It is read for each connection.
    pub enum AuditSenders {
        /// A file with the token that API servers send, or with several tokens, one per line.
        "tokenFile" Token(AbsolutePath),
        /// A PEM file with the CA certificates that sign the client certificates of API servers.
        "authoritiesFile" Certificate(AbsolutePath),
    }
}

/// Reports an audit trail without a source: the agent would wait in vain for events.
fn audit_has_a_source(trail: &AuditTrail, node: Node<'_>, reader: &mut Reader) -> bool {
    let is_empty = trail.logs.is_empty() && trail.webhook.is_none();
    if is_empty {
        let help = "add `logs: [/path/of/the/file]` or `webhook`, or remove `audit`";
        reader.report::<()>(Class::Value, node, "`audit` has no source of events", help);
    }
    !is_empty
}

object! {
    /// CEL expressions for the health of a kind; `self` is the object. They are evaluated in the
    /// order `degraded`, `progressing`, `healthy`, and the first that is true decides. If an
    /// expression cannot be evaluated, the health is unknown.
    pub struct HealthRule {
        /// The kind: `group/Kind`, or `Kind` for the core group.
        "kind" kind: GroupKind,
        /// True if the object has failed.
        "degraded" degraded: Option<Expression> = None,
        /// True if the object is still changing. If omitted, an object that is neither degraded nor
        /// healthy is progressing.
        "progressing" progressing: Option<Expression> = None,
        /// True if the object is healthy.
        "healthy" healthy: Expression,
    }
}
