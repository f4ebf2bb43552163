//! `git http-backend` behind TLS on loopback, with the faults that real servers have.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::program;

/// Which of the requests of a fetch a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Everything,
    /// The first one, in which the server says what it can.
    Advertisement,
    /// The list of branches.
    References,
    /// The one that brings objects.
    Pack,
}

/// What the server does instead of answering.
#[derive(Clone, Debug)]
pub enum Fault {
    Status(u16),
    /// Leads to the same path below another base URL.
    Redirect(String),
    /// Leads paths that begin with one text to the same with another, on this host.
    Moved {
        from: String,
        to: String,
    },
    /// Takes the request and never answers.
    Hang,
    /// Says it will send everything, sends this many bytes and hangs up.
    Cut(usize),
    /// Sends the first so many bytes as if they were everything.
    Shorten(usize),
    /// Sends one byte every so often.
    Drip(Duration),
    /// Sends this instead of a pack, in git's framing.
    Pack(Arc<[u8]>),
}

/// A request that came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

impl Request {
    /// Which step of a fetch it is.
    pub fn step(&self) -> On {
        let says = |text: &[u8]| self.body.windows(text.len()).any(|window| window == text);
        match self.method.as_str() {
            "GET" => On::Advertisement,
            _ if says(b"command=ls-refs") => On::References,
            _ => On::Pack,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    fault: Option<(On, Fault)>,
    wanted: Option<String>,
    seen: Vec<Request>,
}

/// A server of all repositories below a folder.
#[derive(Debug)]
pub struct GitServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    folder: TempDir,
    /// Ends the server with the value. `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl GitServer {
    /// Starts a server with an authority of its own.
    pub fn start(root: &Path) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let acceptor = TlsAcceptor::from(Arc::new(certificates(folder.path())));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be started");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(Mutex::new(State::default()));
        runtime.spawn(accept(listener, acceptor, root.to_owned(), state.clone()));
        Self { address, state, folder, runtime: Some(runtime) }
    }

    /// The URL of a repository, by its folder's name.
    pub fn url(&self, name: &str) -> String {
        format!("https://127.0.0.1:{}/{name}", self.address.port())
    }

    /// The same server under another name.
    pub fn url_of_localhost(&self, name: &str) -> String {
        format!("https://localhost:{}/{name}", self.address.port())
    }

    /// The file with the authority that signed the server's certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    pub fn break_with(&self, on: On, fault: Fault) {
        self.state().fault = Some((on, fault));
    }

    pub fn mend(&self) {
        self.state().fault = None;
    }

    /// From now on only requests with this `Authorization` are served.
    pub fn require(&self, authorization: &str) {
        self.state().wanted = Some(authorization.to_owned());
    }

    /// The requests since this was last asked.
    pub fn take_seen(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().seen)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        // Connections that hang on purpose must not keep the test from ending.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Makes an authority and a certificate of it for loopback.
fn certificates(folder: &Path) -> ServerConfig {
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().expect("a key can be made");
    let authority_certificate = authority.self_signed(&authority_key).expect("the parameters are valid");
    std::fs::write(folder.join("authority.pem"), authority_certificate.pem()).expect("the folder is ours");
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().expect("a key can be made");
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let leaf = rcgen::CertificateParams::new(names).expect("the names are valid");
    let leaf = leaf.signed_by(&key, &issuer).expect("the parameters are valid");
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))
        .expect("key and certificate belong together")
}

#[expect(clippy::disallowed_methods, reason = "a server of tests serves connections beside each other")]
async fn accept(listener: std::net::TcpListener, acceptor: TlsAcceptor, root: PathBuf, state: Arc<Mutex<State>>) {
    let listener = TcpListener::from_std(listener).expect("the socket is non-blocking");
    while let Ok((connection, _)) = listener.accept().await {
        let (acceptor, root, state) = (acceptor.clone(), root.clone(), state.clone());
        tokio::spawn(async move {
            // A client that does not trust us, or that hangs up, is what tests are about: nothing to report here.
            if let Ok(mut stream) = acceptor.accept(connection).await {
                let _ = serve(&mut stream, &root, &state).await;
                let _ = stream.shutdown().await;
            }
        });
    }
}

/// Serves one request and hangs up.
async fn serve(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    root: &Path,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    let (request, headers) = read_request(stream).await?;
    let (fault, wanted) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.push(request.clone());
        let struck = state.fault.clone().filter(|(on, _)| *on == On::Everything || *on == request.step());
        (struck.map(|(_, fault)| fault), state.wanted.clone())
    };
    if wanted.is_some() && wanted != request.authorization {
        return empty(stream, "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"").await;
    }
    match fault {
        Some(Fault::Status(status)) => empty(stream, &format!("{status} Fault")).await,
        Some(Fault::Redirect(base)) => empty(stream, &format!("302 Found\r\nLocation: {base}{}", request.path)).await,
        Some(Fault::Moved { from, to }) if request.path.starts_with(&from) => {
            let to = request.path.replacen(&from, &to, 1);
            empty(stream, &format!("301 Moved\r\nLocation: {to}")).await
        }
        Some(Fault::Hang) => std::future::pending().await,
        fault => answer(stream, &backend(root, &request, &headers).await?, fault).await,
    }
}

/// Answers with a status and headers alone.
async fn empty(stream: &mut (impl AsyncWrite + Unpin), head: &str) -> std::io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes()).await
}

async fn answer(
    stream: &mut (impl AsyncWrite + Unpin),
    (head, body): &(String, Vec<u8>),
    fault: Option<Fault>,
) -> std::io::Result<()> {
    let replaced = if let Some(Fault::Pack(pack)) = &fault { framed(pack) } else { Vec::new() };
    let (length, sent) = match &fault {
        Some(Fault::Cut(bytes)) => (body.len(), &body[..(*bytes).min(body.len())]),
        Some(Fault::Shorten(bytes)) => ((*bytes).min(body.len()), &body[..(*bytes).min(body.len())]),
        Some(Fault::Pack(_)) => (replaced.len(), replaced.as_slice()),
        _ => (body.len(), body.as_slice()),
    };
    stream.write_all(format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let Some(Fault::Drip(pause)) = fault else { return stream.write_all(sent).await };
    let mut clock = tokio::time::interval(pause);
    for byte in sent {
        clock.tick().await;
        stream.write_all(&[*byte]).await?;
        stream.flush().await?;
    }
    Ok(())
}

/// A pack as the second version of git's protocol sends it.
fn framed(pack: &[u8]) -> Vec<u8> {
    let mut out = b"000dpackfile\n".to_vec();
    for chunk in pack.chunks(65_000) {
        out.extend_from_slice(format!("{:04x}\u{1}", chunk.len() + 5).as_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(b"0000");
    out
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<(Request, Vec<(String, String)>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let split = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(split).collect();
    let length = find(&headers, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let authorization = find(&headers, "authorization").map(str::to_owned);
    Ok((Request { method, path, authorization, body }, headers))
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Lets git itself answer: the head without its last lines, and the body.
async fn backend(root: &Path, request: &Request, headers: &[(String, String)]) -> std::io::Result<(String, Vec<u8>)> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let mut command = program("git");
    command.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("REQUEST_METHOD", &request.method);
    command.env("PATH_INFO", path).env("QUERY_STRING", query).env("CONTENT_LENGTH", request.body.len().to_string());
    command.env("CONTENT_TYPE", find(headers, "content-type").unwrap_or_default());
    let protocol = find(headers, "git-protocol").unwrap_or_default();
    command.env("GIT_PROTOCOL", protocol).env("HTTP_GIT_PROTOCOL", protocol);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    child.stdin.take().expect("it was piped").write_all(&request.body).await?;
    let output = child.wait_with_output().await?.stdout;
    let split = output.windows(4).position(|window| window == b"\r\n\r\n").map_or(output.len(), |at| at + 4);
    let cgi = String::from_utf8_lossy(&output[..split]).into_owned();
    let status = cgi.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let mut head = format!("HTTP/1.1 {status}\r\n");
    let passed = |line: &&str| !line.is_empty() && !line.starts_with("Status: ") && !line.starts_with("Content-Length");
    for line in cgi.lines().filter(passed) {
        head.push_str(line);
        head.push_str("\r\n");
    }
    Ok((head, output[split..].to_vec()))
}
