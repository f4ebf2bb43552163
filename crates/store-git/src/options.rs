//! The configuration of a Git store: its address, its credentials and its limits.

use std::path::PathBuf;
use std::time::Duration;

use setpoint_store::{Limits, StorePath};

use crate::mirror::GitCache;

/// The secret for a store over https. It is read again for every poll, so that it can be rotated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// No credentials: the repository is public, or reached by ssh.
    #[default]
    None,
    /// A file that holds an access token.
    Token { file: PathBuf },
    /// A file that holds `user:password`.
    Basic { file: PathBuf },
}

/// The keys for ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// The private key. Keys of an agent or of the user's home directory are not tried.
    pub key: PathBuf,
    /// The file with the known host keys. An unknown host is not contacted.
    pub known_hosts: PathBuf,
}

/// The limits on the data of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitLimits {
    pub version: Limits,
    /// The most bytes that the server may send for one poll.
    pub pack_bytes: u64,
    /// The largest object of a pack when unpacked.
    pub object_bytes: u64,
    /// The most bytes of base objects in memory while a pack is unpacked.
    pub held_bytes: u64,
    /// The most packs. Every fetch adds one; with this many, the next fetch goes into a new copy.
    pub packs: usize,
    /// The most versions that are walked to relate two of them; beyond that the relation is
    /// unknown.
    pub history: usize,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            version: Limits::default(),
            pack_bytes: 1 << 30,
            object_bytes: 64 << 20,
            held_bytes: 128 << 20,
            packs: 200,
            history: 2_000_000,
        }
    }
}

/// The time limits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub connect: Duration,
    /// The longest time without a single byte.
    pub idle: Duration,
    /// The longest time of one poll, whatever it fetches.
    pub total: Duration,
    /// The lowest rate in bytes a second, over [`Self::window`]. It is low, because a server that
    /// counts its objects sends little for a long time.
    pub rate: u64,
    pub window: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(15 * 60),
            rate: 16,
            window: Duration::from_secs(60),
        }
    }
}

/// The followed branch or tag, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    Branch(String),
    /// The tag's commit is the version and must not change.
    Tag(String),
}

impl Follow {
    pub fn branch(name: &str) -> Self {
        Self::Branch(name.to_owned())
    }

    pub fn tag(name: &str) -> Self {
        Self::Tag(name.to_owned())
    }
}

/// A Git store as declared.
#[derive(Clone, Debug)]
pub struct GitOptions {
    pub url: String,
    pub follow: Follow,
    /// The only commit that is a version, by its full id. It has to be on the followed branch or
    /// tag.
    pub commit: Option<String>,
    /// The directory that is the store's root; `None` for the whole repository.
    pub path: Option<StorePath>,
    pub credentials: Credentials,
    /// A file with the CA certificates to trust instead of the system's.
    pub authorities: Option<PathBuf>,
    pub ssh: Option<SshOptions>,
    /// Fetches only the newest version. Ancestry is then unknown, which holds every new version
    /// until a person accepts it.
    pub shallow: bool,
    pub cache: GitCache,
    pub limits: GitLimits,
    pub patience: Patience,
    /// Accepts a local path as URL. Only for `Bootstrap`: a document from a store must not read our
    /// disk.
    pub allow_local: bool,
}

impl GitOptions {
    /// Builds options for a store over https or ssh, with defaults.
    pub fn new(url: &str, follow: Follow, cache: GitCache) -> Self {
        Self {
            url: url.to_owned(),
            follow,
            commit: None,
            path: None,
            credentials: Credentials::None,
            authorities: None,
            ssh: None,
            shallow: false,
            cache,
            limits: GitLimits::default(),
            patience: Patience::default(),
            allow_local: false,
        }
    }
}
