//! Strict reading of documents. Reading continues after a mistake, so that all are reported
//! together.

use setpoint_yaml::{Class, Diagnostic, Dialect, Findings, Items, Kind, Node, Scalar, visible_text};

use crate::declaration::{Declaration, Field, Shape};
use crate::suggest::nearest;

/// The dialect of control documents. In YAML 1.2, `no` is a string, not a boolean.
pub(crate) const DIALECT: Dialect = Dialect::Yaml12;

/// Collects the diagnostics of one document.
#[derive(Debug)]
pub struct Reader {
    pub(crate) found: Findings,
    /// The declaration of the whole document, to find the parent of a misplaced field.
    declaration: Option<Declaration>,
    /// The names of the fields that are being read, outermost first.
    within: Vec<String>,
}

impl Reader {
    pub(crate) fn new(declaration: Option<Declaration>) -> Self {
        Self { found: Findings::default(), declaration, within: Vec::new() }
    }

    /// Reports a mistake at a node. Always returns `None`, so that a reader can end with it.
    ///
    /// The message about a wrong value names the field, because an output of one line shows only
    /// the place in the file.
    pub fn report<T>(
        &mut self,
        class: Class,
        node: Node<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        let field = self.within.last().filter(|_| matches!(class, Class::Type | Class::Value));
        self.found.add(|| {
            let message = match field {
                Some(field) => format!("`{field}`: {}", message.into()),
                None => message.into(),
            };
            Diagnostic::new(class, node.place(), message).with_help(help)
        });
        None
    }

    fn wrong_type<T>(&mut self, node: Node<'_>, expected: &str) -> Option<T> {
        let message = format!("expected {expected}, got {}", describe(node));
        let help = match node.kind() {
            Kind::Scalar("") => "write a value, or remove the field".to_owned(),
            Kind::Scalar(text) if expected == "a string" => format!("put it in quotes: \"{}\"", visible_text(text)),
            _ => format!("replace it with {expected}"),
        };
        self.report(Class::Type, node, message, help)
    }

    /// Returns the value of a scalar. Reports a list or mapping.
    pub(crate) fn scalar<'d>(&mut self, node: Node<'d>, expected: &str) -> Option<Scalar<'d>> {
        if self.found.is_full() {
            return None;
        }
        match node.resolve(DIALECT) {
            Some(Ok(scalar)) => Some(scalar),
            Some(Err(found)) => {
                self.found.extend(found.into_vec());
                None
            }
            None => self.wrong_type(node, expected),
        }
    }

    pub(crate) fn text<'d>(&mut self, node: Node<'d>) -> Option<&'d str> {
        match self.scalar(node, "a string")? {
            Scalar::Str(text) => Some(text),
            _ => self.wrong_type(node, "a string"),
        }
    }

    pub(crate) fn boolean(&mut self, node: Node<'_>) -> Option<bool> {
        match self.scalar(node, "`true` or `false`")? {
            Scalar::Bool(value) => Some(value),
            _ => self.wrong_type(node, "`true` or `false`"),
        }
    }

    pub(crate) fn integer(&mut self, node: Node<'_>, least: u32, most: u32) -> Option<u32> {
        let Scalar::Int(digits) = self.scalar(node, "an integer")? else { return self.wrong_type(node, "an integer") };
        match digits.parse::<u32>() {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => self.report(
                Class::Value,
                node,
                format!("`{digits}` is out of range"),
                format!("expected {least} to {most}"),
            ),
        }
    }

    pub(crate) fn list<'d>(&mut self, node: Node<'d>) -> Option<Items<'d>> {
        match node.kind() {
            Kind::Sequence(items) => Some(items),
            _ => self.wrong_type(node, "a list"),
        }
    }

    pub fn enum_value<'d>(&mut self, node: Node<'d>, values: &[(&'static str, &'static str)]) -> Option<&'d str> {
        let text = self.text(node)?;
        let known = || values.iter().map(|(value, _)| *value);
        if known().any(|value| value == text) {
            return Some(text);
        }
        let help = match nearest(text, known()) {
            Some(value) => format!("did you mean `{value}`?"),
            None => format!("expected {}", list_of(known(), "or")),
        };
        self.report(Class::Value, node, format!("unknown value `{}`", visible_text(text)), help)
    }

    /// Returns the path of the object that has a field of this name elsewhere in the document.
    fn parent_of(&self, name: &str) -> Option<String> {
        self.declaration.as_ref().and_then(|declaration| find_parent(declaration, name, ""))
    }
}

/// Returns the path of an object below `path` that has a field of this name.
fn find_parent(declaration: &Declaration, name: &str, path: &str) -> Option<String> {
    if !path.is_empty() && declaration.fields.iter().any(|field| field.name == name) {
        return Some(path.to_owned());
    }
    let inside = |field: &crate::declaration::FieldDeclaration| {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name);
        match &field.shape {
            Shape::List(item) => find_parent(&item.fields()?, name, &format!("{path}[]")),
            shape => find_parent(&shape.fields()?, name, &path),
        }
    };
    declaration.fields.iter().find_map(inside)
}

/// Describes the type of a node, with an article.
fn describe(node: Node<'_>) -> &'static str {
    match node.kind() {
        Kind::Scalar("") => "nothing",
        Kind::Scalar(_) => match node.resolve(DIALECT) {
            Some(Ok(scalar)) => scalar.describe(),
            _ => "a scalar",
        },
        Kind::Sequence(_) => "a list",
        Kind::Mapping(_) => "a mapping",
    }
}

/// Formats a list: `a`, `b` or `c`.
pub(crate) fn list_of<'w>(words: impl Iterator<Item = &'w str>, last: &str) -> String {
    let quoted: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// The fields of an object that have not been read yet.
#[derive(Debug)]
pub struct Fields<'d> {
    node: Node<'d>,
    entries: Vec<(Node<'d>, Node<'d>)>,
    /// Set if a missing field is not an error: it is not known yet which fields are required.
    lenient: bool,
}

impl<'d> Fields<'d> {
    pub fn of(node: Node<'d>, reader: &mut Reader) -> Option<Self> {
        match node.kind() {
            Kind::Mapping(entries) => Some(Self { node, entries: entries.merged(), lenient: false }),
            _ => reader.wrong_type(node, "a mapping"),
        }
    }

    /// Removes a field and returns its node, for a caller that does not read it with
    /// [`Self::take`].
    pub(crate) fn remove(&mut self, name: &str) -> Option<Node<'d>> {
        let index =
            self.entries.iter().position(|(key, _)| matches!(key.kind(), Kind::Scalar(text) if text == name))?;
        Some(self.entries.remove(index).1)
    }

    /// Reads a field, or returns its default. Reports a missing field without default.
    pub fn take<T: Field>(&mut self, name: &str, default: Option<fn() -> T>, reader: &mut Reader) -> Option<T> {
        match (self.remove(name), default) {
            (Some(value), _) => {
                reader.within.push(name.to_owned());
                let read = T::read(value, reader);
                reader.within.pop();
                read
            }
            (None, Some(default)) => Some(default()),
            (None, None) => self.missing(name, reader),
        }
    }

    /// Returns the same fields, of which none is required.
    pub(crate) fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// Returns the nodes of the fields that have not been read, by name.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = (&'d str, Node<'d>)> {
        self.entries.iter().filter_map(|(key, value)| match key.kind() {
            Kind::Scalar(name) => Some((name, *value)),
            _ => None,
        })
    }

    /// Reads a required field with a reader of its own.
    pub(crate) fn take_with<T>(
        &mut self,
        name: &str,
        reader: &mut Reader,
        read: impl FnOnce(Node<'d>, &mut Reader) -> Option<T>,
    ) -> Option<T> {
        let Some(value) = self.remove(name) else { return self.missing(name, reader) };
        reader.within.push(name.to_owned());
        let read = read(value, reader);
        reader.within.pop();
        read
    }

    pub(crate) fn missing<T>(&self, name: &str, reader: &mut Reader) -> Option<T> {
        if self.lenient {
            return None;
        }
        reader.report(
            Class::Missing,
            self.node,
            format!("the field `{name}` is missing"),
            format!("add `{name}:` to this mapping"),
        )
    }

    /// Returns the only field of `known` that is set. Reports none or several.
    pub fn only_one(&self, known: &[&'static str], reader: &mut Reader) -> Option<&'static str> {
        let given = |name: &&&str| {
            self.entries.iter().any(|(key, _)| matches!(key.kind(), Kind::Scalar(text) if text == **name))
        };
        let mut found = known.iter().filter(given);
        match (found.next(), found.next()) {
            (Some(only), None) => Some(only),
            _ if self.entries.len() == 1 => {
                self.report_unknown(known, reader);
                None
            }
            _ => {
                let help = format!("set one of {}", list_of(known.iter().copied(), "or"));
                reader.report(Class::Value, self.node, "exactly one field is required here", help)
            }
        }
    }

    /// Reports every field that has not been read. Returns whether there is none.
    pub fn finish(self, known: &[&str], reader: &mut Reader) -> bool {
        self.report_unknown(known, reader);
        self.entries.is_empty()
    }

    fn report_unknown(&self, known: &[&str], reader: &mut Reader) {
        for (key, _) in &self.entries {
            if reader.found.is_full() {
                return;
            }
            let Kind::Scalar(name) = key.kind() else {
                reader.report::<()>(
                    Class::Type,
                    *key,
                    "expected the name of a field as the key",
                    "replace the key with a field name",
                );
                continue;
            };
            let help = match (reader.parent_of(name), nearest(name, known.iter().copied())) {
                (Some(parent), _) => format!("`{name}` is a field of `{parent}`"),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("expected {}", list_of(known.iter().copied(), "or")),
            };
            reader.report::<()>(Class::Unknown, *key, format!("unknown field `{}`", visible_text(name)), help);
        }
    }
}
