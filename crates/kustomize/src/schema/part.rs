//! A part of an OpenAPI document with fast lookup of fields: a schema may have as many fields as
//! the resource it is used for.

use std::sync::Arc;

use crate::node::{Content, Node};

#[derive(Clone, Debug)]
pub(super) struct Part(pub(super) Said);

#[derive(Clone, Debug)]
pub(super) enum Said {
    Text(Arc<str>),
    List(Vec<Part>),
    /// Sorted by name.
    Map(Vec<(Arc<str>, Part)>),
}

impl Part {
    pub(super) fn of(node: &Node) -> Self {
        Self(match &node.content {
            Content::Scalar(scalar) => Said::Text(Arc::clone(&scalar.text)),
            Content::Seq(items) => Said::List(items.iter().map(Self::of).collect()),
            Content::Map(map) => {
                let mut fields: Vec<_> = map.iter().map(|(name, node)| (Arc::clone(name), Self::of(node))).collect();
                fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                Said::Map(fields)
            }
        })
    }

    pub(super) fn at(&self, name: &str) -> Option<&Self> {
        let Said::Map(fields) = &self.0 else { return None };
        let at = fields.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(&fields[at].1)
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Said::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.0, Said::Map(_))
    }
}
