//! A target on a real cluster, behind a proxy that injects faults, with the writes of strangers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value as Json, json};
use setpoint_core::digest::DigestKey;
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_kube::object;
use setpoint_target::conformance::Steps;
use setpoint_target::{Asker, Fence, Hint, Outcome, Priority, Settlement, Target, Work};
use setpoint_target_kube::http::{Connection, HttpWire};
use setpoint_target_kube::{AuditWebhook, Clock, KubeOptions, KubeTarget};
use setpoint_testbed::kube::{ApiServer, Proxy};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::interval;

/// The longest wait of any test for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Scene {
    pub(crate) server: &'static ApiServer,
    pub(crate) proxy: Proxy,
    pub(crate) target: KubeTarget,
    pub(crate) namespace: String,
    pub(crate) steps: Steps,
    options: KubeOptions,
    /// The tasks that keep the streams open for as long as the scene lasts.
    tasks: JoinSet<()>,
}

impl Scene {
    /// Builds a target that reads each object for each observation.
    pub(crate) async fn new(name: &str) -> Self {
        Self::with(name, |options| options.trust_streams = false).await
    }

    pub(crate) async fn with(name: &str, adjust: impl FnOnce(&mut KubeOptions)) -> Self {
        Self::on(ApiServer::shared(), name, adjust).await
    }

    /// Builds a scene on a server that need not be the shared one.
    pub(crate) async fn on(server: &'static ApiServer, name: &str, adjust: impl FnOnce(&mut KubeOptions)) -> Self {
        let proxy = Proxy::before(server);
        let namespace = server.fresh_namespace(name);
        let wire = wire(&proxy.kubeconfig(server, server.admin_token()));
        // Each scene is its own installation, so that no stream reports the objects of another
        // test.
        let mut options = KubeOptions::new(wire, &namespace, Clock::new(Arc::new(now)), DigestKey::new([7; 32]));
        adjust(&mut options);
        let target = KubeTarget::new(options.clone());
        let steps = Steps::new(target.identity().await.unwrap());
        let mut scene = Self { server, proxy, target, namespace, steps, options, tasks: JoinSet::new() };
        scene.drive();
        scene
    }

    /// Replaces the target by another process with the same memory.
    pub(crate) fn restart(&mut self, adjust: impl FnOnce(&mut KubeOptions)) {
        self.tasks.abort_all();
        adjust(&mut self.options);
        self.target = KubeTarget::new(self.options.clone());
        self.drive();
    }

    fn drive(&mut self) {
        self.tasks.spawn(self.target.watch_task());
    }

    /// Lets the target follow its server's audit log.
    pub(crate) fn follow_audit_log(&mut self) {
        let complain = Arc::new(|problem: &str| panic!("{problem}"));
        self.tasks.spawn(self.target.audit_log_task(self.server.audit_log(), complain));
    }

    /// Lets API servers post their audit events to the target.
    pub(crate) async fn listen_for_audit(&mut self, webhook: AuditWebhook) {
        let address = webhook.listen;
        let complain = Arc::new(|problem: &str| panic!("{problem}"));
        self.tasks.spawn(self.target.audit_webhook_task(webhook, complain));
        let listening = async {
            let mut glances = interval(Duration::from_millis(10));
            while TcpStream::connect(address).await.is_err() {
                glances.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("it must listen");
    }

    /// Returns the result of a future that must end.
    pub(crate) async fn in_time<T>(&self, doing: impl Future<Output = T>) -> T {
        tokio::time::timeout(PATIENCE, doing).await.expect("it must end")
    }

    /// Opens all streams again, in the same process.
    pub(crate) async fn restart_streams(&mut self) {
        self.tasks.shutdown().await;
        self.drive();
    }

    pub(crate) fn config_map(&self, name: &str, data: &[(&str, &str)]) -> Arc<Resource> {
        let data: BTreeMap<&str, &str> = data.iter().copied().collect();
        self.resource(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace}, "data": data,
        }))
    }

    pub(crate) fn resource(&self, object: &Json) -> Arc<Resource> {
        self.resource_of(&object.to_string())
    }

    /// Builds the same from a text, for numbers that would not survive being parsed twice.
    pub(crate) fn resource_of(&self, text: &str) -> Arc<Resource> {
        let body = object::read(text.as_bytes()).unwrap();
        let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let key = self.target.key(&api_version, &kind, &body).unwrap();
        Arc::new(Resource::new(key, api_version, kind, body))
    }

    pub(crate) fn fence() -> Fence {
        Fence { epoch: Steps::EPOCH, leave_by: now() + Span::seconds(20), land_by: now() + Span::seconds(30) }
    }

    pub(crate) async fn execute(&self, work: &Work) -> Outcome {
        self.target.execute(vec![work.clone()], Self::fence()).await.pop().unwrap()
    }

    pub(crate) async fn done(&self, work: &Work) -> Option<Live> {
        match self.execute(work).await {
            Outcome::Done { live } => live,
            other => panic!("{work:?} was not done: {other:?}"),
        }
    }

    /// Creates an object and returns its state.
    pub(crate) async fn have(&self, resource: &Arc<Resource>) -> Live {
        self.done(&self.steps.create(resource)).await.unwrap()
    }

    pub(crate) async fn settle(&self, work: &Work) -> Settlement {
        let intent = self.steps.intent(work, now() - Span::millis(1));
        self.target.settle(&intent, work.step.resource.as_deref()).await
    }

    /// Settles an effect that may still be in flight.
    pub(crate) async fn settle_early(&self, work: &Work) -> Settlement {
        let intent = self.steps.intent(work, now() + Span::seconds(30));
        self.target.settle(&intent, work.step.resource.as_deref()).await
    }

    pub(crate) async fn observe(&self, resource: &Arc<Resource>) -> Observed<Presence> {
        let wanted = [(resource.key.clone(), Some(Arc::clone(resource)))].into();
        self.target.observe(wanted, Asker::default(), now()).await.states.remove(&resource.key).unwrap()
    }

    /// Observes an object of which only a claim is left.
    pub(crate) async fn observe_undeclared(&self, key: &Key) -> Observed<Presence> {
        let wanted = [(key.clone(), None)].into();
        self.target.observe(wanted, Asker::default(), now()).await.states.remove(key).unwrap()
    }

    pub(crate) async fn live(&self, resource: &Arc<Resource>) -> Live {
        match self.observe(resource).await {
            Observed::Known { value: Presence::Present(live), .. } => live,
            other => panic!("{} is not there: {other:?}", resource.key),
        }
    }

    /// Observes the same for a person who waits for the response.
    pub(crate) async fn live_for_a_person(&self, resource: &Arc<Resource>) -> Live {
        let wanted = [(resource.key.clone(), Some(Arc::clone(resource)))].into();
        let asker = Asker { priority: Priority::Person, ..Asker::default() };
        match self.target.observe(wanted, asker, now()).await.states.remove(&resource.key) {
            Some(Observed::Known { value: Presence::Present(live), .. }) => live,
            other => panic!("{} is not there: {other:?}", resource.key),
        }
    }

    /// Waits for a hint about this key; returns every key that was hinted at until then.
    pub(crate) async fn hint_about(&self, key: &Key) -> Vec<Key> {
        let hinted = async {
            let mut all = Vec::new();
            loop {
                match self.target.hints().await {
                    Hint::Changed { keys } => {
                        let about = keys.contains(key);
                        all.extend(keys);
                        if about {
                            return all;
                        }
                    }
                    Hint::Unwatched { .. } | Hint::AnswersAgain => {}
                    Hint::Lost => panic!("nothing was lost"),
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, hinted).await;
        waited.unwrap_or_else(|_| {
            panic!("a hint about {key} must come: {:?}, {:?}", self.target.watching(), self.proxy.seen())
        })
    }

    /// Waits until the proxy has a request with this method.
    pub(crate) async fn until_sent(&self, method: &str) {
        let sent = async {
            while !self.proxy.seen().iter().any(|seen| seen.method == method) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, sent).await.expect("it must be sent");
    }

    /// Waits until all streams are caught up.
    pub(crate) async fn caught_up(&self) {
        let all = async {
            loop {
                let watching = self.target.watching();
                if watching.streams > 0 && watching.caught_up == watching.streams {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, all).await;
        waited.unwrap_or_else(|_| panic!("streams must catch up: {:?}", self.target.watching()));
    }

    /// Returns the path of an object on the server.
    pub(crate) fn path(resource: &Resource) -> String {
        let base = if resource.api_version.contains('/') { "/apis" } else { "/api" };
        let namespace = match resource.key.namespace() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        let (plural, name) = (plural(&resource.kind), resource.key.name());
        format!("{base}/{}{namespace}/{plural}/{name}", resource.api_version)
    }

    /// Applies an object as another manager.
    pub(crate) fn edit(&self, resource: &Resource, manager: &str) {
        self.server.apply(&Self::path(resource), manager, &json(&resource.body));
    }

    /// Changes a part of an object as another manager, by another method than apply.
    pub(crate) fn patch(&self, resource: &Resource, manager: &str, patch: &Json) -> Json {
        let path = format!("{}?fieldManager={manager}", Self::path(resource));
        let content = serde_json::to_vec(patch).unwrap();
        self.server.request("PATCH", &path, Some(("application/merge-patch+json", &content))).succeeded().json()
    }

    pub(crate) fn remove(&self, resource: &Resource) {
        self.server.request("DELETE", &Self::path(resource), None);
    }

    pub(crate) fn make(&self, resource: &Resource) {
        let path = Self::path(resource);
        self.server.create(path.rsplit_once('/').unwrap().0, &json(&resource.body));
    }

    /// Returns the object as the server has it.
    pub(crate) fn stored(&self, resource: &Resource) -> Json {
        self.server.request("GET", &Self::path(resource), None).succeeded().json()
    }
}

/// Returns the plural word of a kind in its path.
fn plural(kind: &str) -> String {
    let word = kind.to_lowercase();
    match word.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if word.ends_with("ss") => format!("{word}es"),
        None => format!("{word}s"),
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

/// Connects to the server that a kubeconfig names.
pub(crate) fn wire(kubeconfig: &Path) -> Arc<HttpWire> {
    Arc::new(HttpWire::new(Connection::from_kubeconfig(kubeconfig, None).unwrap()).unwrap())
}

#[expect(clippy::disallowed_methods, reason = "tests go by the machine's clock")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap())
}

fn json(value: &Value) -> Json {
    serde_json::from_slice(&object::write(value).unwrap()).unwrap()
}
