//! Lists the base, patch, generator or transformer that set each field of a resource, and finds
//! fields that cannot be written.

use std::sync::Arc;

use crate::identity::Id;
use crate::node::{Content, NoValue, Node};
use crate::origin::{Origin, Sources};
use crate::resource::Resource;

/// A field of a resource and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// For example `spec.template.spec.containers[0].image`; a name that cannot be part of a path
    /// is in brackets and quotes.
    pub field: String,
    /// The text of a scalar; `{}` and `[]` for empty collections; `None` for secrets.
    pub value: Option<Arc<str>>,
    /// Relative to the root of the tree; empty if no file set the field.
    pub file: Arc<str>,
    /// Counted from 1; 0 if there is no line.
    pub line: u32,
    /// The field of a kustomization that set it; `None` if it is written in the file itself.
    pub by: Option<Arc<str>>,
}

/// Returns all fields below a node that hold a value, in their order. The values of secrets are
/// included.
pub fn fields(node: &Node, path: &str, sources: &Sources) -> Vec<Set> {
    let mut all = Vec::new();
    collect(node, path.to_owned(), sources, &mut all);
    all
}

fn collect(node: &Node, path: String, sources: &Sources, all: &mut Vec<Set>) {
    match &node.content {
        Content::Scalar(scalar) => all.push(set(path, &scalar.text, node.origin, sources)),
        Content::Seq(items) if items.is_empty() => all.push(set(path, "[]", node.origin, sources)),
        Content::Map(map) if map.is_empty() => all.push(set(path, "{}", node.origin, sources)),
        Content::Seq(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{at}]"), sources, all);
            }
        }
        Content::Map(map) => {
            for (name, node) in map.iter() {
                collect(node, joined(&path, name), sources, all);
            }
        }
    }
}

fn set(field: String, value: &str, origin: Origin, sources: &Sources) -> Set {
    let source = sources.get(origin);
    Set { field, value: Some(value.into()), file: Arc::clone(&source.file), line: origin.line(), by: source.by.clone() }
}

fn joined(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match (path.is_empty(), is_plain) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{name:?}]"),
    }
}

/// A path that cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoField {
    #[error("`{path}` is not a valid path: {problem}")]
    Malformed { path: String, problem: &'static str },
    #[error("there is no `{missing}`; there are {}", if known.is_empty() { "no fields" } else { known })]
    Missing { missing: String, known: String },
}

/// A step of a path.
#[derive(Debug)]
enum Step {
    Name(String),
    Index(usize),
    /// The item of a list whose field has this value.
    Item(String, String),
}

/// Returns the node at a path such as `spec.ports[0].name`, `spec.containers[name=web].image` or
/// `metadata.annotations["a.b/c"]`, and the path in the form of [`Set::field`].
pub fn find<'n>(root: &'n Node, path: &str) -> Result<(&'n Node, String), NoField> {
    let (mut node, mut at) = (root, String::new());
    for step in steps(path)? {
        let next = match (&step, &node.content) {
            (Step::Name(name), Content::Map(map)) => map.get(name).map(|node| (node, joined(&at, name))),
            (Step::Index(index), Content::Seq(items)) => items.get(*index).map(|node| (node, format!("{at}[{index}]"))),
            (Step::Item(field, value), Content::Seq(items)) => items.iter().enumerate().find_map(|(index, item)| {
                let own = item.at(&[field]).and_then(Node::as_text)?;
                (own == value).then(|| (item, format!("{at}[{index}]")))
            }),
            _ => None,
        };
        (node, at) = next.ok_or_else(|| missing(node, &at, &step))?;
    }
    Ok((node, at))
}

impl Step {
    /// Appends this step to a path.
    fn below(&self, path: &str) -> String {
        match self {
            Self::Name(name) => joined(path, name),
            Self::Index(index) => format!("{path}[{index}]"),
            Self::Item(field, value) => format!("{path}[{field}={value}]"),
        }
    }
}

fn missing(node: &Node, at: &str, step: &Step) -> NoField {
    let missing = step.below(at);
    let known = match &node.content {
        Content::Map(map) => first_of(map.iter().map(|(name, _)| format!("`{name}`"))),
        Content::Seq(items) => format!("{} items", items.len()),
        Content::Scalar(_) => String::new(),
    };
    NoField::Missing { missing, known }
}

/// Lists the first of many names: the full list would hide the message.
pub(crate) fn first_of(names: impl Iterator<Item = String>) -> String {
    const MOST: usize = 20;
    let mut all: Vec<String> = names.collect();
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    match more {
        0 => all.join(", "),
        more => format!("{} and {more} more", all.join(", ")),
    }
}

fn steps(path: &str) -> Result<Vec<Step>, NoField> {
    let malformed = |problem| NoField::Malformed { path: path.to_owned(), problem };
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let (name, after) = quoted.split_once("\"]").ok_or_else(|| malformed("a `[\"` is not closed by `\"]`"))?;
            steps.push(Step::Name(name.to_owned()));
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (inner, after) = inner.split_once(']').ok_or_else(|| malformed("a `[` is not closed by `]`"))?;
            steps.push(match (inner.parse(), inner.split_once('=')) {
                (Ok(index), _) => Step::Index(index),
                (_, Some((field, value))) => Step::Item(field.to_owned(), value.to_owned()),
                _ => return Err(malformed("expected a number, `field=value` or a name in quotes between brackets")),
            });
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return Err(malformed("a name is empty"));
            }
            steps.push(Step::Name(name.to_owned()));
            rest = after;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    Ok(steps)
}

/// Reports whether a field of a resource with secrets only identifies the resource. Every other
/// field may hold a secret: a scalar instead of a `stringData` map, or kubectl's copy in an
/// annotation.
pub(crate) fn is_identity(field: &str) -> bool {
    ["apiVersion", "kind", "metadata.name", "metadata.namespace", "type"].contains(&field)
}

/// A field without a writable value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource}, field `{field}`: {problem}: write a valid value")]
pub(crate) struct BadValue {
    resource: Box<Id>,
    field: String,
    problem: NoValue,
    /// The origin of the value.
    pub(crate) origin: Origin,
}

/// Rejects a resource with a field that has no writable value.
pub(crate) fn check_values(resource: &Resource) -> Result<(), BadValue> {
    check(&resource.node).map_err(|(steps, origin, problem)| {
        let field = steps.iter().rev().fold(String::new(), |path, step| step.below(&path));
        BadValue { resource: Box::new(resource.id(&|_| false)), field, problem, origin }
    })
}

/// Returns the first problem with the steps that lead to it, the last first.
fn check(node: &Node) -> Result<(), (Vec<Step>, Origin, NoValue)> {
    let below = |step: Step| {
        move |(mut steps, origin, problem): (Vec<Step>, Origin, NoValue)| {
            steps.push(step);
            (steps, origin, problem)
        }
    };
    match &node.content {
        Content::Scalar(scalar) => scalar.value().map(drop).map_err(|problem| (Vec::new(), node.origin, problem)),
        Content::Seq(items) => {
            items.iter().enumerate().try_for_each(|(at, item)| check(item).map_err(below(Step::Index(at))))
        }
        Content::Map(map) => {
            map.iter().try_for_each(|(name, node)| check(node).map_err(|bad| below(Step::Name(name.to_string()))(bad)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Scalar, Tag};
    use crate::read::read;

    const TEXT: &str = "kind: A\nmetadata:\n  annotations: {a.b/c: d}\nspec:\n  list:\n  - {name: x, value: 1}\n  - name: y\n    value: 2\n  none: []\n";

    fn node(sources: &mut Sources) -> Node {
        let origin = sources.add("a.yaml".into(), None);
        read("a.yaml", TEXT, origin).unwrap().remove(0)
    }

    #[test]
    fn each_field_is_told_with_its_file_and_line() {
        let mut sources = Sources::default();
        let node = node(&mut sources);
        let told: Vec<String> = fields(&node, "", &sources)
            .iter()
            .map(|set| format!("{}={}@{}", set.field, set.value.as_deref().unwrap(), set.line))
            .collect();
        assert_eq!(
            told,
            [
                "kind=A@1",
                "metadata.annotations[\"a.b/c\"]=d@3",
                "spec.list[0].name=x@6",
                "spec.list[0].value=1@6",
                "spec.list[1].name=y@7",
                "spec.list[1].value=2@8",
                "spec.none=[]@9",
            ]
        );
    }

    #[test]
    fn a_field_is_found_by_its_path_in_every_form() {
        let mut sources = Sources::default();
        let node = node(&mut sources);
        for (path, field, line) in [
            ("spec.list[1].value", "spec.list[1].value", 8),
            (".spec.list[name=y].value", "spec.list[1].value", 8),
            ("metadata.annotations[\"a.b/c\"]", "metadata.annotations[\"a.b/c\"]", 3),
            ("", "", 1),
        ] {
            let (found, at) = find(&node, path).unwrap();
            assert_eq!((at.as_str(), found.origin.line()), (field, line), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told_with_what_is_there() {
        let mut sources = Sources::default();
        let node = node(&mut sources);
        for (path, problem) in [
            ("spec.lists", "there is no `spec.lists`; there are `list`, `none`"),
            ("spec.list[5]", "there is no `spec.list[5]`; there are 2 items"),
            ("kind.x", "there is no `kind.x`; there are no fields"),
            (
                "spec[x]",
                "`spec[x]` is not a valid path: expected a number, `field=value` or a name in quotes between brackets",
            ),
            ("spec[", "`spec[` is not a valid path: a `[` is not closed by `]`"),
            ("spec..list", "`spec..list` is not a valid path: a name is empty"),
        ] {
            assert_eq!(find(&node, path).unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn of_many_fields_the_first_are_told() {
        let text: String = (0..25).map(|at| format!("f{at}: 1\n")).collect();
        let node = read("a.yaml", &text, Origin::default()).unwrap().remove(0);
        let told = find(&node, "g").unwrap_err().to_string();
        assert!(told.starts_with("there is no `g`; there are `f0`, `f1`, "), "{told}");
        assert!(told.ends_with(", `f19` and 5 more"), "{told}");
    }

    #[test]
    fn what_has_no_value_is_told_by_its_field_and_not_by_what_it_says() {
        let mut sources = Sources::default();
        let mut resource = Resource::new(node(&mut sources));
        assert_eq!(check_values(&resource), Ok(()));
        let put = sources.add("kustomization.yaml".into(), Some("replacements".into())).on(3);
        let value = Scalar { text: "hunter2".into(), tag: Tag::Int };
        let spec = resource.node.as_map_mut().unwrap().get_mut("spec").unwrap();
        spec.as_map_mut()
            .unwrap()
            .set("none", Node::new(Content::Seq(vec![Node::new(Content::Scalar(value), put)]), put));
        let bad = check_values(&resource).unwrap_err();
        assert_eq!(
            bad.to_string(),
            "A.[noVer].[noGrp]/[noName].[noNs], field `spec.none[0]`: expected an integer, got another value: write a valid value"
        );
        assert_eq!(bad.origin, put);
    }
}
