//! Fields by their path: how somebody who knows a value, but not the text it was written in, says where something is wrong.

use setpoint_yaml::{Class, Diagnostic, Kind, Node, Place, Source, parse};

/// Something wrong with a field, told by who knows what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The field, as `spec.inputs[0].store`; empty for the whole object.
    pub path: String,
    /// What is wrong, without the field's name.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl FieldProblem {
    pub fn new(path: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), help: help.into() }
    }

    /// The same as a diagnostic, given where it was written.
    pub fn in_text(self, text: &str, object: &Place) -> Diagnostic {
        let place = place_in(text, object, &self.path).unwrap_or_else(|| object.clone());
        self.placed(place)
    }

    /// The same as a diagnostic, given the object it is about.
    pub(crate) fn at(self, object: Node<'_>) -> Diagnostic {
        let place = nearest_node(object, &self.path).place();
        self.placed(place)
    }

    /// The same as a diagnostic, given where the field is.
    pub fn placed(self, place: Place) -> Diagnostic {
        let message = if self.path.is_empty() { self.message } else { format!("`{}`: {}", self.path, self.message) };
        Diagnostic::new(Class::Value, place, message).with_help(self.help)
    }
}

/// Where a field of a document is written, found again in the text: places are needed only when something is wrong, so that no
/// tree has to be kept for them. `object` is where the document's name is.
fn place_in(text: &str, object: &Place, path: &str) -> Option<Place> {
    let trees = parse(Source::new(&object.file, text)).ok()?;
    let name = |root: Node<'_>| Some(root.get("metadata")?.get("name")?.place());
    let tree = trees.iter().find(|tree| name(tree.root()).as_ref() == Some(object))?;
    Some(nearest_node(tree.root(), path).place())
}

/// The node at a path, or the innermost one above it: a field that is missing is told where it should be.
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
    fn a_field_that_is_not_there_is_told_where_it_should_be() {
        assert_eq!(line_and_column("spec.list[1].z"), line_and_column("spec.list[1]"));
        assert_eq!(line_and_column("spec.list[7].z"), line_and_column("spec.list"));
        assert_eq!(line_and_column("(whole)"), (1, 1));
    }
}
