//! Receives the audit events that API servers post (`--audit-webhook-config-file`): over HTTPS,
//! from authenticated senders, with limits on everything.
//!
//! No body is read before its sender is authenticated. The certificate, the key, the tokens and the
//! CA certificates are read again for each connection, so that they can be renewed while this runs.
//! Acknowledged events are in memory only: they are evidence, not state.

use std::convert::Infallible;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use setpoint_core::time::Span;
use setpoint_kube::audit::event::read_list;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{NoClientAuth, WebPkiClientVerifier, danger::ClientCertVerifier};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::audit::{Audit, Source};
use crate::audit_log::Complaint;
use crate::cluster::Cluster;

/// The most connections at the same time; more wait in the queue of the socket. Each carries one
/// batch.
const CONNECTIONS: usize = 128;
/// The most batches that are read at the same time, and the limit of one. Servers that are
/// configured to truncate send no more than 10 MiB.
const BATCHES: usize = 2;
const LARGEST_BATCH: usize = 16 << 20;
/// The limit for the arrival of a handshake, a head or a batch.
const ARRIVAL: Duration = Duration::from_secs(10);
const TRY_AGAIN: Span = Span::seconds(1);
/// The number of quiet tries. A former connection to the same target may not have released the
/// address yet, which is not worth a report.
const QUIET_TRIES: u32 = 5;

/// The address for audit events, and the authentication of their senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditWebhook {
    pub listen: SocketAddr,
    /// PEM files of the certificate with its chain and of its key.
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub senders: AuditSenders,
}

/// The authentication of API servers that send audit events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditSenders {
    /// By a token; the file contains one or more, one a line.
    Token(PathBuf),
    /// By a client certificate that one of these CAs has signed; the file contains their
    /// certificates as PEM.
    Certificate(PathBuf),
}

impl Cluster {
    /// Listens for events. The source is registered at once: until the address is bound, nothing is
    /// complete.
    pub(crate) fn listen_for_audit(
        self: Arc<Self>,
        webhook: AuditWebhook,
        complain: Complaint,
    ) -> impl Future<Output = ()> + Send + 'static {
        let source = self.audit.as_ref().map(|audit| (Arc::clone(audit), audit.add_source()));
        async move {
            if let Some((audit, source)) = source {
                Arc::new(Receiver::new(self, audit, source, webhook, complain)).serve().await;
            }
        }
    }
}

/// The state that all connections share.
struct Receiver {
    cluster: Arc<Cluster>,
    audit: Arc<Audit>,
    source: Source,
    webhook: AuditWebhook,
    complain: Complaint,
    batches: Semaphore,
    /// The numbers of failed handshakes, of unauthenticated requests, and of unreadable batches.
    broken: AtomicU64,
    strangers: AtomicU64,
    refused: AtomicU64,
}

impl Receiver {
    fn new(
        cluster: Arc<Cluster>,
        audit: Arc<Audit>,
        source: Source,
        webhook: AuditWebhook,
        complain: Complaint,
    ) -> Self {
        let (broken, strangers, refused) = Default::default();
        let batches = Semaphore::new(BATCHES);
        Self { cluster, audit, source, webhook, complain, batches, broken, strangers, refused }
    }

    async fn serve(self: Arc<Self>) {
        let listener = self.bound().await;
        // Events that were sent before may have found no listener.
        self.begin_anew();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(Arc::clone(&self).converse(stream))),
                    // Too many files are open: others may be closed soon.
                    Err(_) => self.cluster.api.sender.wire.wait(TRY_AGAIN).await,
                },
            }
        }
    }

    async fn bound(&self) -> TcpListener {
        let mut tries = 0;
        loop {
            let error = match TcpListener::bind(self.webhook.listen).await {
                Ok(listener) => return listener,
                Err(error) => error,
            };
            tries += 1;
            if tries == QUIET_TRIES {
                let address = self.webhook.listen;
                let remedy = "free the address, or correct `audit.webhook.listen` of the Target";
                (self.complain)(&format!(
                    "cannot listen for audit events on {address} ({error}): {remedy}; until then no writer is proven"
                ));
            }
            self.cluster.api.sender.wire.wait(TRY_AGAIN).await;
        }
    }

    /// Restarts the trail at this instant, because an event was not accepted: the time before is no
    /// longer complete.
    fn begin_anew(&self) {
        self.audit.begins(self.source, self.cluster.now().as_millis() * 1_000);
    }

    async fn converse(self: Arc<Self>, stream: TcpStream) {
        let acceptor = match self.webhook.acceptor() {
            Ok(acceptor) => acceptor,
            Err(problem) => {
                self.begin_anew();
                return self.tell(&self.broken, &format!("connections for audit events were rejected: {problem}"));
            }
        };
        let stream = match timeout(ARRIVAL, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            // A client that sends nothing only checks whether a server listens.
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => return,
            Ok(Err(error)) => {
                let problem = format!("connections for audit events failed ({error}): {}", self.introduction());
                return self.tell(&self.broken, &problem);
            }
            Err(_) => return,
        };
        let service = service_fn(|request| self.answer(request));
        let mut server = http1::Builder::new();
        // One batch per connection: a connection that is kept alive could be closed while the next
        // batch is in flight.
        server.timer(TokioTimer::new()).header_read_timeout(ARRIVAL).keep_alive(false);
        // No API server reads the date, and formatting it panics while the machine's clock is
        // before 1970.
        server.auto_date_header(false);
        // The client makes a broken connection again.
        drop(server.serve_connection(TokioIo::new(stream), service).await);
    }

    fn introduction(&self) -> &'static str {
        match self.webhook.senders {
            AuditSenders::Token(_) => "let API servers trust the CA of the webhook's certificate",
            AuditSenders::Certificate(_) => {
                "let API servers trust the CA of the webhook's certificate, and send a client certificate that its CA has signed"
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
        let status = if !self.is_known(&request) {
            StatusCode::UNAUTHORIZED
        } else if request.method() != Method::POST {
            StatusCode::METHOD_NOT_ALLOWED
        } else {
            let status = self.take(request.into_body()).await;
            if !status.is_success() {
                self.begin_anew();
            }
            status
        };
        let mut response = Response::new(Empty::new());
        *response.status_mut() = status;
        Ok(response)
    }

    /// Reports whether the sender is authenticated. Client certificates were checked in the
    /// handshake.
    fn is_known(&self, request: &Request<Incoming>) -> bool {
        let AuditSenders::Token(file) = &self.webhook.senders else { return true };
        let tokens = match fs::read(file) {
            Ok(tokens) => tokens,
            Err(error) => {
                // Authenticated senders are rejected too.
                self.begin_anew();
                let problem = unusable(file, &format!("cannot be read ({error})"));
                self.tell(&self.strangers, &format!("requests with audit events were rejected: {problem}"));
                return false;
            }
        };
        let sent = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let sent = sent.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
        let lines = tokens.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        // Every token is compared, so that the time it takes reveals nothing.
        let known = lines.fold(false, |known, token| known | is_same(token, sent));
        if !known {
            let remedy = "let API servers send it in the kubeconfig of `--audit-webhook-config-file`";
            self.tell(&self.strangers, &format!("requests with audit events did not have the token: {remedy}"));
        }
        known
    }

    async fn take(&self, body: Incoming) -> StatusCode {
        let Ok(_turn) = self.batches.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE };
        let bytes = match timeout(ARRIVAL, Limited::new(body, LARGEST_BATCH).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let remedy =
                    "let API servers truncate (--audit-webhook-truncate-enabled) or write less (level: Metadata)";
                let problem = format!("batches of audit events are longer than {LARGEST_BATCH} bytes: {remedy}");
                self.tell(&self.refused, &problem);
                return StatusCode::PAYLOAD_TOO_LARGE;
            }
            Ok(Err(_)) | Err(_) => return StatusCode::REQUEST_TIMEOUT,
        };
        let read = match read_list(&bytes) {
            Ok(read) => read,
            Err(error) => {
                self.tell(&self.refused, &format!("batches of audit events cannot be read ({error})"));
                return StatusCode::BAD_REQUEST;
            }
        };
        if read.malformed > 0 {
            // One of the unreadable events may have been the one that matters.
            self.begin_anew();
            self.tell(
                &self.refused,
                "batches of audit events cannot be read in full: let API servers send audit.k8s.io/v1",
            );
        }
        self.audit.hear(read);
        StatusCode::OK
    }

    /// Counts a problem, and reports it each time the number has grown tenfold.
    fn tell(&self, counter: &AtomicU64, problem: &str) {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        if (before + 1).checked_ilog10() > before.checked_ilog10() {
            (self.complain)(&format!("{} {problem}", before + 1));
        }
    }
}

/// Compares tokens in constant time.
fn is_same(token: &[u8], sent: &[u8]) -> bool {
    let differing = token.iter().zip(sent).fold(0, |differing, (a, b)| differing | (a ^ b));
    !token.is_empty() && token.len() == sent.len() && differing == 0
}

fn unusable(file: &Path, problem: &str) -> String {
    format!("{} {problem}; correct it, or its path in `audit.webhook` of the Target", file.display())
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| unusable(file, &format!("holds no certificates ({error})")))?;
    if read.is_empty() { Err(unusable(file, "holds no certificates")) } else { Ok(read) }
}

impl AuditWebhook {
    fn acceptor(&self) -> Result<TlsAcceptor, String> {
        let chain = certificates(&self.certificate)?;
        // Details about a key's problem are not reported.
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|_| unusable(&self.key, "holds no private key"))?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_client_cert_verifier(self.senders.verifier()?)
            .with_single_cert(chain, key)
            .map_err(|error| unusable(&self.certificate, &format!("does not belong to the key ({error})")))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl AuditSenders {
    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let Self::Certificate(file) = self else { return Ok(Arc::new(NoClientAuth)) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(file)? {
            let unfit = |error| unusable(file, &format!("contains a certificate that is not a CA ({error})"));
            roots.add(certificate).map_err(unfit)?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        verifier.map_err(|error| unusable(file, &format!("contains no usable CA certificates ({error})")))
    }
}
