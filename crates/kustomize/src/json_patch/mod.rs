//! Patches of RFC 6902, as kustomize applies them: to a resource as JSON, which is then parsed
//! again.
//!
//! - [`JsonPatch`]: a patch, and its errors. `parse`: its text. `operate`: its operations.
//!   `scalars`: the effects of the conversion to JSON on scalars.

mod operate;
mod parse;
mod scalars;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use setpoint_yaml::Diagnostics;

use crate::field_spec::shown;
use crate::identity::Id;
use crate::limits::{Budget, Exceeded, NODE, Weight};
use crate::node::{Map, NoValue, Node};
use crate::noted::{IsClusterScoped, NotNoted};
use crate::origin::Origin;
use crate::resource::Resource;

/// The steps to convert a node to JSON and to parse it again.
const PATCHED: usize = 12;

/// A patch: a sequence of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// An operation as written. Missing or wrong parts are reported when it is applied, since it may
/// have no target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Operation {
    /// `unknown` if omitted.
    op: Arc<str>,
    path: Option<Arc<str>>,
    from: Option<Arc<str>>,
    /// Its numbers are in the notation of JSON.
    value: Option<Node>,
    /// The place where it is written.
    origin: Origin,
}

/// A text that is not a patch.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoPatch {
    #[error("the patch is not YAML")]
    Yaml(#[source] Diagnostics),
    #[error("the patch begins with `[` and is not JSON: {0}; correct it, or begin a YAML patch with `-`")]
    Json(String),
    #[error("the patch is not a list; begin each operation with `- op: `")]
    NoList,
    #[error("the patch is not a list of operations; begin each operation with `- op: `")]
    NotOperations,
    #[error("`{0}` is not a JSON number; write it in quotes, or correct it")]
    NonFinite(String),
}

/// The reason why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    #[error("operation {number} of the JSON patch of {resource}")]
    Operation {
        /// Counted from 1.
        number: usize,
        resource: Box<Id>,
        #[source]
        problem: Problem,
    },
    #[error("{resource} cannot be patched as JSON; correct the value, or write it in quotes")]
    Scalar {
        resource: Box<Id>,
        #[source]
        problem: NoValue,
    },
    #[error("the JSON patch replaces {resource} by a list, but a resource is a map; write a map")]
    NoMap { resource: Box<Id> },
    #[error(transparent)]
    NotNoted(#[from] NotNoted),
    #[error("limit")]
    Limit(#[from] Exceeded),
}

/// The reason why an operation fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("Unexpected kind: {op}; write add, remove, replace, move, copy or test")]
    UnknownOp { op: Arc<str> },
    #[error("{op} operation failed to decode {field}: missing value; write it as a text")]
    NoText { op: Arc<str>, field: &'static str },
    #[error(
        "the {field} `{path}` does not begin with a slash, so that its first name would be ignored; write `/{path}`"
    )]
    NoSlash { field: &'static str, path: Arc<str> },
    #[error(
        "{op} operation does not apply: doc is missing {field}: \"{path}\": missing value; correct it, or add what is above it first"
    )]
    Missing { op: Arc<str>, field: &'static str, path: Arc<str> },
    #[error(
        "{op} operation does not apply: doc is missing key: {path}: missing value; correct the index, or add the item first"
    )]
    NoItem { op: Arc<str>, path: Arc<str> },
    #[error(
        "error in {op} for path: '{path}': Unable to remove nonexistent key: {key}: missing value; correct the path, or leave the operation out"
    )]
    NoKey { op: Arc<str>, path: Arc<str>, key: String },
    #[error(
        "error in {op} for path: '{path}': value was not a proper array index: '{key}'; write a number, or `-` for the end"
    )]
    NoIndex { op: Arc<str>, path: Arc<str>, key: String },
    #[error(
        "error in {op} for path: '{path}': Unable to access invalid index: {key}: the list has {len} items; correct the index"
    )]
    Outside { op: Arc<str>, path: Arc<str>, key: String, len: usize },
    #[error(
        "replace operation value must be object or array: an empty path replaces the whole resource; write the path of a field"
    )]
    RootValue,
    #[error("testing value {path} failed: test failed; correct the value, or leave the test out")]
    TestFailed { path: Arc<str> },
    #[error("values are nested more than {0} levels deep; write fewer levels")]
    TooDeep(usize),
    #[error("limit")]
    Limit(#[from] Exceeded),
}

impl JsonPatch {
    /// Reports whether the patch has no operations and thus no effect.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the bytes that the patch takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let of = |operation: &Operation| {
            let value = operation.value.as_ref().map_or(0, |value| Weight::of(value).bytes);
            [NODE, text(&operation.path), text(&operation.from), value].into_iter().fold(0, usize::saturating_add)
        };
        self.operations.iter().map(of).fold(0, usize::saturating_add)
    }

    /// Patches a node. After an error, the node has the changes of the operations before it.
    pub fn apply(&self, node: &mut Node, origin: Origin, budget: &Budget) -> Result<(), JsonPatchError> {
        let resource = shown(node);
        scalars::to_json(node).map_err(|problem| JsonPatchError::Scalar { resource: resource.clone(), problem })?;
        let mut added = 0;
        for (at, operation) in self.operations.iter().enumerate() {
            let origin = if origin.line() == 0 { operation.origin } else { origin };
            operation.carry_out(node, origin, budget, &mut added).map_err(|problem| JsonPatchError::Operation {
                number: at + 1,
                resource: resource.clone(),
                problem,
            })?;
        }
        // From here on the values are part of the resource.
        budget.release(added);
        if node.as_map().is_none() {
            return Err(JsonPatchError::NoMap { resource });
        }
        scalars::from_json(node, budget).map_err(|problem| JsonPatchError::Scalar { resource, problem })
    }

    /// Patches a resource as an entry of `patches` does: the former id is recorded, and the record
    /// survives changes of the annotations.
    pub fn apply_to(
        &self,
        resource: &mut Resource,
        is_cluster_scoped: IsClusterScoped<'_>,
        origin: Origin,
        budget: &Budget,
    ) -> Result<(), JsonPatchError> {
        resource.note_former(is_cluster_scoped)?;
        self.apply_unnoted(resource, origin, budget)?;
        resource.set_annotations_anew();
        Ok(())
    }

    /// Patches a resource as an entry of `patchesJson6902` does. This records nothing: a resource
    /// without annotations does not get a map of them.
    pub fn apply_unnoted(
        &self,
        resource: &mut Resource,
        origin: Origin,
        budget: &Budget,
    ) -> Result<(), JsonPatchError> {
        let before = Weight::of(&resource.node);
        budget.steps(PATCHED * (4 + before.nodes))?;
        self.apply(&mut resource.node, origin, budget)?;
        budget.grow(before, &resource.node)?;
        // The resource was parsed again, so that none of its nodes are shared any more.
        resource.shared.clear();
        if resource.node.at(&["metadata"]).is_some_and(|metadata| metadata.as_scalar().is_some()) {
            // There is no place for the record. The resource is rejected for its name at the end,
            // unless a later step sets one.
            resource.forget();
            return Ok(());
        }
        let was_annotated = resource.is_annotated;
        resource.note()?;
        let metadata = resource.node.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
        let is_empty = |node: &Node| node.as_map().is_some_and(Map::is_empty);
        if let Some(metadata) = metadata.filter(|_| !was_annotated)
            && metadata.get("annotations").is_some_and(is_empty)
        {
            metadata.remove("annotations");
            resource.is_annotated = false;
        }
        Ok(())
    }
}
