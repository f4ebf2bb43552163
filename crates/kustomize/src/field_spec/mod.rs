//! Field specs: the fields and resources that a transformer applies to, and whether it creates
//! missing fields.
//!
//! - [`FieldSpec`] and lists of them. `visit`: visits the matching fields of a resource.

mod visit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::field_path::split_at;
use crate::fields::{BadField, Fields};
use crate::identity::Gvk;
use crate::node::Node;

pub use visit::{Create, FieldError, FieldProblem, set_entry, set_int, set_plain, set_text};
pub(crate) use visit::{beginning, field_name, shown};

/// A field of the resources that a selector matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSpec {
    /// Empty parts match anything.
    pub gvk: Gvk,
    /// Names with slashes between them: `spec/template/metadata/labels`. `\/` is a slash in a name,
    /// and `[]` after a name marks a list. All items of a list are visited with or without the
    /// mark.
    pub path: Arc<str>,
    /// Creates the field if it is missing.
    pub create: bool,
}

/// Two field specs that contradict each other about the same field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("conflicting fieldspecs: `{first}` and `{second}`; say the same of `create` in both")]
pub struct Conflict {
    pub first: Box<FieldSpec>,
    pub second: Box<FieldSpec>,
}

impl FieldSpec {
    pub fn new(gvk: Gvk, path: &str, create: bool) -> Self {
        Self { gvk, path: path.into(), create }
    }

    /// Adds field specs that are not there yet. A spec exists if the new one selects it; empty
    /// parts of the new one match anything.
    pub fn merge(list: &mut Vec<Self>, incoming: &[Self]) -> Result<(), Conflict> {
        let mut known: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (at, spec) in list.iter().enumerate() {
            known.entry(Arc::clone(&spec.path)).or_default().push(at);
        }
        for spec in incoming {
            let same_path = known.entry(Arc::clone(&spec.path)).or_default();
            match same_path.iter().map(|at| &list[*at]).find(|own| own.gvk.is_selected(&spec.gvk)) {
                Some(own) if own.create != spec.create => {
                    return Err(Conflict { first: own.clone().into(), second: spec.clone().into() });
                }
                Some(_) => {}
                None => {
                    same_path.push(list.len());
                    list.push(spec.clone());
                }
            }
        }
        Ok(())
    }

    /// Reads a field spec; `path` is its path in the document.
    pub fn read(node: &Node, path: &str) -> Result<Self, BadField> {
        let fields = Fields::of(node, path)?;
        let (gvk, path) = (fields.gvk()?, fields.text_or_empty("path")?);
        let spec = Self { gvk, path, create: fields.flag("create")?.unwrap_or_default() };
        fields.end()?;
        Ok(spec)
    }

    /// Returns the names of its path.
    pub(crate) fn names(&self) -> Vec<String> {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        split_at(path, '/')
    }
}

/// Formats as kustomize does in messages: `Deployment.v1.apps:true:spec/replicas`.
impl fmt::Display for FieldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.gvk, self.create, self.path)
    }
}
