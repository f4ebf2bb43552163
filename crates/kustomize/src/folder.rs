//! The folder of a kustomization, and what its paths lead to. Files have to be in the folder or below it, unless that restriction is lifted; bases may be
//! anywhere in the tree, but not where one already is.

use std::fmt;
use std::sync::Arc;

use crate::files::{FileError, Files};

/// A folder on the way from one kustomization to its bases.
#[derive(Clone, Copy, Debug)]
pub struct Folder<'f> {
    /// From the root of the tree, without a slash at either end; empty for the root itself.
    path: &'f str,
    /// The kustomization that led here.
    by: Option<&'f Folder<'f>>,
    /// As it is written there; empty where a build begins.
    written: &'f str,
    /// Files outside of it may not be read.
    is_restricted: bool,
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPath {
    Empty,
    Absolute(String),
    /// A file that is not in or below the folder.
    Above {
        file: String,
        folder: String,
    },
    /// A base that is where one already is, or above it.
    Cycle {
        base: String,
        folder: String,
    },
    /// Something on another machine.
    Remote(String),
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a path is empty: name a file or a folder"),
            Self::Absolute(path) => write!(f, "new root '{path}' cannot be absolute: write it from this folder on"),
            Self::Above { file, folder } => write!(
                f,
                "security; file '{file}' is not in or below '{folder}': move it there, or make a base of its folder"
            ),
            Self::Cycle { base, folder } => {
                write!(f, "cycle detected: candidate root '{base}' contains visited root '{folder}': leave it out")
            }
            Self::Remote(path) => write!(
                f,
                "`{path}` is on another machine, and nothing is fetched while rendering: declare it as a Store, or copy it here"
            ),
        }
    }
}

impl std::error::Error for BadPath {}

impl<'f> Folder<'f> {
    pub fn new(path: &'f str, is_restricted: bool) -> Self {
        Self { path, by: None, written: "", is_restricted }
    }

    pub fn path(&self) -> &'f str {
        self.path
    }

    /// Where a file of this kustomization is.
    pub fn file(&self, path: &str) -> Result<String, BadPath> {
        if is_remote(path) {
            return Err(BadPath::Remote(path.to_owned()));
        }
        let file = self.resolve(path)?;
        match self.is_restricted && !is_within(&file, self.path) {
            true => Err(BadPath::Above { file, folder: shown(self.path) }),
            false => Ok(file),
        }
    }

    /// What a file of this kustomization holds.
    pub fn read(&self, files: &dyn Files, path: &str) -> Result<Arc<[u8]>, FileError> {
        files.read(&self.file(path)?)
    }

    /// Where a base of this kustomization is.
    pub fn base(&self, path: &str) -> Result<String, BadPath> {
        if is_remote(path) {
            return Err(BadPath::Remote(path.to_owned()));
        }
        let base = self.resolve(path)?;
        let mut visited = Some(self);
        while let Some(folder) = visited {
            if is_within(folder.path, &base) {
                return Err(BadPath::Cycle { base: shown(&base), folder: shown(folder.path) });
            }
            visited = folder.by;
        }
        Ok(base)
    }

    /// The folder of a base that [`Folder::base`] gave for what is written.
    pub fn below(&'f self, base: &'f str, written: &'f str) -> Self {
        Self { path: base, by: Some(self), written, is_restricted: self.is_restricted }
    }

    /// Where a file is, from the folder where the build began, as far as it can be told from the paths on the way.
    pub fn way_from_the_first(&self, file: &str) -> String {
        let mut way = vec![file];
        let mut folder = Some(self);
        while let Some(at) = folder {
            way.push(at.written);
            folder = at.by;
        }
        let mut parts = Vec::new();
        for part in way.into_iter().rev().flat_map(|path| path.split('/')) {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
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
                // Above the root there is nothing but the root.
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Ok(parts.join("/"))
    }
}

fn shown(folder: &str) -> String {
    format!("/{folder}")
}

/// Whether a path is a folder or below it.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is one that kustomize would fetch: an URL, or one of the ways to name a repository.
pub fn is_remote(path: &str) -> bool {
    let is_account = path.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'));
    path.contains("://") || path.starts_with("git::") || path.starts_with("github.com/") || is_account
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_folder_and_bases_anywhere_else() {
        let overlay = Folder::new("apps/web/overlays/prod", true);
        assert_eq!(overlay.file("a.yaml").as_deref(), Ok("apps/web/overlays/prod/a.yaml"));
        assert_eq!(overlay.file("./x//../a.yaml").as_deref(), Ok("apps/web/overlays/prod/a.yaml"));
        assert_eq!(overlay.base("../../base").as_deref(), Ok("apps/web/base"));
        assert_eq!(overlay.base("sub/").as_deref(), Ok("apps/web/overlays/prod/sub"));
        let above = overlay.file("../a.yaml").unwrap_err().to_string();
        assert!(
            above.starts_with("security; file 'apps/web/overlays/a.yaml' is not in or below '/apps/web/overlays/prod'")
        );
        assert_eq!(Folder::new("a", false).file("../b.yaml").as_deref(), Ok("b.yaml"));
        assert!(matches!(overlay.file("../prod-2/a.yaml"), Err(BadPath::Above { .. })));
    }

    #[test]
    fn a_base_is_not_where_one_already_is() {
        let outer = Folder::new("apps/web/overlay", true);
        let inner = outer.below("apps/base", "../../base");
        for (folder, path) in
            [(&outer, "."), (&outer, ".."), (&inner, "../web/overlay"), (&inner, "../web"), (&inner, "../..")]
        {
            assert!(matches!(folder.base(path), Err(BadPath::Cycle { .. })), "{path}");
        }
        assert_eq!(inner.base("../web/overlay-2").as_deref(), Ok("apps/web/overlay-2"));
    }

    #[test]
    fn the_way_way_from_the_first_folder_is_told_by_what_is_written() {
        let outer = Folder::new("apps/web/overlay", true);
        let base = outer.below("apps/base", "../../base/");
        let inner = base.below("apps/base/sub", "./sub");
        assert_eq!(outer.way_from_the_first("a/../b.yaml"), "b.yaml");
        assert_eq!(base.way_from_the_first("a.yaml"), "../../base/a.yaml");
        assert_eq!(inner.way_from_the_first("../../x.yaml"), "../../x.yaml");
        let back = base.below("apps/web/other", "../web/other");
        assert_eq!(
            back.way_from_the_first("a.yaml"),
            "../../web/other/a.yaml",
            "what is written counts, not where it leads"
        );
    }

    #[test]
    fn nothing_is_fetched_and_the_tree_is_all_there_is() {
        let folder = Folder::new("a", true);
        for path in
            ["https://example.com/x.yaml", "github.com/a/b?ref=v1", "git@example.com:a/b", "git::ssh://x", "file:///x"]
        {
            assert!(matches!(folder.base(path), Err(BadPath::Remote(_))), "{path}");
            assert!(matches!(folder.file(path), Err(BadPath::Remote(_))), "{path}");
        }
        assert_eq!(folder.base("/etc"), Err(BadPath::Absolute("/etc".to_owned())));
        assert_eq!(folder.base("../../../b").as_deref(), Ok("b"), "above the root there is nothing else");
        assert_eq!(folder.file(""), Err(BadPath::Empty));
        assert!(!is_remote("a/b@c:d"));
    }
}
