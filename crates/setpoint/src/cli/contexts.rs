//! The contexts of the command line: the servers that a user has signed in to, in a file that only
//! this user can read.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use setpoint_api::{Credentials, InvalidServer, RemoteServer};
use zeroize::Zeroizing;

use super::Failure;
use crate::complaint::told;
use crate::exit::Exit;

/// The file of the contexts.
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    path: PathBuf,
    pub(super) content: Content,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Content {
    /// The context that commands use unless an option names another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    #[serde(default)]
    pub(super) contexts: BTreeMap<String, SavedServer>,
}

/// A server, and how to sign in to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SavedServer {
    pub(super) url: String,
    /// A PEM file with the CA certificates of the server; those of the system if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) authority: Option<PathBuf>,
    pub(super) credentials: SavedCredentials,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(super) enum SavedCredentials {
    Token(Secret),
    Session { cookie: Secret, csrf: Secret },
}

/// A text that is written to the file and nowhere else.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct Secret(pub(super) Zeroizing<String>);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        Self::clone(&secret.0)
    }
}

impl std::fmt::Debug for SavedCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(…)",
            Self::Session { .. } => "Session(…)",
        })
    }
}

impl SavedServer {
    pub(super) fn server(&self) -> Result<RemoteServer, Failure> {
        let credentials = match self.credentials.clone() {
            SavedCredentials::Token(token) => Credentials::Token(token.0),
            SavedCredentials::Session { cookie, csrf } => Credentials::Session { cookie: cookie.0, csrf: csrf.0 },
        };
        server(&self.url, self.authority.as_deref(), credentials)
    }
}

/// Returns a server with the CA certificates in a file.
pub(super) fn server(url: &str, authority: Option<&Path>, credentials: Credentials) -> Result<RemoteServer, Failure> {
    let pem = authority.map(|file| fs::read(file).map_err(|error| super::unusable(file, &error))).transpose()?;
    let invalid = |error: InvalidServer| Failure::Told(Exit::CouldNotRun, told(&error));
    RemoteServer::new(url, pem.as_deref(), credentials).map_err(invalid)
}

impl Contexts {
    /// Reads the file; a missing one has no contexts. The path is `None` for a user without a
    /// home directory.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let could_not = |text: String| Failure::Told(Exit::CouldNotRun, text);
        let path = path.ok_or_else(|| {
            could_not("cannot store a sign-in: there is no home directory; set HOME or XDG_CONFIG_HOME".to_owned())
        })?;
        let content = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let next = "correct or delete it, then sign in again";
                could_not(format!("cannot parse the contexts in {}: {error}; {next}", path.display()))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Content::default(),
            Err(error) => return Err(super::unusable(path, &error)),
        };
        Ok(Self { path: path.to_owned(), content })
    }

    /// Replaces the file as a whole, so that no half of it remains.
    pub(super) fn write(&self) -> Result<(), Failure> {
        self.written().map_err(|error| super::unusable(&self.path, &error))
    }

    fn written(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let new = self.path.with_extension("new");
        fs::remove_file(&new)
            .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let text = Zeroizing::new(serde_json::to_string_pretty(&self.content).map_err(io::Error::other)?);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }

    /// Returns the context of a name or an address, or else the current one.
    pub(super) fn find(&self, wanted: Option<&str>) -> Result<Option<&SavedServer>, Failure> {
        let contexts = &self.content.contexts;
        let Some(wanted) = wanted else {
            return Ok(self.content.current.as_ref().and_then(|current| contexts.get(current)));
        };
        let address = wanted.trim_end_matches('/');
        let found = contexts.get(wanted).or_else(|| contexts.values().find(|server| server.url == address));
        found.map(Some).ok_or_else(|| {
            let text = format!(
                "there is no context `{wanted}`: `setpoint context` lists all, and `setpoint login URL` adds one"
            );
            Failure::Told(Exit::CouldNotRun, text)
        })
    }
}
