//! `kind: Store`.

use crate::declaration::{object, one_of};
use crate::duration::{DAY, Duration};
use crate::text::{AbsolutePath, Branch, RelativePath, Url};

object! {
    /// Where versions live: a branch of a Git repository, and a folder in it.
    pub struct StoreSpec {
        /// Where the repository is.
        "url" url: Url,
        /// The branch whose commits are versions.
        "branch" branch: Branch = Branch::new("main").expect("`main` is the name of a branch"),
        /// The folder everything is read from; the whole repository if unsaid.
        "path" path: Option<RelativePath> = None,
        /// How often the branch is looked at. A webhook only makes it look sooner.
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
