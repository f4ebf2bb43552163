//! The place of a field in a resource: some fields only hold strings, and some are skipped.

use std::fmt;

use crate::identity::Gvk;

/// A place, by the treatment of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Anything,
    ConfigMap,
    Secret,
    Definition,
    DefinitionSpec,
    DefinitionVersions,
    /// The schema of a CustomResourceDefinition.
    Schema,
    Metadata,
    /// Strings, whatever the type of the value.
    Texts,
    /// Strings that must not be printed.
    Secrets,
}

impl Place {
    /// Returns the place of the root of a resource.
    pub(super) fn of(gvk: &Gvk) -> Self {
        match (&*gvk.group, &*gvk.kind) {
            ("", "ConfigMap") => Self::ConfigMap,
            ("", "Secret") => Self::Secret,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Definition,
            _ => Self::Anything,
        }
    }

    /// Returns the place of a field. `is_root` is set for a field of the resource itself.
    pub(super) fn field(self, name: &str, is_root: bool) -> Self {
        match (self, name) {
            (_, "metadata") if is_root => Self::Metadata,
            (Self::ConfigMap, "data" | "binaryData") => Self::Texts,
            (Self::Secret, "data" | "stringData") => Self::Secrets,
            (Self::Definition, "spec") => Self::DefinitionSpec,
            (Self::DefinitionSpec, "versions") => Self::DefinitionVersions,
            (Self::DefinitionSpec, "validation") | (Self::DefinitionVersions, "schema") => Self::Schema,
            (Self::Metadata, "name" | "generateName" | "namespace" | "labels" | "annotations") => Self::Texts,
            (Self::Texts | Self::Secrets, _) => self,
            _ => Self::Anything,
        }
    }

    pub(super) fn is_of_texts(self) -> bool {
        matches!(self, Self::Texts | Self::Secrets)
    }
}

/// The path of a node, from the outside in.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub(super) before: Option<&'p Path<'p>>,
    pub(super) step: Step<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Field(&'p str),
    Item(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = self.before {
            before.fmt(f)?;
        }
        match self.step {
            Step::Item(at) => write!(f, "[{at}]"),
            Step::Field(name) => {
                let dot = if self.before.is_some() { "." } else { "" };
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if name.chars().all(is_plain) { write!(f, "{dot}{name}") } else { write!(f, "[{name:?}]") }
            }
        }
    }
}
