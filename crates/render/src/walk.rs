//! The files below a directory, in the byte order of their paths, independent of the order of
//! listings.

use setpoint_core::name::StoreName;
use setpoint_store::{EntryKind, Listing, StoreError, StorePath, Tree};

use crate::problem::{Problem, Problems};

/// The naming of one store's files in messages: by path, with the store's name in front if an app
/// reads several.
#[derive(Clone, Debug, Default)]
pub struct Naming(Option<StoreName>);

impl Naming {
    pub fn of_one_store() -> Self {
        Self(None)
    }

    pub fn of_one_among_several(store: &StoreName) -> Self {
        Self(Some(store.clone()))
    }

    pub fn name(&self, path: &StorePath) -> String {
        self.0.as_ref().map_or_else(|| path.to_string(), |store| format!("{store}:{path}"))
    }
}

/// Returns every file below a directory, including links to files. A missing directory is a
/// problem, and never counts as empty.
///
/// Links to directories are refused: through them one file has many paths, and a circle has no end.
pub fn files_below(
    tree: &dyn Tree,
    folder: &StorePath,
    naming: &Naming,
    problems: &mut Problems,
) -> Result<Vec<StorePath>, StoreError> {
    let mut walk = Walk { tree, naming, problems, files: Vec::new(), ahead: Vec::new() };
    let name = naming.name(folder);
    match walk.problems.sort_out(&name, tree.list(folder))? {
        Some(Some(listing)) => walk.enter(folder, &listing)?,
        Some(None) => walk.problems.add(Problem::found(
            name,
            "this version has no such directory",
            "restore it, or correct the `path` that names it; the accepted version stays in force",
        )),
        None => {}
    }
    while let Some(folder) = walk.ahead.pop() {
        let listing = walk.problems.sort_out(&naming.name(&folder), tree.list(&folder))?.flatten();
        if let Some(listing) = listing {
            walk.enter(&folder, &listing)?;
        }
    }
    walk.files.sort();
    Ok(walk.files)
}

struct Walk<'a> {
    tree: &'a dyn Tree,
    naming: &'a Naming,
    problems: &'a mut Problems,
    files: Vec<StorePath>,
    ahead: Vec<StorePath>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &StorePath, listing: &Listing) -> Result<(), StoreError> {
        for entry in listing.entries.iter() {
            let path = match folder.join(&entry.name) {
                Ok(path) => path,
                Err(bad) => {
                    self.problems.add(Problem::found(self.naming.name(folder), bad.to_string(), "rename it"));
                    continue;
                }
            };
            match entry.kind {
                EntryKind::File | EntryKind::Executable => self.files.push(path),
                EntryKind::Directory => self.ahead.push(path),
                EntryKind::Symlink => self.follow(path)?,
                EntryKind::Submodule => self.problems.add(Problem::found(
                    self.naming.name(&path),
                    "submodules are not followed",
                    "declare the other repository as a store of its own and give the app a second input",
                )),
            }
        }
        Ok(())
    }

    fn follow(&mut self, path: StorePath) -> Result<(), StoreError> {
        let name = self.naming.name(&path);
        let Some(end) = self.problems.sort_out(&name, self.tree.id_at(&path))? else { return Ok(()) };
        match end.map(|end| end.kind) {
            Some(EntryKind::Directory) => self.problems.add(Problem::found(
                name,
                "a link to a directory is not followed",
                "name that directory as an input of its own, or link to its files",
            )),
            Some(_) => self.files.push(path),
            None => {
                self.problems.add(Problem::found(name, "the link has no target", "remove it, or correct its target"));
            }
        }
        Ok(())
    }
}
