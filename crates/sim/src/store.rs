//! A simulated store: a graph of commits, a head, and what each app's folder holds at each commit.

use std::collections::BTreeMap;

use setpoint_core::bundle::Bundle;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity, VersionId};
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_core::version::Ancestry;

/// What an app's folder declares: a content number for each key.
pub type Declared = BTreeMap<Key, u32>;

/// An app's folder at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    Declares(Declared),
    /// Something in it cannot be read as a declaration.
    Broken,
}

#[derive(Clone, Debug)]
struct Commit {
    parent: Option<usize>,
    folders: BTreeMap<AppId, Folder>,
}

#[derive(Clone, Debug)]
pub struct SimStore {
    commits: Vec<Commit>,
    head: usize,
    /// Every head the store ever had, with the instant it became it.
    heads: Vec<(u64, usize)>,
}

impl SimStore {
    pub fn new(folders: BTreeMap<AppId, Folder>) -> Self {
        Self { commits: vec![Commit { parent: None, folders }], head: 0, heads: vec![(0, 0)] }
    }

    pub fn head(&self) -> VersionId {
        version(self.head)
    }

    /// The head that a lagging mirror answers with.
    pub fn older_head(&self) -> VersionId {
        version(self.commits[self.head].parent.unwrap_or(self.head))
    }

    /// Adds a commit that changes one app's folder.
    pub fn commit(&mut self, now: u64, app: &AppId, folder: Folder) {
        let mut folders = self.commits[self.head].folders.clone();
        folders.insert(app.clone(), folder);
        self.push(now, Some(self.head), folders);
    }

    /// Rewrites history: the new head does not descend from the old one.
    pub fn rewrite(&mut self, now: u64, app: &AppId, folder: Folder) {
        let mut folders = self.commits[self.head].folders.clone();
        folders.insert(app.clone(), folder);
        let parent = self.commits[self.head].parent.and_then(|parent| self.commits[parent].parent);
        self.push(now, parent, folders);
    }

    fn push(&mut self, now: u64, parent: Option<usize>, folders: BTreeMap<AppId, Folder>) {
        self.commits.push(Commit { parent, folders });
        self.head = self.commits.len() - 1;
        self.heads.push((now, self.head));
    }

    pub fn folder(&self, id: &VersionId, app: &AppId) -> Option<&Folder> {
        self.commits.get(index(id)?)?.folders.get(app)
    }

    pub fn head_folder(&self, app: &AppId) -> Option<&Folder> {
        self.commits[self.head].folders.get(app)
    }

    /// What the app's folder held at each head of the time since `since`.
    pub fn recent_folders(&self, app: &AppId, since: u64) -> impl Iterator<Item = &Folder> {
        let first = self.heads.partition_point(|(at, _)| *at <= since).saturating_sub(1);
        self.heads[first..].iter().filter_map(|(_, commit)| self.commits[*commit].folders.get(app))
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

/// The resources a folder declares. The second key of a pair comes after the first; every seventh is protected.
pub fn resources(declared: &Declared) -> Vec<Resource> {
    let keys: Vec<_> = declared.keys().collect();
    let resource = |(n, (key, content)): (usize, (&Key, &u32))| Resource {
        key: key.clone(),
        api_version: "sim/v1".into(),
        kind: "Thing".into(),
        body: body(*content),
        after: if n % 3 == 2 { [keys[n - 1].clone()].into() } else { [].into() },
        protected: key.name().ends_with('7'),
    };
    declared.iter().enumerate().map(resource).collect()
}

pub fn body(content: u32) -> Value {
    Value::map([("content", Value::int(content.into()))])
}

/// The bundle a folder makes.
pub fn bundle(app: &AppId, target: &TargetIdentity, declared: &Declared) -> Bundle {
    let mut resources = resources(declared);
    // Documents come in any order; the bundle must not depend on it (S12).
    resources.reverse();
    Bundle::new(app.clone(), target.clone(), resources).expect("folders declare each key once and no cycles")
}
