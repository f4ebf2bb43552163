//! The hash that is appended to the names of generated resources, so that a change of their content
//! rolls out their consumers.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::folded::refold;
use crate::json::{self, Layout, push_text};
use crate::node::{Content, NoValue, Node};

const LENGTH: usize = 10;
const COMPACT: Layout = Layout { is_indented: false, has_floats: true };

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHash {
    #[error("`{field}` of {kind} `{name}` cannot be hashed; correct the value")]
    Value { kind: Arc<str>, name: Arc<str>, field: &'static str, source: NoValue },
    /// Of other kinds, kustomize hashes the lines, columns, styles and comments of the text.
    #[error(
        "{kind} `{name}` cannot be hashed: only a ConfigMap or a Secret gets a hash suffix, so remove its `needsHashSuffix` annotation"
    )]
    Kind { kind: Arc<str>, name: Arc<str> },
}

/// Returns the hash of a ConfigMap or a Secret, which has ten characters.
pub fn hash(node: &Node) -> Result<String, NoHash> {
    let text = |path: &[&str]| node.at(path).and_then(Node::as_text).unwrap_or_default();
    let kind = text(&["kind"]);
    // This is the name of a single field, which no resource has, so the name is always empty and
    // the hash only covers the data.
    const NAME: &str = "metadata/name";
    let fields: &[(&str, &str)] = match kind {
        "ConfigMap" => &[("binaryData", "binaryData"), ("data", "data"), ("kind", "kind"), ("name", NAME)],
        "Secret" => {
            &[("data", "data"), ("kind", "kind"), ("name", NAME), ("stringData", "stringData"), ("type", "type")]
        }
        _ => return Err(NoHash::Kind { kind: kind.into(), name: text(&["metadata", "name"]).into() }),
    };
    let mut json = String::from("{");
    for (written, field) in fields {
        let found = node.at(&[field]);
        let is_map = found.is_some_and(|node| !matches!(node.content, Content::Scalar(_)));
        if matches!(*field, "binaryData" | "stringData") && !is_map {
            continue;
        }
        if json.len() > 1 {
            json.push(',');
        }
        push_text(written, &mut json);
        json.push(':');
        push_field(found, &mut json).map_err(|source| NoHash::Value {
            kind: kind.into(),
            name: text(&["metadata", "name"]).into(),
            field,
            source,
        })?;
    }
    json.push('}');
    Ok(shortened(&json))
}

/// Appends a field to the hashed JSON: a scalar as its text, whatever its type, and a missing field
/// as an empty string.
fn push_field(field: Option<&Node>, json: &mut String) -> Result<(), NoValue> {
    match field.map(|node| (&node.content, node)) {
        None => json.push_str("\"\""),
        Some((Content::Scalar(scalar), _)) => push_text(&scalar.text, json),
        Some((Content::Seq(items), _)) => {
            // Kustomize reads it as a map and gets null.
            items.iter().try_for_each(|item| json::write(item, COMPACT, &mut String::new()))?;
            json.push_str("null");
        }
        Some((Content::Map(_), node)) => {
            // Kustomize writes it as YAML on its way to JSON.
            let mut written = node.clone();
            refold(&mut written);
            json::write(&written, COMPACT, json)?;
        }
    }
    Ok(())
}

/// Returns the first characters of a digest, with characters replaced that could form words.
fn shortened(text: &str) -> String {
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    let mapped = |c| match c {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        c => c,
    };
    digest.chars().take(LENGTH).map(mapped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::read::read;

    fn hashed(text: &str) -> Result<String, NoHash> {
        hash(&read("test.yaml", text, Origin::default()).unwrap()[0])
    }

    #[test]
    fn the_hash_is_of_the_data_and_not_of_the_name() {
        let one = hashed("{kind: ConfigMap, metadata: {name: a}, data: {k: v}}");
        assert_eq!(one.as_deref(), Ok("bdg947hgcc"));
        assert_eq!(hashed("{kind: ConfigMap, metadata: {name: b}, data: {k: v}}"), one);
        assert_ne!(hashed("{kind: ConfigMap, metadata: {name: a}, data: {k: w}}"), one);
    }

    #[test]
    fn other_kinds_have_no_hash() {
        assert!(matches!(hashed("{kind: Pod, metadata: {name: a}}"), Err(NoHash::Kind { .. })));
    }
}
