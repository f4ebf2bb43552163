//! YAML in a text, written anew as kyaml does it: fields in their order, quotes and brackets as they were, two spaces a level, lists not indented below their field.
//!
//! Comments are put back where the text is laid out so already and has as many lines as before. Otherwise, and with anchors and tags, it is not written: whoever
//! reads the result would miss them.

use std::collections::BTreeMap;

use setpoint_yaml::{Kind, Node as Written, Source, Style, parse};

use crate::node::{Content, Map, Node, Tag};

use super::scalar_layout::{Context, scalar};

/// Why a text is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwritten {
    Anchor,
    Tag,
    Comment,
    /// A quoted or folded text of more than one line, or with a line break of Unicode.
    Lines,
}

/// The text with what stands in it now. No line break is at its end.
pub(super) fn write(now: &Node, text: &str) -> Result<String, Unwritten> {
    let Ok(documents) = parse(Source::new("", text)) else { return Err(Unwritten::Lines) };
    let Some(document) = documents.first() else { return Err(Unwritten::Lines) };
    let mut spans = Vec::new();
    check(document.root(), &mut spans)?;
    let mut writer = Writer { out: String::new() };
    writer.root(now, document.root())?;
    let comments = Comments::of(text, &spans);
    if comments.is_empty() {
        return Ok(writer.out.trim().to_owned());
    }
    let before = crate::read::read_first(text).ok().flatten().ok_or(Unwritten::Comment)?;
    let mut plain = Writer { out: String::new() };
    plain.root(&before, document.root())?;
    comments.put_back(plain.out.trim(), writer.out.trim()).ok_or(Unwritten::Comment)
}

/// Refuses what would be lost, and notes where scalars stand.
fn check(written: Written<'_>, spans: &mut Vec<(usize, usize)>) -> Result<(), Unwritten> {
    if written.is_alias() || written.anchor().is_some() || written.is_merge_key() {
        return Err(Unwritten::Anchor);
    }
    if written.tag().is_some() {
        return Err(Unwritten::Tag);
    }
    match written.kind() {
        Kind::Scalar(_) => spans.push((written.span().start(), written.span().end())),
        Kind::Sequence(items) => items.iter().try_for_each(|item| check(item, spans))?,
        Kind::Mapping(entries) => entries.iter().try_for_each(|(key, value)| {
            check(key, spans)?;
            check(value, spans)
        })?,
    }
    Ok(())
}

struct Writer {
    out: String,
}

/// A field, with how its name and its value were written.
type Entry<'n, 'd> = (&'n str, &'n Node, Option<Written<'d>>, Option<Written<'d>>);

impl Writer {
    fn root(&mut self, now: &Node, was: Written<'_>) -> Result<(), Unwritten> {
        match &now.content {
            Content::Seq(items) if is_block(now, Some(was)) => self.sequence(items, Some(was), 0),
            Content::Map(map) if is_block(now, Some(was)) => self.mapping(map, Some(was), 0),
            _ => self.flow(now, Some(was)),
        }
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn mapping(&mut self, map: &Map, was: Option<Written<'_>>, indent: usize) -> Result<(), Unwritten> {
        for (at, (name, value, key, was)) in entries(map, was).into_iter().enumerate() {
            if at > 0 {
                self.line(indent);
            }
            self.out.push_str(&key_text(name, key)?);
            self.out.push(':');
            match &value.content {
                Content::Seq(items) if is_block(value, was) => {
                    self.line(indent);
                    self.sequence(items, was, indent)?;
                }
                Content::Map(map) if is_block(value, was) => {
                    self.line(indent + 2);
                    self.mapping(map, was, indent + 2)?;
                }
                _ => self.inline(value, was, indent)?,
            }
        }
        Ok(())
    }

    fn sequence(&mut self, items: &[Node], was: Option<Written<'_>>, indent: usize) -> Result<(), Unwritten> {
        for (at, (item, was)) in with_written(items, was).enumerate() {
            if at > 0 {
                self.line(indent);
            }
            self.out.push('-');
            match &item.content {
                Content::Seq(items) if is_block(item, was) => {
                    self.out.push(' ');
                    self.sequence(items, was, indent + 2)?;
                }
                Content::Map(map) if is_block(item, was) => {
                    self.out.push(' ');
                    self.mapping(map, was, indent + 2)?;
                }
                _ => self.inline(item, was, indent)?,
            }
        }
        Ok(())
    }

    /// What stands behind a name or a dash.
    fn inline(&mut self, node: &Node, was: Option<Written<'_>>, indent: usize) -> Result<(), Unwritten> {
        self.out.push(' ');
        match &node.content {
            Content::Scalar(own) => {
                let text = scalar(own, style(was), Context::Block { indent: indent + 2 })?;
                if text.is_empty() {
                    self.out.pop();
                }
                self.out.push_str(&text);
                Ok(())
            }
            _ => self.flow(node, was),
        }
    }

    /// In brackets.
    fn flow(&mut self, node: &Node, was: Option<Written<'_>>) -> Result<(), Unwritten> {
        match &node.content {
            Content::Scalar(own) => self.out.push_str(&scalar(own, style(was), Context::Flow)?),
            Content::Seq(items) => {
                self.out.push('[');
                for (at, (item, was)) in with_written(items, was).enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    self.flow(item, was)?;
                }
                self.out.push(']');
            }
            Content::Map(map) => {
                self.out.push('{');
                for (at, (name, value, key, was)) in entries(map, was).into_iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    self.out.push_str(&key_text(name, key)?);
                    self.out.push_str(": ");
                    self.flow(value, was)?;
                }
                self.out.push('}');
            }
        }
        Ok(())
    }
}

fn style(was: Option<Written<'_>>) -> Style {
    match was.map(|was| (was.kind(), was.style())) {
        Some((Kind::Scalar(_), style)) => style,
        _ => Style::Plain,
    }
}

fn is_block(node: &Node, was: Option<Written<'_>>) -> bool {
    let (is_empty, is_same) = match &node.content {
        Content::Scalar(_) => return false,
        Content::Seq(items) => (items.is_empty(), was.is_some_and(|was| matches!(was.kind(), Kind::Sequence(_)))),
        Content::Map(map) => (map.is_empty(), was.is_some_and(|was| matches!(was.kind(), Kind::Mapping(_)))),
    };
    let is_flow = is_same && was.is_some_and(|was| was.style() == Style::Flow);
    !is_empty && !is_flow
}

fn key_text(name: &str, key: Option<Written<'_>>) -> Result<String, Unwritten> {
    let tag = match style(key) {
        Style::Plain => Tag::Any,
        _ => Tag::Text,
    };
    scalar(&crate::node::Scalar { text: name.into(), tag }, style(key), Context::Key)
}

fn entries<'n, 'd>(map: &'n Map, was: Option<Written<'d>>) -> Vec<Entry<'n, 'd>> {
    let mut written = BTreeMap::new();
    if let Some(Kind::Mapping(entries)) = was.map(Written::kind) {
        for (key, value) in entries.iter() {
            if let Kind::Scalar(name) = key.kind() {
                written.insert(name, (key, value));
            }
        }
    }
    let entry = |(name, node)| {
        let name: &std::sync::Arc<str> = name;
        let was = written.get(&**name).copied();
        (&**name, node, was.map(|(key, _)| key), was.map(|(_, value)| value))
    };
    map.iter().map(entry).collect()
}

fn with_written<'n, 'd>(
    items: &'n [Node],
    was: Option<Written<'d>>,
) -> impl Iterator<Item = (&'n Node, Option<Written<'d>>)> {
    let written: Vec<_> = match was.map(Written::kind) {
        Some(Kind::Sequence(items)) => items.iter().collect(),
        _ => Vec::new(),
    };
    items.iter().enumerate().map(move |(at, item)| (item, written.get(at).copied()))
}

/// The comments of a text, by line.
struct Comments<'t> {
    /// What stands on a line, the comments on lines of their own before it, and the one behind it.
    lines: Vec<(&'t str, Vec<&'t str>, Option<&'t str>)>,
    /// On lines of their own at the end.
    last: Vec<&'t str>,
}

impl<'t> Comments<'t> {
    fn of(text: &'t str, spans: &[(usize, usize)]) -> Self {
        let mut comments = Self { lines: Vec::new(), last: Vec::new() };
        let mut start = 0;
        let mut spans = spans.iter().peekable();
        for line in text.split_inclusive('\n') {
            let mut at = start;
            let end = start + line.len();
            let mut comment = None;
            while at < end && comment.is_none() {
                while spans.next_if(|(_, end)| *end <= at).is_some() {}
                let gap = spans.peek().map_or(end, |(start, _)| (*start).clamp(at, end));
                comment = text[at..gap].find('#').map(|found| at + found);
                at = spans.peek().map_or(end, |(_, end)| *end).max(gap);
            }
            let (content, comment) = text[start..end].split_at(comment.map_or(line.len(), |at| at - start));
            let (content, comment) = (content.trim_end(), comment.trim_end());
            match (content.is_empty(), comment.is_empty()) {
                (true, false) => comments.last.push(text[start..end].trim_end()),
                (_, is_bare) => {
                    let before = std::mem::take(&mut comments.last);
                    comments.lines.push((content, before, (!is_bare).then_some(comment)));
                }
            }
            start = end;
        }
        comments
    }

    fn is_empty(&self) -> bool {
        self.last.is_empty() && self.lines.iter().all(|(_, before, behind)| before.is_empty() && behind.is_none())
    }

    /// The new lines with the comments of the old ones, if those are what they were without comments and without blank lines.
    fn put_back(&self, old: &str, new: &str) -> Option<String> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        if old.lines().count() != new.lines().count() {
            return None;
        }
        let mut pairs = old.lines().zip(new.lines()).peekable();
        let (mut lines, mut last) = (Vec::new(), "");
        for (content, before, behind) in &self.lines {
            if content.is_empty() && before.is_empty() && pairs.peek().is_none_or(|(old, _)| !old.is_empty()) {
                continue;
            }
            let (old, new) = pairs.next()?;
            if old != *content || before.iter().any(|line| indent(line) != indent(old)) {
                return None;
            }
            lines.extend(before.iter().map(|line| (*line).to_owned()));
            lines.push(behind.map_or_else(|| new.to_owned(), |comment| format!("{new} {comment}")));
            last = old;
        }
        if pairs.next().is_some() || self.last.iter().any(|line| indent(line) != indent(last)) {
            return None;
        }
        lines.extend(self.last.iter().map(|line| (*line).to_owned()));
        Some(lines.join("\n"))
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Anchor => "holds anchors or aliases",
            Self::Tag => "holds tags",
            Self::Comment => "holds comments, and is not laid out with two spaces a level and comments in line with what they stand before",
            Self::Lines => "holds quoted or folded texts of more than one line",
        })
    }
}
