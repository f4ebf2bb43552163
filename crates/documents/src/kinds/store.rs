//! `kind: Store`.

use setpoint_yaml::{Class, Node};

use crate::declaration::{object, one_of};
use crate::duration::{DAY, Duration};
use crate::reader::Reader;
use crate::text::{AbsolutePath, Branch, Commit, RelativePath, Tag, Url};

object! {
    /// Where versions live: a branch or a tag of a Git repository, and a folder in it.
    pub struct StoreSpec => is_pinned_properly {
        /// Where the repository is.
        "url" url: Url,
        /// The branch whose commits are versions; `main` if there is no `tag` either.
        "branch" branch: Option<Branch> = None,
        /// The tag whose commit is the version, instead of a branch. A tag that is moved is a rewritten history: it is told, and what was accepted stays.
        "tag" tag: Option<Tag> = None,
        /// The only commit that is a version, by all of its 40 digits. It has to be on the branch or behind the tag, which may move on.
        "commit" commit: Option<Commit> = None,
        /// The folder everything is read from; the whole repository if unsaid.
        "path" path: Option<RelativePath> = None,
        /// How often the branch or tag is looked at. A webhook only makes it look sooner.
        "interval" interval: Duration<1, DAY> = Duration::seconds(30),
        /// Where the credentials are; none are sent if unsaid.
        "credentialsFrom" credentials_from: Option<StoreCredentials> = None,
        /// The keys by which a host is known that is reached over ssh, as `ssh-keyscan` prints them.
        "knownHostsFile" known_hosts: Option<AbsolutePath> = None,
        /// Certificates of the authorities to trust instead of the system's.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
        /// Fetch the newest commit only. Whether a version descends from another is then unknown, and what is unknown holds.
        "shallow" shallow: bool = false,
    }
}

/// What a store follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Branch(Branch),
    Tag(Tag),
}

impl StoreSpec {
    pub fn reference(&self) -> Reference {
        match &self.tag {
            Some(tag) => Reference::Tag(tag.clone()),
            None => Reference::Branch(self.branch.clone().unwrap_or_else(Branch::main)),
        }
    }
}

fn is_pinned_properly(store: &StoreSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let mut report = |field: &str, message: &str, help: &str| {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), message, help);
        false
    };
    if store.branch.is_some() && store.tag.is_some() {
        let message = "a store follows a branch or a tag, and both are given";
        return report("tag", message, "keep `branch`, or keep `tag`");
    }
    if store.commit.is_some() && store.shallow {
        let message = "`commit` is looked for in a history, and a shallow store has none";
        return report("shallow", message, "remove `shallow`, or name the commit by a `tag` alone");
    }
    true
}

one_of! {
    /// Where the credentials of a store are read from, each time they are needed.
    pub enum StoreCredentials {
        /// A file that holds nothing but the token (https) or the private key (ssh).
        "file" File(AbsolutePath),
        /// A file that holds `user:password` (https).
        "basicFile" Basic(AbsolutePath),
    }
}

one_of! {
    /// Where credentials are read from, each time they are needed.
    pub enum Credentials {
        /// A file that holds nothing but the token or key.
        "file" File(AbsolutePath),
    }
}
