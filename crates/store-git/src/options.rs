//! What a Git store is told: where it is, how to get in, and how much of what it says is taken.

use std::path::PathBuf;
use std::time::Duration;

use setpoint_store::{Limits, StorePath};

use crate::mirror::GitCache;

/// Where the secret is that opens the store over https. It is read again for every poll, so that it
/// can be rotated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// The repository is public, or reached by ssh.
    #[default]
    None,
    /// A file that holds an access token.
    Token { file: PathBuf },
    /// A file that holds `user:password`.
    Basic { file: PathBuf },
}

/// How to get in over ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// The private key. Keys of an agent or of the user's home are not tried.
    pub key: PathBuf,
    /// The keys by which the host is known. A host that is not in it is not spoken to.
    pub known_hosts: PathBuf,
}

/// How much of a repository is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitLimits {
    pub version: Limits,
    /// What the server may send for one poll.
    pub pack_bytes: u64,
    /// The largest object the pack may hold when unpacked.
    pub object_bytes: u64,
    /// What may be held in memory of objects that others are made from while a pack is unpacked.
    pub held_bytes: u64,
    /// Every fetch adds a pack. With this many, the next one fetches everything into a new copy.
    pub packs: usize,
    /// How many versions are looked at to tell how two are related; beyond that it is unknown.
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

/// How long a server is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub connect: Duration,
    /// Without a single byte.
    pub idle: Duration,
    /// For one poll, whatever it brings.
    pub total: Duration,
    /// Bytes a second, over [`Self::window`]. Low, because a server that counts its objects says
    /// little for long.
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

/// What of a repository is followed, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    Branch(String),
    /// Its commit is the version, and stays it.
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
    /// The only commit that is a version, by its whole id; it has to be on what is followed.
    pub commit: Option<String>,
    /// The folder that is the store's root; `None` for the whole repository.
    pub path: Option<StorePath>,
    pub credentials: Credentials,
    /// A file with the certificates of the authorities to trust instead of the system's.
    pub authorities: Option<PathBuf>,
    pub ssh: Option<SshOptions>,
    /// Takes the newest version only. Ancestry is then unknown, which holds every new version until
    /// a person accepts it.
    pub shallow: bool,
    pub cache: GitCache,
    pub limits: GitLimits,
    pub patience: Patience,
    /// Takes a path on this machine for a URL. For `Bootstrap` alone: a document from a store must
    /// not read our disk.
    pub allow_local: bool,
}

impl GitOptions {
    /// A store over https or ssh with nothing but defaults.
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
