//! Sets of fields, as `managedFields` has them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Field(String),
    /// An item by its keys, as JSON.
    Item(String),
    /// A value of a set, as JSON.
    Member(String),
}

pub(crate) type Path = Vec<Step>;

impl Step {
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// The step to an item of a list that is told apart by these fields.
    pub(crate) fn item(keys: &[&str], item: &Json) -> Self {
        let keys: BTreeMap<&str, &Json> =
            keys.iter().filter_map(|key| Some((*key, item.get(key).filter(|value| !value.is_null())?))).collect();
        Self::Item(serde_json::to_string(&keys).expect("JSON can be written"))
    }

    pub(crate) fn member(value: &Json) -> Self {
        Self::Member(value.to_string())
    }

    fn name(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Item(keys) => format!("k:{keys}"),
            Self::Member(value) => format!("v:{value}"),
        }
    }

    /// As conflicts name it.
    fn text(&self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            Self::Item(keys) => {
                let keys: BTreeMap<String, Json> = serde_json::from_str(keys).expect("it was written as JSON");
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("[{}]", keys.join(","))
            }
            Self::Member(value) => format!("[={value}]"),
        }
    }
}

/// As conflicts name it: `.spec.replicas`.
pub(crate) fn text_of(path: &[Step]) -> String {
    path.iter().map(Step::text).collect()
}

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) BTreeSet<Path>);

impl Fields {
    pub(crate) fn insert(&mut self, path: &[Step]) {
        self.0.insert(path.to_vec());
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

    /// With every named field above its paths. An item of a list is held by who holds the item itself, not by who holds something in it.
    pub(crate) fn with_parents(&self) -> Self {
        let above = self.0.iter().flat_map(|path| (1..path.len()).map(|length| path[..length].to_vec()));
        let named = above.filter(|path| matches!(path.last(), Some(Step::Field(_))));
        Self(named.chain(self.0.iter().cloned()).collect())
    }

    /// Less these paths and all below them.
    pub(crate) fn outside(&self, roots: &[Path]) -> Self {
        let below = |path: &&Path| !roots.iter().any(|root| path.starts_with(root));
        Self(self.0.iter().filter(below).cloned().collect())
    }

    /// The form of `fieldsV1`.
    pub(crate) fn to_json(&self) -> Json {
        let mut root = Map::new();
        for path in &self.0 {
            let mut at = &mut root;
            for step in path {
                let below = at.entry(step.name()).or_insert_with(|| Json::Object(Map::new()));
                at = below.as_object_mut().expect("only objects were put there");
            }
            at.insert(".".to_owned(), Json::Object(Map::new()));
        }
        plain(&mut root);
        Json::Object(root)
    }
}

/// A leaf is `{}`; only what has something below it says that it is itself a member.
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
