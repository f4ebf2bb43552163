//! Generates ConfigMaps and Secrets from literals and files.
//!
//! - `pairs`: reads the data. [`absorb`]: adds a generated resource to existing ones.

mod absorb;
mod pairs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::files::FileError;
use crate::folder::Folder;
use crate::node::{Content, Map, Node, Scalar, Tag, is_bare_name};
use crate::origin::Origin;
use crate::resource::{Behavior, Resource};

pub(crate) use absorb::merged;
pub use absorb::{AbsorbError, absorb};

/// Base64 is broken into lines of this length.
const LINE: usize = 70;

/// The kind of a generated resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    ConfigMap,
    /// A Secret of this type; an empty one is `Opaque`.
    Secret {
        r#type: Arc<str>,
    },
}

/// A generator as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    pub kind: Kind,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub behavior: Behavior,
    /// `key=value`
    pub literals: Vec<Arc<str>>,
    /// `path` or `key=path`
    pub files: Vec<Arc<str>>,
    /// Files of lines `key=value`.
    pub envs: Vec<Arc<str>>,
    pub options: Options,
}

/// The options that all generators of a kustomization share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    pub annotations: BTreeMap<Arc<str>, Arc<str>>,
    pub disables_hash: bool,
    pub is_immutable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    #[error("a configmap must have a name: write `name` in the generator")]
    NoName,
    #[error("configmap {name} illegally repeats the key {key}: give each value a key of its own")]
    Repeated { name: Arc<str>, key: ToldKey },
    #[error("invalid literal source {literal}, expected key=value: write a name, `=` and a value")]
    Literal { literal: Arc<str> },
    /// A literal without a key may be a secret as a whole.
    #[error(
        "invalid literal source {number} of the secret `{name}`, which is not shown, expected key=value: write a name, `=` and a value"
    )]
    SecretLiteral {
        name: Arc<str>,
        /// Counted from 1.
        number: usize,
    },
    #[error("missing key name for file path `{path}` in source `{file}`: write `key=path`, or the path only")]
    NoKey { file: Arc<str>, path: String },
    #[error("missing file path for key name `{key}` in source `{file}`: write `key=path`")]
    NoPath { file: Arc<str>, key: String },
    #[error("source `{file}` key name or file path contains '=': give the file another name")]
    Equals { file: Arc<str> },
    #[error("{sources} of `{name}`: cannot read a file")]
    File { name: Arc<str>, sources: &'static str, source: FileError },
    /// Kustomize cannot write a resource with such a key.
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: the key {key} of `{name}` is not a string without quotes: rename it"
    )]
    Key { name: Arc<str>, key: ToldKey },
    #[error("line {line} of `{file}` has invalid utf8 bytes: write it as UTF-8")]
    NotText { file: Arc<str>, line: usize },
    #[error(
        "line {line} of `{file}` is longer than 65535 bytes, and kustomize would drop it and all that follow: take the value from `files`"
    )]
    LongLine { file: Arc<str>, line: usize },
}

/// A key in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldKey {
    Plain(String),
    /// The key is from a file of lines of a Secret, where any line may be part of a value.
    Hidden,
}

impl fmt::Display for ToldKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(key) => write!(f, "`{key}`"),
            Self::Hidden => f.write_str("of a line in `envs` (not shown)"),
        }
    }
}

impl Options {
    /// Merges in the shared options; these options take precedence.
    #[must_use]
    pub fn or(mut self, all: &Self) -> Self {
        let add = |own: &mut BTreeMap<Arc<str>, Arc<str>>, all: &BTreeMap<Arc<str>, Arc<str>>| {
            for (name, value) in all {
                own.entry(Arc::clone(name)).or_insert_with(|| Arc::clone(value));
            }
        };
        add(&mut self.labels, &all.labels);
        add(&mut self.annotations, &all.annotations);
        self.disables_hash |= all.disables_hash;
        self.is_immutable |= all.is_immutable;
        self
    }
}

impl Generator {
    /// Generates the resource. All of its nodes come from `origin`.
    pub fn generate(&self, folder: &Folder<'_>, origin: Origin) -> Result<Resource, GeneratorError> {
        if self.name.is_empty() {
            return Err(GeneratorError::NoName);
        }
        let pairs = self.pairs(folder)?;
        self.check_names(&pairs)?;
        let text = |text: &str| Node::text(text, origin);
        let mut fields = vec![("apiVersion", text("v1"))];
        match &self.kind {
            Kind::ConfigMap => {
                fields.extend([("kind", text("ConfigMap")), ("metadata", self.metadata(origin))]);
                let (mut data, mut binary) = (Map::default(), Map::default());
                for (key, value) in pairs {
                    match std::str::from_utf8(&value) {
                        Ok(value) => data.push(key.into(), text(value)),
                        Err(_) => binary.push(key.into(), text(&base64(&value))),
                    }
                }
                let parts = [("data", data), ("binaryData", binary)];
                let parts = parts.into_iter().filter(|(_, map)| !map.is_empty());
                fields.extend(parts.map(|(name, map)| (name, Node::new(Content::Map(map), origin))));
            }
            Kind::Secret { r#type } => {
                let r#type = if r#type.is_empty() { "Opaque" } else { r#type };
                fields.extend([("kind", text("Secret")), ("metadata", self.metadata(origin)), ("type", text(r#type))]);
                let data = pairs.into_iter().map(|(key, value)| (key.into(), text(&base64(&value))));
                fields.push(("data", map_of(data, origin)));
            }
        }
        if self.options.is_immutable {
            let immutable = Scalar { text: "true".into(), tag: Tag::Bool };
            fields.push(("immutable", Node::new(Content::Scalar(immutable), origin)));
        }
        let mut resource = Resource::new(map_of(fields.into_iter().map(|(name, node)| (name.into(), node)), origin));
        resource.needs_hash = !self.options.disables_hash;
        resource.behavior = self.behavior;
        resource.note().expect("what was made here is a map with metadata");
        Ok(resource)
    }

    /// Rejects keys and labels with which kustomize could not write the resource.
    fn check_names(&self, pairs: &BTreeMap<String, Vec<u8>>) -> Result<(), GeneratorError> {
        let refused = |key| Err(GeneratorError::Key { name: Arc::clone(&self.name), key });
        if let Some(key) = pairs.keys().find(|name| !is_bare_name(name)) {
            return refused(self.told(key));
        }
        match self.options.labels.keys().find(|name| !is_bare_name(name)) {
            Some(label) => refused(ToldKey::Plain(label.to_string())),
            None => Ok(()),
        }
    }

    fn metadata(&self, origin: Origin) -> Node {
        let mut fields = vec![("name".into(), Node::text(Arc::clone(&self.name), origin))];
        if !self.namespace.is_empty() {
            fields.push(("namespace".into(), Node::text(Arc::clone(&self.namespace), origin)));
        }
        for (name, texts) in [("labels", &self.options.labels), ("annotations", &self.options.annotations)] {
            if !texts.is_empty() {
                let nodes = texts.iter().map(|(name, text)| (Arc::clone(name), Node::text(Arc::clone(text), origin)));
                fields.push((name.into(), map_of(nodes, origin)));
            }
        }
        map_of(fields.into_iter(), origin)
    }
}

/// Builds a map of fields with distinct names.
fn map_of(fields: impl Iterator<Item = (Arc<str>, Node)>, origin: Origin) -> Node {
    let mut map = Map::default();
    for (name, node) in fields {
        map.push(name, node);
    }
    Node::new(Content::Map(map), origin)
}

/// Encodes in lines, each of which ends with a line break unless there is only one.
fn base64(bytes: &[u8]) -> String {
    let encoded = data_encoding::BASE64.encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (at, c) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            lines.push('\n');
        }
        lines.push(c);
    }
    lines.push('\n');
    lines
}
