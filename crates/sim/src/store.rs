//! A simulated store: a graph of commits, a head, and the content of each app's directory at each
//! commit.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity, VersionId};
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_core::version::Ancestry;
use setpoint_store::MemoryTree;
use setpoint_target::memory::FIXED;

use crate::cluster::objects;
use crate::repository::{Documents, Template};

/// The resources that an app's directory declares: a content number for each key.
pub type Declared = BTreeMap<Key, u32>;

/// An app's directory at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    Declares(Declared),
    /// Something in it cannot be read as a declaration.
    Broken,
}

/// The content of one commit.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub folders: BTreeMap<AppId, Folder>,
    /// The places of moved directories.
    pub places: BTreeMap<AppId, u32>,
    /// The apps whose resources are in the directory of another app.
    pub homes: BTreeMap<AppId, AppId>,
    /// The control documents, if this store contains them.
    pub documents: Option<Documents>,
    /// A change that no app reads.
    pub remark: u32,
}

impl Contents {
    pub fn place_of(&self, app: &AppId) -> u32 {
        self.places.get(app).copied().unwrap_or(0)
    }

    /// Returns the directory that contains an app's resources, by the name of its first app.
    pub fn home_of<'a>(&'a self, app: &'a AppId) -> &'a AppId {
        self.homes.get(app).unwrap_or(app)
    }

    pub fn folder_of(&self, app: &AppId) -> Option<&Folder> {
        self.folders.get(self.home_of(app))
    }

    pub fn put(&mut self, app: &AppId, folder: Folder) {
        let home = self.home_of(app).clone();
        self.folders.insert(home, folder);
    }
}

#[derive(Clone, Debug)]
struct Commit {
    parent: Option<usize>,
    contents: Contents,
    /// Its files, created when the accept plane first reads them: most heads are superseded before
    /// that.
    tree: OnceCell<Arc<MemoryTree>>,
}

#[derive(Clone, Debug)]
pub struct SimStore {
    commits: Vec<Commit>,
    head: usize,
    /// Every head that the store ever had, with the time at which it became the head.
    heads: Vec<(u64, usize)>,
    template: Option<Arc<Template>>,
}

impl SimStore {
    pub fn new(contents: Contents, template: Option<Arc<Template>>) -> Self {
        let tree = OnceCell::new();
        Self { commits: vec![Commit { parent: None, contents, tree }], head: 0, heads: vec![(0, 0)], template }
    }

    pub fn head(&self) -> VersionId {
        version(self.head)
    }

    /// Returns the head of a lagging mirror.
    pub fn older_head(&self) -> VersionId {
        version(self.commits[self.head].parent.unwrap_or(self.head))
    }

    /// Returns the head before the last move; none if it never moved.
    pub fn head_before(&self) -> Option<VersionId> {
        let (moved, _) = self.heads.last()?;
        let before = self.heads.iter().rev().find(|(at, _)| at < moved)?;
        Some(version(before.1))
    }

    /// Adds a commit that changes one app's directory.
    pub fn commit(&mut self, now: u64, app: &AppId, folder: Folder) {
        self.change(now, |contents| contents.put(app, folder));
    }

    /// Adds a commit.
    pub fn change(&mut self, now: u64, change: impl FnOnce(&mut Contents)) {
        self.push(now, Some(self.head), change);
    }

    /// Sets the branch back by one commit.
    pub fn set_back(&mut self, now: u64) {
        if let Some(parent) = self.commits[self.head].parent {
            self.head = parent;
            self.heads.push((now, parent));
        }
    }

    /// Rewrites history: the new head does not descend from the old one.
    pub fn rewrite(&mut self, now: u64, app: &AppId, folder: Folder) {
        let parent = self.commits[self.head].parent.and_then(|parent| self.commits[parent].parent);
        self.push(now, parent, |contents| contents.put(app, folder));
    }

    fn push(&mut self, now: u64, parent: Option<usize>, change: impl FnOnce(&mut Contents)) {
        let mut contents = self.commits[self.head].contents.clone();
        change(&mut contents);
        self.commits.push(Commit { parent, contents, tree: OnceCell::new() });
        self.head = self.commits.len() - 1;
        self.heads.push((now, self.head));
    }

    pub fn contents(&self, id: &VersionId) -> Option<&Contents> {
        self.commits.get(index(id)?).map(|commit| &commit.contents)
    }

    pub fn tree(&self, id: &VersionId) -> Option<Arc<MemoryTree>> {
        let (commit, template) = (self.commits.get(index(id)?)?, self.template.as_ref()?);
        Some(commit.tree.get_or_init(|| Arc::new(template.tree(&commit.contents))).clone())
    }

    pub fn head_contents(&self) -> &Contents {
        &self.commits[self.head].contents
    }

    pub fn folder(&self, id: &VersionId, app: &AppId) -> Option<&Folder> {
        self.contents(id)?.folder_of(app)
    }

    pub fn head_folder(&self, app: &AppId) -> Option<&Folder> {
        self.head_contents().folder_of(app)
    }

    /// Returns the contents of each head since `since`.
    pub fn recent(&self, since: u64) -> impl Iterator<Item = &Contents> {
        let first = self.heads.partition_point(|(at, _)| *at <= since).saturating_sub(1);
        self.heads[first..].iter().map(|(_, commit)| &self.commits[*commit].contents)
    }

    pub fn ancestry(&self, accepted: Option<&VersionId>, offered: &VersionId) -> Ancestry {
        let Some(accepted) = accepted else { return Ancestry::First };
        match (index(accepted), index(offered)) {
            (Some(a), Some(b)) if a == b => Ancestry::Same,
            (Some(a), Some(b)) if self.descends(b, a) => Ancestry::Descendant,
            (Some(a), Some(b)) if self.descends(a, b) => Ancestry::Older,
            (Some(_), Some(_)) => Ancestry::Rewritten,
            _ => Ancestry::Unknown,
        }
    }

    fn descends(&self, from: usize, ancestor: usize) -> bool {
        let mut at = Some(from);
        while let Some(commit) = at {
            if commit == ancestor {
                return true;
            }
            at = self.commits[commit].parent;
        }
        false
    }
}

fn version(commit: usize) -> VersionId {
    VersionId::new(&format!("c{commit}")).expect("a short ASCII text")
}

fn index(id: &VersionId) -> Option<usize> {
    id.as_str().strip_prefix('c')?.parse().ok()
}

/// Returns the resources that a directory declares. Of each three keys the third comes after the
/// second, every other time once that is healthy, and some are of other waves. Keys that end in 7
/// are protected; some have an immutable field, and some of these may be replaced.
pub fn resources(declared: &Declared) -> Vec<Resource> {
    let keys: Vec<_> = declared.keys().collect();
    let resource = |(n, (key, content)): (usize, (&Key, &u32))| {
        let after = if n % 3 == 2 { [keys[n - 1].clone()].into() } else { [].into() };
        let (wave, awaited) = (wave_of(key), n % 6 == 1);
        if objects::is_of_cluster(key) {
            return Resource { after, wave, awaited, ..objects::resource(key, *content) };
        }
        Resource {
            after,
            wave,
            awaited,
            protected: key.name().ends_with('7'),
            replace: may_be_made_anew(key),
            ..Resource::new(key.clone(), "sim/v1", "Thing", body(key, *content))
        }
    };
    declared.iter().enumerate().map(resource).collect()
}

/// Returns the wave of a key. Of an app's own ten keys, number 5 comes after the others, and number
/// 6 last. The scripts of scenarios use neither.
fn wave_of(key: &Key) -> i32 {
    match key.name().chars().last() {
        _ if key.name().starts_with("shared-") => 0,
        Some('5') => 1,
        Some('6') => 2,
        _ => 0,
    }
}

/// Reports whether an object may be replaced: number 3 of an app's own keys, and number 1 of those
/// that several apps may declare.
pub fn may_be_made_anew(key: &Key) -> bool {
    let shared = key.name().starts_with("shared-");
    key.name().ends_with(if shared { '1' } else { '3' })
}

/// Returns the declared value of a key with a content. Objects with an immutable field have the
/// same value of it in four contents.
pub fn body(key: &Key, content: u32) -> Value {
    if objects::is_of_cluster(key) {
        return objects::body(key, content);
    }
    let content = i64::from(content);
    if !may_be_made_anew(key) && !key.name().ends_with('4') {
        return Value::map([("content", Value::int(content))]);
    }
    Value::map([("content", Value::int(content)), (FIXED, Value::int(content / 4))])
}

/// Returns the bundle of a directory.
pub fn bundle(app: &AppId, target: &TargetIdentity, declared: &Declared) -> Bundle {
    let mut resources = resources(declared);
    // Documents come in any order; the bundle must not depend on it (S12).
    resources.reverse();
    Bundle::new(app.clone(), target.clone(), resources).expect("directories declare each key once and no cycles")
}
