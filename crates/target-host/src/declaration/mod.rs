//! The documents of `host.setpoint.dev/v1`, and the parsed form that the rest of the crate works
//! with.
//!
//! [`check`] is the only parser. Rendering, previews and effects all use it, so none of them
//! accepts what another refuses. `kinds` documents each field, for people and for the strict parser
//! alike.

use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::secret::SecretRef;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::Unidentifiable;

use crate::path::HostPath;

mod command;
mod files;
mod kinds;
mod reading;

pub use kinds::{FieldDoc, KINDS, KindDoc, METADATA};
use reading::Reading;

/// The `apiVersion` of all kinds here.
pub const API_VERSION: &str = "host.setpoint.dev/v1";

/// The class of the keys of commands.
pub const COMMAND_CLASS: &str = "command";

/// A problem of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}; {hint}")]
pub struct Problem {
    /// The field, for example `spec.mode`.
    pub path: String,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub hint: String,
}

/// A declared resource of a host, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostResource {
    File(FileSpec),
    Directory(DirectorySpec),
    Symlink(SymlinkSpec),
    Command(CommandSpec),
}

/// A regular file with exactly this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    pub path: HostPath,
    pub content: Content,
    pub mode: u32,
    pub owner: Option<Account>,
    pub group: Option<Account>,
    /// Hides its content in all output.
    pub sensitive: bool,
}

/// A directory. Its entries belong to the apps that declare them, not to this declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySpec {
    pub path: HostPath,
    pub mode: u32,
    pub owner: Option<Account>,
    pub group: Option<Account>,
}

/// A symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymlinkSpec {
    pub path: HostPath,
    /// The target of the link. It need not exist.
    pub target: Arc<str>,
}

/// A state that programs check and establish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    pub name: Arc<str>,
    /// Exits with 100 if the state is as declared, with 101 if not, and with any other code on an
    /// error.
    pub check: Vec<Arc<str>>,
    /// Establishes the state.
    pub apply: Vec<Arc<str>>,
    /// The time limit for each of the two.
    pub timeout: Span,
    pub environment: Vec<Variable>,
    pub cwd: Arc<str>,
    /// Hides its output.
    pub sensitive: bool,
}

/// A variable of a command's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: Arc<str>,
    pub value: Content,
    /// Redacts its value in the output of the command.
    pub sensitive: bool,
}

/// The content of a file, or the value of a variable.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    /// A sealed value, opened at the moment it is used.
    Sealed(SecretRef),
}

impl Content {
    /// Returns the bytes, unless they are sealed.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            Self::Sealed(_) => None,
        }
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A declaration may be sensitive, which its content does not record.
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Sealed(reference) => write!(f, "Sealed({})", reference.digest),
        }
    }
}

/// A user or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    Name(Arc<str>),
    Id(u32),
}

impl HostResource {
    /// Returns its path; a command has none.
    pub fn path(&self) -> Option<&HostPath> {
        match self {
            Self::File(file) => Some(&file.path),
            Self::Directory(directory) => Some(&directory.path),
            Self::Symlink(link) => Some(&link.path),
            Self::Command(_) => None,
        }
    }

    /// Returns its identity on the host.
    pub fn key(&self) -> Key {
        match self {
            Self::File(FileSpec { path, .. })
            | Self::Directory(DirectorySpec { path, .. })
            | Self::Symlink(SymlinkSpec { path, .. }) => path.key().clone(),
            Self::Command(command) => {
                Key::new(COMMAND_CLASS, "", &command.name).expect("the name was checked when it was read")
            }
        }
    }
}

/// Parses a declared object strictly. Returns all of its problems on failure.
pub fn check(kind: &str, body: &Value) -> Result<HostResource, Vec<Problem>> {
    let mut reading = Reading::default();
    let resource = reading.document(kind, body);
    match resource {
        Some(resource) if reading.problems.is_empty() => Ok(resource),
        _ => Err(reading.problems),
    }
}

/// Parses a resource of a bundle and checks that it matches its key.
pub(crate) fn check_resource(resource: &Resource) -> Result<HostResource, String> {
    let read = read_as(&resource.api_version, &resource.kind, &resource.body)?;
    if read.key() != resource.key {
        return Err(format!("it declares {}, not {}: render the app again", read.key(), resource.key));
    }
    Ok(read)
}

/// Returns the key of a declared object.
pub(crate) fn key_of(api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
    read_as(api_version, kind, body).map(|resource| resource.key()).map_err(|problem| Unidentifiable { problem })
}

/// Checks the API version, then calls [`check`] and joins all problems into one text.
pub(crate) fn read_as(api_version: &str, kind: &str, body: &Value) -> Result<HostResource, String> {
    if api_version != API_VERSION {
        return Err(format!("a host holds `{API_VERSION}` objects, not `{api_version}`: correct the apiVersion"));
    }
    check(kind, body).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
