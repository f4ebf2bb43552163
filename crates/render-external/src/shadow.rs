//! Compares two renders of the same version, ours and another program's. They are equal, or the
//! differing resources and fields are listed.
//!
//! Values are never listed, because a render holds secrets. The list is bounded, however different
//! the two are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use setpoint_yaml::{Dialect, Document, Kind, Node, Source, parse, visible_text};

/// The most resources that are listed.
const MOST_RESOURCES: usize = 10;
const MOST_FIELDS: usize = 5;
/// The longest path; a longer one is cut.
const MOST_CHARACTERS: usize = 200;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shadow {
    /// The renders are equal, byte for byte.
    Equal,
    /// The first differences, in the order of ours, and the number of the others.
    Different { first: Vec<Difference>, more: usize },
}

/// One difference. Resources are named as people know them: `apps/v1 Deployment a/b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A render that is not YAML.
    Unreadable {
        ours: bool,
        why: String,
    },
    OnlyOurs {
        resource: String,
    },
    OnlyTheirs {
        resource: String,
    },
    /// The paths of the first differing fields, and the number of the others.
    Fields {
        resource: String,
        paths: Vec<String>,
        more: usize,
    },
    /// The same resources in another order: the first that has another position in theirs.
    Order {
        resource: String,
    },
    /// The same values in another format: the first differing line of ours.
    Form {
        resource: String,
        line: usize,
    },
}

/// Compares two renders.
pub fn compare(ours: &str, theirs: &str) -> Shadow {
    if ours == theirs {
        return Shadow::Equal;
    }
    let mut found = Found::default();
    let (our_parts, their_parts) = (parts(ours), parts(theirs));
    match (documents(&our_parts), documents(&their_parts)) {
        (Ok(our_documents), Ok(their_documents)) => {
            let named = resources(&our_documents);
            compare_resources(&named, &resources(&their_documents), &mut found);
            if found.first.is_empty() {
                found.add(|| form(&named, &our_parts, ours, theirs));
            }
        }
        (our_reading, their_reading) => {
            for (ours, why) in [(true, our_reading.err()), (false, their_reading.err())] {
                if let Some(why) = why {
                    found.add(|| Difference::Unreadable { ours, why });
                }
            }
        }
    }
    Shadow::Different { first: found.first, more: found.more }
}

/// Splits a render into its documents, because the whole render may exceed the largest text that is
/// parsed. A line of three hyphens always ends a document, since the lines of a text in a field are
/// indented.
fn parts(render: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in render.split_inclusive('\n') {
        if line.trim_end() == "---" && at > begin {
            parts.push(&render[begin..at]);
            begin = at;
        }
        at += line.len();
    }
    parts.push(&render[begin..]);
    parts
}

/// Parses each part.
fn documents<'a>(parts: &[&'a str]) -> Result<Vec<Vec<Document<'a>>>, String> {
    let read =
        |part: &&'a str| parse(Source::new("render", part)).map_err(|problems| first_line(&problems.to_string()));
    parts.iter().map(read).collect()
}

/// The differences so far: those that are listed, and the number of the others.
#[derive(Default)]
struct Found {
    first: Vec<Difference>,
    more: usize,
}

impl Found {
    fn add(&mut self, difference: impl FnOnce() -> Difference) {
        if self.first.len() < MOST_RESOURCES {
            self.first.push(difference());
        } else {
            self.more += 1;
        }
    }
}

fn compare_resources(ours: &[Resource<'_>], theirs: &[Resource<'_>], found: &mut Found) {
    let by_name: BTreeMap<&Name<'_>, Node<'_>> = theirs.iter().map(|(name, node)| (name, *node)).collect();
    for (name, our_node) in ours {
        match by_name.get(name) {
            None => found.add(|| Difference::OnlyOurs { resource: name.to_string() }),
            Some(their_node) => {
                let mut fields = Fields::default();
                fields.compare(*our_node, *their_node);
                let Fields { paths, more, .. } = fields;
                if !paths.is_empty() {
                    found.add(|| Difference::Fields { resource: name.to_string(), paths, more });
                }
            }
        }
    }
    let known: BTreeSet<&Name<'_>> = ours.iter().map(|(name, _)| name).collect();
    for (name, _) in theirs.iter().filter(|(name, _)| !known.contains(name)) {
        found.add(|| Difference::OnlyTheirs { resource: name.to_string() });
    }
    // A resource that only one of them has would shift all later ones.
    let of_both = ours.iter().filter(|(name, _)| by_name.contains_key(name));
    let of_both_there = theirs.iter().filter(|(name, _)| known.contains(name));
    if let Some(((name, _), _)) = of_both.zip(of_both_there).find(|((our, _), (their, _))| our != their) {
        found.add(|| Difference::Order { resource: name.to_string() });
    }
}

/// The identity of a resource within a render.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'d> {
    version: &'d str,
    kind: &'d str,
    namespace: &'d str,
    name: &'d str,
    /// The number among resources of the same name: the second is compared with the second.
    turn: usize,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "(without a name)" } else { self.name };
        let mut text = format!("{} {} ", self.version, self.kind);
        if !self.namespace.is_empty() {
            text += self.namespace;
            text.push('/');
        }
        text += name;
        if self.turn > 0 {
            text += &format!(" (number {})", self.turn + 1);
        }
        f.write_str(&cut(&visible_text(text.trim_start())))
    }
}

type Resource<'d> = (Name<'d>, Node<'d>);

fn resources<'d>(documents: &'d [Vec<Document<'_>>]) -> Vec<Resource<'d>> {
    let mut turns: BTreeMap<Name<'d>, usize> = BTreeMap::new();
    let mut named = Vec::with_capacity(documents.len());
    for root in documents.iter().flatten().map(Document::root) {
        let metadata = root.get("metadata");
        let name = Name {
            version: text(root.get("apiVersion")),
            kind: text(root.get("kind")),
            namespace: text(metadata.and_then(|metadata| metadata.get("namespace"))),
            name: text(metadata.and_then(|metadata| metadata.get("name"))),
            turn: 0,
        };
        let turn = turns.entry(name.clone()).or_default();
        named.push((Name { turn: *turn, ..name }, root));
        *turn += 1;
    }
    named
}

fn text(node: Option<Node<'_>>) -> &str {
    match node.map(Node::kind) {
        Some(Kind::Scalar(text)) => text,
        _ => "",
    }
}

/// The differing fields of one resource: the paths of the first, and the number of the others.
#[derive(Default)]
struct Fields {
    paths: Vec<String>,
    more: usize,
    /// The path of the current node.
    path: Vec<Step>,
}

enum Step {
    Field(String),
    Item(usize),
}

impl Fields {
    /// Compares two nodes. The parser bounds the depth.
    fn compare(&mut self, ours: Node<'_>, theirs: Node<'_>) {
        match (ours.kind(), theirs.kind()) {
            (Kind::Mapping(ours), Kind::Mapping(theirs)) => self.compare_entries(&ours.merged(), &theirs.merged()),
            (Kind::Sequence(ours), Kind::Sequence(theirs)) => {
                for (n, (our_item, their_item)) in ours.iter().zip(theirs.iter()).enumerate() {
                    self.at(Step::Item(n), |fields| fields.compare(our_item, their_item));
                }
                let (shorter, longer) = (ours.len().min(theirs.len()), ours.len().max(theirs.len()));
                let whose = if ours.len() > theirs.len() { " (only ours)" } else { " (only theirs)" };
                for n in shorter..longer {
                    self.at(Step::Item(n), |fields| fields.note(whose));
                }
            }
            (Kind::Scalar(_), Kind::Scalar(_)) if is_same(ours, theirs) => {}
            _ => self.note(""),
        }
    }

    fn compare_entries(&mut self, ours: &[(Node<'_>, Node<'_>)], theirs: &[(Node<'_>, Node<'_>)]) {
        let (our_values, their_values) = (by_key(ours), by_key(theirs));
        for (key, our_value) in &our_values {
            self.at(Step::Field((*key).to_owned()), |fields| match their_values.get(key) {
                Some(their_value) => fields.compare(*our_value, *their_value),
                None => fields.note(" (only ours)"),
            });
        }
        for key in their_values.keys().filter(|key| !our_values.contains_key(*key)) {
            self.at(Step::Field((*key).to_owned()), |fields| fields.note(" (only theirs)"));
        }
    }

    fn at(&mut self, step: Step, look: impl FnOnce(&mut Self)) {
        self.path.push(step);
        look(self);
        self.path.pop();
    }

    fn note(&mut self, whose: &str) {
        if self.paths.len() >= MOST_FIELDS {
            self.more += 1;
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Item(n) => path += &format!("[{n}]"),
                Step::Field(name) if name.contains(['.', '[', '"', ' ']) || name.is_empty() => {
                    path += &format!("[{name:?}]");
                }
                Step::Field(name) if path.is_empty() => path += name,
                Step::Field(name) => path += &format!(".{name}"),
            }
        }
        let path = if path.is_empty() { "all of it".to_owned() } else { cut(&visible_text(&path)) };
        self.paths.push(path + whose);
    }
}

/// Returns the values by the text of their keys, which is the form of keys in JSON.
fn by_key<'d>(entries: &[(Node<'d>, Node<'d>)]) -> BTreeMap<&'d str, Node<'d>> {
    entries.iter().map(|(key, value)| (text(Some(*key)), *value)).collect()
}

/// Reports whether two scalars are the same value to their next reader, which is kubectl's library.
fn is_same(ours: Node<'_>, theirs: Node<'_>) -> bool {
    match (ours.resolve(Dialect::GoYamlV2), theirs.resolve(Dialect::GoYamlV2)) {
        (Some(Ok(ours)), Some(Ok(theirs))) => ours == theirs,
        _ => ours.source_text() == theirs.source_text(),
    }
}

/// Returns the first line with another format, and its resource.
fn form(named: &[Resource<'_>], parts: &[&str], ours: &str, theirs: &str) -> Difference {
    let same = ours.split('\n').zip(theirs.split('\n')).take_while(|(our, their)| our == their).count();
    let mut lines_before = 0;
    let part = parts.iter().position(|part| {
        lines_before += part.matches('\n').count();
        same < lines_before
    });
    let resource = part.map_or(named.last(), |part| named.get(part)).map(|(name, _)| name.to_string());
    Difference::Form { resource: resource.unwrap_or_default(), line: same + 1 }
}

fn first_line(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for Shadow {
    /// Writes a line for each difference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("both renders are equal, byte for byte"),
            Self::Different { first, more } => {
                let lines: Vec<String> = first.iter().map(Difference::to_string).collect();
                f.write_str(&lines.join("\n"))?;
                if *more > 0 { write!(f, "\nand {more} more") } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { ours: true, why } => write!(f, "our render is not YAML: {why}"),
            Self::Unreadable { ours: false, why } => write!(f, "their render is not YAML: {why}"),
            Self::OnlyOurs { resource } => write!(f, "{resource}: only in ours"),
            Self::OnlyTheirs { resource } => write!(f, "{resource}: only in theirs"),
            Self::Fields { resource, paths, more: 0 } => write!(f, "{resource}: {}", paths.join(", ")),
            Self::Fields { resource, paths, more } => write!(f, "{resource}: {} and {more} more", paths.join(", ")),
            Self::Order { resource } => write!(f, "{resource}: has another position in theirs"),
            Self::Form { resource, line } => {
                write!(f, "{resource}: the same values, formatted differently from line {line} of ours on")
            }
        }
    }
}

#[cfg(test)]
#[path = "shadow_tests.rs"]
mod tests;
