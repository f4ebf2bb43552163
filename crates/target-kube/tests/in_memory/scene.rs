//! A target over an in-memory API server. Nothing waits: time moves only when a test moves it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::{Value as Json, json};
use setpoint_core::acting::ActingAs;
use setpoint_core::digest::DigestKey;
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::object;
use setpoint_kube_world as world;
use setpoint_target::conformance::Steps;
use setpoint_target::{Asker, Fence, Outcome, Settlement, Target, Wanted, Work};
use setpoint_target_kube::wire::{Body, Method, Request, Response, Wire, WireError};
use setpoint_target_kube::{Clock, KubeOptions, KubeTarget};
use tokio::task::{JoinSet, yield_now};

/// Waits up to this length end at once; longer ones never end.
const SHORT: Span = Span::seconds(2);

/// A number of turns after which every runnable task has run.
const TURNS: usize = 50;

/// A response in place of the server's; `None` leaves the request to the server.
pub(crate) type Answer = Option<Result<(u16, Vec<u8>), WireError>>;
type Hook = Box<dyn FnMut(&Request, &mut Cluster) -> Answer + Send>;

/// The API server, and the network between it and the target.
pub(crate) struct Cluster {
    pub(crate) server: world::Server,
    pub(crate) connections: u64,
    pub(crate) now: Timestamp,
    pub(crate) sent: Vec<Request>,
    /// The number of cuts: streams that were opened before the last cut have ended.
    cuts: u64,
    /// Streams report their progress, but no changes.
    pub(crate) lose_events: bool,
    /// The hooks are called for every request, in turn, until one responds.
    hooks: VecDeque<Hook>,
}

impl Cluster {
    /// Applies an object as another client, by force.
    pub(crate) fn apply(&mut self, path: &str, manager: &str, body: &Json) -> Json {
        self.change(world::Method::Patch, &format!("{path}?fieldManager={manager}&force=true"), APPLY, body)
    }

    /// Changes a part of an object as another client.
    pub(crate) fn merge(&mut self, path: &str, manager: &str, body: &Json) -> Json {
        self.change(world::Method::Patch, &format!("{path}?fieldManager={manager}"), MERGE, body)
    }

    pub(crate) fn delete(&mut self, path: &str) {
        let request = world::Request::new(world::Method::Delete, path, "application/json", None);
        drop(self.server.answer(&request));
    }

    fn change(&mut self, method: world::Method, path: &str, how: &str, body: &Json) -> Json {
        let content = Some((how.to_owned(), body.to_string().into_bytes()));
        match self.server.answer(&world::Request::new(method, path, "application/json", content)) {
            world::Reply::Answer { code, bytes } => {
                let body = serde_json::from_slice(&bytes).unwrap();
                assert!((200..300).contains(&code), "{code}: {body}");
                body
            }
            world::Reply::Stream(_) => panic!("a change is no stream"),
        }
    }

    /// Returns the object that the server has; `None` if there is none.
    pub(crate) fn stored(&mut self, path: &str) -> Option<Json> {
        let request = world::Request::new(world::Method::Get, path, "application/json", None);
        match self.server.answer(&request) {
            world::Reply::Answer { code: 200, bytes } => serde_json::from_slice(&bytes).ok(),
            _ => None,
        }
    }

    /// Returns the requests that changed something, or would have.
    pub(crate) fn changes(&self) -> Vec<&Request> {
        self.sent.iter().filter(|request| request.method != Method::Get).collect()
    }
}

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// The wire of the target.
#[derive(Clone)]
pub(crate) struct Line {
    cluster: Arc<Mutex<Cluster>>,
    /// Notifies streams that the server has changed.
    moved: Arc<tokio::sync::Notify>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

impl Line {
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Result<Response, WireError> {
        let mut cluster = self.cluster();
        cluster.sent.push(request.clone());
        let mut hooks = std::mem::take(&mut cluster.hooks);
        let answer = hooks.iter_mut().find_map(|hook| hook(request, &mut cluster));
        let added = std::mem::take(&mut cluster.hooks);
        cluster.hooks = hooks.into_iter().chain(added).collect();
        if let Some(answer) = answer {
            self.moved.notify_waiters();
            return answer.map(|(status, bytes)| response(status, bytes));
        }
        let reply = cluster.server.answer(&known(request));
        self.moved.notify_waiters();
        Ok(match reply {
            world::Reply::Answer { code, bytes } => response(code, bytes),
            world::Reply::Stream(watch) => {
                drop(cluster);
                Response { status: 200, retry_after: None, body: self.clone().stream(watch) }
            }
        })
    }

    /// Streams the changes of a watch. When the server has changed but nothing of it is for this
    /// watch, a bookmark reports the progress.
    fn stream(self, watch: world::Watch) -> Body {
        let cuts = self.cluster().cuts;
        Box::pin(stream::unfold((self, cuts, watch), async |(line, cuts, mut watch)| {
            let mut has_waited = false;
            loop {
                let moved = Arc::clone(&line.moved);
                let moved = moved.notified();
                let mut lines = {
                    let cluster = line.cluster();
                    let told = if cluster.cuts == cuts { cluster.server.events(&mut watch) } else { None };
                    let lines = told?;
                    let lines = if cluster.lose_events { Vec::new() } else { lines };
                    if lines.is_empty() && has_waited {
                        cluster.server.bookmark(&watch).into_iter().collect()
                    } else {
                        lines
                    }
                };
                if lines.is_empty() {
                    moved.await;
                    has_waited = true;
                    continue;
                }
                lines.push(String::new());
                return Some((Ok(lines.join("\n").into_bytes()), (line, cuts, watch)));
            }
        }))
    }
}

/// Converts a request for the in-memory server.
fn known(request: &Request) -> world::Request {
    let method = match request.method {
        Method::Get => world::Method::Get,
        Method::Patch => world::Method::Patch,
        Method::Delete => world::Method::Delete,
    };
    let content = request.content.clone().map(|(how, bytes)| (how.to_owned(), bytes));
    world::Request::new(method, &request.path, request.accept, content)
}

fn response(status: u16, bytes: Vec<u8>) -> Response {
    Response { status, retry_after: None, body: Box::pin(stream::once(std::future::ready(Ok(bytes)))) }
}

impl Wire for Line {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>> {
        Box::pin(async move {
            let answer = self.answer(&request);
            // Streams have time to report changes before the response is there.
            for _ in 0..TURNS {
                yield_now().await;
            }
            answer
        })
    }

    fn wait(&self, span: Span) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if span > SHORT {
                std::future::pending::<()>().await;
            }
            yield_now().await;
        })
    }

    fn connections(&self) -> u64 {
        self.cluster().connections
    }
}

pub(crate) struct Scene {
    pub(crate) target: KubeTarget,
    pub(crate) steps: Steps,
    pub(crate) line: Line,
    pub(crate) options: KubeOptions,
    /// The tasks that keep the streams open.
    tasks: JoinSet<()>,
}

impl Scene {
    /// Builds a target that reads each object for each observation.
    pub(crate) async fn new() -> Self {
        Self::with(|options| options.trust_streams = false).await
    }

    pub(crate) async fn with(adjust: impl FnOnce(&mut KubeOptions)) -> Self {
        let cluster = Cluster {
            server: world::Server::new("here"),
            connections: 1,
            now: Timestamp::from_millis(1_795_000_000_000),
            sent: Vec::new(),
            cuts: 0,
            lose_events: false,
            hooks: VecDeque::new(),
        };
        let line = Line { cluster: Arc::new(Mutex::new(cluster)), moved: Arc::default() };
        let read = line.clone();
        let clock = Clock::new(Arc::new(move || read.cluster().now));
        let mut options = KubeOptions::new(Arc::new(line.clone()), "one", clock, DigestKey::new([7; 32]));
        adjust(&mut options);
        let target = KubeTarget::new(options.clone());
        let steps = Steps::new(target.identity().await.unwrap());
        Self { target, steps, line, options, tasks: JoinSet::new() }
    }

    /// Builds a target that trusts its streams, which are open.
    pub(crate) async fn streaming(adjust: impl FnOnce(&mut KubeOptions)) -> Self {
        let mut scene = Self::with(adjust).await;
        scene.tasks.spawn(scene.target.watch_task());
        scene
    }

    /// Replaces the target by another process, with the same memory.
    pub(crate) async fn restart(&mut self) {
        self.target.remember().await;
        self.tasks.shutdown().await;
        self.target = KubeTarget::new(self.options.clone());
        self.tasks.spawn(self.target.watch_task());
    }

    /// Ends all streams.
    pub(crate) fn cut(cluster: &mut Cluster) {
        cluster.cuts += 1;
    }

    /// Lets every task run that can.
    pub(crate) async fn settled(&self) {
        for _ in 0..20 * TURNS {
            yield_now().await;
        }
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.line.cluster()
    }

    /// Changes the server, and lets its streams report it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Cluster) -> T) -> T {
        let changed = change(&mut self.cluster());
        self.line.moved.notify_waiters();
        changed
    }

    /// Responds to requests in place of the server, or acts before it does.
    pub(crate) fn before(&self, hook: impl FnMut(&Request, &mut Cluster) -> Answer + Send + 'static) {
        self.cluster().hooks.push_back(Box::new(hook));
    }

    /// Does the same once, for the first request of this method whose path contains a text.
    pub(crate) fn once(
        &self,
        method: Method,
        text: &'static str,
        act: impl FnOnce(&mut Cluster) -> Answer + Send + 'static,
    ) {
        let mut act = Some(act);
        self.before(move |request, cluster| {
            let strikes = request.method == method && request.path.contains(text);
            act.take_if(|_| strikes).and_then(|act| act(cluster))
        });
    }

    /// Lets the server handle the first such request, calls a function, and only then returns the
    /// response.
    pub(crate) fn answered_late(
        &self,
        method: Method,
        text: &'static str,
        act: impl FnOnce(&mut Cluster) + Send + 'static,
    ) {
        let mut act = Some(act);
        self.before(move |request, cluster| {
            let strikes = request.method == method && request.path.contains(text);
            let act = act.take_if(|_| strikes)?;
            let world::Reply::Answer { code, bytes } = cluster.server.answer(&known(request)) else { return None };
            act(cluster);
            Some(Ok((code, bytes)))
        });
    }

    /// Leads the address to another cluster from now on, over a new connection.
    pub(crate) fn lead_elsewhere(cluster: &mut Cluster) {
        cluster.server = world::Server::new("elsewhere");
        cluster.connections += 1;
    }

    pub(crate) fn pass(&self, span: Span) {
        let mut cluster = self.cluster();
        cluster.now = cluster.now + span;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.cluster().now
    }

    pub(crate) fn config_map(&self, name: &str, content: &str) -> Arc<Resource> {
        self.resource("v1", "ConfigMap", "default", name, json!({"data": {"content": content}}))
    }

    /// Builds an object of a kind that comes from a definition.
    pub(crate) fn widget(&self, name: &str) -> Arc<Resource> {
        self.resource("sim.setpoint.dev/v1", "Widget", "default", name, json!({"spec": {"content": 1}}))
    }

    pub(crate) fn resource(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        mut object: Json,
    ) -> Arc<Resource> {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": name, "namespace": namespace});
        let body = object::read(object.to_string().as_bytes()).unwrap();
        Arc::new(Resource::new(self.target.key(api_version, kind, &body).unwrap(), api_version, kind, body))
    }

    pub(crate) fn fence(&self) -> Fence {
        let now = self.now();
        Fence { epoch: Steps::EPOCH, leave_by: now + Span::seconds(5), land_by: now + Span::seconds(30) }
    }

    pub(crate) async fn execute(&self, work: &Work) -> Outcome {
        self.target.execute(vec![work.clone()], self.fence()).await.pop().unwrap()
    }

    /// Creates an object and returns its state.
    pub(crate) async fn have(&self, resource: &Arc<Resource>) -> Live {
        match self.execute(&self.steps.create(resource)).await {
            Outcome::Done { live: Some(live) } => live,
            other => panic!("{} was not made: {other:?}", resource.key),
        }
    }

    /// Settles work whose effect may still land for as long as `late`, or can no longer land.
    pub(crate) async fn settle(&self, work: &Work, late: Option<Span>) -> Settlement {
        let now = self.now();
        let intent = self.steps.intent(work, late.map_or(now - Span::millis(1), |late| now + late));
        self.target.settle(&intent, work.step.resource.as_deref()).await
    }

    pub(crate) async fn observe(&self, resource: &Arc<Resource>) -> Observed<Presence> {
        self.look(&resource.key, Some(Arc::clone(resource))).await
    }

    pub(crate) async fn look(&self, key: &Key, declared: Option<Arc<Resource>>) -> Observed<Presence> {
        let wanted: Wanted = [(key.clone(), declared)].into();
        let now = self.now();
        self.target.observe(wanted, Asker::default(), now).await.states.remove(key).unwrap()
    }

    pub(crate) async fn live(&self, resource: &Arc<Resource>) -> Live {
        match self.observe(resource).await {
            Observed::Known { value: Presence::Present(live), .. } => live,
            other => panic!("{} is not there: {other:?}", resource.key),
        }
    }

    pub(crate) async fn blindness(&self, resource: &Arc<Resource>) -> UnknownReason {
        match self.observe(resource).await {
            Observed::Unknown { reason } => reason,
            other => panic!("{} was seen: {other:?}", resource.key),
        }
    }
}

/// Returns the path of an object on the server.
pub(crate) fn path(resource: &Resource) -> String {
    let base = if resource.api_version.contains('/') { "/apis" } else { "/api" };
    let (kind, name) = (resource.kind.to_lowercase(), resource.key.name());
    format!("{base}/{}/namespaces/{}/{kind}s/{name}", resource.api_version, resource.key.namespace())
}

/// Returns the body of a request as JSON.
pub(crate) fn sent(request: &Request) -> Json {
    serde_json::from_slice(&request.content.as_ref().expect("it has a body").1).unwrap()
}

/// Returns work that impersonates another user.
pub(crate) fn acting(mut work: Work) -> Work {
    work.acting_as = Some(Arc::new(ActingAs { user: "deployer".into(), groups: [].into() }));
    work
}
