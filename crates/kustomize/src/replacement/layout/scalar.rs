//! Writes a scalar of a text that is laid out again: with the quotes it had, or with those that it
//! needs.

use setpoint_yaml::{Node as Written, Style, Tag as WrittenTag};

use crate::node::{Scalar, Tag};

use super::Unwritten;
use super::emitter::Emitter;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// A longer key is written in the explicit notation, which is hardly known.
const LONGEST_KEY: usize = 128;

fn shown_tag(tag: Tag) -> &'static str {
    match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Time => "!!timestamp",
        Tag::Any | Tag::Text => "",
    }
}

/// Returns the tag that is written before a scalar whatever its text; an error for an unknown tag.
pub(super) fn written_tag(written: Written<'_>) -> Result<Option<&'static str>, Unwritten> {
    Ok(Some(match written.tag() {
        _ if written.is_merge_key() => "!!merge",
        None => return Ok(None),
        Some(WrittenTag::Null) => "!!null",
        Some(WrittenTag::Bool) => "!!bool",
        Some(WrittenTag::Int) => "!!int",
        Some(WrittenTag::Float) => "!!float",
        Some(WrittenTag::Str) => "!!str",
        Some(_) => return Err(Unwritten::Tag),
    }))
}

/// Reports whether Go writes a character only as an escape.
fn is_special(c: char) -> bool {
    c.is_control() && c != '\n' || matches!(c, BYTE_ORDER_MARK | '\u{fffe}'..)
}

/// The notations that go-yaml allows for a text.
struct Ways {
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Ways {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self { flow_plain: false, block_plain: true, single_quoted: true, block: false };
        }
        let has_tab_or_special = text.chars().any(is_special);
        let is_only_tab = |c: char| is_special(c) && c != '\t';
        let has_space_before_break = text.contains(" \n");
        let has_edge = text.starts_with([' ', '\n']) || text.ends_with([' ', '\n']);
        let quotes = !has_tab_or_special && !has_space_before_break;
        let plain = quotes && !has_edge && !text.contains('\n') && !has_block_sign(text);
        Self {
            flow_plain: plain && !has_flow_sign(text),
            block_plain: plain,
            single_quoted: quotes && !text.contains("\n "),
            block: !text.ends_with(' ') && !has_space_before_break && !text.chars().any(is_only_tab),
        }
    }
}

/// Reports whether the text without quotes would be read as something else in any context.
fn has_block_sign(text: &str) -> bool {
    let is_blank_after = |at: usize| text[at + 1..].chars().next().is_none_or(|c| matches!(c, ' ' | '\t'));
    let starts_so = match text.chars().next() {
        Some('-' | '?' | ':') => is_blank_after(0),
        Some(first) => "#,[]{}&*!|>'\"%@`".contains(first),
        None => false,
    };
    starts_so
        || text.starts_with("---")
        || text.starts_with("...")
        || text.match_indices(':').any(|(at, _)| is_blank_after(at))
        || text.contains(" #")
}

/// Reports whether the text without quotes would be read as something else between brackets.
fn has_flow_sign(text: &str) -> bool {
    text.contains([',', '?', '[', ']', '{', '}', ':'])
}

impl Emitter<'_> {
    /// Writes a key. A key read with quotes is a string.
    pub(super) fn key(&mut self, name: &str, style: Style, tag: Option<&str>) -> Result<(), Unwritten> {
        if name.len() > LONGEST_KEY || name.contains('\n') {
            return Err(Unwritten::Key);
        }
        let read_as = if style == Style::Plain { Tag::Any } else { Tag::Text };
        self.scalar(&Scalar { text: name.into(), tag: read_as }, style, tag, true)
    }

    pub(super) fn value(&mut self, own: &Scalar, style: Style, tag: Option<&str>) -> Result<(), Unwritten> {
        self.scalar(own, style, tag, false)
    }

    fn scalar(&mut self, own: &Scalar, style: Style, tag: Option<&str>, is_key: bool) -> Result<(), Unwritten> {
        let text = &*own.text;
        let is_as_read = tag.is_some() || own.tag == Tag::Any || Tag::of(text) == own.tag;
        let style = match style {
            Style::DoubleQuoted | Style::SingleQuoted | Style::Literal | Style::Folded => style,
            _ if text.contains('\n') => Style::Literal,
            _ if !is_as_read && own.tag == Tag::Text => Style::DoubleQuoted,
            _ => Style::Plain,
        };
        let style = self.possible(text, style, is_key);
        if style != Style::DoubleQuoted && text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            return Err(Unwritten::Lines);
        }
        // A value that changed its type gets a tag.
        let told = if is_as_read { tag.unwrap_or_default() } else { shown_tag(own.tag) };
        if !told.is_empty() {
            self.has_tags = true;
            self.sign(told, true);
        }
        self.nested(|emitter| match style {
            Style::DoubleQuoted => emitter.sign(&double_quoted(text), true),
            Style::SingleQuoted => emitter.single_quoted(text),
            Style::Literal => emitter.block('|', text),
            Style::Folded => emitter.block('>', text),
            _ if text.is_empty() => emitter.is_indention = false,
            _ => emitter.sign(text, true),
        });
        Ok(())
    }

    /// Returns the style, or the one that Go chooses instead if that one is not possible.
    fn possible(&self, text: &str, style: Style, is_key: bool) -> Style {
        let (ways, is_flow) = (Ways::of(text), self.flow > 0);
        let is_plain = if is_flow { ways.flow_plain } else { ways.block_plain };
        let style = match style {
            Style::Plain if !is_plain || text.is_empty() && (is_flow || is_key) => Style::SingleQuoted,
            style => style,
        };
        match style {
            Style::SingleQuoted if !ways.single_quoted => Style::DoubleQuoted,
            Style::Literal | Style::Folded if !ways.block || is_flow || is_key => Style::DoubleQuoted,
            style => style,
        }
    }

    fn single_quoted(&mut self, text: &str) {
        self.sign("'", true);
        let mut is_after_text = true;
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.break_line();
                if is_after_text {
                    self.break_line();
                }
            }
            is_after_text = at == 0 || !line.is_empty();
            if !line.is_empty() {
                if at > 0 {
                    self.indent();
                }
                self.put(&line.replace('\'', "''"));
                self.is_indention = false;
            }
        }
        self.put("'");
        (self.is_blank, self.is_indention) = (false, false);
    }

    /// Writes a block scalar.
    fn block(&mut self, sign: char, text: &str) {
        let indent = if text.starts_with([' ', '\n']) { "2" } else { "" };
        let end = match text.strip_suffix('\n') {
            None => "-",
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => "+",
            Some(_) => "",
        };
        self.sign(&format!("{sign}{indent}{end}"), true);
        if self.comments.line.is_empty() {
            self.break_line();
        } else {
            self.line_comment();
        }
        self.is_blank = true;
        // Go checks the beginning of the text where it should check the next line.
        let first = text.trim_start_matches('\n');
        let doubles = sign == '>' && !first.is_empty() && !first.starts_with([' ', '\t']);
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            if !line.is_empty() {
                self.indent();
                self.put(line);
                self.is_indention = false;
            }
            if lines.peek().is_some() {
                if doubles && !line.is_empty() && !line.starts_with([' ', '\t']) {
                    self.break_line();
                }
                self.break_line();
            }
        }
    }
}

fn double_quoted(text: &str) -> String {
    let mut written = String::from("\"");
    // After a byte order mark at the start, Go treats all that follows as one.
    let is_marked = text.starts_with(BYTE_ORDER_MARK);
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\0' => written.push_str("\\0"),
            '\x07' => written.push_str("\\a"),
            '\x08' => written.push_str("\\b"),
            '\t' => written.push_str("\\t"),
            '\n' => written.push_str("\\n"),
            '\x0b' => written.push_str("\\v"),
            '\x0c' => written.push_str("\\f"),
            '\r' => written.push_str("\\r"),
            '\x1b' => written.push_str("\\e"),
            '\u{85}' => written.push_str("\\N"),
            '\u{2028}' => written.push_str("\\L"),
            '\u{2029}' => written.push_str("\\P"),
            c if !is_marked && !is_special(c) => written.push(c),
            '\u{a0}' => written.push_str("\\_"),
            '\0'..='\u{ff}' => written.push_str(&format!("\\x{:02X}", u32::from(c))),
            '\u{100}'..='\u{ffff}' => written.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => written.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    written.push('"');
    written
}
