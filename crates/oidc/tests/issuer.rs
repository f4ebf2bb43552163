//! An issuer on this machine. It responds to each path as a test says, and keeps what it was sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use setpoint_testbed::tls::Pair;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A request that the issuer has received: its path, its head and its body.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

#[derive(Debug, Default)]
struct Script {
    /// The status and the body for each path; other paths never get a response.
    responses: BTreeMap<String, (u16, String)>,
    received: Vec<Received>,
}

#[derive(Debug)]
pub(crate) struct Issuer {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
    _serving: JoinSet<()>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts an issuer with this certificate, if there is one.
    pub(crate) async fn start_with(certificate: Option<&Pair>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().expect("it is bound"));
        let acceptor = certificate.map(acceptor);
        let script: Arc<Mutex<Script>> = Arc::default();
        let mut serving = JoinSet::new();
        let shared = Arc::clone(&script);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
                connections.spawn(async move {
                    match acceptor {
                        None => respond(stream, shared).await,
                        // A client that does not trust the certificate ends the connection.
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                respond(stream, shared).await;
                            }
                        }
                    }
                });
            }
        });
        Self { url, script, _serving: serving }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no request has failed")
    }

    /// Sets the response to requests for a path.
    pub(crate) fn respond(&self, path: &str, status: u16, body: &(impl ToString + ?Sized)) {
        self.script().responses.insert(path.to_owned(), (status, body.to_string()));
    }

    /// Never responds to requests for a path from now on.
    pub(crate) fn fall_silent(&self, path: &str) {
        self.script().responses.remove(path);
    }

    /// Returns the requests for a path until now.
    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        let script = self.script();
        script.received.iter().filter(|request| request.path == path).cloned().collect()
    }
}

fn acceptor(pair: &Pair) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    TlsAcceptor::from(Arc::new(config.expect("they belong together")))
}

async fn respond(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Arc<Mutex<Script>>) {
    let Some(request) = read(&mut stream).await else { return };
    let response = {
        let mut script = script.lock().expect("no request has failed");
        script.received.push(request.clone());
        script.responses.get(&request.path).cloned()
    };
    let Some((status, body)) = response else { return std::future::pending().await };
    let location = if status == 302 { format!("location: {body}\r\n") } else { String::new() };
    let head = format!("HTTP/1.1 {status} x\r\n{location}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    // A client that has read enough closes the connection.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = parse(&bytes) {
            return Some(request);
        }
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(length) if length > 0 => bytes.extend_from_slice(&part[..length]),
            _ => return None,
        }
    }
}

/// Returns a request once it is complete.
fn parse(bytes: &[u8]) -> Option<Received> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
    let path = head.split(' ').nth(1)?.to_owned();
    (body.len() >= length).then(|| Received { path, head: head.to_owned(), body: body.to_owned() })
}
