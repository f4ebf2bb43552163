//! Reads resources of files: documents with a kind and a name, with lists expanded.

use std::sync::Arc;

use setpoint_yaml::Diagnostics;

use crate::documents::Parts;
use crate::node::{Content, Map, NoValue, Node, Scalar, Style, Tag, Value};
use crate::origin::Origin;
use crate::read::read;
use crate::resource::Resource;

/// A text without valid resources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoResources {
    #[error("MalformedYAMLError")]
    Malformed(#[source] Diagnostics),
    #[error("{what}: give it one")]
    Incomplete { what: String, origin: Origin },
    #[error("expected array in {kind}/items: write a list")]
    NoItems { kind: Arc<str>, origin: Origin },
    #[error("trouble expanding list of {kind}; {problem}: correct it")]
    NoValue { kind: Arc<str>, problem: NoValue, origin: Origin },
}

/// Returns the resources of a text.
pub fn resources(name: &str, text: &str, origin: Origin) -> Result<Vec<Resource>, NoResources> {
    let mut nodes = read(name, text, origin).map_err(NoResources::Malformed)?;
    // A file with only a list is replaced by the items as written.
    if let [list] = nodes.as_slice()
        && matches!(kind(list), "List" | "ResourceList")
        && let Some(items) = list.at(&["items"])
        && Parts::of(name, text).is_ok_and(|parts| parts.len() == 1)
    {
        nodes = match &items.content {
            Content::Seq(items) => items.clone(),
            _ => Vec::new(),
        };
    }
    let nodes = taken_apart(complete(nodes)?)?;
    Ok(nodes.into_iter().map(Resource::new).collect())
}

/// Returns the resources of a text inside a field. Their place is that of the field.
pub(crate) fn inline_resources(name: &str, text: &str, origin: Origin) -> Result<Vec<Resource>, NoResources> {
    let mut resources = resources(name, text, origin)?;
    resources.iter_mut().for_each(|resource| place(&mut resource.node, origin));
    Ok(resources)
}

fn place(node: &mut Node, origin: Origin) {
    node.origin = origin;
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(|item| place(item, origin)),
        Content::Map(map) => map.iter_mut().for_each(|(_, node)| place(node, origin)),
    }
}

/// Reports whether an invalid text may be the path of a file. Other texts may hold a secret and are
/// never printed.
pub(crate) fn is_like_a_path(text: &str) -> bool {
    !text.contains(['\n', '{', '}', '[', ']']) && !text.contains(": ") && !text.ends_with(':')
}

fn kind(node: &Node) -> &str {
    text_at(node, &["kind"])
}

/// Returns a string, or an empty one for a node read as null. A text set later is a string, even if
/// it reads like null.
fn text_at<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    let scalar = node.at(path).and_then(Node::as_scalar).filter(|scalar| scalar.tag != Tag::Null);
    scalar.map(|scalar| &*scalar.text).unwrap_or_default()
}

/// Drops empty documents, and rejects those without a kind, or without a name unless they are
/// lists.
fn complete(nodes: Vec<Node>) -> Result<Vec<Node>, NoResources> {
    let is_empty = |node: &Node| match &node.content {
        Content::Scalar(scalar) => scalar.is_null(),
        Content::Seq(items) => items.is_empty(),
        Content::Map(map) => map.is_empty(),
    };
    let nodes: Vec<Node> = nodes.into_iter().filter(|node| !is_empty(node)).collect();
    nodes.iter().try_for_each(check)?;
    Ok(nodes)
}

/// Rejects a resource without a kind, or without a name unless it is a list.
pub(crate) fn check(node: &Node) -> Result<(), NoResources> {
    let incomplete = |what: &str| {
        let what = format!("{what} in object {{{{{} {}}} …}}", text_at(node, &["apiVersion"]), kind(node));
        Err(NoResources::Incomplete { what, origin: node.origin })
    };
    if kind(node).is_empty() {
        return incomplete("missing kind");
    }
    if text_at(node, &["metadata", "name"]).is_empty() && !kind(node).ends_with("List") {
        return incomplete("missing metadata.name");
    }
    Ok(())
}

/// Expands lists of resources. Their items come after all other resources, in JSON form.
fn taken_apart(nodes: Vec<Node>) -> Result<Vec<Node>, NoResources> {
    let mut whole = Vec::with_capacity(nodes.len());
    let mut rest: std::collections::VecDeque<Node> = nodes.into();
    while let Some(node) = rest.pop_front() {
        let items = node.at(&["items"]).filter(|_| kind(&node).ends_with("List"));
        match items.map(|items| &items.content) {
            None => whole.push(node),
            Some(Content::Seq(items)) => {
                let items = items.iter().map(in_json).collect::<Result<Vec<Node>, NoValue>>();
                let items = items.map_err(|problem| NoResources::NoValue {
                    kind: kind(&node).into(),
                    problem,
                    origin: node.origin,
                })?;
                rest.extend(complete(items)?);
            }
            Some(Content::Scalar(scalar)) if scalar.is_null() => {}
            Some(_) => return Err(NoResources::NoItems { kind: kind(&node).into(), origin: node.origin }),
        }
    }
    Ok(whole)
}

/// Converts a node to JSON and back.
pub(crate) fn in_json(node: &Node) -> Result<Node, NoValue> {
    let content = match &node.content {
        Content::Scalar(scalar) => Content::Scalar(match scalar.value()? {
            Value::Null => Scalar { text: "null".into(), tag: Tag::Null },
            Value::Bool(value) => Scalar { text: value.to_string().into(), tag: Tag::Bool },
            Value::Number(json) => Scalar { tag: Tag::of(&json), text: json.into() },
            Value::Text(text) => Scalar::text(text),
        }),
        Content::Seq(items) => Content::Seq(items.iter().map(in_json).collect::<Result<_, NoValue>>()?),
        Content::Map(map) => {
            let mut json = Map::default();
            for (name, node) in map.iter() {
                json.push(Arc::clone(name), in_json(node)?);
            }
            Content::Map(json)
        }
    };
    let style = match &content {
        Content::Scalar(Scalar { tag: Tag::Text, .. }) => Style::Quoted,
        Content::Scalar(_) => Style::Plain,
        Content::Seq(_) | Content::Map(_) => Style::Flow,
    };
    Ok(Node { style, ..Node::new(content, node.origin) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let loaded = resources("a.yaml", text, Origin::default()).map_err(|error| error.to_string())?;
        Ok(loaded.iter().map(|resource| format!("{}/{}", resource.kind(), resource.name())).collect())
    }

    const ITEM: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}";

    #[test]
    fn lists_are_taken_apart() {
        let pod = "kind: Pod\nmetadata: {name: p}\n";
        let list = |kind: &str| format!("kind: {kind}\nitems:\n- {ITEM}\n");
        let is = |text: &str, expected: &[&str]| assert_eq!(names(text).unwrap(), expected, "{text}");
        is(&list("List"), &["ConfigMap/x"]);
        is(&format!("{}---\n{pod}", list("ConfigMapList")), &["Pod/p", "ConfigMap/x"]);
        is("kind: List\nitems: []\n", &[]);
        is("kind: ThingList\nitems: null\n", &[]);
        is("kind: AllowList\nmetadata: {name: a}\n", &["AllowList/a"]);
        is(&format!("kind: List\nitems:\n- kind: List\n  items: [{ITEM}]\n"), &["ConfigMap/x"]);
        is("---\n# nothing\n---\n{}\n---\nnull\n", &[]);
    }

    #[test]
    fn documents_are_what_stands_between_lines_that_begin_with_dashes() {
        let (one, two) = ("kind: Pod\nmetadata: {name: a}\n", "kind: Pod\nmetadata: {name: b}\n");
        let both = ["Pod/a", "Pod/b"];
        for between in ["---\n", "---   \n", "--- # c\n", "---# c\n", "---\r\n", "---\n---\n", "# x\n---\n# y\n---\n"] {
            assert_eq!(names(&format!("{one}{between}{two}")).unwrap(), both, "{between:?}");
        }
        assert_eq!(names(&format!("--- # first\n{one}---")).unwrap(), ["Pod/a"]);
        for between in ["--- !!map\n", "--- &x\n", "-----BEGIN\n", "--- {kind: Pod}\n"] {
            let error = names(&format!("{one}{between}{two}")).unwrap_err();
            assert_eq!(error, "MalformedYAMLError", "{between:?}");
        }
        for text in [
            format!("{one}...\n{two}"),
            format!("{one}--- {{kind: Pod, metadata: {{name: b}}}}"),
            format!("{one}---\n{two}").replace('\n', "\r"),
        ] {
            assert_eq!(names(&text).unwrap_err(), "MalformedYAMLError", "{text:?}");
        }
    }

    #[test]
    fn what_is_no_resource_is_refused() {
        for (text, problem) in [
            ("apiVersion: v1\nmetadata: {name: a}\n", "missing kind in object"),
            ("apiVersion: v1\nkind: Pod\nmetadata: {}\n", "missing metadata.name in object"),
            ("kind: ThingList\nitems: 5\n", "expected array in ThingList/items"),
            ("a: [\n", "MalformedYAMLError"),
        ] {
            let error = names(text).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
