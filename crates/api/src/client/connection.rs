//! Connections to an agent: the socket of a data directory, or a server over TCP, with TLS unless it
//! is on this machine.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue};
use hyper::{Request, Uri};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use super::{AskError, Cause, Owner, PATIENCE};

/// The header that proves that a request with a session comes from its owner.
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// The agent at the other end.
#[derive(Clone, Debug)]
pub(super) enum End {
    Socket(PathBuf),
    Server(Arc<RemoteServer>),
}

/// A server that is reached over TCP.
pub struct RemoteServer {
    /// As the user wrote it, without a slash at its end.
    url: String,
    host: String,
    port: u16,
    /// The path before every path of the server; usually empty.
    base: String,
    /// `None` without TLS.
    tls: Option<(TlsConnector, ServerName<'static>)>,
    credentials: Credentials,
}

/// The proof of identity that each request carries. Cannot be printed.
#[derive(Clone)]
pub enum Credentials {
    None,
    /// A machine token.
    Token(Zeroizing<String>),
    /// The cookie of a session, with its token against forged requests.
    Session {
        cookie: Zeroizing<String>,
        csrf: Zeroizing<String>,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Token(_) => "Token(…)",
            Self::Session { .. } => "Session(…)",
        })
    }
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteServer").field("url", &self.url).field("credentials", &self.credentials).finish()
    }
}

/// An address, or its CA certificates, that cannot be used to reach a server.
#[derive(Debug, thiserror::Error)]
pub enum InvalidServer {
    #[error(
        "`{url}` is not the address of a server: write it like https://ops.example or https://ops.example/setpoint"
    )]
    Form { url: String },
    #[error("{url} is not encrypted, and the server is on another machine: use https")]
    Plain { url: String },
    #[error("cannot use the CA certificates for {url}")]
    Authority { url: String, source: Cause },
}

impl RemoteServer {
    /// Reads an address. Certificates are verified with those of the system, or with the CA
    /// certificates given as PEM.
    pub fn new(url: &str, authority: Option<&[u8]>, credentials: Credentials) -> Result<Self, InvalidServer> {
        let url = url.trim_end_matches('/').to_owned();
        let form = || InvalidServer::Form { url: url.clone() };
        let uri: Uri = url.parse().map_err(|_| form())?;
        let (scheme, host) = (uri.scheme_str().ok_or_else(form)?, uri.host().ok_or_else(form)?);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(form());
        }
        let (tls, port) = match scheme {
            "https" => {
                let name = ServerName::try_from(host.clone()).map_err(|_| form())?;
                let config = verified(authority);
                let config = config.map_err(|source| InvalidServer::Authority { url: url.clone(), source })?;
                (Some((TlsConnector::from(Arc::new(config)), name)), 443)
            }
            "http" if is_local(&host) => (None, 80),
            "http" => return Err(InvalidServer::Plain { url }),
            _ => return Err(form()),
        };
        let base = uri.path().trim_end_matches('/').to_owned();
        let port = uri.port_u16().unwrap_or(port);
        Ok(Self { url, host, port, base, tls, credentials })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the same server with other credentials.
    #[must_use]
    pub fn with(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }

    async fn connected(&self) -> Result<Box<dyn Stream>, Cause> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some((connector, name)) => Ok(Box::new(connector.connect(name.clone(), stream).await?)),
        }
    }

    /// Adds the path before all paths, and the credentials.
    fn addressed(&self, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        if let Ok(uri) = format!("{}{path}", self.base).parse() {
            *request.uri_mut() = uri;
        }
        let headers = request.headers_mut();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let mut add = |name: HeaderName, text: &str| {
            // A text that no header can have reaches no server, which then refuses the request.
            if let Ok(mut value) = HeaderValue::from_str(text) {
                value.set_sensitive(name != HOST);
                headers.insert(name, value);
            }
        };
        add(HOST, &format!("{host}:{}", self.port));
        match &self.credentials {
            Credentials::None => {}
            Credentials::Token(token) => add(AUTHORIZATION, &Zeroizing::new(format!("Bearer {}", **token))),
            Credentials::Session { cookie, csrf } => {
                add(COOKIE, cookie);
                add(CSRF, csrf);
            }
        }
        request
    }
}

/// Reports whether requests to a host do not leave this machine.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn verified(authority: Option<&[u8]>) -> Result<ClientConfig, Cause> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let Some(authority) = authority else {
        return Ok(builder.with_platform_verifier()?.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate?)?;
    }
    if roots.is_empty() {
        return Err("the file contains no certificate".into());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl End {
    pub(super) async fn connected(&self) -> Result<Box<dyn Stream>, AskError> {
        match self {
            Self::Socket(socket) => {
                let stream = UnixStream::connect(socket).await.map_err(|error| unconnected(socket.clone(), error))?;
                Ok(Box::new(stream))
            }
            Self::Server(server) => {
                let unreachable = |source: Cause| AskError::ServerUnreachable { url: server.url.clone(), source };
                let connected = timeout(PATIENCE, server.connected()).await;
                connected.map_err(|_| unreachable("it did not respond in time".into()))?.map_err(unreachable)
            }
        }
    }

    pub(super) fn addressed(&self, request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
        match self {
            Self::Socket(_) => request,
            Self::Server(server) => server.addressed(request),
        }
    }
}

/// The place of an agent, as error messages name it.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(socket) => write!(f, "{}", socket.display()),
            Self::Server(server) => f.write_str(&server.url),
        }
    }
}

fn unconnected(socket: PathBuf, error: io::Error) -> AskError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NoAgent { socket },
        io::ErrorKind::PermissionDenied => {
            let owner = Owner(std::fs::metadata(&socket).ok().map(|metadata| metadata.uid()));
            AskError::Denied { socket, owner }
        }
        _ => AskError::Unreachable { socket, source: error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<RemoteServer, InvalidServer> {
        RemoteServer::new(url, None, Credentials::Token("secret".to_owned().into()))
    }

    #[test]
    fn an_address_has_a_scheme_a_host_and_perhaps_a_path() {
        let parts = |url: &str| {
            let server = server(url).unwrap();
            (server.host, server.port, server.base, server.tls.is_some())
        };
        let owned = |host: &str, port, base: &str, tls| (host.to_owned(), port, base.to_owned(), tls);
        assert_eq!(parts("https://ops.example"), owned("ops.example", 443, "", true));
        assert_eq!(parts("https://ops.example:8443/setpoint/"), owned("ops.example", 8443, "/setpoint", true));
        assert_eq!(parts("http://127.0.0.1:7070"), owned("127.0.0.1", 7070, "", false));
        assert_eq!(parts("http://[::1]:7070/"), owned("::1", 7070, "", false));
        for wrong in ["", "ops.example", "ftp://ops.example", "https://", "https://a?b=c", "https://me:pw@ops.example"]
        {
            assert!(matches!(server(wrong), Err(InvalidServer::Form { .. })), "{wrong}");
        }
        assert!(matches!(server("http://ops.example"), Err(InvalidServer::Plain { .. })));
        let bad = RemoteServer::new("https://ops.example", Some(b"no certificate"), Credentials::None);
        assert!(matches!(bad, Err(InvalidServer::Authority { .. })));
    }

    #[test]
    fn credentials_are_not_printed() {
        let printed = format!("{:?}", server("https://ops.example").unwrap());
        assert!(printed.contains("ops.example") && !printed.contains("secret"), "{printed}");
        let session = Credentials::Session { cookie: "secret".to_owned().into(), csrf: "secret".to_owned().into() };
        assert!(!format!("{session:?}").contains("secret"));
    }
}
