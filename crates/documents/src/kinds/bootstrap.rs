//! `kind: Bootstrap`.

use super::store::Credentials;
use crate::declaration::object;
use crate::text::{AbsolutePath, Branch, RelativePath, Url};

object! {
    /// The only document outside a store: where all others are.
    pub struct BootstrapSpec {
        /// The store with the control documents.
        "store" store: BootstrapStore,
        /// The folder of the control documents: every `*.yaml` below it.
        "path" path: RelativePath,
        /// Where the newest checkpoint of the ledger is kept, outside of the data folder.
        "anchor" anchor: Option<Anchor> = None,
    }
}

object! {
    /// The store with the control documents.
    pub struct BootstrapStore {
        /// Where the repository is.
        "url" url: Url,
        /// The branch whose commits are versions.
        "branch" branch: Branch = Branch::new("main").expect("`main` is the name of a branch"),
        /// Where the credentials are; none are sent if unsaid.
        "credentialsFrom" credentials_from: Option<Credentials> = None,
    }
}

object! {
    /// Where checkpoints of the ledger are kept.
    pub struct Anchor {
        /// A file on another disk than the data folder.
        "file" file: AbsolutePath,
    }
}
