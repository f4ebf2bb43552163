//! Checks that a written text has the intended content. go-yaml adds line breaks to some block
//! scalars and removes them from others; kustomize does not check this.

use std::collections::BTreeMap;

use setpoint_yaml::{Kind, Node as Written, Source, parse};

use crate::node::{Content, Node};

/// Reports whether the scalars of the text equal those of the tree. A tag that kustomize wrote
/// before a value of another type may make the text unreadable, here as there.
pub(super) fn is_read_as(now: &Node, text: &str, has_tags: bool) -> bool {
    match parse(Source::new("", text)) {
        Ok(documents) => documents.first().is_some_and(|document| is_same(now, document.root())),
        Err(_) => has_tags,
    }
}

fn is_same(now: &Node, written: Written<'_>) -> bool {
    if written.is_alias() {
        return true;
    }
    match (&now.content, written.kind()) {
        (Content::Scalar(own), Kind::Scalar(text)) => *own.text == *text,
        (Content::Seq(own), Kind::Sequence(items)) => {
            own.len() == items.len() && own.iter().zip(items.iter()).all(|(own, item)| is_same(own, item))
        }
        (Content::Map(own), Kind::Mapping(entries)) => {
            let own: BTreeMap<&str, &Node> = own.iter().map(|(name, node)| (&**name, node)).collect();
            entries.iter().all(|(key, value)| match key.kind() {
                _ if key.is_merge_key() => true,
                Kind::Scalar(name) => own.get(name).is_some_and(|own| is_same(own, value)),
                _ => false,
            })
        }
        _ => false,
    }
}
