//! The documents of `host.setpoint.dev/v1`: what may be declared of a host, and the one form
//! everything else works with.
//!
//! [`check`] is the only reader. Rendering, previews and effects all go through it, so that nothing
//! is accepted by one and refused by another. `kinds` says what each field means, for people and
//! for the strict reading alike.

use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::secret::SecretRef;
use setpoint_core::time::Span;
use setpoint_core::value::Value;

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

/// Something wrong with a declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}; {hint}")]
pub struct Problem {
    /// The field, as `spec.mode`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

/// One declared thing of a host, checked.
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
    /// What it holds is shown to nobody.
    pub sensitive: bool,
}

/// A folder. What is in it is nobody's business but that of who declares it.
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
    /// The text of the link: it need not lead anywhere.
    pub target: Arc<str>,
}

/// A state that only a program can tell and bring about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    pub name: Arc<str>,
    /// Ends with 100 when in state, 101 when not, anything else when it could not tell.
    pub check: Vec<Arc<str>>,
    /// Brings the state about.
    pub apply: Vec<Arc<str>>,
    /// How long each of the two may run.
    pub timeout: Span,
    pub environment: Vec<Variable>,
    pub cwd: Arc<str>,
    /// Its output is shown to nobody.
    pub sensitive: bool,
}

/// A variable of a command's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: Arc<str>,
    pub value: Content,
    /// Its value is taken out of whatever the command prints.
    pub sensitive: bool,
}

/// What a file holds, or a variable.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    /// Sealed; opened at the moment it is used.
    Sealed(SecretRef),
}

impl Content {
    /// The bytes, unless they are sealed.
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
        // A declaration may be sensitive without its content knowing it.
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
    /// Where it stands; a command stands nowhere.
    pub fn path(&self) -> Option<&HostPath> {
        match self {
            Self::File(file) => Some(&file.path),
            Self::Directory(directory) => Some(&directory.path),
            Self::Symlink(link) => Some(&link.path),
            Self::Command(_) => None,
        }
    }

    /// What it is on the host.
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

/// Reads a whole declared object strictly; on failure everything that is wrong with it.
pub fn check(kind: &str, body: &Value) -> Result<HostResource, Vec<Problem>> {
    let mut reading = Reading::default();
    let resource = reading.document(kind, body);
    match resource {
        Some(resource) if reading.problems.is_empty() => Ok(resource),
        _ => Err(reading.problems),
    }
}

/// Reads a resource of a bundle, which must also be what its key says.
pub(crate) fn check_resource(resource: &Resource) -> Result<HostResource, String> {
    let read = read_as(&resource.api_version, &resource.kind, &resource.body)?;
    if read.key() != resource.key {
        return Err(format!("it declares {}, not {}: render the app again", read.key(), resource.key));
    }
    Ok(read)
}

/// [`check`] with the version of the API, and all problems in one text.
pub(crate) fn read_as(api_version: &str, kind: &str, body: &Value) -> Result<HostResource, String> {
    if api_version != API_VERSION {
        return Err(format!("a host holds `{API_VERSION}` objects, not `{api_version}`: correct the apiVersion"));
    }
    check(kind, body).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
