//! The API server of a measurement, and the number of requests that it reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::json;
use setpoint_testbed::kube::{ApiServer, AuditSender, AuditWebhook, Options, free_ports};

pub(super) struct Server(ApiServer);

/// Requests that the server has handled, by verb, resource and whether they were dry runs. Streams
/// count when they end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Requests(BTreeMap<Request, u64>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    verb: String,
    resource: String,
    dry: bool,
}

/// Verbs that change something.
const WRITES: [&str; 5] = ["APPLY", "DELETE", "PATCH", "POST", "PUT"];
/// The resource that the server itself requests all the time.
const OF_ITS_OWN: &str = "leases";

impl Server {
    pub(super) fn start(controllers: bool) -> Self {
        Self(ApiServer::own(Options { controllers, ..Options::default() }))
    }

    /// Starts a server that writes an audit log, and returns the `audit` of a Target that follows
    /// it.
    pub(super) fn with_audit_log() -> (Self, String) {
        let server = ApiServer::own(Options { audit_log: true, ..Options::default() });
        let audit = format!("{{ logs: [{}] }}", server.audit_log().display());
        (Self(server), audit)
    }

    /// Starts a server that posts audit events, as docs/kubernetes.md describes, and returns the
    /// `audit` of a Target that receives them.
    pub(super) fn with_audit_webhook() -> (Self, String) {
        let [port] = free_ports();
        let url = format!("https://127.0.0.1:{port}");
        let audit_webhook = Some(AuditWebhook { url, authority: None, sender: AuditSender::Certificate });
        let flags = ["--audit-webhook-batch-max-wait=5s", "--audit-webhook-truncate-enabled"].map(str::to_owned);
        let server = ApiServer::own(Options { audit_webhook, flags: flags.into(), ..Options::default() });
        let folder = server.folder().display();
        let audit = format!(
            "{{ webhook: {{ listen: '127.0.0.1:{port}', certificateFile: {folder}/server.pem, keyFile: {folder}/server.key, \
             sendersFrom: {{ authoritiesFile: {folder}/authority.pem }}, batchWait: 5s }} }}"
        );
        (Self(server), audit)
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.0.kubeconfig()
    }

    /// Returns the kubeconfig of another user with all permissions.
    pub(super) fn kubeconfig_of(&self, user: &str) -> PathBuf {
        self.0.kubeconfig_with_certificate(user, Some("system:masters"))
    }

    pub(super) fn make_namespace(&self, name: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.0.create("/api/v1/namespaces", &namespace);
    }

    /// Runs kubectl to its end.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.0.kubectl_as(&self.0.kubeconfig(), arguments, b"");
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {} ended with {}: {complaint}", arguments.join(" "), output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns all requests since the start, except those for this.
    pub(super) fn requests(&self) -> anyhow::Result<Requests> {
        let answer = self.0.request("GET", "/metrics", None);
        ensure!(answer.status == 200, "the server does not tell its metrics: {}", answer.status);
        Requests::read(&answer.body).context("the server counts requests in another form than expected")
    }
}

impl Requests {
    /// Reads `apiserver_request_total` of the server's metrics.
    fn read(metrics: &str) -> Option<Self> {
        let mut counts = BTreeMap::new();
        for line in metrics.lines() {
            let Some(line) = line.strip_prefix("apiserver_request_total{") else { continue };
            let (labels, count) = line.rsplit_once("} ")?;
            let count: f64 = count.parse().ok()?;
            let label = |name: &str| {
                let (_, rest) = labels.split_once(&format!("{name}=\""))?;
                rest.split('"').next()
            };
            let resource = label("resource")?.to_owned();
            if resource == OF_ITS_OWN {
                continue;
            }
            let request = Request { verb: label("verb")?.to_owned(), resource, dry: !label("dry_run")?.is_empty() };
            // They are whole numbers in the format of floats.
            *counts.entry(request).or_insert(0) += count as u64;
        }
        Some(Self(counts))
    }

    /// Returns the requests since an earlier count.
    pub(super) fn since(&self, before: &Self) -> Self {
        let new = |(request, count): (&Request, &u64)| {
            let count = count - before.0.get(request).copied().unwrap_or(0).min(*count);
            (count > 0).then(|| (request.clone(), count))
        };
        Self(self.0.iter().filter_map(new).collect())
    }

    pub(super) fn dry(&self) -> u64 {
        self.sum(|request| request.dry)
    }

    pub(super) fn writes(&self) -> u64 {
        self.sum(|request| !request.dry && WRITES.contains(&request.verb.as_str()))
    }

    /// Returns the number of requests with this verb on one of these resources.
    pub(super) fn of(&self, verb: &str, resources: &[&str]) -> u64 {
        self.sum(|request| request.verb == verb && resources.contains(&request.resource.as_str()))
    }

    /// Returns the number of requests on one of these resources.
    pub(super) fn on(&self, resources: &[&str]) -> u64 {
        self.sum(|request| resources.contains(&request.resource.as_str()))
    }

    pub(super) fn all(&self) -> u64 {
        self.sum(|_| true)
    }

    fn sum(&self, which: impl Fn(&Request) -> bool) -> u64 {
        self.0.iter().filter(|(request, _)| which(request)).map(|(_, count)| count).sum()
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut by_verb: BTreeMap<(&str, bool), u64> = BTreeMap::new();
        for (request, count) in &self.0 {
            *by_verb.entry((&request.verb, request.dry)).or_default() += count;
        }
        let told = |((verb, dry), count): (&(&str, bool), &u64)| {
            format!("{count} {}{}", verb.to_lowercase(), if *dry { " (dry)" } else { "" })
        };
        f.write_str(&by_verb.iter().map(told).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# TYPE apiserver_request_total counter\n\
        apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"configmaps\",scope=\"resource\",subresource=\"\",verb=\"GET\",version=\"v1\"} 3\n\
        apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"All\",group=\"\",resource=\"configmaps\",scope=\"resource\",subresource=\"\",verb=\"APPLY\",version=\"v1\"} 1\n\
        apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"coordination.k8s.io\",resource=\"leases\",scope=\"resource\",subresource=\"\",verb=\"PUT\",version=\"v1\"} 9\n";

    #[test]
    fn requests_are_told_apart_by_verb_resource_and_dryness() {
        let before = Requests::read(BEFORE).unwrap();
        assert_eq!((before.all(), before.dry(), before.writes()), (4, 1, 0), "a dry-run writes nothing");
        assert_eq!((before.of("GET", &["configmaps"]), before.on(&["services"])), (3, 0));
        let after = Requests::read(&BEFORE.replace("} 3", "} 1.2e+01")).unwrap();
        let new = after.since(&before);
        assert_eq!((new.all(), new.of("GET", &["configmaps"]), new.to_string().as_str()), (9, 9, "9 get"));
    }

    #[test]
    fn a_count_that_is_not_understood_is_not_taken_for_none() {
        assert_eq!(Requests::read("apiserver_request_total{verb=\"GET\"} 3\n"), None);
    }
}
