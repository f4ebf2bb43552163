//! The files a program may read, written into a private folder that is removed with the value.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use setpoint_yaml::visible_text;
use tempfile::TempDir;

/// Why the files of a version could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    #[error("`{path}` is no path that stays in a tree; name files from the root, with `/`, and without `.` and `..`")]
    LeadsOut { path: String },
    #[error("`{path}` stands there twice, or is a file and a folder; leave one of them out")]
    Twice { path: String },
    #[error("`{path}` cannot be written for the external renderer; is there space, and may we write there?")]
    Unwritable { path: String, source: io::Error },
}

/// Files on disk, readable by this user alone, until the value is dropped. An agent that is killed leaves them: `within` should be a folder that
/// is emptied when it starts.
#[derive(Debug)]
pub struct Tree {
    folder: TempDir,
}

impl Tree {
    /// Writes files (path, bytes, whether executable) into a fresh folder in `within`.
    pub fn write<'a>(
        within: &Path,
        files: impl IntoIterator<Item = (&'a str, &'a [u8], bool)>,
    ) -> Result<Self, NotWritten> {
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("setpoint-render-").permissions(private).tempdir_in(within);
        let path = || visible_text(&within.to_string_lossy());
        let tree = Self { folder: folder.map_err(|source| NotWritten::Unwritable { path: path(), source })? };
        for (path, bytes, executable) in files {
            let place = tree.place(path).ok_or_else(|| NotWritten::LeadsOut { path: visible_text(path) })?;
            put(&place, bytes, executable).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                    NotWritten::Twice { path: visible_text(path) }
                }
                _ => NotWritten::Unwritable { path: visible_text(path), source },
            })?;
        }
        Ok(tree)
    }

    /// Where the files are.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where a file belongs; none if its path would leave the folder. There are no links in it, because nothing here makes any.
    fn place(&self, path: &str) -> Option<PathBuf> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        path.split('/').all(plain).then(|| self.path().join(path))
    }
}

fn put(place: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(parent) = place.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mode = if executable { 0o500 } else { 0o400 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(place)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the folder in which this test's own is made")]
    fn write(files: &[(&str, &[u8], bool)]) -> Result<Tree, NotWritten> {
        Tree::write(&std::env::temp_dir(), files.iter().copied())
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
}
