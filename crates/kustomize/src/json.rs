//! Writes JSON as Go's `encoding/json` does: names sorted by bytes, and `<`, `>` and `&` escaped.

use setpoint_yaml::go::json_float;

use crate::node::{Content, NoValue, Node, Value};

/// The layout of JSON and the type of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// One line per value, two spaces a level.
    pub(crate) is_indented: bool,
    /// Numbers were read as floats, as Go does with JSON.
    pub(crate) has_floats: bool,
}

pub(crate) fn write(node: &Node, layout: Layout, out: &mut String) -> Result<(), NoValue> {
    Writer { layout, out }.node(node, 0)
}

struct Writer<'o> {
    layout: Layout,
    out: &'o mut String,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node, level: usize) -> Result<(), NoValue> {
        match &node.content {
            Content::Scalar(_) if node.is_blank() => push_text("", self.out),
            Content::Scalar(scalar) => match scalar.value()? {
                Value::Null => self.out.push_str("null"),
                Value::Bool(value) => self.out.push_str(if value { "true" } else { "false" }),
                Value::Number(digits) => self.number(&digits)?,
                Value::Text(text) => push_text(&text, self.out),
            },
            Content::Seq(items) if items.is_empty() => self.out.push_str("[]"),
            Content::Seq(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.next(at, level + 1);
                    self.node(item, level + 1)?;
                }
                self.end(level, ']');
            }
            Content::Map(map) if map.is_empty() => self.out.push_str("{}"),
            Content::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(name, _)| *name);
                self.out.push('{');
                for (at, (name, value)) in entries.into_iter().enumerate() {
                    self.next(at, level + 1);
                    push_text(name, self.out);
                    self.out.push_str(if self.layout.is_indented { ": " } else { ":" });
                    self.node(value, level + 1)?;
                }
                self.end(level, '}');
            }
        }
        Ok(())
    }

    fn number(&mut self, digits: &str) -> Result<(), NoValue> {
        if !self.layout.has_floats {
            self.out.push_str(digits);
            return Ok(());
        }
        let float = digits.parse().ok().and_then(json_float);
        self.out.push_str(&float.ok_or(NoValue::NonFinite)?);
        Ok(())
    }

    fn next(&mut self, at: usize, level: usize) {
        if at > 0 {
            self.out.push(',');
        }
        self.line(level);
    }

    fn end(&mut self, level: usize, bracket: char) {
        self.line(level);
        self.out.push(bracket);
    }

    fn line(&mut self, level: usize) {
        if self.layout.is_indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
    }
}

/// Appends a string in quotes.
pub(crate) fn push_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
