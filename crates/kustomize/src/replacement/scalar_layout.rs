//! How a scalar is written in a text that is laid out anew: with the quotes it had, or with those that it needs.

use setpoint_yaml::Style;

use crate::node::{Scalar, Tag};
use crate::style::written_alone;

use super::layout::Unwritten;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where a scalar stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// As a value; the lines of a block are indented so far.
    Block {
        indent: usize,
    },
    /// In brackets.
    Flow,
    Key,
}

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

/// What Go writes as an escape only.
fn is_special(c: char) -> bool {
    c.is_control() && c != '\n' || c == BYTE_ORDER_MARK || c > '\u{ffff}'
}

pub(super) fn scalar(own: &Scalar, style: Style, context: Context) -> Result<String, Unwritten> {
    let text = &*own.text;
    if style != Style::DoubleQuoted && text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return Err(Unwritten::Lines);
    }
    let found = Tag::of(text);
    let is_as_read = own.tag == Tag::Any || found == own.tag;
    // What is another kind of value now is told so, and a text is put in quotes.
    let tag = if is_as_read { "" } else { shown_tag(own.tag) };
    let written = match style {
        Style::DoubleQuoted => double_quoted(text),
        Style::SingleQuoted => single_quoted(text)?,
        Style::Literal => block('|', text, context)?,
        Style::Folded if text.trim_end_matches('\n').contains('\n') => return Err(Unwritten::Lines),
        Style::Folded => block('>', text, context)?,
        _ if text.contains('\n') => block('|', text, context)?,
        _ if !is_as_read && own.tag == Tag::Text => double_quoted(text),
        _ if text.is_empty() && matches!(context, Context::Block { .. }) => String::new(),
        _ => plain(text, context)?,
    };
    Ok(match (tag, &*written) {
        ("", _) => written,
        (tag, "") => tag.to_owned(),
        (tag, written) => format!("{tag} {written}"),
    })
}

/// Without quotes where it can be.
fn plain(text: &str, context: Context) -> Result<String, Unwritten> {
    let Some(written) = written_alone(text) else { return Ok(double_quoted(text)) };
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "+-._:~".contains(c);
    let is_flow_sign = |c: char| matches!(c, ',' | '?' | '[' | ']' | '{' | '}' | ':');
    let can_be_plain = match written.chars().next() {
        // Go's older library puts quotes around what it would read as something else.
        Some('"') => !text.is_empty() && text.chars().all(is_bare),
        Some('\'') | None => false,
        Some(_) => true,
    };
    if written.starts_with('"') && !can_be_plain && !text.is_empty() {
        return Ok(double_quoted(text));
    }
    if can_be_plain && !(context == Context::Flow && text.contains(is_flow_sign)) {
        return Ok(text.to_owned());
    }
    single_quoted(text)
}

fn single_quoted(text: &str) -> Result<String, Unwritten> {
    if text.contains('\n') {
        return Err(Unwritten::Lines);
    }
    if text.chars().any(is_special) {
        return Ok(double_quoted(text));
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

fn double_quoted(text: &str) -> String {
    let mut written = String::from("\"");
    // After a mark at the start, Go takes all that follows for one.
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

/// As lines of their own, unless they cannot stand there.
fn block(sign: char, text: &str, context: Context) -> Result<String, Unwritten> {
    let Context::Block { indent } = context else { return Ok(double_quoted(text)) };
    let has_special = text.chars().any(|c| is_special(c) && c != '\t');
    if has_special || text.ends_with(' ') || text.contains(" \n") || text.is_empty() {
        return Ok(double_quoted(text));
    }
    let mut written = String::from(sign);
    if text.starts_with([' ', '\n']) {
        written.push('2');
    }
    match text.strip_suffix('\n') {
        None => written.push('-'),
        Some(rest) if rest.ends_with('\n') || rest.is_empty() => written.push('+'),
        Some(_) => {}
    }
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        written.push('\n');
        if !line.is_empty() {
            written.extend(std::iter::repeat_n(' ', indent));
            written.push_str(line);
        }
    }
    // Go writes one break more than the folded text has.
    if sign == '>' && text.ends_with('\n') {
        written.push('\n');
    }
    Ok(written)
}
