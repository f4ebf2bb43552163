//! A schema read from an OpenAPI document.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::part::{Part, Said};
use super::{BuiltIn, Cursor as AnyCursor, ListMerge, kubernetes};
use crate::node::{Content, Map, Node};

const KINDS: &str = "x-kubernetes-group-version-kind";
const STRATEGY: &str = "x-kubernetes-patch-strategy";
const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
const MERGE_KEYS: &str = "x-kubernetes-list-map-keys";
/// The maximum length of a chain of references. Kustomize follows a cycle of references forever.
const MAX_REFERENCES: usize = 64;
/// The bytes of text that one step covers.
const BYTES: usize = 8;

/// A document that is not a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSchema {
    #[error(
        "invalid schema file: `{field}` is not a map; write an OpenAPI document of version 2, as `kustomize openapi fetch` does"
    )]
    NoMap { field: Arc<str> },
    #[error(
        "invalid schema file: `{KINDS}` of `{at}` has no version and kind; write both as strings, and the group if there is one"
    )]
    NoKind { at: Arc<str> },
}

/// The content of an OpenAPI document.
#[derive(Clone, Debug)]
pub(super) struct Given {
    definitions: BTreeMap<Arc<str>, Part>,
    /// The names of definitions, by `apiVersion kind`.
    kinds: BTreeMap<String, Arc<str>>,
    /// The scope of kinds, by `apiVersion kind`: true if namespaced.
    scopes: BTreeMap<String, bool>,
    pub(super) built_in: BuiltIn,
    /// The steps spent on lookups that no caller has collected yet.
    steps: Cell<usize>,
}

/// The schema of one node.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    given: &'a Given,
    part: &'a Part,
}

impl Given {
    pub(super) fn read(document: &Node, built_in: BuiltIn) -> Result<Self, NoSchema> {
        let no_map = |field: &str| NoSchema::NoMap { field: field.into() };
        let root = document.as_map().ok_or_else(|| no_map("the document"))?;
        let part = |field: &str| match root.get(field) {
            None => Ok(None),
            Some(node) if node.is_null() => Ok(None),
            Some(node) => node.as_map().map(Some).ok_or_else(|| no_map(field)),
        };
        let (definitions, kinds, scopes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut given = Self { definitions, kinds, scopes, built_in, steps: Cell::default() };
        for (name, definition) in part("definitions")?.into_iter().flat_map(Map::iter) {
            given.define(name, definition)?;
        }
        for (path, node) in part("paths")?.into_iter().flat_map(Map::iter) {
            given.add_path(path, node)?;
        }
        Ok(given)
    }

    fn define(&mut self, name: &Arc<str>, definition: &Node) -> Result<(), NoSchema> {
        self.definitions.insert(Arc::clone(name), Part::of(definition));
        if let Some(Content::Seq(kinds)) = definition.at(&[KINDS]).map(|node| &node.content) {
            for kind in kinds.iter().filter_map(Node::as_map) {
                self.kinds.insert(named(kind, name)?, Arc::clone(name));
            }
        }
        Ok(())
    }

    /// Records the scope of a kind: namespaced if any of its paths has a namespace, otherwise
    /// cluster-scoped.
    fn add_path(&mut self, path: &Arc<str>, node: &Node) -> Result<(), NoSchema> {
        if let Some(kind) = node.at(&["get", KINDS]).and_then(Node::as_map) {
            let is_namespaced = path.contains("namespaces/{namespace}");
            *self.scopes.entry(named(kind, path)?).or_default() |= is_namespaced;
        }
        Ok(())
    }

    pub(super) fn resource(&self, api_version: &str, kind: &str) -> Option<Cursor<'_>> {
        let name = self.kinds.get(&format!("{api_version} {kind}"))?;
        self.spend(1 + name.len() / BYTES);
        Some(Cursor { given: self, part: self.definitions.get(name)? })
    }

    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// Returns the steps spent on lookups since the last call.
    pub(super) fn take_steps(&self) -> usize {
        self.steps.take()
    }

    pub(super) fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        self.scopes.get(&format!("{api_version} {kind}")).copied()
    }

    /// Follows the references of a part.
    fn resolve<'a>(&'a self, mut part: &'a Part) -> Option<AnyCursor<'a>> {
        for _ in 0..MAX_REFERENCES {
            let reference = match part.at("$ref").and_then(Part::as_text) {
                None | Some("") => return Some(AnyCursor::Given(Cursor { given: self, part })),
                Some(reference) => reference.strip_prefix("#/definitions/")?,
            };
            // The reference is read, parsed and resolved.
            self.spend(10 + reference.len() / BYTES);
            let own = || self.referred(reference).map(Ok);
            match self.built_in.first(own, || kubernetes::definition(reference).map(Err))? {
                Ok(own) => part = own,
                Err(built_in) => return Some(AnyCursor::Kubernetes(built_in)),
            }
        }
        None
    }

    fn referred(&self, reference: &str) -> Option<&Part> {
        let mut names = reference.split('/').map(unescaped);
        let definition = self.definitions.get(&*names.next()?)?;
        names.try_fold(definition, |part, name| part.at(&name))
    }
}

/// Returns `apiVersion kind` of a map with group, version and kind.
fn named(kind: &Map, at: &Arc<str>) -> Result<String, NoSchema> {
    let text = |field| kind.get(field).and_then(Node::as_text);
    match (text("group"), text("version"), text("kind")) {
        (None | Some(""), Some(version), Some(kind)) => Ok(format!("{version} {kind}")),
        (Some(group), Some(version), Some(kind)) => Ok(format!("{group}/{version} {kind}")),
        _ => Err(NoSchema::NoKind { at: Arc::clone(at) }),
    }
}

/// Unescapes a part of a JSON pointer.
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

impl<'a> Cursor<'a> {
    pub(super) fn field(self, name: &str) -> Option<AnyCursor<'a>> {
        self.given.spend(1);
        let others = || self.part.at("additionalProperties").filter(|part| part.is_map());
        let field = self.part.at("properties").and_then(|fields| fields.at(name)).or_else(others)?;
        self.given.resolve(field)
    }

    pub(super) fn items(self) -> Option<AnyCursor<'a>> {
        let is_list = match &self.part.at("type")?.0 {
            Said::Text(text) => &**text == "array",
            Said::List(types) => matches!(types.as_slice(), [only] if only.as_text() == Some("array")),
            Said::Map(_) => false,
        };
        let items = self.part.at("items").filter(|part| is_list && part.is_map())?;
        self.given.resolve(items)
    }

    pub(super) fn list(self) -> ListMerge<'a> {
        let strategy = self.part.at(STRATEGY).and_then(Part::as_text).unwrap_or_default();
        self.given.spend(1 + strategy.len() / BYTES);
        if !strategy.split(',').any(|word| word == "merge") {
            return ListMerge::Replace;
        }
        let keys: Vec<&str> = match self.part.at(MERGE_KEYS).map(|part| &part.0) {
            Some(Said::List(keys)) => keys.iter().filter_map(Part::as_text).collect(),
            _ => self.part.at(MERGE_KEY).and_then(Part::as_text).into_iter().collect(),
        };
        self.given.spend(keys.len());
        if keys.is_empty() { ListMerge::Set } else { ListMerge::ByKeys(keys) }
    }
}
