//! Problems by field path, for callers that check a value without its source text.

use setpoint_yaml::{Class, Diagnostic, Kind, Node, Place, Source, parse};

/// A problem with a field, found by a caller that knows its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The path of the field, such as `spec.inputs[0].store`; empty for the whole object.
    pub path: String,
    /// The problem, without the name of the field.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl FieldProblem {
    pub fn new(path: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), help: help.into() }
    }

    /// Converts the problem to a diagnostic, with the place found in the source text.
    pub fn in_text(self, text: &str, object: &Place) -> Diagnostic {
        let place = place_in(text, object, &self.path).unwrap_or_else(|| object.clone());
        self.placed(place)
    }

    /// Converts the problem to a diagnostic, with the place found in the object's node.
    pub(crate) fn at(self, object: Node<'_>) -> Diagnostic {
        let place = nearest_node(object, &self.path).place();
        self.placed(place)
    }

    /// Converts the problem to a diagnostic at a known place.
    pub fn placed(self, place: Place) -> Diagnostic {
        let message = if self.path.is_empty() { self.message } else { format!("`{}`: {}", self.path, self.message) };
        Diagnostic::new(Class::Value, place, message).with_help(self.help)
    }
}

/// Returns the place of a field, by parsing the text again: places are needed only for errors, so
/// no tree is kept for them. `object` is the place of the document's name.
fn place_in(text: &str, object: &Place, path: &str) -> Option<Place> {
    let trees = parse(Source::new(&object.file, text)).ok()?;
    let name = |root: Node<'_>| Some(root.get("metadata")?.get("name")?.place());
    let tree = trees.iter().find(|tree| name(tree.root()).as_ref() == Some(object))?;
    Some(nearest_node(tree.root(), path).place())
}

/// Returns the node at a path. For a missing field this is the innermost existing parent, where the
/// field would be added.
fn nearest_node<'d>(root: Node<'d>, path: &str) -> Node<'d> {
    let mut node = root;
    for segment in path.split(['.', '[']).filter(|segment| !segment.is_empty()) {
        let next = match (segment.strip_suffix(']').map(str::parse), node.kind()) {
            (Some(Ok(index)), Kind::Sequence(items)) => items.iter().nth(index),
            _ => node.get(segment),
        };
        match next {
            Some(next) => node = next,
            None => return node,
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "metadata: { name: a }\nspec:\n  list:\n    - x: 1\n    - y: 2\n";

    fn line_and_column(path: &str) -> (u32, u32) {
        let trees = parse(Source::new("a.yaml", TEXT)).unwrap();
        let place = nearest_node(trees[0].root(), path).place();
        (place.line, place.column)
    }

    #[test]
    fn a_field_is_found_by_its_path() {
        assert_eq!(line_and_column("spec.list[1].y"), (5, 10));
        assert_eq!(line_and_column("metadata.name"), (1, 19));
    }

    #[test]
    fn a_missing_field_is_reported_at_its_parent() {
        assert_eq!(line_and_column("spec.list[1].z"), line_and_column("spec.list[1]"));
        assert_eq!(line_and_column("spec.list[7].z"), line_and_column("spec.list"));
        assert_eq!(line_and_column("(whole)"), (1, 1));
    }
}
