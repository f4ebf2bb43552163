//! Single requests to the API server as its administrator: to wait until it is ready, and to
//! arrange the state that a test needs.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A busy machine may take long; a hanging server must not hang the tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// A response of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    /// Returns the body as JSON; panics if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in the answer: {}", self.body))
    }

    /// Returns itself if the request succeeded; otherwise panics with the server's message.
    pub fn succeeded(self) -> Self {
        assert!((200..300).contains(&self.status), "the server answered {}: {}", self.status, self.body);
        self
    }
}

/// The address of the server and the credentials for it.
#[derive(Clone, Debug)]
pub(super) struct Client {
    port: u16,
    trust: Arc<ClientConfig>,
    token: String,
}

impl Client {
    pub(super) fn new(port: u16, trust: Arc<ClientConfig>, token: String) -> Self {
        Self { port, trust, token }
    }

    /// Sends one request over its own connection.
    pub(super) async fn send(
        self,
        method: String,
        path: String,
        content: Option<(String, Bytes)>,
    ) -> Result<Answer, Cause> {
        let request = Request::builder().method(method.as_str()).uri(&path).header(HOST, "127.0.0.1");
        let mut request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        let (kind, body) = content.unzip();
        if let Some(kind) = kind {
            request = request.header(CONTENT_TYPE, kind);
        }
        let request = request.body(Full::new(body.unwrap_or_default()))?;
        let exchange = async {
            let answer = connect(self.port, self.trust).await?.send_request(request).await?;
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await?.to_bytes();
            Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
        };
        tokio::time::timeout(PATIENCE, exchange).await?
    }
}

/// Opens a connection to a server on loopback; it closes when the response to the last request was
/// read or dropped.
#[expect(clippy::disallowed_methods, reason = "hyper wants a connection to be driven concurrently with its requests")]
pub(super) async fn connect(port: u16, trust: Arc<ClientConfig>) -> Result<SendRequest<Full<Bytes>>, Cause> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
    let stream = TlsConnector::from(trust).connect(name, stream).await?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Its error also reaches the task that waits for the response.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}
