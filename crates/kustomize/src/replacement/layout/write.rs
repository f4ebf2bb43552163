//! Writes collections, in the order and notation of go-yaml.

use std::collections::BTreeMap;

use setpoint_yaml::{Kind, Style};

use crate::node::{Content, Map, Node};

use super::Unwritten;
use super::attach::{Noted, NotedDocument};
use super::check::is_read_as;
use super::emitter::{Emitter, Waiting};
use super::scalar::written_tag;

/// A field: its name, its current value, and the notation of both.
struct Entry<'n, 'd> {
    name: &'n str,
    /// `None` for an alias.
    value: Option<&'n Node>,
    was: Option<(&'n Noted<'d>, &'n Noted<'d>)>,
}

/// The current node (`None` for an alias), and its original notation if it existed.
#[derive(Clone, Copy)]
struct Element<'n, 'd> {
    now: Option<&'n Node>,
    was: Option<&'n Noted<'d>>,
}

pub(super) fn document<'n>(now: &'n Node, was: &'n NotedDocument<'_>) -> Result<String, Unwritten> {
    let mut emitter = Emitter::new();
    if !was.head.is_empty() {
        emitter.comments.head = &was.head;
        emitter.head_comment();
        emitter.break_line();
    }
    let root = Element::of(now, Some(&was.root));
    emitter.begin(root);
    emitter.head_comment();
    emitter.node(root, false)?;
    if !was.foot.is_empty() {
        emitter.comments.foot = &was.foot;
    }
    emitter.foot_indent = Some(0);
    emitter.foot_comment();
    if !is_read_as(now, &emitter.out, emitter.has_tags) {
        return Err(Unwritten::Changed);
    }
    Ok(emitter.out.trim().to_owned())
}

impl<'n, 'd> Element<'n, 'd> {
    /// A node that replaced one of another type has none of its notation.
    fn of(now: &'n Node, was: Option<&'n Noted<'d>>) -> Self {
        if was.is_some_and(|was| was.written.is_alias()) {
            return Self { now: None, was };
        }
        let is_same = |was: &&Noted<'_>| {
            matches!(
                (&now.content, was.written.kind()),
                (Content::Scalar(_), Kind::Scalar(_))
                    | (Content::Seq(_), Kind::Sequence(_))
                    | (Content::Map(_), Kind::Mapping(_))
            )
        };
        Self { now: Some(now), was: was.filter(is_same) }
    }

    fn is_scalar(self) -> bool {
        self.now.is_none_or(|now| now.as_scalar().is_some())
    }

    /// Reports whether it was written between brackets.
    fn is_flow(self) -> bool {
        self.was.is_some_and(|was| was.written.style() == Style::Flow)
    }

    fn style(self) -> Style {
        self.was.map_or(Style::Plain, |was| was.written.style())
    }
}

impl<'n> Emitter<'n> {
    fn begin(&mut self, element: Element<'n, '_>) {
        if let Some(was) = element.was {
            self.announce(&was.comments, !element.is_scalar());
        }
    }

    /// Writes a node whose comments were announced: the part on its line, its comments there, and
    /// its content.
    fn node(&mut self, element: Element<'n, '_>, is_value: bool) -> Result<(), Unwritten> {
        self.on_line(element)?;
        self.line_comment();
        self.foot_comment();
        self.inside(element, is_value)
    }

    fn on_line(&mut self, element: Element<'n, '_>) -> Result<(), Unwritten> {
        let Some(now) = element.now else {
            self.sign(element.was.map_or("", |was| was.written.source_text()), true);
            return Ok(());
        };
        if let Some(anchor) = element.was.and_then(|was| was.written.anchor()) {
            self.sign(&format!("&{anchor}"), true);
        }
        match &now.content {
            Content::Scalar(own) => self.value(own, element.style(), tag(element.was)?),
            _ => Ok(()),
        }
    }

    fn inside(&mut self, element: Element<'n, '_>, is_value: bool) -> Result<(), Unwritten> {
        let Some(now) = element.now else { return Ok(()) };
        let is_flow = self.flow > 0 || element.is_flow();
        match &now.content {
            Content::Scalar(_) => {}
            Content::Seq(items) if is_flow || items.is_empty() => self.flow_sequence(items, element.was)?,
            Content::Seq(items) => self.block_sequence(items, element.was, is_value)?,
            Content::Map(map) if is_flow || map.is_empty() => self.flow_mapping(map, element.was)?,
            Content::Map(map) => self.block_mapping(map, element.was)?,
        }
        Ok(())
    }

    fn end(&mut self, was: Option<&'n Noted<'_>>) {
        if let Some(was) = was {
            self.announce_end(&was.comments);
        }
    }

    /// Writes a sequence. Below a field, dashes are at the indentation of the field.
    fn block_sequence(
        &mut self,
        items: &'n [Node],
        was: Option<&'n Noted<'_>>,
        is_value: bool,
    ) -> Result<(), Unwritten> {
        let outer = self.indent;
        let is_compact = is_value && (self.column == 0 || !self.is_indention);
        self.indent = Some(outer.map_or(0, |outer| if is_compact { outer } else { outer + 2 }));
        for item in elements(items, was) {
            self.begin(item);
            self.head_comment();
            self.indent();
            self.dash();
            self.node(item, false)?;
        }
        self.end(was);
        self.indent = outer;
        Ok(())
    }

    fn block_mapping(&mut self, map: &'n Map, was: Option<&'n Noted<'_>>) -> Result<(), Unwritten> {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |outer| outer + 2));
        let mut tail = "";
        for entry in entries(map, was)? {
            self.entry_key(&entry, tail);
            self.indent();
            let line = std::mem::take(&mut self.comments.line);
            if !line.is_empty() {
                self.comments.key_line = line;
            }
            self.key(entry.name, entry.style(), entry.tag()?)?;
            let value = entry.value();
            self.begin(value);
            self.sign(":", false);
            self.key_comment(value);
            self.node(value, true)?;
            tail = entry.foot();
        }
        self.comments.tail = if tail.is_empty() { self.comments.tail } else { tail };
        self.end(was);
        self.head_comment();
        self.indent = outer;
        Ok(())
    }

    /// Places a comment after a key: it belongs to the value if the value is on the same line,
    /// otherwise it is written before the value.
    fn key_comment(&mut self, value: Element<'n, '_>) {
        if self.comments.key_line.is_empty() || value.now.is_none() {
            return;
        }
        if value.is_scalar() {
            if self.comments.line.is_empty() {
                self.comments.line = std::mem::take(&mut self.comments.key_line);
            }
        } else if !value.is_flow() {
            std::mem::swap(&mut self.comments.line, &mut self.comments.key_line);
            self.line_comment();
            std::mem::swap(&mut self.comments.line, &mut self.comments.key_line);
        }
    }

    fn entry_key(&mut self, entry: &Entry<'n, '_>, tail: &'n str) {
        match entry.was {
            Some((key, _)) => self.announce_key(&key.comments, tail),
            None if !tail.is_empty() => self.comments.tail = tail,
            None => {}
        }
        self.head_comment();
    }

    fn flow_sequence(&mut self, items: &'n [Node], was: Option<&'n Noted<'_>>) -> Result<(), Unwritten> {
        let outer = self.open("[");
        let mut has_comma = true;
        for item in elements(items, was) {
            self.begin(item);
            if !has_comma {
                self.sign(",", false);
            }
            self.head_comment();
            has_comma = self.flow_element(item)?;
        }
        self.end(was);
        self.flow -= 1;
        self.indent = outer;
        if self.column == 0 {
            self.indent();
        }
        self.close("]");
        Ok(())
    }

    fn flow_mapping(&mut self, map: &'n Map, was: Option<&'n Noted<'_>>) -> Result<(), Unwritten> {
        let outer = self.open("{");
        let (mut has_comma, mut tail) = (true, "");
        for entry in entries(map, was)? {
            if !has_comma {
                self.sign(",", false);
            }
            self.entry_key(&entry, tail);
            if self.column == 0 {
                self.indent();
            }
            self.key(entry.name, entry.style(), entry.tag()?)?;
            self.begin(entry.value());
            self.sign(":", false);
            has_comma = self.flow_value(entry.value())?;
            tail = entry.foot();
        }
        self.comments.tail = if tail.is_empty() { self.comments.tail } else { tail };
        self.end(was);
        let Waiting { head, foot, tail, .. } = self.comments;
        if !has_comma && [head, foot, tail].iter().any(|text| !text.is_empty()) {
            self.sign(",", false);
        }
        self.head_comment();
        self.flow -= 1;
        self.indent = outer;
        self.close("}");
        Ok(())
    }

    fn open(&mut self, bracket: &str) -> Option<usize> {
        self.bracket(bracket);
        self.flow += 1;
        self.indent.replace(self.indent.unwrap_or_default() + 2)
    }

    fn close(&mut self, bracket: &str) {
        self.sign(bracket, false);
        self.line_comment();
        self.foot_comment();
    }

    fn flow_element(&mut self, item: Element<'n, '_>) -> Result<bool, Unwritten> {
        if self.column == 0 {
            self.indent();
        }
        self.flow_value(item)
    }

    /// Writes a value between brackets, and reports whether a comma was written. It is written
    /// before a comment that follows the value.
    fn flow_value(&mut self, element: Element<'n, '_>) -> Result<bool, Unwritten> {
        let has_comma = self.has_comment_behind();
        self.on_line(element)?;
        if self.has_comment_behind() {
            self.sign(",", false);
        }
        self.line_comment();
        self.foot_comment();
        self.inside(element, false)?;
        Ok(has_comma)
    }
}

impl<'n, 'd> Entry<'n, 'd> {
    fn value(&self) -> Element<'n, 'd> {
        let was = self.was.map(|(_, value)| value);
        self.value.map_or(Element { now: None, was }, |now| Element::of(now, was))
    }

    fn style(&self) -> Style {
        self.was.map_or(Style::Plain, |(key, _)| key.written.style())
    }

    fn tag(&self) -> Result<Option<&'static str>, Unwritten> {
        tag(self.was.map(|(key, _)| key))
    }

    fn foot(&self) -> &'n str {
        self.was.map_or("", |(key, _)| &key.comments.foot)
    }
}

fn tag(was: Option<&Noted<'_>>) -> Result<Option<&'static str>, Unwritten> {
    was.map_or(Ok(None), |was| written_tag(was.written))
}

fn elements<'n, 'd>(items: &'n [Node], was: Option<&'n Noted<'d>>) -> impl Iterator<Item = Element<'n, 'd>> {
    let written = was.map_or(&[][..], |was| &was.children);
    items.iter().enumerate().map(|(at, item)| Element::of(item, written.get(at)))
}

/// Returns the fields in their original order, followed by new ones. Fields from a merge key are
/// not written out.
fn entries<'n, 'd>(map: &'n Map, was: Option<&'n Noted<'d>>) -> Result<Vec<Entry<'n, 'd>>, Unwritten> {
    let pairs = was.map_or(&[][..], |was| was.children.as_chunks::<2>().0);
    let is_merge = |[key, _]: &[Noted<'_>; 2]| key.written.is_merge_key();
    let mut fields: Vec<(&str, &Node)> = map.iter().map(|(name, node)| (&**name, node)).collect();
    if pairs.iter().any(is_merge) {
        let by_name: BTreeMap<&str, &Node> = fields.into_iter().collect();
        let field = |[key, _]: &[Noted<'d>; 2]| by_name.get_key_value(key.name()?).map(|(name, node)| (*name, *node));
        fields = pairs.iter().filter(|pair| !is_merge(pair)).filter_map(field).collect();
    }
    let mut fields = fields.into_iter();
    let mut found = Vec::with_capacity(map.len());
    for pair @ [key, value] in pairs {
        let name = key.name().ok_or(Unwritten::Key)?;
        let now = match is_merge(pair) {
            true if value.written.is_alias() => None,
            true => return Err(Unwritten::Alias),
            false => Some(fields.next().filter(|(own, _)| *own == name).ok_or(Unwritten::Key)?.1),
        };
        found.push(Entry { name, value: now, was: Some((key, value)) });
    }
    found.extend(fields.map(|(name, value)| Entry { name, value: Some(value), was: None }));
    Ok(found)
}
