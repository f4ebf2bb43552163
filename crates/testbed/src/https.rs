//! `git http-backend` behind TLS on loopback, with the faults that real servers have.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::program;
use crate::tls::{Authority, TlsServer};

/// The requests of a fetch that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Everything,
    /// The first request, in which the server announces its capabilities.
    Advertisement,
    /// The request for the list of branches.
    References,
    /// The request for objects.
    Pack,
}

/// A fault in the response of the server.
#[derive(Clone, Debug)]
pub enum Fault {
    Status(u16),
    /// Redirects to the same path below another base URL.
    Redirect(String),
    /// Redirects paths with one prefix to the same path with another, on this host.
    Moved {
        from: String,
        to: String,
    },
    /// Accepts the request and never responds.
    Hang,
    /// Announces the whole response, sends this many bytes and closes the connection.
    Cut(usize),
    /// Sends the first bytes, up to this number, as if they were the whole response.
    Shorten(usize),
    /// Sends one byte per interval.
    Drip(Duration),
    /// Sends this instead of a pack, in git's framing.
    Pack(Arc<[u8]>),
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the step of a fetch that the request belongs to.
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

/// A server of all repositories below a directory.
#[derive(Debug)]
pub struct GitServer {
    server: TlsServer,
    state: Arc<Mutex<State>>,
    folder: TempDir,
}

impl GitServer {
    /// Starts a server with its own CA.
    pub fn start(root: &Path) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let authority = Authority::fresh();
        std::fs::write(folder.path().join("authority.pem"), authority.pem()).expect("the folder is ours");
        let state = Arc::new(Mutex::new(State::default()));
        let (root, shared) = (root.to_owned(), state.clone());
        let server = TlsServer::start(&authority, move |mut stream| {
            let (root, state) = (root.clone(), shared.clone());
            async move {
                let _ = serve(&mut stream, &root, &state).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { server, state, folder }
    }

    /// Returns the URL of a repository, by the name of its directory.
    pub fn url(&self, name: &str) -> String {
        format!("https://127.0.0.1:{}/{name}", self.server.port())
    }

    /// Returns the URL of the same server under another name.
    pub fn url_of_localhost(&self, name: &str) -> String {
        format!("https://localhost:{}/{name}", self.server.port())
    }

    /// Returns the file with the CA certificate that signed the server's certificate.
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

    /// Returns the requests since the last call.
    pub fn take_seen(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().seen)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one request and closes the connection.
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

/// Sends a response with a status and headers only.
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

/// Frames a pack as the second version of git's protocol sends it.
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

/// Lets git itself respond: returns the head without its last lines, and the body.
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
