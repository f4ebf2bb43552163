//! Paths on the host: absolute, normalised, and usable as keys.
//!
//! A path is written in the declaration, relative to the target's root: `/etc/motd` of a target
//! with `root: /srv/image` is `/srv/image/etc/motd` on disk. Files, directories and links share one
//! class of keys, because one path has one owner.

use std::fmt;
use std::sync::Arc;

use setpoint_core::key::Key;

/// The class of the keys of files, directories and links.
pub const FILE_CLASS: &str = "file";

/// The longest name that common file systems allow.
const LONGEST_NAME: usize = 255;

/// A problem of a path, and how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct BadPath {
    pub problem: &'static str,
}

/// A normalised absolute path below the target's root; never the root itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPath {
    text: Arc<str>,
    key: Key,
}

impl HostPath {
    pub fn new(text: &str) -> Result<Self, BadPath> {
        let bad = |problem| Err(BadPath { problem });
        if !text.starts_with('/') {
            return bad("begin it with `/`");
        }
        let mut normal = String::with_capacity(text.len());
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match part {
                ".." => return bad("a path may not lead upwards: remove `..`"),
                long if long.len() > LONGEST_NAME => return bad("a name in it is longer than 255 bytes: shorten it"),
                _ => {}
            }
            normal.push('/');
            normal.push_str(part);
        }
        if normal.is_empty() {
            return bad("the root itself cannot be declared: name something below it");
        }
        match Key::new(FILE_CLASS, "", &normal) {
            Ok(key) => Ok(Self { text: normal.into(), key }),
            Err(error) => bad(error.problem),
        }
    }

    /// Returns the path of a key of this class.
    pub(crate) fn of(key: &Key) -> Option<Self> {
        let is_path = key.class() == FILE_CLASS && key.namespace().is_empty();
        is_path.then(|| Self::new(key.name()).ok()).flatten().filter(|path| path.key == *key)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the parent directory; `/` is the target's root.
    pub(crate) fn folder(&self) -> &str {
        match self.text.rfind('/') {
            Some(0) | None => "/",
            Some(end) => &self.text[..end],
        }
    }

    /// Returns the name in that directory.
    pub(crate) fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the parent directories of a normalised path, the outermost first, without the root:
/// `/a/b/c` has `/a` and `/a/b`.
pub(crate) fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).map(|(end, _)| &path[..end])
}

/// Appends a name to a directory.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder == "/" { format!("/{name}") } else { format!("{folder}/{name}") }
}

/// Returns the keys that must be in place before this key, whether declared or not: those of its
/// parent directories. The renderer adds the declared ones to
/// [`Resource::after`](setpoint_core::resource::Resource::after), so that a directory is created
/// before its content and deleted after it.
pub fn implied_dependencies(key: &Key) -> Vec<Key> {
    let path = HostPath::of(key);
    let above =
        |path: &HostPath| folders_above(path.as_str()).filter_map(|folder| HostPath::new(folder).ok()).collect();
    let folders: Vec<HostPath> = path.as_ref().map(above).unwrap_or_default();
    folders.into_iter().map(|folder| folder.key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_form() {
        for text in ["/etc/motd", "//etc/./motd/", "/etc//motd"] {
            let path = HostPath::new(text).unwrap();
            assert_eq!((path.as_str(), path.folder(), path.name()), ("/etc/motd", "/etc", "motd"));
            assert_eq!(path.key().to_text(), "file::/etc/motd");
            assert_eq!(HostPath::of(path.key()), Some(path));
        }
        assert_eq!(HostPath::new("/motd").unwrap().folder(), "/");
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        let long = format!("/{}", "a".repeat(256));
        for text in ["", "/", "//", "/.", "etc/motd", "/etc/../shadow", "/..", "/a\nb", "/a\0b", long.as_str()] {
            assert!(HostPath::new(text).is_err(), "{text:?}");
        }
        assert!(HostPath::new("/srv/..data/...").is_ok());
    }

    #[test]
    fn a_file_depends_on_the_folders_above_it() {
        let keys = implied_dependencies(HostPath::new("/a/b/c").unwrap().key());
        assert_eq!(keys.iter().map(Key::name).collect::<Vec<_>>(), ["/a", "/a/b"]);
        assert!(implied_dependencies(&Key::new("command", "", "/a/b").unwrap()).is_empty());
    }
}
