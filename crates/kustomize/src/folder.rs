//! Resolves the paths of a kustomization. Files must be in its directory or below it, unless that
//! restriction is lifted. Bases may be anywhere in the tree, but not in a directory that is already
//! being built, or above one.

use std::fmt;
use std::sync::Arc;

use crate::files::{FileError, Files, RemoteFolder};
use crate::repository::Repository;

/// A directory on the way from one kustomization to its bases.
#[derive(Clone, Copy)]
pub struct Folder<'f> {
    files: &'f dyn Files,
    /// Relative to the root of the tree, without a slash at either end; empty for the root itself.
    path: &'f str,
    /// The number of leading path components that name the tree. A path cannot go above them.
    tree: usize,
    /// The kustomization that names this one as a base.
    by: Option<&'f Folder<'f>>,
    /// The path as written in that kustomization; empty for the first directory of a build.
    written: &'f str,
    /// Files outside the directory may not be read.
    is_restricted: bool,
}

impl fmt::Debug for Folder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("path", &self.path).field("by", &self.by).finish_non_exhaustive()
    }
}

/// The directory of a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// As [`Folder::path`].
    pub path: String,
    tree: usize,
}

/// The location of a file, as in the annotations of `buildMetadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Relative to the directory where the build began, or to the root of the repository.
    pub path: String,
    /// Empty for a file of the tree that is built. Credentials are left out.
    pub repository: String,
    pub reference: String,
}

/// A path that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPath {
    Empty,
    Absolute(String),
    /// The path leaves the tree.
    Outside {
        path: String,
        folder: String,
    },
    /// A file that is not in or below the directory.
    Above {
        file: String,
        /// The target, if the path goes through a link.
        real: Option<String>,
        folder: String,
    },
    /// A base in a directory that is already being built, or above one.
    Cycle {
        base: String,
        folder: String,
    },
    /// A path on another machine.
    Remote(String),
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a path is empty: name a file or a directory"),
            Self::Absolute(path) => write!(f, "new root '{path}' cannot be absolute: write a relative path"),
            Self::Outside { path, folder } => {
                let path = if is_remote(path) { &without_secrets(path) } else { path };
                write!(f, "`{path}` leads out of the tree of '{folder}': move the file or base into the tree")
            }
            Self::Above { file, real, folder } => {
                write!(f, "security; file '{file}' is not in or below '{folder}'")?;
                if let Some(real) = real {
                    write!(f, " (a link leads to '{real}')")?;
                }
                f.write_str(": move it there, or make its directory a base")
            }
            Self::Cycle { base, folder } => {
                write!(f, "cycle detected: candidate root '{base}' contains visited root '{folder}': leave it out")
            }
            Self::Remote(path) => write!(
                f,
                "`{}` is on another machine, and nothing is fetched while rendering: declare it as a Store, or copy it here",
                without_secrets(path)
            ),
        }
    }
}

impl std::error::Error for BadPath {}

impl<'f> Folder<'f> {
    pub fn new(files: &'f dyn Files, path: &'f str, is_restricted: bool) -> Self {
        Self { files, path, tree: 0, by: None, written: "", is_restricted }
    }

    pub fn path(&self) -> &'f str {
        self.path
    }

    /// Resolves the path of a file of this kustomization.
    pub fn file(&self, path: &str) -> Result<String, FileError> {
        if path.starts_with("https://") || path.starts_with("http://") {
            return Err(BadPath::Remote(path.to_owned()).into());
        }
        let file = self.resolve(path)?;
        if self.is_restricted {
            let real = self.files.real_file(&file)?;
            if !is_within(&real, self.path) {
                let real = (real != file).then(|| self.files.told(&real));
                return Err(BadPath::Above { file: self.files.told(&file), real, folder: shown(self.path) }.into());
            }
        }
        Ok(file)
    }

    /// Reports whether a file exists, even if this kustomization may not read it. A file that
    /// cannot be checked counts as existing.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        let is_absent = |error| matches!(error, FileError::Missing { .. } | FileError::Folder { .. });
        self.resolve(path).is_ok_and(|file| !self.files.read(&file).is_err_and(is_absent))
    }

    /// Returns the content of a file of this kustomization.
    pub fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        self.files.read(&self.file(path)?)
    }

    /// Resolves the path of a base of this kustomization.
    pub fn base(&self, path: &str) -> Result<Base, FileError> {
        let base = match is_remote(path) {
            true => {
                let RemoteFolder { tree, path } = self.files.remote_folder(path)?;
                let joint = if path.is_empty() { "" } else { "/" };
                Base { path: self.files.real_folder(&format!("{tree}{joint}{path}"))?, tree: 1 }
            }
            false => Base { path: self.files.real_folder(&self.resolve(path)?)?, tree: self.tree },
        };
        let mut visited = Some(self);
        while let Some(folder) = visited {
            if folder.tree == base.tree && is_within(folder.path, &base.path) {
                return Err(BadPath::Cycle { base: shown(&base.path), folder: shown(folder.path) }.into());
            }
            visited = folder.by;
        }
        Ok(base)
    }

    /// Returns the directory of a base that [`Folder::base`] resolved from `written`.
    pub fn below(&'f self, base: &'f Base, written: &'f str) -> Self {
        Self { path: &base.path, tree: base.tree, by: Some(self), written, ..*self }
    }

    /// Returns the location of a file, as far as the written paths on the way determine it.
    pub fn way_from_the_first(&self, file: &str) -> Way {
        let mut written = vec![file];
        let mut folder = Some(self);
        while let Some(at) = folder {
            written.push(at.written);
            folder = at.by;
        }
        let (mut way, mut parts) = (Way::default(), Vec::new());
        for path in written.into_iter().rev() {
            let path = match Repository::of(path) {
                None => path,
                Some(Repository { address, folder, reference }) => {
                    parts.clear();
                    (way.repository, way.reference) = (without_secrets(&address), reference);
                    // For the root of a repository, kustomize prints the placeholder that it uses
                    // for repositories that are not fetched yet.
                    if clean(folder, &mut Vec::new()).is_empty() { "notCloned" } else { folder }
                }
            };
            clean(path, &mut parts);
        }
        Way { path: parts.join("/"), ..way }
    }

    fn resolve(&self, path: &str) -> Result<String, BadPath> {
        if path.is_empty() {
            return Err(BadPath::Empty);
        }
        if path.starts_with('/') {
            return Err(BadPath::Absolute(path.to_owned()));
        }
        let mut parts: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.len() > self.tree => drop(parts.pop()),
                ".." => return Err(BadPath::Outside { path: path.to_owned(), folder: shown(self.path) }),
                part => parts.push(part),
            }
        }
        Ok(parts.join("/"))
    }
}

/// Appends the components of a path to those of another one.
fn clean<'p, 'w>(path: &'p str, parts: &'w mut Vec<&'p str>) -> &'w [&'p str] {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

fn shown(folder: &str) -> String {
    format!("/{folder}")
}

/// Reports whether a path is a directory or below it.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether kustomize would fetch this path: an URL, or one of the other ways to name a
/// repository.
pub fn is_remote(path: &str) -> bool {
    let is_account = path.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'));
    path.contains("://") || path.starts_with("git::") || path.starts_with("github.com/") || is_account
}

/// Reports whether kustomize clones a repository if it is started with this path instead of a
/// directory.
pub fn is_repository(path: &str) -> bool {
    Repository::of(path).is_some()
}

/// Returns the path of a file without credentials, for messages: an URL may have been taken for a
/// path.
pub(crate) fn without_account(path: &str) -> String {
    let mut before = "";
    let told = path.split('/').map(|part| {
        let scheme = std::mem::replace(&mut before, part);
        let is_secret = |account: &str| scheme.ends_with(':') && (account.contains(':') || scheme.contains("http"));
        part.rsplit_once('@').filter(|(account, _)| is_secret(account)).map_or(part, |(_, host)| host)
    });
    told.collect::<Vec<_>>().join("/")
}

/// Returns an URL without credentials, for messages: no password, no account that may be a token,
/// and only those parts of the query that select a version.
pub fn without_secrets(url: &str) -> String {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // With any transport but SSH, the account name alone may be a token.
    let is_ssh = scheme.is_empty() || scheme.ends_with("ssh://");
    let authority = match authority.rsplit_once('@') {
        Some((account, host)) if is_ssh => format!("{}@{host}", account.split(':').next().unwrap_or_default()),
        Some((_, host)) => host.to_owned(),
        None => authority.to_owned(),
    };
    let is_version = |part: &&str| part.starts_with("ref=") || part.starts_with("version=");
    let version: Vec<&str> = query.split('&').filter(is_version).collect();
    let joint = if version.is_empty() { "" } else { "?" };
    format!("{scheme}{authority}{path}{joint}{}", version.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree where one file is behind a link, and two repositories, one of them declared.
    struct Nothing;

    impl Files for Nothing {
        fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
            Err(FileError::Missing { path: path.to_owned() })
        }

        fn real_folder(&self, path: &str) -> Result<String, FileError> {
            Ok(path.replace("linked", "web"))
        }

        fn real_file(&self, path: &str) -> Result<String, FileError> {
            Ok(if path.ends_with("passwords.yaml") { "etc/passwd" } else { path }.to_owned())
        }

        fn remote_folder(&self, url: &str) -> Result<RemoteFolder, FileError> {
            match url {
                "https://example.com/declared" => Ok(RemoteFolder { tree: "other:".to_owned(), path: "x".to_owned() }),
                url => Err(BadPath::Remote(url.to_owned()).into()),
            }
        }
    }

    fn at(path: &str) -> Base {
        Base { path: path.to_owned(), tree: 0 }
    }

    fn base(folder: &Folder<'_>, path: &str) -> Result<String, BadPath> {
        folder.base(path).map(|base| base.path).map_err(bad)
    }

    fn file(folder: &Folder<'_>, path: &str) -> Result<String, BadPath> {
        folder.file(path).map_err(bad)
    }

    fn bad(error: FileError) -> BadPath {
        match error {
            FileError::Path(bad) => bad,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn files_are_in_the_folder_and_bases_anywhere_else() {
        let overlay = Folder::new(&Nothing, "apps/web/overlays/prod", true);
        assert_eq!(file(&overlay, "a.yaml").as_deref(), Ok("apps/web/overlays/prod/a.yaml"));
        assert_eq!(file(&overlay, "./x//../a.yaml").as_deref(), Ok("apps/web/overlays/prod/a.yaml"));
        assert_eq!(base(&overlay, "../../base").as_deref(), Ok("apps/web/base"));
        assert_eq!(base(&overlay, "sub/").as_deref(), Ok("apps/web/overlays/prod/sub"));
        let above = file(&overlay, "../a.yaml").unwrap_err().to_string();
        assert!(
            above.starts_with("security; file 'apps/web/overlays/a.yaml' is not in or below '/apps/web/overlays/prod'")
        );
        assert_eq!(file(&Folder::new(&Nothing, "a", false), "../b.yaml").as_deref(), Ok("b.yaml"));
        assert!(matches!(file(&overlay, "../prod-2/a.yaml"), Err(BadPath::Above { .. })));
    }

    #[test]
    fn a_base_is_not_where_one_already_is() {
        let outer = Folder::new(&Nothing, "apps/web/overlay", true);
        let below = at("apps/base");
        let inner = outer.below(&below, "../../base");
        for (folder, path) in
            [(outer, "."), (outer, ".."), (inner, "../web/overlay"), (inner, "../web"), (inner, "../..")]
        {
            assert!(matches!(base(&folder, path), Err(BadPath::Cycle { .. })), "{path}");
        }
        assert_eq!(base(&inner, "../web/overlay-2").as_deref(), Ok("apps/web/overlay-2"));
    }

    #[test]
    fn the_way_from_the_first_folder_is_told_by_what_is_written() {
        let outer = Folder::new(&Nothing, "apps/web/overlay", true);
        let (below, further, other) = (at("apps/base"), at("apps/base/sub"), at("apps/web/other"));
        let base = outer.below(&below, "../../base/");
        let inner = base.below(&further, "./sub");
        let way = |folder: &Folder<'_>, file: &str| folder.way_from_the_first(file).path;
        assert_eq!(way(&outer, "a/../b.yaml"), "b.yaml");
        assert_eq!(way(&base, "a.yaml"), "../../base/a.yaml");
        assert_eq!(way(&inner, "../../x.yaml"), "../../x.yaml");
        let back = base.below(&other, "../web/other");
        assert_eq!(way(&back, "a.yaml"), "../../web/other/a.yaml", "what is written counts, not where it leads");
    }

    #[test]
    fn the_way_into_a_repository_begins_at_its_root() {
        let outer = Folder::new(&Nothing, "apps/web/overlay", true);
        let (first, other, root) = (at("apps/base"), at("other:/x"), at("other:"));
        let base = outer.below(&first, "../../base");
        let remote = base.below(&other, "https://user:hunter2@example.com/a/b//x/y?ref=v1");
        let inner = remote.below(&other, "../z");
        let way = |path: &str, reference: &str| {
            let (path, reference) = (path.to_owned(), reference.to_owned());
            Way { path, repository: "https://example.com/a/b".to_owned(), reference }
        };
        assert_eq!(remote.way_from_the_first("c.yaml"), way("x/y/c.yaml", "v1"));
        assert_eq!(inner.way_from_the_first("c.yaml"), way("x/z/c.yaml", "v1"));
        let another = inner.below(&root, "https://example.com/a/b");
        assert_eq!(another.way_from_the_first("c.yaml"), way("notCloned/c.yaml", ""));
    }

    #[test]
    fn an_url_that_was_taken_for_a_file_is_told_without_its_account() {
        for (path, told) in [
            ("app/git::https:/user:hunter2@example.com/a", "app/git::https:/example.com/a"),
            ("app/ssh:/git:hun@ter2@example.com/a", "app/ssh:/example.com/a"),
            ("git::https:/hunter2@example.com/a", "git::https:/example.com/a"),
            ("store:/a@b/c.yaml", "store:/a@b/c.yaml"),
            ("app/a:b@c/d.yaml", "app/a:b@c/d.yaml"),
        ] {
            assert_eq!(without_account(path), told);
        }
    }

    #[test]
    fn nothing_is_fetched_and_the_tree_is_all_there_is() {
        let folder = Folder::new(&Nothing, "a", true);
        for path in
            ["https://example.com/x.yaml", "github.com/a/b?ref=v1", "git@example.com:a/b", "git::ssh://x", "file:///x"]
        {
            assert!(matches!(base(&folder, path), Err(BadPath::Remote(_))), "{path}");
        }
        assert!(matches!(file(&folder, "https://example.com/x.yaml"), Err(BadPath::Remote(_))));
        assert_eq!(file(&folder, "github.com/a/b.yaml").as_deref(), Ok("a/github.com/a/b.yaml"), "a copy of it");
        assert_eq!(base(&folder, "/etc"), Err(BadPath::Absolute("/etc".to_owned())));
        for path in ["../../b", "../b/../../c"] {
            assert!(matches!(base(&folder, path), Err(BadPath::Outside { .. })), "{path}");
        }
        assert_eq!(file(&folder, ""), Err(BadPath::Empty));
        assert!(!is_remote("a/b@c:d"));
    }

    #[test]
    fn an_url_is_told_without_what_opens_the_repository() {
        for (url, told) in [
            ("https://user:hunter2@example.com/a/b//c?ref=v1", "https://example.com/a/b//c?ref=v1"),
            ("git::https://hunter2@example.com/a?timeout=9s&ref=v1", "git::https://example.com/a?ref=v1"),
            ("https://x:hun@ter2@example.com", "https://example.com"),
            ("https://example.com/@a/b.yaml?token=hunter2", "https://example.com/@a/b.yaml"),
            ("ssh://git:hunter2@example.com:22/a", "ssh://git@example.com:22/a"),
            ("git@example.com:a/b", "git@example.com:a/b"),
            ("github.com/a/b?version=v1", "github.com/a/b?version=v1"),
        ] {
            assert_eq!(without_secrets(url), told);
            assert!(BadPath::Remote(url.to_owned()).to_string().starts_with(&format!("`{told}` is on another")));
        }
    }

    #[test]
    fn links_are_followed_before_anything_is_allowed() {
        let overlay = Folder::new(&Nothing, "apps/web/overlay", true);
        assert!(matches!(base(&overlay, "../../linked/overlay"), Err(BadPath::Cycle { .. })));
        assert_eq!(base(&overlay, "../../linked/base").as_deref(), Ok("apps/web/base"));
        let above = file(&overlay, "passwords.yaml").unwrap_err().to_string();
        assert!(above.starts_with(
            "security; file 'apps/web/overlay/passwords.yaml' is not in or below '/apps/web/overlay' (a link leads to 'etc/passwd')"
        ));
    }

    #[test]
    fn a_declared_repository_is_a_tree_of_its_own() {
        let overlay = Folder::new(&Nothing, "apps/web", true);
        let remote = overlay.base("https://example.com/declared").unwrap();
        assert_eq!(remote.path, "other:/x");
        let remote = overlay.below(&remote, "https://example.com/declared");
        assert_eq!(base(&remote, "../y").as_deref(), Ok("other:/y"));
        for path in ["../..", "../../apps/web", "../../../z"] {
            assert!(matches!(base(&remote, path), Err(BadPath::Outside { .. })), "{path}");
        }
        assert!(matches!(base(&remote, "https://example.com/declared"), Err(BadPath::Cycle { .. })));
    }
}
