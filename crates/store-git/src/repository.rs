//! A repository on disk: versions, their ancestry, and their objects by id.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind as GitKind;
use setpoint_core::name::VersionId;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_store::path::shown;
use setpoint_store::{
    Entry, EntryKind, Inspector, ObjectId, ObjectTree, Objects, Person, Signature, StoreError, StorePath, Trailer,
    Tree, VersionInfo,
};

use crate::failure::on_disk;
use crate::options::GitLimits;
use crate::reference::Reference;

/// The fewest digits of a named id: fewer would match too many versions.
const SHORTEST_NAME: usize = 4;
/// The most directory entries that are cached, over all directories.
const KEPT_ENTRIES: usize = 250_000;

/// The directories that were read. They never change, so they outlive the repository's handle.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    entries: usize,
    folders: BTreeMap<ObjectId, Arc<[Entry]>>,
}

/// An open repository.
pub struct Repository {
    shared: gix::ThreadSafeRepository,
    folders: Arc<Mutex<Folders>>,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repository({})", self.shared.path().display())
    }
}

/// Returns the options for opening a repository of ours or of a user: only its own files are read,
/// and its configuration is not trusted.
pub(crate) fn isolated(limits: &GitLimits) -> gix::open::Options {
    let allocation = format!("gitoxide.objects.allocLimit={}", limits.object_bytes);
    gix::open::Options::isolated()
        .with(gix::sec::Trust::Reduced)
        // Replacement references would make one id show another version's content.
        .config_overrides([allocation.as_str(), "core.useReplaceRefs=false"])
}

impl Repository {
    pub(crate) fn open(folder: &Path, limits: &GitLimits, folders: Arc<Mutex<Folders>>) -> Result<Self, StoreError> {
        let shared =
            isolated(limits).open(folder).map_err(|error| on_disk("the repository cannot be opened", &error))?;
        Self::new(shared, folders)
    }

    pub(crate) fn new(shared: gix::ThreadSafeRepository, folders: Arc<Mutex<Folders>>) -> Result<Self, StoreError> {
        if shared.objects_dir().join("info/alternates").exists() {
            return Err(StoreError::refused(
                "the repository borrows objects from another one (objects/info/alternates)",
                "run `git repack -a -d` in it and remove that file",
            ));
        }
        Ok(Self { shared, folders })
    }

    /// Opens the repository again with everything that has arrived since: an open one has no room
    /// in its table for added packs.
    pub(crate) fn again(&self, limits: &GitLimits) -> Result<Self, StoreError> {
        Self::open(self.shared.path(), limits, Arc::clone(&self.folders))
    }

    pub(crate) fn handle(&self) -> gix::Repository {
        self.shared.to_thread_local()
    }

    pub(crate) fn packs(&self) -> usize {
        let files = std::fs::read_dir(self.shared.objects_dir().join("pack")).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pack")).count()
    }

    /// Returns the object that a branch or tag points to, a commit or an annotated tag; `None` if
    /// there is no such branch or tag.
    pub(crate) fn target(&self, reference: &Reference) -> Result<Option<gix::ObjectId>, StoreError> {
        let repo = self.handle();
        let damaged = |error: gix::Error| on_disk(&format!("{reference} cannot be read"), &error);
        let Some(mut found) = repo.try_find_reference(reference.full_name().as_str()).map_err(damaged)? else {
            return Ok(None);
        };
        found.follow_to_object().map(|id| Some(id.detach())).map_err(damaged)
    }

    /// Returns the commit that a branch or tag leads to; `None` if there is no such branch or tag.
    pub(crate) fn head(&self, reference: &Reference) -> Result<Option<gix::ObjectId>, StoreError> {
        self.target(reference)?.map(|target| self.commit_behind(target, reference)).transpose()
    }

    /// Returns the commit for an object that is one, or that is an annotated tag of one.
    pub(crate) fn commit_behind(&self, id: gix::ObjectId, of: &Reference) -> Result<gix::ObjectId, StoreError> {
        let repo = self.handle();
        let damaged = |error: gix::Error| on_disk(&format!("{of} cannot be read"), &error);
        let end = repo.find_object(id).and_then(gix::Object::peel_tags_to_end).map_err(damaged)?;
        if end.kind != gix::objs::Kind::Commit {
            let what = format!("{of} leads to a {} instead of a commit", end.kind);
            return Err(StoreError::refused(what, "point it to a commit, or declare another one"));
        }
        Ok(end.id)
    }

    pub(crate) fn has(&self, id: gix::ObjectId) -> bool {
        self.handle().has_object(id)
    }

    /// Reports whether a version and its root directory can be read.
    pub(crate) fn holds(&self, id: gix::ObjectId) -> bool {
        let repo = self.handle();
        repo.find_commit(id).is_ok_and(|commit| commit.tree().is_ok_and(|tree| tree.decode().is_ok()))
    }

    /// Returns one version as a tree, after an inspection of the whole version.
    pub(crate) fn tree(
        self: Arc<Self>,
        version: &VersionId,
        path: Option<&StorePath>,
        inspector: &Inspector,
    ) -> Result<Arc<dyn Tree>, StoreError> {
        let root = self.root_of(version)?;
        let objects = GitObjects { file_bytes: inspector.limits().file_bytes, repository: self };
        inspector.inspect(&objects, &root)?;
        let tree = ObjectTree::new(objects, root);
        let Some(path) = path else { return Ok(Arc::new(tree)) };
        match tree.id_at(path)? {
            Some(entry) if entry.kind == EntryKind::Directory => {
                Ok(Arc::new(ObjectTree::new(tree.objects().clone(), entry.id)))
            }
            _ => Err(StoreError::vanished(
                format!("directory `{}` in version {version}", shown(path.as_str())),
                "restore it, or declare another path for the store; nothing is removed because of it",
            )),
        }
    }

    fn root_of(&self, version: &VersionId) -> Result<ObjectId, StoreError> {
        let repo = self.handle();
        let commit = self.commit(&repo, version)?;
        let tree = commit.tree_id().map_err(|error| on_disk("a version cannot be read", &error))?;
        Ok(ObjectId::new(&tree.to_string()))
    }

    fn commit<'r>(&self, repo: &'r gix::Repository, version: &VersionId) -> Result<gix::Commit<'r>, StoreError> {
        let vanished = || {
            let fix = "poll the store again; a rewritten history no longer has it";
            StoreError::vanished(format!("version {version}"), fix)
        };
        let id = gix::ObjectId::from_hex(version.as_str().as_bytes()).map_err(|_| vanished())?;
        let object = repo.try_find_object(id).map_err(|error| on_disk("a version cannot be read", &error))?;
        object.ok_or_else(vanished)?.try_into_commit().map_err(|_| vanished())
    }

    /// Determines the relation of an offered version to the accepted one, by the local history.
    pub(crate) fn ancestry(
        &self,
        accepted: &VersionId,
        offered: &VersionId,
        limits: &GitLimits,
    ) -> Result<Ancestry, StoreError> {
        if accepted == offered {
            return Ok(Ancestry::Same);
        }
        let repo = self.handle();
        let find = |version| match self.commit(&repo, version) {
            Ok(commit) => Ok(Some(commit.id)),
            Err(StoreError::Vanished { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let (Some(accepted), Some(offered)) = (find(accepted)?, find(offered)?) else { return Ok(Ancestry::Unknown) };
        let complete = !repo.is_shallow().map_err(|error| on_disk("the shallow boundary cannot be read", &error))?;
        let reached = |from, to| self.reaches(from, to, limits.history);
        Ok(match (reached(offered, accepted)?, complete) {
            (Some(true), _) => Ancestry::Descendant,
            (None, _) | (_, false) => Ancestry::Unknown,
            (Some(false), true) => match reached(accepted, offered)? {
                Some(true) => Ancestry::Older,
                Some(false) => Ancestry::Rewritten,
                None => Ancestry::Unknown,
            },
        })
    }

    /// Finds the version behind a branch or tag that a person names by its id or a prefix of it.
    pub(crate) fn find(&self, reference: &Reference, name: &str, farthest: usize) -> Result<VersionId, StoreError> {
        let name = beginning_of_an_id(name)?;
        let found = self.find_behind(self.head(reference)?, &name, farthest)?;
        only_version(&name, found)
    }

    /// Returns the commits among these and their ancestors whose id has the prefix.
    pub(crate) fn find_behind(
        &self,
        tips: impl IntoIterator<Item = gix::ObjectId>,
        name: &str,
        farthest: usize,
    ) -> Result<BTreeSet<gix::ObjectId>, StoreError> {
        let repo = self.handle();
        let damaged = |error: gix::Error| on_disk("the history cannot be read", &error);
        let mut found = BTreeSet::new();
        for info in repo.rev_walk(tips).all().map_err(damaged)?.take(farthest) {
            let id = info.map_err(damaged)?.id;
            if id.to_string().starts_with(name) {
                found.insert(id);
            }
        }
        Ok(found)
    }

    /// Returns the commits that the references of this repository lead to.
    pub(crate) fn tips(&self) -> Result<BTreeSet<gix::ObjectId>, StoreError> {
        let repo = self.handle();
        let damaged = |error: gix::Error| on_disk("the branches and tags cannot be read", &error);
        let references = repo.references().map_err(damaged)?;
        let mut tips = BTreeSet::new();
        for reference in references.all().map_err(damaged)? {
            // A symbolic reference without a target leads to no version.
            let Ok(target) = reference.map_err(damaged)?.follow_to_object() else { continue };
            let end = repo.find_object(target.detach()).and_then(gix::Object::peel_tags_to_end).map_err(damaged)?;
            // A tag of a file or a directory leads to no version.
            if end.kind == gix::objs::Kind::Commit {
                tips.insert(end.id);
            }
        }
        Ok(tips)
    }

    /// Returns the metadata of a version.
    pub(crate) fn describe(&self, version: &VersionId) -> Result<VersionInfo, StoreError> {
        let repo = self.handle();
        let commit = self.commit(&repo, version)?;
        let damaged = |error: gix::Error| on_disk("a version cannot be read", &error);
        let decoded = commit.decode().map_err(damaged)?;
        let signature = commit.signature().map_err(damaged)?.map(|(bytes, payload)| Signature {
            bytes: Arc::from(bytes.as_bytes()),
            payload: Arc::from(payload.to_bstring().as_bytes()),
        });
        let trailer = |trailer: gix::objs::commit::message::body::TrailerRef<'_>| Trailer {
            key: trailer.token.to_str_lossy().into_owned(),
            value: trailer.value.to_str_lossy().into_owned(),
        };
        Ok(VersionInfo {
            author: person(decoded.author().map_err(damaged)?),
            committer: person(decoded.committer().map_err(damaged)?),
            message: decoded.message.to_str_lossy().into_owned(),
            trailers: decoded.message_trailers().map(trailer).collect(),
            signature,
        })
    }

    /// Reports whether `to` is `from` or one of its ancestors; `None` if the history exceeds the
    /// limit.
    ///
    /// The walk does not trust the dates in versions: their authors could date an ancestor
    /// later.
    pub(crate) fn reaches(
        &self,
        from: gix::ObjectId,
        to: gix::ObjectId,
        most: usize,
    ) -> Result<Option<bool>, StoreError> {
        let repo = self.handle();
        let damaged = |error: gix::Error| on_disk("the history cannot be read", &error);
        let walk = repo.rev_walk([from]).all().map_err(damaged)?;
        for (seen, version) in walk.enumerate() {
            if seen >= most {
                return Ok(None);
            }
            if version.map_err(damaged)?.id == to {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    fn kept(&self) -> MutexGuard<'_, Folders> {
        // Inserts are of whole listings, so the cache is valid even after a panic of another
        // thread.
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the one version that a person named.
pub(crate) fn only_version(name: &str, found: BTreeSet<gix::ObjectId>) -> Result<VersionId, StoreError> {
    let version = |id: gix::ObjectId| VersionId::new(&id.to_string());
    let versions: Result<_, _> = found.into_iter().map(version).collect();
    setpoint_store::only_one(name, versions.map_err(|bad| StoreError::damaged(bad.to_string()))?)
}

/// Validates a prefix of an id that a person entered.
pub(crate) fn beginning_of_an_id(name: &str) -> Result<String, StoreError> {
    let name = name.to_ascii_lowercase();
    if name.len() < SHORTEST_NAME || !name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(StoreError::refused(
            format!("`{}` is not the id of a version", shown(&name)),
            "enter at least 4 digits of a commit's id",
        ));
    }
    Ok(name)
}

fn person(signature: gix::actor::SignatureRef<'_>) -> Person {
    let seconds = u64::try_from(signature.seconds()).unwrap_or_default();
    Person {
        name: signature.name.to_str_lossy().trim().to_owned(),
        email: signature.email.to_str_lossy().trim().to_owned(),
        at: Timestamp::from_millis(seconds.saturating_mul(1_000)),
    }
}

/// The objects of a repository.
#[derive(Clone, Debug)]
struct GitObjects {
    repository: Arc<Repository>,
    file_bytes: u64,
}

impl Objects for GitObjects {
    fn folder(&self, id: &ObjectId) -> Result<Arc<[Entry]>, StoreError> {
        if let Some(entries) = self.repository.kept().folders.get(id) {
            return Ok(entries.clone());
        }
        let repo = self.repository.handle();
        let damaged = |error: gix::Error| on_disk(&format!("directory {id} cannot be read"), &error);
        let tree = repo.find_tree(git_id(id)?).map_err(damaged)?;
        let decoded = tree.decode().map_err(damaged)?;
        let mut entries = decoded.entries.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        // Git sorts directories as if their names ended in `/`; a listing is sorted by name.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let entries: Arc<[Entry]> = entries.into();
        let mut kept = self.repository.kept();
        if kept.entries >= KEPT_ENTRIES {
            *kept = Folders::default();
        }
        if kept.folders.insert(id.clone(), entries.clone()).is_none() {
            kept.entries += entries.len();
        }
        Ok(entries)
    }

    fn blob(&self, id: &ObjectId) -> Result<Arc<[u8]>, StoreError> {
        let repo = self.repository.handle();
        let damaged = |error: gix::Error| on_disk(&format!("file {id} cannot be read"), &error);
        let git = git_id(id)?;
        let size = repo.find_header(git).map_err(damaged)?.size();
        if size > self.file_bytes {
            return Err(StoreError::refused(
                format!("file {id} is {size} bytes long, the limit is {}", self.file_bytes),
                "make it smaller, or do not use it",
            ));
        }
        Ok(Arc::from(repo.find_blob(git).map_err(damaged)?.data.as_slice()))
    }
}

fn git_id(id: &ObjectId) -> Result<gix::ObjectId, StoreError> {
    gix::ObjectId::from_hex(id.as_str().as_bytes())
        .map_err(|_| StoreError::damaged(format!("`{}` is not the id of an object", shown(id.as_str()))))
}

fn entry(entry: &gix::objs::tree::EntryRef<'_>) -> Result<Entry, StoreError> {
    let name = std::str::from_utf8(entry.filename).map_err(|_| {
        let bytes = entry.filename.escape_ascii();
        StoreError::refused(format!("the name `{bytes}` is not UTF-8"), "rename it")
    })?;
    let kind = match entry.mode.kind() {
        GitKind::Tree => EntryKind::Directory,
        GitKind::Blob => EntryKind::File,
        GitKind::BlobExecutable => EntryKind::Executable,
        GitKind::Link => EntryKind::Symlink,
        GitKind::Commit => EntryKind::Submodule,
    };
    Ok(Entry { name: Arc::from(name), kind, id: ObjectId::new(&entry.oid.to_string()) })
}
