//! An aggregated API server, to which the real one forwards the requests of a group. It stores
//! objects without their managers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::ApiServer;
use crate::tls::{Authority, TlsServer};

/// A server of one namespaced kind that ends when the value is dropped.
#[derive(Debug)]
pub struct Extension {
    server: TlsServer,
    group: String,
}

/// Objects by their paths.
type Objects = Mutex<BTreeMap<String, Value>>;

impl Extension {
    /// Serves this kind in version `v1` of a group.
    pub fn start(group: &str, kind: &str) -> Self {
        let plural = format!("{}s", kind.to_lowercase());
        let verbs = ["create", "delete", "get", "list", "patch", "watch"];
        let resource = json!({"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": verbs});
        let list = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/v1"), "resources": [resource]});
        let (discovery, objects) = (Arc::new((format!("/apis/{group}/v1"), list)), Arc::new(Objects::default()));
        let server = TlsServer::start(&Authority::fresh(), move |stream| {
            let (discovery, objects) = (discovery.clone(), objects.clone());
            async move {
                let service = service_fn(|request| serve(request, &discovery, &objects));
                // A client that closes the connection has what it wanted.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        });
        Self { server, group: group.to_owned() }
    }

    /// Returns the APIService that registers it at a server, and creates the Service for it in the
    /// namespace.
    pub fn api_service(&self, at: &ApiServer, namespace: &str) -> Value {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "extension", "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        });
        at.apply(&format!("/api/v1/namespaces/{namespace}/services/extension"), "test", &service);
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": format!("v1.{}", self.group)},
            "spec": {
                "group": self.group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10, "insecureSkipTLSVerify": true,
                "service": {"name": "extension", "namespace": namespace, "port": self.server.port()},
            },
        })
    }
}

async fn serve(
    request: Request<Incoming>,
    (at, discovery): &(String, Value),
    objects: &Objects,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let tries = request.uri().query().is_some_and(|query| query.contains("dryRun"));
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
    let before = objects.get(&path).cloned();
    let (code, answer) = match (method, before) {
        (Method::GET, _) if path == *at => (StatusCode::OK, discovery.clone()),
        (Method::GET, Some(object)) => (StatusCode::OK, object),
        (Method::PATCH, before) => {
            let object = stored(&body, before.as_ref(), objects.len());
            if !tries {
                objects.insert(path, object.clone());
            }
            (if before.is_some() { StatusCode::OK } else { StatusCode::CREATED }, object)
        }
        _ => {
            let message = format!("\"{}\" not found", path.rsplit('/').next().unwrap_or_default());
            (
                StatusCode::NOT_FOUND,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": message}),
            )
        }
    };
    let response = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    Ok(response.body(Full::new(answer.to_string().into())).expect("the header is valid"))
}

/// Returns the stored form of an applied object: all of it is replaced, except its UID.
fn stored(applied: &[u8], before: Option<&Value>, number: usize) -> Value {
    let mut object: Value = serde_json::from_slice(applied).unwrap_or_default();
    let (uid, version) = match before {
        Some(before) => (before["metadata"]["uid"].clone(), &before["metadata"]["resourceVersion"]),
        None => (json!(format!("00000000-0000-0000-0000-{number:012}")), &Value::Null),
    };
    let version = version.as_str().and_then(|version| version.parse::<u64>().ok()).unwrap_or(10) + 1;
    object["metadata"]["uid"] = uid;
    object["metadata"]["resourceVersion"] = json!(version.to_string());
    object
}
