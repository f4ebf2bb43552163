//! Sets of fields, as `managedFields` represents them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

/// The separator before each step of a path. It sorts before any character that a step may contain,
/// so the descendants of a path follow it in a set.
const APART: char = '\u{1}';

/// A path into a value: its steps in the syntax of `fieldsV1` (`f:spec`, `k:{"name":"main"}`,
/// `v:"one"`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Path(String);

impl Path {
    /// Returns the path of these fields.
    pub(crate) fn of_fields(names: &[&str]) -> Self {
        let mut path = Self::default();
        for name in names {
            path.push("f:", name);
        }
        path
    }

    fn push(&mut self, sort: &str, rest: &str) {
        self.0.push(APART);
        self.0.push_str(sort);
        self.0.push_str(rest);
    }

    /// Descends into a field for the duration of `visit`.
    pub(crate) fn in_field<T>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.within("f:", name, visit)
    }

    /// Descends into an item of a list for the duration of `visit`.
    pub(crate) fn in_item<T>(&mut self, step: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.within("", step, visit)
    }

    fn within<T>(&mut self, sort: &str, rest: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.0.len();
        self.push(sort, rest);
        let visited = visit(self);
        self.0.truncate(length);
        visited
    }

    pub(crate) fn text(&self) -> String {
        text_of(&self.0)
    }
}

/// Returns the step to an item of a list whose items are identified by these fields.
pub(crate) fn item_step(keys: &[&str], item: &Json) -> String {
    let keys: BTreeMap<&str, &Json> =
        keys.iter().filter_map(|key| Some((*key, item.get(key).filter(|value| !value.is_null())?))).collect();
    format!("k:{}", serde_json::to_string(&keys).expect("JSON can be written"))
}

/// Returns the step to a value of a set.
pub(crate) fn member_step(value: &Json) -> String {
    format!("v:{value}")
}

fn steps_of(path: &str) -> impl Iterator<Item = &str> {
    path.split(APART).skip(1)
}

/// Formats a path as conflict messages name it: `.spec.replicas`.
pub(crate) fn text_of(path: &str) -> String {
    steps_of(path).map(step_text).collect()
}

fn step_text(step: &str) -> String {
    let (sort, rest) = step.split_at(2);
    match sort {
        "f:" => format!(".{rest}"),
        "k:" => {
            let keys: BTreeMap<String, Json> = serde_json::from_str(rest).expect("it was written as JSON");
            let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        _ => format!("[={rest}]"),
    }
}

fn is_at_or_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(APART))
}

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fields(BTreeSet<Arc<str>>);

impl Fields {
    /// Returns the set of these paths.
    pub(crate) fn of(paths: impl Iterator<Item = Path>) -> Self {
        Self(paths.map(|path| path.0.into()).collect())
    }

    pub(crate) fn insert(&mut self, path: &Path) {
        self.0.insert(path.0.as_str().into());
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.0.remove(path.0.as_str());
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.contains(path.0.as_str())
    }

    /// Reports whether the set has this path or any path below it.
    pub(crate) fn reaches(&self, path: &Path) -> bool {
        let from = (std::ops::Bound::Included(path.0.as_str()), std::ops::Bound::Unbounded);
        self.0.range::<str, _>(from).next().is_some_and(|first| is_at_or_below(first, &path.0))
    }

    /// Returns the paths as conflict messages name them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|path| text_of(path))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn union(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    pub(crate) fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).cloned().collect())
    }

    /// Returns the set with every named field above its paths. An item of a list belongs to the
    /// manager that holds the item itself, not to the manager of a field inside it.
    pub(crate) fn with_parents(&self) -> Self {
        let mut all = self.0.clone();
        for path in &self.0 {
            let mut begin = 0;
            for (end, _) in path.match_indices(APART).skip(1) {
                if path[begin..].starts_with("\u{1}f:") && !all.contains(&path[..end]) {
                    all.insert(path[..end].into());
                }
                begin = end;
            }
        }
        Self(all)
    }

    /// Returns the set without these paths and all paths below them.
    pub(crate) fn outside(&self, roots: &[Path]) -> Self {
        let outside = |path: &&Arc<str>| !roots.iter().any(|root| is_at_or_below(path, &root.0));
        Self(self.0.iter().filter(outside).cloned().collect())
    }

    /// Reads the `fieldsV1` form; returns `None` if the value does not have that form.
    pub(crate) fn from_json(fields: &Json) -> Option<Self> {
        fn read(node: &Json, path: &mut Path, found: &mut Fields) -> Option<()> {
            let below = node.as_object()?;
            // A leaf is `{}`. A path with something below it marks with a dot that it is itself a
            // member.
            if !path.0.is_empty() && (below.is_empty() || below.contains_key(".")) {
                found.insert(path);
            }
            for (step, below) in below.iter().filter(|(step, _)| *step != ".") {
                path.in_item(step, |path| read(below, path, found))?;
            }
            Some(())
        }
        let mut found = Self::default();
        read(fields, &mut Path::default(), &mut found)?;
        Some(found)
    }

    /// Writes the `fieldsV1` form.
    pub(crate) fn to_json(&self) -> Json {
        let mut root = Map::new();
        for path in &self.0 {
            let mut at = &mut root;
            for step in steps_of(path) {
                if !at.contains_key(step) {
                    at.insert(step.to_owned(), Json::Object(Map::new()));
                }
                let below = at.get_mut(step).expect("it was put there");
                at = below.as_object_mut().expect("only objects were put there");
            }
            at.insert(".".to_owned(), Json::Object(Map::new()));
        }
        plain(&mut root);
        Json::Object(root)
    }
}

/// Removes the dot from leaves: a leaf is `{}`, and only a node with something below it marks that
/// it is itself a member.
fn plain(node: &mut Map<String, Json>) {
    if node.len() == 1 && node.contains_key(".") {
        node.clear();
    }
    for (name, below) in node.iter_mut() {
        if let (false, Json::Object(below)) = (name == ".", below) {
            plain(below);
        }
    }
}
