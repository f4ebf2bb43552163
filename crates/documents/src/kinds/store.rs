//! `kind: Store`.

use setpoint_yaml::{Class, Node};

use crate::declaration::{object, one_of};
use crate::duration::{DAY, Duration};
use crate::reader::Reader;
use crate::text::{AbsolutePath, Branch, Commit, RelativePath, Tag, Url};

object! {
    /// A source of versions: a branch or a tag of a Git repository, and a directory in it.
    pub struct StoreSpec => reference_is_consistent {
        /// The URL of the repository.
        "url" url: Url,
        /// The branch to follow; each of its commits is a version. If both `branch` and `tag` are
        /// omitted, this is `main`.
        "branch" branch: Option<Branch> = None,
        /// The tag to follow instead of a branch; its commit is the version. A moved tag counts as
        /// rewritten history: Setpoint reports it and keeps the accepted version.
        "tag" tag: Option<Tag> = None,
        /// The only commit to accept as a version, as its full 40-digit ID. It must be reachable
        /// from the branch or tag, which may move on.
        "commit" commit: Option<Commit> = None,
        /// The directory to read. If omitted, the whole repository is read.
        "path" path: Option<RelativePath> = None,
        /// The interval at which the branch or tag is polled. A webhook only triggers an earlier
        /// poll.
        "interval" interval: Duration<1, DAY> = Duration::seconds(30),
        /// The credentials for the repository. If omitted, none are sent.
        "credentialsFrom" credentials_from: Option<StoreCredentials> = None,
        /// A file with the accepted SSH host keys, in the format of `ssh-keyscan`.
        "knownHostsFile" known_hosts: Option<AbsolutePath> = None,
        /// A PEM file with CA certificates. They replace those of the system.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
        /// Fetches only the newest commit. Setpoint then cannot verify that a new version descends
        /// from the accepted one, and holds the app instead of following it.
        "shallow" shallow: bool = false,
    }
}

/// The branch or tag that a store follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Branch(Branch),
    Tag(Tag),
}

impl StoreSpec {
    /// Returns the branch or tag to follow, with the default applied.
    pub fn reference(&self) -> Reference {
        match &self.tag {
            Some(tag) => Reference::Tag(tag.clone()),
            None => Reference::Branch(self.branch.clone().unwrap_or_else(Branch::main)),
        }
    }
}

fn reference_is_consistent(store: &StoreSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let mut report = |field: &str, message: &str, help: &str| {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), message, help);
        false
    };
    if store.branch.is_some() && store.tag.is_some() {
        let message = "`branch` and `tag` are both set; a store follows only one of them";
        return report("tag", message, "remove `branch` or `tag`");
    }
    if store.commit.is_some() && store.shallow {
        let message = "`commit` needs the history of the repository, and a shallow store has none";
        return report("shallow", message, "remove `shallow`, or replace `commit` by a `tag`");
    }
    true
}

one_of! {
    /// The file with the credentials of a repository. It is read each time they are needed.
    pub enum StoreCredentials {
        /// A file that contains only the token (HTTPS) or the private key (SSH).
        "file" File(AbsolutePath),
        /// A file that contains `user:password` (HTTPS).
        "basicFile" Basic(AbsolutePath),
    }
}

one_of! {
    /// The file with the credentials. It is read each time they are needed.
    pub enum Credentials {
        /// A file that contains only the token or key.
        "file" File(AbsolutePath),
    }
}
