//! Checks a whole version, before anything of it is read, for content that no version may have.
//!
//! A version is refused as a whole for: names that mean something else on another system, two names
//! that are the same there, links that lead out of the tree, submodules, and more than the limits.
//! An inspected directory is known by its id, so a new version costs only its changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unicode_normalization::UnicodeNormalization;

use crate::error::StoreError;
use crate::objects::{Objects, follow};
use crate::path::{MAX_BYTES, MAX_DEPTH, StorePath, component_problem, shown};
use crate::tree::{Entry, EntryKind, ObjectId};

/// The limits of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub files: u64,
    pub links: usize,
    /// The largest file that is read. The store may contain larger ones, but they are not used.
    pub file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 200_000, links: 10_000, file_bytes: 8 << 20 }
    }
}

/// The most directories remembered as inspected. Forgetting all of them costs one full inspection.
const REMEMBERED: usize = 100_000;

/// The summary of a directory that the versions above it need.
#[derive(Debug)]
struct Summary {
    files: u64,
    /// The number of components of the deepest path below.
    height: usize,
    /// The number of bytes of the longest path below.
    longest: usize,
    /// The paths of the links below.
    links: Vec<String>,
}

/// Inspects versions of one store and remembers the directories that passed.
#[derive(Debug)]
pub struct Inspector {
    limits: Limits,
    folders: Mutex<BTreeMap<ObjectId, Arc<Summary>>>,
}

impl Inspector {
    pub fn new(limits: Limits) -> Self {
        Self { limits, folders: Mutex::default() }
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Refuses a version with forbidden content.
    pub fn inspect(&self, objects: &dyn Objects, root: &ObjectId) -> Result<(), StoreError> {
        let summary = self.folder(objects, root, &mut Vec::new())?;
        if summary.files > self.limits.files {
            return Err(StoreError::refused(
                format!("the version holds {} files, the limit is {}", summary.files, self.limits.files),
                "split the repository",
            ));
        }
        if summary.height > MAX_DEPTH {
            return Err(too_deep());
        }
        if summary.longest > MAX_BYTES {
            return Err(StoreError::refused(
                format!("a path is {} bytes long, the limit is {MAX_BYTES}", summary.longest),
                "shorten it",
            ));
        }
        for link in &summary.links {
            let path = StorePath::new(link).map_err(|bad| StoreError::refused(bad.to_string(), "rename it"))?;
            follow(objects, root, &path)?;
        }
        Ok(())
    }

    fn folder(
        &self,
        objects: &dyn Objects,
        id: &ObjectId,
        above: &mut Vec<Arc<str>>,
    ) -> Result<Arc<Summary>, StoreError> {
        if let Some(summary) = self.remembered().get(id) {
            return Ok(summary.clone());
        }
        if above.len() > MAX_DEPTH {
            return Err(too_deep());
        }
        let entries = objects.folder(id)?;
        check_names(&entries, above)?;
        let mut summary = Summary { files: 0, height: 0, longest: 0, links: Vec::new() };
        for entry in entries.iter() {
            match entry.kind {
                EntryKind::Submodule => return Err(submodule(above, &entry.name)),
                EntryKind::Directory => {
                    above.push(entry.name.clone());
                    let below = self.folder(objects, &entry.id, above)?;
                    above.pop();
                    summary.take_in(&entry.name, &below);
                }
                EntryKind::Symlink => summary.links.push(entry.name.to_string()),
                EntryKind::File | EntryKind::Executable => {}
            }
            if entry.kind != EntryKind::Directory {
                summary.files = summary.files.saturating_add(1);
            }
            summary.height = summary.height.max(1);
            summary.longest = summary.longest.max(entry.name.len());
            // Checked here and not once at the end: directories that contain each other's links
            // many times would fill the memory.
            if summary.links.len() > self.limits.links {
                return Err(StoreError::refused(
                    format!("the version holds more than {} symbolic links", self.limits.links),
                    "replace links by files",
                ));
            }
        }
        let summary = Arc::new(summary);
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(id.clone(), summary.clone());
        Ok(summary)
    }

    fn remembered(&self) -> MutexGuard<'_, BTreeMap<ObjectId, Arc<Summary>>> {
        // Each insert adds a whole summary, so the map is valid even after a panic of another
        // thread.
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Summary {
    fn take_in(&mut self, name: &str, below: &Self) {
        self.files = self.files.saturating_add(below.files);
        self.height = self.height.max(below.height.saturating_add(1));
        if below.longest > 0 {
            self.longest = self.longest.max(below.longest.saturating_add(name.len() + 1));
        }
        self.links.extend(below.links.iter().map(|link| format!("{name}/{link}")));
    }
}

fn check_names(entries: &[Entry], above: &[Arc<str>]) -> Result<(), StoreError> {
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for entry in entries {
        let name = entry.name.as_ref();
        let problem = component_problem(name).or_else(|| name.contains('/').then_some("a name contains `/`"));
        if let Some(problem) = problem {
            return Err(StoreError::refused(format!("`{}`: {problem}", place(above, name)), "rename it"));
        }
        if is_git_folder(name) {
            return Err(StoreError::refused(
                format!("`{}` means git's own directory on some systems", place(above, name)),
                "remove it; no honest tool commits it",
            ));
        }
        if let Some(other) = folded.insert(fold(name), name) {
            return Err(StoreError::refused(
                format!("`{}` and `{}` are the same name on some systems", place(above, other), shown(name)),
                "rename one of them",
            ));
        }
    }
    Ok(())
}

/// Returns a name as a file system reads it that ignores case and Unicode composition.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let cased: String = name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    cased.nfc().collect()
}

/// Reports whether a file system might read this name as `.git`: case, the characters that HFS+
/// ignores, and the short names, streams, trailing dots and spaces of NTFS.
fn is_git_folder(name: &str) -> bool {
    let ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = name.chars().filter(|c| !ignored(c)).flat_map(char::to_lowercase).collect();
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
    seen == ".git" || seen == "git~1"
}

fn place(above: &[Arc<str>], name: &str) -> String {
    let folders: String = above.iter().flat_map(|folder| [folder.as_ref(), "/"]).collect();
    shown(&format!("{folders}{name}"))
}

fn submodule(above: &[Arc<str>], name: &str) -> StoreError {
    StoreError::refused(
        format!("`{}` is a submodule; submodules are not followed", place(above, name)),
        "declare the other repository as a store of its own and give the app a second input",
    )
}

fn too_deep() -> StoreError {
    StoreError::refused(format!("a path has more than {MAX_DEPTH} components"), "nest directories less deeply")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_system_takes_for_gits_folder_are_known() {
        for name in [".git", ".GIT", ".g\u{200c}it", "git~1", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION"] {
            assert!(is_git_folder(name), "{name:?}");
        }
        for name in [".gitignore", ".gitattributes", ".github", "git", "git~2", "a.git"] {
            assert!(!is_git_folder(name), "{name:?}");
        }
    }

    #[test]
    fn names_fold_by_case_and_by_composition() {
        assert_eq!(fold("README"), fold("readme"));
        assert_eq!(fold("Caf\u{e9}"), fold("cafe\u{301}"));
        assert_eq!(fold("STRASSE"), fold("stra\u{df}e"));
        assert_ne!(fold("cafe"), fold("caf\u{e9}"));
    }
}
