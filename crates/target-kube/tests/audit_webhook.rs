//! Tests who may post audit events, and how posted events are handled. `envtest` tests the posts of
//! real servers.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Certificate, Client, Identity, StatusCode};
use serde_json::json;
use setpoint_core::digest::DigestKey;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target_kube::http::{Connection, HttpWire};
use setpoint_target_kube::{AuditSenders, AuditWebhook, Clock, KubeOptions, KubeTarget, Trail};
use setpoint_testbed::kube::free_ports;
use setpoint_testbed::tls::{Authority, Pair};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::interval;

/// A target that listens, and the client that posts to it.
struct Scene {
    folder: TempDir,
    authority: Authority,
    address: SocketAddr,
    target: KubeTarget,
    told: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

impl Scene {
    async fn known_by_token() -> Self {
        let scene = Self::new(|folder| AuditSenders::Token(folder.join("tokens")));
        write(scene.folder.path(), "tokens", "first\nsecond\n\n");
        scene.listening().await
    }

    async fn known_by_certificate() -> Self {
        Self::new(|folder| AuditSenders::Certificate(folder.join("authority.pem"))).listening().await
    }

    fn new(senders: impl FnOnce(&Path) -> AuditSenders) -> Self {
        let (folder, authority) = (TempDir::new().unwrap(), Authority::fresh());
        let file = |name: &str, text: &str| write(folder.path(), name, text);
        let token = file("token", "nobody asks");
        let trusted = file("authority.pem", authority.pem());
        let Pair { certificate, key } = authority.for_loopback();
        let [nobody, port] = free_ports();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let webhook = AuditWebhook {
            listen: address,
            certificate: file("webhook.pem", &certificate),
            key: file("webhook.key", &key),
            senders: senders(folder.path()),
        };
        let connection = Connection::in_cluster("127.0.0.1", &nobody.to_string(), &token, &trusted).unwrap();
        let wire = Arc::new(HttpWire::new(connection).unwrap());
        let clock = Clock::new(Arc::new(|| Timestamp::from_millis(1)));
        let mut options = KubeOptions::new(wire, "test", clock, DigestKey::new([7; 32]));
        options.audit = Some(Span::ZERO);
        let target = KubeTarget::new(options);
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let complain = Arc::new(move |problem: &str| heard.lock().unwrap().push(problem.to_owned()));
        let mut tasks = JoinSet::new();
        tasks.spawn(target.audit_webhook_task(webhook, complain));
        Self { folder, authority, address, target, told, _tasks: tasks }
    }

    async fn listening(self) -> Self {
        let mut glances = interval(Duration::from_millis(10));
        while tokio::net::TcpStream::connect(self.address).await.is_err() {
            glances.tick().await;
        }
        self
    }

    fn client(&self, pair: Option<&Pair>) -> Client {
        let trusted = Certificate::from_pem(self.authority.pem().as_bytes()).unwrap();
        let mut builder = Client::builder().no_proxy().tls_certs_only([trusted]);
        if let Some(Pair { certificate, key }) = pair {
            builder = builder.identity(Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap());
        }
        builder.build().unwrap()
    }

    async fn post(&self, token: &str, body: impl Into<reqwest::Body>) -> StatusCode {
        let request = self.client(None).post(format!("https://{}/audit", self.address)).bearer_auth(token);
        request.body(body).send().await.unwrap().status()
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

fn batch(ids: &[&str]) -> String {
    let event = |id: &&str| {
        json!({
            "level": "Metadata", "auditID": id, "stage": "ResponseComplete", "verb": "patch", "requestURI": "/x",
            "user": {"username": "jane"}, "sourceIPs": ["10.0.0.7"], "responseStatus": {"code": 200},
            "objectRef": {"resource": "configmaps", "namespace": "shop", "name": "a"},
            "requestReceivedTimestamp": "2026-11-16T10:00:01.1Z", "stageTimestamp": "2026-11-16T10:00:01.2Z",
        })
    };
    let items: Vec<_> = ids.iter().map(event).collect();
    json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": items}).to_string()
}

#[tokio::test]
async fn events_of_who_has_a_token_are_taken_once_each() {
    let scene = Scene::known_by_token().await;
    assert_eq!(scene.post("first", batch(&["1", "2"])).await, StatusCode::OK);
    assert_eq!(scene.post("second", batch(&["2", "3"])).await, StatusCode::OK, "another one is being brought in");
    assert_eq!(scene.target.trail(), Trail { events: 3, malformed: 0 });
    write(scene.folder.path(), "tokens", "second");
    assert_eq!(scene.post("first", batch(&["4"])).await, StatusCode::UNAUTHORIZED, "it was taken away");
    assert_eq!(scene.target.trail().events, 3);
}

#[tokio::test]
async fn nothing_is_believed_of_who_has_none_and_people_are_told_ever_more_rarely() {
    let scene = Scene::known_by_token().await;
    for token in ["", "firs", "firstly", "first\tsecond", "third", "x", "y", "z", "one", "two", "more"] {
        assert_eq!(scene.post(token, batch(&["1"])).await, StatusCode::UNAUTHORIZED, "{token}");
    }
    let bare = scene.client(None).post(format!("https://{}", scene.address)).body(batch(&["1"]));
    assert_eq!(bare.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(scene.target.trail(), Trail::default());
    let told = scene.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].starts_with("10 requests with audit events did not have the token: let API servers send it"));
    assert!(!told.concat().contains("first"), "tokens are not told");
}

#[tokio::test]
async fn without_tokens_nobody_is_known() {
    let scene = Scene::known_by_token().await;
    for (tokens, of) in [("", ""), ("\n \n", ""), ("\n \n", " ")] {
        write(scene.folder.path(), "tokens", tokens);
        assert_eq!(scene.post(of, batch(&["1"])).await, StatusCode::UNAUTHORIZED);
    }
    fs::remove_file(scene.folder.path().join("tokens")).unwrap();
    assert_eq!(scene.post("first", batch(&["1"])).await, StatusCode::UNAUTHORIZED);
    assert_eq!(scene.target.trail(), Trail::default());
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_told() {
    let scene = Scene::known_by_token().await;
    for body in ["", "{", "[]", r#"{"kind":"Pod","apiVersion":"v1"}"#] {
        assert_eq!(scene.post("first", body).await, StatusCode::BAD_REQUEST, "{body}");
    }
    let asked = scene.client(None).get(format!("https://{}", scene.address)).bearer_auth("first").send().await;
    assert_eq!(asked.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    let odd = batch(&["1"]).replace("\"items\":[", "\"items\":[7,");
    assert_eq!(scene.post("first", odd).await, StatusCode::OK);
    assert_eq!(scene.target.trail(), Trail { events: 1, malformed: 1 });
    assert!(scene.told()[0].starts_with("1 batches of audit events cannot be read"), "{:?}", scene.told());
}

#[tokio::test]
async fn a_batch_without_end_is_refused() {
    let scene = Scene::known_by_token().await;
    let long = format!("{}{}", batch(&["1"]), " ".repeat(16 << 20));
    let request = scene.client(None).post(format!("https://{}", scene.address)).bearer_auth("first");
    // The connection may be closed before everything was sent.
    if let Ok(answer) = request.body(long).send().await {
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
    assert_eq!(scene.target.trail(), Trail::default());
    assert!(scene.told()[0].contains("--audit-webhook-truncate-enabled"), "{:?}", scene.told());
    assert_eq!(scene.post("first", batch(&["1"])).await, StatusCode::OK, "others are still heard");
}

#[tokio::test]
async fn who_is_known_by_certificate_shows_one_of_the_right_authority() {
    let scene = Scene::known_by_certificate().await;
    let send = async |pair: Option<&Pair>| {
        let request = scene.client(pair).post(format!("https://{}", scene.address)).body(batch(&["1"]));
        request.send().await.map(|answer| answer.status()).ok()
    };
    assert_eq!(send(None).await, None);
    assert_eq!(send(Some(&Authority::fresh().for_client("kube-apiserver", None))).await, None);
    assert_eq!(scene.target.trail(), Trail::default());
    assert!(scene.told()[0].contains("send a client certificate that its CA has signed"), "{:?}", scene.told());
    assert_eq!(send(Some(&scene.authority.for_client("kube-apiserver", None))).await, Some(StatusCode::OK));
    assert_eq!(scene.target.trail().events, 1);
}

#[tokio::test]
async fn a_certificate_that_is_renewed_is_shown_from_the_next_connection_on() {
    let scene = Scene::known_by_token().await;
    let file = scene.folder.path().join("webhook.pem");
    let good = fs::read_to_string(&file).unwrap();
    write(scene.folder.path(), "webhook.pem", "nonsense");
    let request = scene.client(None).post(format!("https://{}", scene.address)).bearer_auth("first");
    assert!(request.body(batch(&["1"])).send().await.is_err());
    let told = scene.told();
    assert!(told.iter().any(|told| told.contains("webhook.pem holds no certificates")), "{told:?}");
    fs::write(&file, good).unwrap();
    assert_eq!(scene.post("first", batch(&["1"])).await, StatusCode::OK);
}
