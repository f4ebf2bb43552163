//! A client that goes through a proxy to the shared server.

use std::time::Duration;

use reqwest::{Certificate, Client, RequestBuilder, Response};
use setpoint_testbed::kube::{ApiServer, Fault, Proxy, Rule};

/// A bound on each wait of a test; the expected event comes much sooner.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two checks.
const MOMENT: Duration = Duration::from_millis(20);

pub(super) struct Scene {
    pub(super) server: &'static ApiServer,
    pub(super) proxy: Proxy,
    pub(super) namespace: String,
    client: Client,
}

impl Scene {
    pub(super) fn new(name: &str) -> Self {
        let server = ApiServer::shared();
        let proxy = Proxy::before(server);
        let client = client(proxy.authority());
        Self { server, proxy, namespace: server.fresh_namespace(name), client }
    }

    /// Returns the path of the ConfigMaps of this test, or of one of them.
    pub(super) fn config_maps(&self, below: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps{below}", self.namespace)
    }

    pub(super) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().expect("it is a method");
        let request = self.client.request(method, format!("{}{path}", self.proxy.url()));
        request.bearer_auth(self.server.admin_token())
    }

    pub(super) async fn get(&self, path: &str) -> reqwest::Result<Response> {
        self.request("GET", path).send().await
    }

    /// Tries to create a ConfigMap through the proxy.
    pub(super) async fn create(&self, name: &str) -> reqwest::Result<Response> {
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"1"}}}}"#);
        let request = self.request("POST", &self.config_maps("")).header("content-type", "application/json");
        request.body(body).send().await
    }

    /// Tries to create a ConfigMap, and gives up once a condition holds without a response.
    pub(super) async fn create_unanswered(&self, name: &str, is_so: impl Fn() -> bool) {
        let mut request = std::pin::pin!(self.create(name));
        let waiting = async {
            while !is_so() {
                let moment = tokio::time::timeout(MOMENT, &mut request).await;
                assert!(moment.is_err(), "it was answered");
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("what is waited for comes in time");
    }

    /// Reports whether the server itself has the ConfigMap.
    pub(super) fn exists(&self, name: &str) -> bool {
        self.server.request("GET", &self.config_maps(&format!("/{name}")), None).status == 200
    }

    /// Injects a fault into the next request of this test.
    pub(super) fn break_next(&self, method: &str, fault: Fault) {
        self.proxy.add(Rule::new(method, &self.config_maps(""), fault).times(1));
    }

    /// Returns the lines of a watch on the ConfigMaps of this test.
    pub(super) async fn watch(&self, query: &str) -> Lines {
        let answer = self.get(&self.config_maps(&format!("?watch=true{query}"))).await.expect("a watch begins");
        assert_eq!(answer.status(), 200);
        Lines { answer, begun: Vec::new() }
    }
}

/// Builds a client that trusts one CA only.
pub(super) fn client(authority: &str) -> Client {
    let certificate = Certificate::from_pem(authority.as_bytes()).expect("it is PEM");
    let builder = Client::builder().tls_certs_only([certificate]).redirect(reqwest::redirect::Policy::none());
    builder.build().expect("a client can be made")
}

/// The events of a watch, one per line.
pub(super) struct Lines {
    answer: Response,
    begun: Vec<u8>,
}

impl Lines {
    /// Returns the next event; `None` at a proper end, an error at any other.
    pub(super) async fn next(&mut self) -> reqwest::Result<Option<serde_json::Value>> {
        loop {
            if let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).expect("an event is JSON")));
            }
            let chunk = tokio::time::timeout(PATIENCE, self.answer.chunk()).await.expect("an event comes in time");
            match chunk? {
                Some(chunk) => self.begun.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// Returns the type and the name of the next event.
    pub(super) async fn next_name(&mut self) -> (String, String) {
        let event = self.next().await.expect("the stream goes on").expect("there is one more event");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}
