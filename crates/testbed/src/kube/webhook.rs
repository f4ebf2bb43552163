//! A webhook of the API server, served over TLS on loopback: admission of objects, and conversion
//! between versions of a kind.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use data_encoding::BASE64;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::tls::{Authority, TlsServer};

/// The verdict of an admission webhook on a request.
#[derive(Clone, Debug)]
pub enum Verdict {
    Allow,
    /// Allows the request, with these operations of a JSON patch.
    Patch(Vec<Value>),
    Deny(String),
}

/// A webhook that ends when the value is dropped.
#[derive(Debug)]
pub struct Webhook {
    server: TlsServer,
    authority: Authority,
    asked: Arc<AtomicUsize>,
}

impl Webhook {
    /// Starts an admission webhook; `judge` gets the `request` of each review.
    pub fn admission(judge: impl Fn(&Value) -> Verdict + Send + Sync + 'static) -> Self {
        Self::start(move |request| match judge(request) {
            Verdict::Allow => json!({"allowed": true}),
            Verdict::Patch(operations) => {
                let patch = BASE64.encode(Value::Array(operations).to_string().as_bytes());
                json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
            }
            Verdict::Deny(message) => json!({"allowed": false, "status": {"code": 403, "message": message}}),
        })
    }

    /// Starts a conversion webhook; `convert` gets each object with the wanted apiVersion.
    pub fn conversion(convert: impl Fn(Value, &str) -> Value + Send + Sync + 'static) -> Self {
        Self::start(move |request| {
            let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
            let objects = request["objects"].as_array().cloned().unwrap_or_default();
            let converted: Vec<Value> = objects.into_iter().map(|object| convert(object, wanted)).collect();
            json!({"convertedObjects": converted, "result": {"status": "Success"}})
        })
    }

    fn start(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        let (authority, answer, asked) = (Authority::fresh(), Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        let counter = asked.clone();
        let server = TlsServer::start(&authority, move |stream| {
            let (answer, counter) = (answer.clone(), counter.clone());
            async move {
                let service = service_fn(|request| review(request, &*answer, &counter));
                // A server that closes the connection has what it wanted.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        });
        Self { server, authority, asked }
    }

    /// Returns the `clientConfig` of the webhook, by which the server reaches it.
    pub fn client_config(&self) -> Value {
        let url = format!("https://127.0.0.1:{}/", self.server.port());
        json!({"url": url, "caBundle": BASE64.encode(self.authority.pem().as_bytes())})
    }

    /// Returns the number of requests to it.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Responds to one review, in the version of the request.
async fn review(
    request: Request<Incoming>,
    answer: &(impl Fn(&Value) -> Value + Sync),
    asked: &AtomicUsize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    asked.fetch_add(1, Ordering::SeqCst);
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response = answer(&review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    if let Some(fields) = review.as_object_mut() {
        fields.remove("request");
        fields.insert("response".to_owned(), response);
    }
    let answer = Response::builder().header(CONTENT_TYPE, "application/json");
    Ok(answer.body(Full::new(review.to_string().into())).expect("the header is valid"))
}
