//! Writes new versions to a local repository without the `git` program, for `setpoint init` and
//! `setpoint demo`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::objs::tree::EntryKind;
use gix::refs::transaction::PreviousValue;
use setpoint_core::name::VersionId;
use setpoint_core::time::Timestamp;
use setpoint_store::{StoreError, StorePath};

use crate::failure::on_disk;
use crate::options::GitLimits;
use crate::reference::{Branch, Reference};
use crate::repository::{Repository, isolated};

/// The change of one path in a new version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Write { path: StorePath, bytes: Vec<u8> },
    Remove { path: StorePath },
}

/// The author of a version, with the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    pub at: Timestamp,
}

/// The parent of a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// The branch's head, or none if it is the first version.
    Head,
    /// No parent, with the head's files: history is rewritten.
    Orphan,
}

/// A local bare repository that we may write to.
#[derive(Debug)]
pub struct LocalRepository {
    folder: PathBuf,
    repository: Repository,
}

impl LocalRepository {
    /// Creates an empty bare repository in a directory that is empty or does not exist.
    pub fn init(folder: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = folder.parent() {
            let damaged = |error| StoreError::damaged(format!("{} cannot be created: {error}", parent.display()));
            std::fs::create_dir_all(parent).map_err(damaged)?;
        }
        let shared = gix::ThreadSafeRepository::init_opts(
            folder,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            isolated(&GitLimits::default()),
        );
        let shared = shared.map_err(|error| on_disk(&format!("no repository in {}", folder.display()), &error))?;
        Ok(Self { folder: folder.to_owned(), repository: Repository::new(shared, Arc::default())? })
    }

    /// Opens an existing repository.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let repository = Repository::open(folder, &GitLimits::default(), Arc::default())?;
        Ok(Self { folder: folder.to_owned(), repository })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates a version and points the branch to it. Fails if another writer moved the branch
    /// meanwhile.
    pub fn commit(
        &self,
        branch: &Branch,
        changes: &[Change],
        author: &Author,
        message: &str,
        parent: Parent,
    ) -> Result<VersionId, StoreError> {
        let repo = self.repository.handle();
        let failed = |error: gix::Error| on_disk("the version cannot be written", &error);
        let reference = Reference::Branch(branch.clone());
        let head = self.repository.head(&reference)?;
        let base = match head {
            Some(head) => repo.find_commit(head).and_then(|commit| commit.tree()).map_err(failed)?,
            None => repo.empty_tree(),
        };
        let tree = changed(&repo, &base, changes).map_err(failed)?;
        let time = format!("{} +0000", author.at.as_millis() / 1_000);
        let person = gix::actor::SignatureRef {
            name: checked(&author.name)?.into(),
            email: checked(&author.email)?.into(),
            time: &time,
        };
        let parents = head.filter(|_| parent == Parent::Head);
        let commit = repo.new_commit_as(person, person, message, tree, parents).map_err(failed)?.id;
        let expected = match head {
            Some(head) => PreviousValue::MustExistAndMatch(gix::refs::Target::Object(head)),
            None => PreviousValue::MustNotExist,
        };
        repo.reference(reference.full_name().as_str(), commit, expected, "commit").map_err(failed)?;
        VersionId::new(&commit.to_string()).map_err(|bad| StoreError::damaged(bad.to_string()))
    }
}

fn changed(repo: &gix::Repository, base: &gix::Tree<'_>, changes: &[Change]) -> gix::Result<gix::ObjectId> {
    let mut editor = repo.edit_tree(base.id)?;
    for change in changes {
        match change {
            Change::Write { path, bytes } => {
                let blob = repo.write_blob(bytes)?;
                editor.upsert(path.as_str(), EntryKind::Blob, blob)?;
            }
            Change::Remove { path } => {
                editor.remove(path.as_str())?;
            }
        }
    }
    Ok(editor.write()?.detach())
}

/// Validates a name or address for a version: one line, without the characters that delimit it
/// there.
fn checked(text: &str) -> Result<&str, StoreError> {
    if text.trim().is_empty() || text.contains(['<', '>', '\n', '\r', '\0']) {
        return Err(StoreError::refused(
            format!("`{}` cannot be the name or address of an author", text.escape_default()),
            "write it as one line without `<` and `>`",
        ));
    }
    Ok(text)
}
