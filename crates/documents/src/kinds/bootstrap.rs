//! `kind: Bootstrap`.

use super::store::StoreCredentials;
use crate::declaration::object;
use crate::duration::{DAY, Duration};
use crate::text::{AbsolutePath, Branch, Location, ProgramDigest, RelativePath};

object! {
    /// The only document outside a store: where all others are.
    pub struct BootstrapSpec {
        /// The store with the control documents.
        "store" store: BootstrapStore,
        /// The folder of the control documents: every `*.yaml` below it.
        "path" path: RelativePath,
        /// Where the newest checkpoint of the ledger is kept, outside of the data folder.
        "anchor" anchor: Option<Anchor> = None,
        /// Programs that Apps may have their kustomizations rendered by, each in a sandbox of the kernel. No other program ever renders.
        "renderers" renderers: Vec<Renderer> = Vec::new(),
    }
}

object! {
    /// The store with the control documents.
    pub struct BootstrapStore {
        /// Where the repository is: a URL, or an absolute path on this machine.
        "url" url: Location,
        /// The branch whose commits are versions.
        "branch" branch: Branch = Branch::main(),
        /// Where the credentials are; none are sent if unsaid.
        "credentialsFrom" credentials_from: Option<StoreCredentials> = None,
        /// The keys by which a host is known that is reached over ssh, as `ssh-keyscan` prints them.
        "knownHostsFile" known_hosts: Option<AbsolutePath> = None,
        /// Certificates of the authorities to trust instead of the system's.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
        /// How often the branch is looked at. A webhook only makes it look sooner.
        "interval" interval: Duration<1, DAY> = Duration::seconds(30),
    }
}

object! {
    /// Where checkpoints of the ledger are kept.
    pub struct Anchor {
        /// A file on another disk than the data folder.
        "file" file: AbsolutePath,
    }
}

object! {
    /// A program that renders in our place. Apps name it by its digest alone.
    pub struct Renderer {
        /// Where it is: a `kustomize` that is linked statically, as its own releases are.
        "binary" binary: AbsolutePath,
        /// Which it is. Another program at this place is not run.
        "digest" digest: ProgramDigest,
    }
}
