//! Labels: names with values, by which people group documents, and which filters and rights use.

use std::collections::BTreeMap;

use setpoint_yaml::{Class, Kind, Node, visible_text};

use crate::declaration::{Field, Shape};
use crate::reader::Reader;
use crate::text::ascii_text;

/// The largest number of labels of one document.
const MOST: usize = 32;

/// The longest name (without its prefix), and the longest value.
const LONGEST: usize = 63;

/// The longest prefix of a name, as of a DNS name.
const LONGEST_PREFIX: usize = 253;

/// Labels by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    pub fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }

    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Field for Labels {
    fn shape() -> Shape {
        Shape::Scalar("mapping of names to values".to_owned())
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let Kind::Mapping(entries) = node.kind() else {
            return reader.report(Class::Type, node, "expected a mapping", "write labels as `name: value`");
        };
        let entries = entries.merged();
        if entries.len() > MOST {
            let message = format!("{} labels are too many", entries.len());
            return reader.report(Class::Value, node, message, format!("keep at most {MOST}"));
        }
        // Read every entry before the first failure counts, so that all mistakes are reported.
        let read: Vec<_> =
            entries.into_iter().map(|(name, value)| (read_name(name, reader), read_value(value, reader))).collect();
        read.into_iter().map(|(name, value)| Some((name?, value?))).collect::<Option<_>>().map(Self)
    }

    fn show(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{:?}", self.0) }
    }
}

fn read_name(node: Node<'_>, reader: &mut Reader) -> Option<String> {
    let Kind::Scalar(name) = node.kind() else {
        return reader.report(Class::Type, node, "expected the name of a label as the key", "write `name: value`");
    };
    let (prefix, rest) = name.split_once('/').map_or((None, name), |(prefix, rest)| (Some(prefix), rest));
    if prefix.is_none_or(|prefix| is_plain(prefix, LONGEST_PREFIX)) && is_plain(rest, LONGEST) {
        return Some(name.to_owned());
    }
    let message = format!("`{}` is not the name of a label", ascii_text(name));
    let help = format!("{}, with an optional prefix: `example.com/team`", rule());
    reader.report(Class::Value, node, message, help)
}

fn read_value(node: Node<'_>, reader: &mut Reader) -> Option<String> {
    let text = reader.text(node)?;
    if is_plain(text, LONGEST) {
        return Some(text.to_owned());
    }
    let message = match text {
        "" => "the value of a label is empty".to_owned(),
        _ => format!("`{}` is not the value of a label", visible_text(&ascii_text(text))),
    };
    reader.report(Class::Value, node, message, rule())
}

fn rule() -> String {
    format!("use 1 to {LONGEST} letters, digits, `-`, `_` and `.`, with a letter or digit at both ends")
}

fn is_plain(text: &str, longest: usize) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let ends = [text.bytes().next(), text.bytes().last()];
    text.len() <= longest
        && text.bytes().all(is_inner)
        && ends.iter().all(|end| end.is_some_and(|b| b.is_ascii_alphanumeric()))
}
