//! The address of an API server and our credentials for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use setpoint_core::secret::Secret;

use super::kubeconfig;

/// One API server and our credentials for it.
#[derive(Debug)]
pub struct Connection {
    /// `https://host:port`, optionally with a path before that of the API.
    pub server: String,
    /// The trusted CA certificates, as PEM; those of the system if `None`.
    pub authorities: Option<Vec<u8>>,
    /// The name in the server's certificate, if it is not the host of the address.
    pub server_name: Option<String>,
    pub token: Option<Token>,
    pub certificate: Option<ClientCertificate>,
    /// The namespace of resources that declare none.
    pub namespace: Option<String>,
}

/// A client certificate and its key, both as PEM.
#[derive(Debug)]
pub struct ClientCertificate {
    pub chain: Vec<u8>,
    pub key: Secret<Vec<u8>>,
}

/// A bearer token.
#[derive(Debug)]
pub enum Token {
    Fixed(Secret<String>),
    /// A token in a file that another program renews: it is read again whenever the file changes.
    File(TokenFile),
}

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("{} cannot be read: let the agent read it, or correct the path", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{} is not a kubeconfig we can use: {problem}", file.display())]
    Kubeconfig { file: PathBuf, problem: String },
    #[error("`{server}` is not the address of an API server: write it as `https://host:port`")]
    Address { server: String },
    #[error("the credentials cannot be used: {problem}")]
    Credentials { problem: &'static str },
    #[error("TLS cannot be set up: check the certificates and the key")]
    Tls { source: reqwest::Error },
}

impl Connection {
    /// Reads a context of a kubeconfig; the current context if none is named.
    pub fn from_kubeconfig(file: &Path, context: Option<&str>) -> Result<Self, ConnectionError> {
        kubeconfig::read(file, context)
    }

    /// Builds the connection of a pod: the address from its environment, the token and the CA
    /// certificate from files.
    pub fn in_cluster(host: &str, port: &str, token: &Path, authority: &Path) -> Result<Self, ConnectionError> {
        // An IPv6 address is written in brackets.
        let server =
            if host.contains(':') { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") };
        Ok(Self {
            server,
            authorities: Some(read(authority)?),
            server_name: None,
            token: Some(Token::File(TokenFile::open(token)?)),
            certificate: None,
            namespace: None,
        })
    }
}

/// A file with a token, and its last content.
#[derive(Debug)]
pub struct TokenFile {
    file: PathBuf,
    last: Mutex<(Option<SystemTime>, Secret<String>)>,
}

impl TokenFile {
    pub fn open(file: &Path) -> Result<Self, ConnectionError> {
        let modified = modified(file);
        let token = token_in(file)?;
        Ok(Self { file: file.to_owned(), last: Mutex::new((modified, token)) })
    }

    /// Returns the current token of the file, or the last one if the file cannot be read.
    fn current(&self) -> Secret<String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let modified = modified(&self.file);
        if modified != last.0
            && let Ok(token) = token_in(&self.file)
        {
            *last = (modified, token);
        }
        last.1.clone()
    }
}

impl Token {
    pub(super) fn current(&self) -> Secret<String> {
        match self {
            Self::Fixed(token) => token.clone(),
            Self::File(file) => file.current(),
        }
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}

fn token_in(file: &Path) -> Result<Secret<String>, ConnectionError> {
    let text = String::from_utf8(read(file)?)
        .map_err(|_| ConnectionError::Credentials { problem: "the token is not valid UTF-8" })?;
    Ok(Secret::new(text.trim().to_owned()))
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, ConnectionError> {
    fs::read(file).map_err(|source| ConnectionError::Unreadable { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_again_when_its_file_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (token, authority) = (folder.path().join("token"), folder.path().join("ca.crt"));
        fs::write(&token, "first\n").unwrap();
        fs::write(&authority, "").unwrap();
        let connection = Connection::in_cluster("10.0.0.1", "443", &token, &authority).unwrap();
        let current = || connection.token.as_ref().unwrap().current().open().clone();
        assert_eq!((connection.server.as_str(), current().as_str()), ("https://10.0.0.1:443", "first"));
        fs::write(&token, "second\n").unwrap();
        fs::File::open(&token).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(current(), "second");
        fs::remove_file(&token).unwrap();
        assert_eq!(current(), "second");
        assert!(!format!("{connection:?}").contains("second"));
    }
}
