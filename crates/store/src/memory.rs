//! A store in memory, for the simulator and for tests: a history of trees with a head that can
//! move, lag, be rewritten or fail.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_core::name::VersionId;
use setpoint_core::observed::Observed;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;

use crate::contract::{Answer, Person, Store, VersionInfo};
use crate::error::StoreError;
use crate::inspect::{Inspector, Limits};
use crate::objects::{ObjectTree, Objects};
use crate::path::StorePath;
use crate::tree::{Blob, Entry, EntryId, EntryKind, Listing, ObjectId, Tree};

/// The content at one path of a tree that is being built.
#[derive(Clone, Debug)]
enum Leaf {
    File { bytes: Arc<[u8]>, executable: bool },
    Link { target: Arc<str> },
}

/// A tree in memory, built file by file.
#[derive(Clone, Debug)]
pub struct MemoryTree {
    leaves: BTreeMap<StorePath, Leaf>,
    tree: ObjectTree<MemoryObjects>,
}

impl Default for MemoryTree {
    fn default() -> Self {
        Self::from_leaves(BTreeMap::new())
    }
}

impl MemoryTree {
    /// Builds a tree of text files. Later entries replace earlier ones of the same path.
    ///
    /// # Panics
    /// If a path is not valid: trees in memory are written by hand.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let leaf = |text: &str| Leaf::File { bytes: Arc::from(text.as_bytes()), executable: false };
        let path = |text| StorePath::new(text).expect("paths of a tree in memory are valid");
        Self::from_leaves(files.into_iter().map(|(at, text)| (path(at), leaf(text))).collect())
    }

    /// Returns this tree with a file added or replaced. Removes all content at or below the path.
    #[must_use]
    pub fn with_file(&self, path: &StorePath, bytes: &[u8]) -> Self {
        self.with(path, Leaf::File { bytes: Arc::from(bytes), executable: false })
    }

    #[must_use]
    pub fn with_executable(&self, path: &StorePath, bytes: &[u8]) -> Self {
        self.with(path, Leaf::File { bytes: Arc::from(bytes), executable: true })
    }

    #[must_use]
    pub fn with_link(&self, path: &StorePath, target: &str) -> Self {
        self.with(path, Leaf::Link { target: Arc::from(target) })
    }

    /// Returns this tree without the content at or below a path.
    #[must_use]
    pub fn without(&self, path: &StorePath) -> Self {
        let mut leaves = self.leaves.clone();
        leaves.retain(|at, _| !is_at_or_below(at, path));
        Self::from_leaves(leaves)
    }

    pub fn root(&self) -> &ObjectId {
        self.tree.root()
    }

    pub fn objects(&self) -> &MemoryObjects {
        self.tree.objects()
    }

    fn with(&self, path: &StorePath, leaf: Leaf) -> Self {
        let mut leaves = self.leaves.clone();
        // A path is a file or a directory, not both.
        leaves.retain(|at, _| !is_at_or_below(at, path) && !is_at_or_below(path, at));
        leaves.insert(path.clone(), leaf);
        Self::from_leaves(leaves)
    }

    fn from_leaves(leaves: BTreeMap<StorePath, Leaf>) -> Self {
        let mut objects = MemoryObjects::default();
        let items: Vec<_> = leaves.iter().map(|(path, leaf)| (path.components().collect::<Vec<_>>(), leaf)).collect();
        let root = objects.add_folder(&items, 0);
        Self { tree: ObjectTree::new(objects, root), leaves }
    }
}

fn is_at_or_below(path: &StorePath, folder: &StorePath) -> bool {
    let mut path = path.components();
    folder.components().all(|name| path.next() == Some(name))
}

impl Tree for MemoryTree {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        self.tree.read(path)
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        self.tree.list(path)
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.tree.id_at(path)
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.tree.real_path(path)
    }
}

/// Directories and files in memory, identified by the digest of their content.
#[derive(Clone, Debug, Default)]
pub struct MemoryObjects {
    folders: BTreeMap<ObjectId, Arc<[Entry]>>,
    blobs: BTreeMap<ObjectId, Arc<[u8]>>,
}

impl MemoryObjects {
    /// Adds a directory with these entries unchanged, including entries that no honest store would
    /// have. For tests of refusals.
    pub fn put_folder(&mut self, mut entries: Vec<Entry>) -> ObjectId {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut text = String::from("folder\n");
        for Entry { name, kind, id } in &entries {
            text.push_str(&format!("{kind:?} {id} {} {name}\n", name.len()));
        }
        let id = ObjectId::new(&Digest::of(text.as_bytes()).to_string());
        self.folders.insert(id.clone(), entries.into());
        id
    }

    pub fn put_blob(&mut self, bytes: Arc<[u8]>) -> ObjectId {
        let mut named = b"blob\n".to_vec();
        named.extend_from_slice(&bytes);
        let id = ObjectId::new(&Digest::of(&named).to_string());
        self.blobs.insert(id.clone(), bytes);
        id
    }

    /// Adds the directory that holds these sorted leaves, whose paths agree in the first `depth`
    /// components.
    fn add_folder(&mut self, leaves: &[(Vec<&str>, &Leaf)], depth: usize) -> ObjectId {
        let mut entries = Vec::new();
        for group in leaves.chunk_by(|a, b| a.0[depth] == b.0[depth]) {
            let (path, leaf) = &group[0];
            let (kind, id) = match leaf {
                _ if path.len() > depth + 1 => (EntryKind::Directory, self.add_folder(group, depth + 1)),
                Leaf::File { bytes, executable: false } => (EntryKind::File, self.put_blob(bytes.clone())),
                Leaf::File { bytes, executable: true } => (EntryKind::Executable, self.put_blob(bytes.clone())),
                Leaf::Link { target } => (EntryKind::Symlink, self.put_blob(Arc::from(target.as_bytes()))),
            };
            entries.push(Entry { name: Arc::from(path[depth]), kind, id });
        }
        self.put_folder(entries)
    }
}

impl Objects for MemoryObjects {
    fn folder(&self, id: &ObjectId) -> Result<Arc<[Entry]>, StoreError> {
        self.folders.get(id).cloned().ok_or_else(|| StoreError::damaged(format!("directory {id} is missing")))
    }

    fn blob(&self, id: &ObjectId) -> Result<Arc<[u8]>, StoreError> {
        self.blobs.get(id).cloned().ok_or_else(|| StoreError::damaged(format!("file {id} is missing")))
    }
}

#[derive(Debug)]
struct Version {
    parent: Option<VersionId>,
    tree: Arc<MemoryTree>,
    info: VersionInfo,
}

#[derive(Debug, Default)]
struct History {
    versions: BTreeMap<VersionId, Version>,
    head: Option<VersionId>,
    failure: Option<StoreError>,
}

/// A store in memory with one branch.
#[derive(Debug)]
pub struct MemoryStore {
    history: Mutex<History>,
    inspector: Inspector,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self { history: Mutex::default(), inspector: Inspector::new(Limits::default()) }
    }
}

impl MemoryStore {
    /// Adds a version on top of the head and makes it the head.
    pub fn commit(&self, tree: MemoryTree, message: &str, at: Timestamp) -> VersionId {
        let mut history = self.history();
        let parent = history.head.clone();
        history.add(parent, tree, message, at)
    }

    /// Rewrites history: the new head descends from `parent` (`None`: from nothing), whatever the
    /// head was.
    pub fn rewrite(&self, parent: Option<VersionId>, tree: MemoryTree, message: &str, at: Timestamp) -> VersionId {
        self.history().add(parent, tree, message, at)
    }

    /// Sets the branch to an earlier version, as a lagging mirror does. `None` deletes the branch.
    pub fn set_head(&self, head: Option<VersionId>) {
        self.history().head = head;
    }

    /// Makes every later call fail with this error; `None` ends it.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.history().failure = failure;
    }

    fn history(&self) -> MutexGuard<'_, History> {
        // Every change of the history is one assignment or insert, so it is valid even after a
        // panic elsewhere.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn add(&mut self, parent: Option<VersionId>, tree: MemoryTree, message: &str, at: Timestamp) -> VersionId {
        let born = parent.as_ref().map_or("", VersionId::as_str);
        let text = format!("{born}\n{}\n{}\n{message}", tree.root(), at.as_millis());
        let id = VersionId::new(&Digest::of(text.as_bytes()).to_string()).expect("a digest is printable ASCII");
        let author = Person { name: "memory".into(), email: "memory@localhost".into(), at };
        let info = VersionInfo {
            committer: author.clone(),
            author,
            message: message.to_owned(),
            trailers: Vec::new(),
            signature: None,
        };
        self.versions.insert(id.clone(), Version { parent, tree: Arc::new(tree), info });
        self.head = Some(id.clone());
        id
    }

    fn works(&self) -> Result<(), StoreError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn head(&self) -> Result<VersionId, StoreError> {
        self.works()?;
        self.head.clone().ok_or_else(|| StoreError::vanished("the branch", "create it again, or declare another one"))
    }

    fn version(&self, id: &VersionId) -> Result<&Version, StoreError> {
        self.works()?;
        let fix = "poll the store again: the version may have been rewritten";
        self.versions.get(id).ok_or_else(|| StoreError::vanished(format!("version {id}"), fix))
    }

    fn ancestry(&self, accepted: &VersionId, offered: &VersionId) -> Result<Ancestry, StoreError> {
        self.works()?;
        if !self.versions.contains_key(accepted) || !self.versions.contains_key(offered) {
            return Ok(Ancestry::Unknown);
        }
        Ok(if accepted == offered {
            Ancestry::Same
        } else if self.descends(offered, accepted) {
            Ancestry::Descendant
        } else if self.descends(accepted, offered) {
            Ancestry::Older
        } else {
            Ancestry::Rewritten
        })
    }

    fn descends(&self, from: &VersionId, ancestor: &VersionId) -> bool {
        let parent = |id: &&VersionId| self.versions.get(*id).and_then(|version| version.parent.as_ref());
        std::iter::successors(Some(from), parent).any(|id| id == ancestor)
    }
}

impl Store for MemoryStore {
    fn poll(&self, now: Timestamp) -> Answer<'_, Observed<VersionId>> {
        let observed = match self.history().head() {
            Ok(head) => Observed::known(head, now),
            Err(error) => Observed::unknown(error.into()),
        };
        Box::pin(ready(observed))
    }

    fn open<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<Arc<dyn Tree>, StoreError>> {
        let tree = self.history().version(version).map(|version| version.tree.clone());
        let inspected = tree.and_then(|tree| {
            self.inspector.inspect(tree.objects(), tree.root())?;
            Ok(tree as Arc<dyn Tree>)
        });
        Box::pin(ready(inspected))
    }

    fn ancestry<'a>(
        &'a self,
        accepted: &'a VersionId,
        offered: &'a VersionId,
    ) -> Answer<'a, Result<Ancestry, StoreError>> {
        Box::pin(ready(self.history().ancestry(accepted, offered)))
    }

    fn find<'a>(&'a self, name: &'a str) -> Answer<'a, Result<VersionId, StoreError>> {
        let history = self.history();
        let found: Vec<_> = history.versions.keys().filter(|id| id.as_str().starts_with(name)).cloned().collect();
        Box::pin(ready(crate::contract::only_one(name, found)))
    }

    fn describe<'a>(&'a self, version: &'a VersionId) -> Answer<'a, Result<VersionInfo, StoreError>> {
        Box::pin(ready(self.history().version(version).map(|version| version.info.clone())))
    }
}
