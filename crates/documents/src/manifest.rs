//! Plain manifests: the resources of a file, read as kubectl reads them, but with an error where
//! kubectl would lose data silently.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::value::Value;
use setpoint_yaml::{
    Class, Diagnostic, Diagnostics, Dialect, Findings, Kind, Node, Place, Scalar, Source, parse, visible_text,
};

use crate::document::is_empty;
use crate::field::FieldProblem;
use crate::text::ascii_text;
use crate::value::value_of;

/// A declared object, before the target has assigned its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// The namespace as written. If there is none, the target decides which one applies.
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
    /// The whole object.
    pub body: Value,
    pub place: Place,
}

/// Reads every resource of a file. A file with an error is refused as a whole. Empty documents are
/// skipped, and the items of a `kind: List` are resources of their own.
pub fn read_resources(file: &str, text: &str) -> Result<Vec<Manifest>, Diagnostics> {
    read_resources_with(file, text, &mut |_| Vec::new())
}

/// Reads every resource of a file like [`read_resources`]. `complete` may complete each resource,
/// and the problems that it returns are reported at the place of the field.
pub fn read_resources_with(
    file: &str,
    text: &str,
    complete: &mut dyn FnMut(&mut Manifest) -> Vec<FieldProblem>,
) -> Result<Vec<Manifest>, Diagnostics> {
    let trees = parse(Source::new(file, text))?;
    let mut found = Findings::default();
    let mut manifests = Vec::new();
    let roots = trees.iter().map(|tree| tree.root()).filter(|root| !is_empty(*root));
    let nodes: Vec<Node<'_>> = roots.flat_map(|root| items_of(root, &mut found)).collect();
    for node in nodes {
        if found.is_full() {
            break;
        }
        let Some(mut manifest) = read_manifest(node, &mut found) else { continue };
        found.extend(complete(&mut manifest).into_iter().map(|problem| problem.at(node)));
        manifests.push(manifest);
    }
    found.extend(duplicates(&manifests));
    found.or_value(manifests)
}

/// Returns the resources of a document: the document itself, or the items of a `kind: List` at any
/// depth, so that no check can be bypassed by nesting. The parser bounds the depth of the tree and
/// its growth by aliases, and thereby this function.
fn items_of<'d>(root: Node<'d>, found: &mut Findings) -> Vec<Node<'d>> {
    let mut items = Vec::new();
    let mut ahead = vec![root];
    while let Some(node) = ahead.pop() {
        if !matches!(node.get("kind").map(Node::kind), Some(Kind::Scalar("List"))) {
            items.push(node);
            continue;
        }
        match node.get("items").map(|items| (items, items.kind())) {
            Some((_, Kind::Sequence(list))) => ahead.extend(list.iter().collect::<Vec<_>>().into_iter().rev()),
            other => {
                let place = other.map_or(node, |(items, _)| items).place();
                found.add(|| {
                    Diagnostic::new(Class::Type, place, "`items` of a List must be a list")
                        .with_help("write the resources below `items:`, each after `- `")
                });
            }
        }
    }
    items
}

/// Refuses an object that is declared twice, in one file or in several. The API version is not part
/// of the identity: `apps/v1` and `apps/v1beta1` name the same Deployment.
pub fn check_unique_resources<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Result<(), Diagnostics> {
    let mut found = Findings::default();
    found.extend(duplicates(manifests));
    found.or_value(())
}

fn duplicates<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Vec<Diagnostic> {
    let mut first = BTreeMap::new();
    let mut found = Vec::new();
    for manifest in manifests {
        let group = manifest.api_version.split_once('/').map_or("", |(group, _)| group);
        let identity = (group, &manifest.kind, &manifest.namespace, &manifest.name);
        let Some(earlier) = first.insert(identity, &manifest.place) else { continue };
        let message = format!("the {} `{}` is declared twice", manifest.kind, manifest.name);
        let diagnostic = Diagnostic::new(Class::Duplicate, manifest.place.clone(), message);
        found.push(diagnostic.with_other(earlier.clone(), "first here").with_help("keep one of them"));
    }
    found
}

fn read_manifest(root: Node<'_>, found: &mut Findings) -> Option<Manifest> {
    if !matches!(root.kind(), Kind::Mapping(_)) {
        found.add(|| {
            Diagnostic::new(Class::Type, root.place(), "a resource must be a mapping")
                .with_help("expected `apiVersion`, `kind` and `metadata`")
        });
        return None;
    }
    let api_version = required(root, "apiVersion", root.get("apiVersion"), found);
    let kind = required(root, "kind", root.get("kind"), found);
    let metadata = root.get("metadata");
    let name_node = metadata.and_then(|metadata| metadata.get("name"));
    let name = required(root, "metadata.name", name_node, found);
    let namespace = match metadata.and_then(|metadata| metadata.get("namespace")) {
        Some(node) => required(root, "metadata.namespace", Some(node), found).map(Some),
        None => Some(None),
    };
    let body = value_of(root, Dialect::GoYamlV2, found);
    let place = name_node.unwrap_or(root).place();
    Some(Manifest { api_version: api_version?, kind: kind?, namespace: namespace?, name: name?, body: body?, place })
}

impl Manifest {
    /// Makes the resource of a value that was not read from the text of one file.
    pub fn of_value(body: Value, place: Place) -> Result<Self, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        let metadata = body.get("metadata");
        let mut identifying = |field: &str, value: Option<&Value>| {
            let text =
                value.map_or_else(|| Err(missing(field)), |value| value.as_str().ok_or_else(|| not_a_string(field)));
            let text = text.and_then(|text| identifier(field, text));
            text.map_err(|(message, help)| problems.push(FieldProblem::new(field, message, help))).ok()
        };
        let api_version = identifying("apiVersion", body.get("apiVersion"));
        let kind = identifying("kind", body.get("kind"));
        let name = identifying("metadata.name", metadata.and_then(|metadata| metadata.get("name")));
        let namespace = match metadata.and_then(|metadata| metadata.get("namespace")) {
            Some(value) => identifying("metadata.namespace", Some(value)).map(Some),
            None => Some(None),
        };
        match (api_version, kind, name, namespace) {
            (Some(api_version), Some(kind), Some(name), Some(namespace)) => {
                Ok(Self { api_version, kind, namespace, name, body, place })
            }
            _ => Err(problems),
        }
    }
}

/// A message and its remedy.
type Refusal = (String, String);

fn missing(field: &str) -> Refusal {
    (format!("the resource has no `{field}`"), format!("add `{field}`"))
}

fn not_a_string(field: &str) -> Refusal {
    (format!("`{field}` is not a string"), "write a string; quote it if necessary".to_owned())
}

/// Returns the refusal of a scalar without quotes that YAML reads as something else: `y` and `on`
/// are booleans, `1e3` is a number.
fn read_as_another_type(field: &str, text: &str, read: &Scalar<'_>) -> Refusal {
    let (text, read) = (
        visible_text(text),
        match read {
            Scalar::Bool(value) => format!("the boolean `{value}`"),
            other => other.describe().to_owned(),
        },
    );
    (
        format!("`{field}` is not a string: YAML reads `{text}` without quotes as {read}"),
        format!("put it in quotes: \"{text}\""),
    )
}

/// Validates a text that identifies an object. Only printable ASCII is allowed, so that look-alike
/// letters and direction marks cannot deceive.
fn identifier(field: &str, text: &str) -> Result<Arc<str>, Refusal> {
    if text.is_empty() || text.len() > 1024 || !text.bytes().all(|b| b.is_ascii_graphic()) {
        let message = format!("`{}` cannot be a `{field}`", ascii_text(text));
        return Err((message, "use only printable ASCII characters without spaces".to_owned()));
    }
    Ok(text.into())
}

/// Reads a required identifying text: present, a string, and valid.
fn required(root: Node<'_>, field: &str, node: Option<Node<'_>>, found: &mut Findings) -> Option<Arc<str>> {
    let refuse = |node: Node<'_>, class, (message, help): Refusal, found: &mut Findings| {
        found.add(|| Diagnostic::new(class, node.place(), message).with_help(help));
        None
    };
    let Some(node) = node else { return refuse(root, Class::Missing, missing(field), found) };
    let text = match (node.resolve(Dialect::GoYamlV2), node.kind()) {
        (Some(Ok(Scalar::Str(text))), _) => text,
        (Some(Ok(read)), Kind::Scalar(text)) if !text.is_empty() => {
            return refuse(node, Class::Type, read_as_another_type(field, text, &read), found);
        }
        _ => return refuse(node, Class::Type, not_a_string(field), found),
    };
    identifier(field, text).map_or_else(|refusal| refuse(node, Class::Value, refusal, found), Some)
}
