//! The files that a program may read, in a private directory that is removed with the value.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use setpoint_yaml::visible_text;
use tempfile::TempDir;

/// The prefix of the directories' names.
const PREFIX: &str = "setpoint-render-";

/// The reason why the files of a version could not be written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    #[error("`{path}` is not a path within a tree; name files from the root, with `/`, and without `.` and `..`")]
    LeadsOut { path: String },
    #[error("`{path}` exists twice, or as a file and as a directory; remove one of them")]
    Twice { path: String },
    #[error("`{path}` cannot be written for the external renderer; check its free space and its permissions")]
    Unwritable { path: String, source: io::Error },
}

/// Files on disk, readable by this user only, until the value is dropped. A killed agent leaves
/// them behind, so `within` should be a directory that the agent empties when it starts.
#[derive(Debug)]
pub struct Tree {
    folder: TempDir,
}

/// A tree that still accepts files.
#[derive(Debug)]
pub struct Unfinished {
    tree: Tree,
    /// The links by path, with their targets. They are created last, so that no file is written
    /// through one.
    links: BTreeMap<String, String>,
}

impl Tree {
    /// Creates a new directory in `within`.
    pub fn begin(within: &Path) -> Result<Unfinished, NotWritten> {
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(within);
        let path = || visible_text(&within.to_string_lossy());
        let folder = folder.map_err(|source| NotWritten::Unwritable { path: path(), source })?;
        Ok(Unfinished { tree: Self { folder }, links: BTreeMap::new() })
    }

    /// Returns the directory of the files.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Unfinished {
    pub fn file(&mut self, path: &str, bytes: &[u8], executable: bool) -> Result<(), NotWritten> {
        let place = self.place(path)?;
        put(&place, bytes, executable).map_err(|source| not_written(path, source))
    }

    /// Adds a link to something else in the tree. The target's path contains no link; it is empty
    /// for the tree itself.
    pub fn link(&mut self, path: &str, to: &str) -> Result<(), NotWritten> {
        self.place(path)?;
        if !to.is_empty() {
            self.place(to)?;
        }
        let up = "../".repeat(path.matches('/').count());
        let leads = if up.is_empty() && to.is_empty() { ".".to_owned() } else { format!("{up}{to}") };
        match self.links.insert(path.to_owned(), leads) {
            None => Ok(()),
            Some(_) => Err(NotWritten::Twice { path: visible_text(path) }),
        }
    }

    pub fn finish(self) -> Result<Tree, NotWritten> {
        for (path, leads) in &self.links {
            let above = path.match_indices('/').map(|(at, _)| &path[..at]);
            if above.into_iter().any(|folder| self.links.contains_key(folder)) {
                return Err(NotWritten::Twice { path: visible_text(path) });
            }
            let place = self.place(path)?;
            make_parent(&place).and_then(|()| symlink(leads, &place)).map_err(|source| not_written(path, source))?;
        }
        Ok(self.tree)
    }

    /// Returns the place of a file. No link redirects it, because links are created last.
    fn place(&self, path: &str) -> Result<PathBuf, NotWritten> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        match path.split('/').all(plain) {
            true => Ok(self.tree.path().join(path)),
            false => Err(NotWritten::LeadsOut { path: visible_text(path) }),
        }
    }
}

fn not_written(path: &str, source: io::Error) -> NotWritten {
    let path = visible_text(path);
    match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            NotWritten::Twice { path }
        }
        _ => NotWritten::Unwritable { path, source },
    }
}

fn put(place: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    make_parent(place)?;
    let mode = if executable { 0o500 } else { 0o400 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(place)?.write_all(bytes)
}

fn make_parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), |parent| DirBuilder::new().recursive(true).mode(0o700).create(parent))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the folder in which this test's own is made")]
    fn begin() -> Unfinished {
        Tree::begin(&std::env::temp_dir()).unwrap()
    }

    fn write(files: &[(&str, &[u8], bool)]) -> Result<Tree, NotWritten> {
        let mut tree = begin();
        files.iter().try_for_each(|(path, bytes, executable)| tree.file(path, bytes, *executable))?;
        tree.finish()
    }

    #[test]
    fn files_are_there_for_their_owner_alone_and_gone_with_the_value() {
        let tree = write(&[("a/b.yaml", b"x", false), ("a/c/run", b"y", true)]).unwrap();
        let path = tree.path().to_owned();
        let mode = |file: &str| fs::metadata(path.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(""), mode("a"), mode("a/b.yaml"), mode("a/c/run")), (0o700, 0o700, 0o400, 0o500));
        assert_eq!(fs::read(path.join("a/b.yaml")).unwrap(), b"x");
        drop(tree);
        assert!(!path.exists());
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for path in ["../a", "/etc/a", "a/../../b", "a//b", "./a", "", "a/", "a\0b"] {
            let refused = write(&[(path, b"", false)]);
            assert!(matches!(refused, Err(NotWritten::LeadsOut { .. })), "{path:?}: {refused:?}");
        }
    }

    #[test]
    fn a_file_that_is_there_twice_or_a_folder_too_is_refused() {
        for second in ["a", "a/b"] {
            let refused = write(&[("a", b"1", false), (second, b"2", false)]);
            assert!(matches!(refused, Err(NotWritten::Twice { .. })), "{second}: {refused:?}");
        }
        let refused = write(&[("a/b", b"1", false), ("a", b"2", false)]);
        assert!(matches!(refused, Err(NotWritten::Twice { .. })), "{refused:?}");
    }

    #[test]
    fn a_link_leads_to_what_it_stands_for_wherever_it_is() {
        let mut tree = begin();
        tree.link("a/b/to-file", "c/file").unwrap();
        tree.link("to-root", "").unwrap();
        tree.link("a/to-root", "").unwrap();
        tree.file("c/file", b"x", false).unwrap();
        let tree = tree.finish().unwrap();
        for path in ["a/b/to-file", "to-root/c/file", "a/to-root/c/file"] {
            assert_eq!(fs::read(tree.path().join(path)).unwrap(), b"x", "{path}");
        }
        assert_eq!(fs::read_link(tree.path().join("a/b/to-file")).unwrap(), Path::new("../../c/file"));
    }

    #[test]
    fn a_link_that_leads_out_or_stands_in_the_way_is_refused() {
        for (path, to) in [("../a", "b"), ("a", "../b"), ("a", "/etc"), ("", "a"), ("a/..", "b")] {
            assert!(matches!(begin().link(path, to), Err(NotWritten::LeadsOut { .. })), "{path} to {to}");
        }
        for second in ["a", "a/b"] {
            let mut tree = begin();
            tree.link("a", "c").unwrap();
            let refused = tree.link(second, "c").and_then(|()| tree.finish().map(drop));
            assert!(matches!(refused, Err(NotWritten::Twice { .. })), "{second}: {refused:?}");
            let mut tree = begin();
            tree.link("a", "c").unwrap();
            let refused = tree.file(second, b"x", false).and_then(|()| tree.finish().map(drop));
            assert!(matches!(refused, Err(NotWritten::Twice { .. })), "{second}: {refused:?}");
        }
    }
}
