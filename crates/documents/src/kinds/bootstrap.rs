//! `kind: Bootstrap`.

use super::store::StoreCredentials;
use crate::declaration::object;
use crate::duration::{DAY, Duration};
use crate::text::{AbsolutePath, Branch, ProgramDigest, RelativePath, RepositoryLocation};

object! {
    /// The agent's start configuration, the only document that is not read from a store. It names
    /// the store of all other documents.
    pub struct BootstrapSpec {
        /// The store of the control documents.
        "store" store: BootstrapStore,
        /// The directory of the control documents. Every `*.yaml` file in it and below is read.
        "path" path: RelativePath,
        /// A second copy of the newest checkpoint of the ledger, outside of the data directory.
        "anchor" anchor: Option<Anchor> = None,
        /// The external programs that Apps may select to render their kustomizations. Each runs in
        /// a kernel sandbox. No other external program is run.
        "renderers" renderers: Vec<Renderer> = Vec::new(),
    }
}

object! {
    /// The store of the control documents.
    pub struct BootstrapStore {
        /// The URL of the repository, or its absolute path on the agent's machine.
        "url" url: RepositoryLocation,
        /// The branch to follow. Each commit is a version.
        "branch" branch: Branch = Branch::main(),
        /// The credentials for the repository. If omitted, none are sent.
        "credentialsFrom" credentials_from: Option<StoreCredentials> = None,
        /// A file with the accepted SSH host keys, in the format of `ssh-keyscan`.
        "knownHostsFile" known_hosts: Option<AbsolutePath> = None,
        /// A PEM file with CA certificates. They replace those of the system.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
        /// The interval at which the branch is polled. A webhook only triggers an earlier poll.
        "interval" interval: Duration<1, DAY> = Duration::seconds(30),
    }
}

object! {
    /// The location of the ledger's newest checkpoint outside of the data directory.
    pub struct Anchor {
        /// A file, preferably on another disk than the data directory.
        "file" file: AbsolutePath,
    }
}

object! {
    /// An external program that renders kustomizations. Apps select it by its digest.
    pub struct Renderer {
        /// The path of the program: a statically linked `kustomize`, such as an official release.
        "binary" binary: AbsolutePath,
        /// The SHA-256 digest of the program. If the file at `binary` has another digest, it is not
        /// run.
        "digest" digest: ProgramDigest,
    }
}
