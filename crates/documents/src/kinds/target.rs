//! `kind: Target`.

use std::collections::BTreeSet;

use setpoint_yaml::{Class, Node};

use crate::declaration::{object, one_of, words};
use crate::duration::{Duration, MINUTE};
use crate::reader::Reader;
use crate::text::{AbsolutePath, Address, Expression, GroupKind, Label, Line, Principal};

object! {
    /// A system under management.
    pub struct TargetSpec => fields_fit_the_family {
        /// What kind of system it is.
        "kind" family: TargetFamily,
        /// The folder of a host that is managed; the whole host if unsaid.
        "root" root: Option<AbsolutePath> = None,
        /// The kubeconfig that reaches a cluster, a file of the agent's machine. If unsaid the agent runs in the cluster and enters it as its
        /// own service account.
        "kubeconfig" kubeconfig: Option<AbsolutePath> = None,
        /// The context of the kubeconfig; its current one if unsaid.
        "context" context: Option<Line> = None,
        /// The namespace of objects that name none; `default` if unsaid.
        "namespace" namespace: Option<Label> = None,
        /// What the system must be: a cluster's kube-system UID, a host's machine id. Taken from the first connection if unsaid.
        "identity" identity: Option<Line> = None,
        /// Where a cluster's API server tells who did what: then writers of drift are proven.
        "audit" audit: Option<AuditTrail> = None,
        /// When objects of a kind are healthy that say it in a way of their own; each kind once.
        "health" health: Vec<HealthRule> = Vec::new(),
        /// The users and groups in whose name apps of other scopes may write on a cluster: those that their Scopes name in `actAs`. If said, a
        /// scope that names none may not use it.
        "identities" identities: Option<Vec<Principal>> = None,
    }
}

object! {
    /// Where a cluster's API server tells who did what.
    pub struct AuditTrail => trail_has_a_source {
        /// The files that API servers write their audit events to (`--audit-log-path`), on the agent's machine; one for each server.
        "logs" logs: Vec<AbsolutePath> = Vec::new(),
        /// Where API servers post their audit events to (`--audit-webhook-config-file`).
        "webhook" webhook: Option<AuditWebhook> = None,
    }
}

object! {
    /// Where the agent takes audit events from API servers, by HTTPS.
    pub struct AuditWebhook {
        /// The address to listen on.
        "listen" listen: Address,
        /// The certificate that the agent shows, with its chain, as PEM. Read for each connection.
        "certificateFile" certificate: AbsolutePath,
        /// The key of the certificate, as PEM.
        "keyFile" key: AbsolutePath,
        /// How API servers are known. What others send is not read.
        "sendersFrom" senders_from: AuditSenders,
        /// The longest that an API server collects events before it sends them (`--audit-webhook-batch-max-wait`). So long is waited for others
        /// before a writer counts as proven.
        "batchWait" batch_wait: Duration<1, MINUTE> = Duration::seconds(30),
    }
}

one_of! {
    /// Where it is read how API servers are known that send audit events, each time one does.
    pub enum AuditSenders {
        /// A file that holds nothing but the token that they send, or several, one a line.
        "tokenFile" Token(AbsolutePath),
        /// Certificates of the authorities that signed theirs, as PEM.
        "authoritiesFile" Certificate(AbsolutePath),
    }
}

/// An empty trail would be waited for in vain.
fn trail_has_a_source(trail: &AuditTrail, node: Node<'_>, reader: &mut Reader) -> bool {
    let is_empty = trail.logs.is_empty() && trail.webhook.is_none();
    if is_empty {
        let help = "add `logs: [/path/of/the/file]` or `webhook`, or remove `audit`";
        reader.report::<()>(Class::Value, node, "nothing says where audit events come from", help);
    }
    !is_empty
}

object! {
    /// When objects of a kind are healthy, in CEL over `self`, the object. Asked from the worst: what is true first decides. What cannot be
    /// evaluated leaves the object unknown.
    pub struct HealthRule {
        /// The kind: `group/Kind`, or `Kind` of the core group.
        "kind" kind: GroupKind,
        /// Something is wrong.
        "degraded" degraded: Option<Expression> = None,
        /// It is on its way. If unsaid, what is neither degraded nor healthy is.
        "progressing" progressing: Option<Expression> = None,
        /// It is well.
        "healthy" healthy: Expression,
    }
}

/// A field that another family has would be ignored in silence.
fn fields_fit_the_family(target: &TargetSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let strangers = [
        ("root", "host", target.root.is_some() && target.family != TargetFamily::Host),
        ("kubeconfig", "kubernetes", target.kubeconfig.is_some() && target.family != TargetFamily::Kubernetes),
        ("context", "kubernetes", target.context.is_some() && target.family != TargetFamily::Kubernetes),
        ("namespace", "kubernetes", target.namespace.is_some() && target.family != TargetFamily::Kubernetes),
        ("audit", "kubernetes", target.audit.is_some() && target.family != TargetFamily::Kubernetes),
        ("identities", "kubernetes", target.identities.is_some() && target.family != TargetFamily::Kubernetes),
        ("health", "kubernetes", !target.health.is_empty() && target.family != TargetFamily::Kubernetes),
    ];
    for (field, family, _) in strangers.iter().filter(|(_, _, stranger)| *stranger) {
        let place = node.get(field).unwrap_or(node);
        let message = format!("`{field}` means nothing for this kind of target");
        reader.report::<()>(Class::Value, place, message, format!("remove it, or set `kind: {family}`"));
    }
    // In the cluster there is one way in, and no choice of contexts.
    let aimless = target.context.is_some() && target.kubeconfig.is_none() && target.family == TargetFamily::Kubernetes;
    if aimless {
        let place = node.get("context").unwrap_or(node);
        reader.report::<()>(
            Class::Value,
            place,
            "a context of which kubeconfig?",
            "add `kubeconfig: /path/of/the/file`",
        );
    }
    let twice = kind_with_two_rules(&target.health);
    if let Some(kind) = twice {
        let place = node.get("health").unwrap_or(node);
        reader.report::<()>(Class::Duplicate, place, format!("`{kind}` has two rules"), "keep one of them");
    }
    !aimless && twice.is_none() && strangers.iter().all(|(_, _, stranger)| !stranger)
}

fn kind_with_two_rules(rules: &[HealthRule]) -> Option<&GroupKind> {
    let mut seen = BTreeSet::new();
    rules.iter().map(|rule| &rule.kind).find(|kind| !seen.insert(*kind))
}

words! {
    /// What kind of system a target is.
    pub enum TargetFamily {
        /// This machine: files, and what else a host has.
        "host" Host,
        /// A cluster.
        "kubernetes" Kubernetes,
        /// In the memory of the engine, for trying things out.
        "memory" Memory,
    }
}
