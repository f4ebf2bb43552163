//! Attaches comments to nodes. As in go-yaml, a node takes the comments up to its first token. A
//! collection without brackets takes none, so that its first entry gets them.

use setpoint_yaml::{Kind, Node as Written, Style};

use super::Unwritten;
use super::group::Place;
use super::scan::{Scanned, Sign, Token};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comments {
    pub(super) head: String,
    pub(super) line: String,
    pub(super) foot: String,
}

/// A node as written, with its comments. An alias has no children.
#[derive(Debug)]
pub(super) struct Noted<'d> {
    pub(super) written: Written<'d>,
    pub(super) comments: Comments,
    /// The items, or each key followed by its value.
    pub(super) children: Vec<Self>,
}

/// A whole text.
#[derive(Debug)]
pub(super) struct NotedDocument<'d> {
    pub(super) head: String,
    pub(super) foot: String,
    pub(super) root: Noted<'d>,
}

impl<'d> Noted<'d> {
    /// A node without comments.
    pub(super) fn bare(written: Written<'d>) -> Self {
        let children = match written.kind() {
            _ if written.is_alias() => Vec::new(),
            Kind::Scalar(_) => Vec::new(),
            Kind::Sequence(items) => items.iter().map(Self::bare).collect(),
            Kind::Mapping(entries) => {
                entries.iter().flat_map(|(key, value)| [Self::bare(key), Self::bare(value)]).collect()
            }
        };
        Self { written, comments: Comments::default(), children }
    }

    /// Returns the text of a scalar.
    pub(super) fn name(&self) -> Option<&'d str> {
        match self.written.kind() {
            Kind::Scalar(name) => Some(name),
            Kind::Sequence(_) | Kind::Mapping(_) => None,
        }
    }
}

pub(super) fn attach<'d>(root: Written<'d>, scanned: &Scanned) -> Result<NotedDocument<'d>, Unwritten> {
    let mut tokens = Tokens { scanned, at: 0, next: 0, pending: Comments::default(), stem: String::new() };
    tokens.peek();
    tokens.skip();
    let mut head = String::new();
    if tokens.peek() == Sign::DocumentStart {
        tokens.skip();
    } else {
        head = tokens.split_head();
    }
    let root = tokens.child(root, false)?;
    tokens.peek();
    let end = tokens.take();
    let foot = if end.foot.is_empty() { end.head } else { end.foot };
    Ok(NotedDocument { head, foot, root })
}

struct Tokens<'s> {
    scanned: &'s Scanned,
    /// The index of the next token, and of the next comment.
    at: usize,
    next: usize,
    /// Comments that no node has taken yet.
    pending: Comments,
    /// The comment above an item that is a collection: it belongs to the collection and not to its
    /// first entry.
    stem: String,
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

fn is_left_out(written: Written<'_>) -> bool {
    let is_empty = written.span().start() == written.span().end();
    let has_property = written.anchor().is_some() || written.tag().is_some();
    is_empty && matches!(written.kind(), Kind::Scalar(_)) && !has_property && !written.is_alias()
}

impl Tokens<'_> {
    /// Returns the next token. The comments before it become pending.
    fn peek(&mut self) -> Sign {
        let end = Token { sign: Sign::StreamEnd, at: usize::MAX };
        let token = self.scanned.tokens.get(self.at).copied().unwrap_or(end);
        while let Some(comment) = self.scanned.comments.get(self.next).filter(|comment| token.at >= comment.owner) {
            match comment.place {
                Place::Head if token.sign == Sign::BlockEnd => break,
                Place::Head => join(&mut self.pending.head, &comment.text),
                Place::Line => join(&mut self.pending.line, &comment.text),
                Place::Foot => join(&mut self.pending.foot, &comment.text),
            }
            self.next += 1;
        }
        token.sign
    }

    fn skip(&mut self) {
        self.at += 1;
    }

    fn expect(&mut self, sign: Sign) -> Result<(), Unwritten> {
        if self.peek() != sign {
            return Err(Unwritten::Comment);
        }
        self.skip();
        Ok(())
    }

    fn take(&mut self) -> Comments {
        self.stem.clear();
        std::mem::take(&mut self.pending)
    }

    /// Takes the comments above the last blank line for the document.
    fn split_head(&mut self) -> String {
        let head = std::mem::take(&mut self.pending.head);
        if let Some(all) = head.strip_suffix('\n').filter(|all| !all.is_empty()) {
            return all.to_owned();
        }
        match head.rsplit_once("\n\n") {
            Some((above, below)) => {
                below.clone_into(&mut self.pending.head);
                above.to_owned()
            }
            None => {
                self.pending.head = head;
                String::new()
            }
        }
    }

    /// Reads a node that may be omitted.
    fn child<'d>(&mut self, written: Written<'d>, is_entry: bool) -> Result<Noted<'d>, Unwritten> {
        self.peek();
        if is_left_out(written) { Ok(Noted::bare(written)) } else { self.node(written, is_entry) }
    }

    /// Reads a node. A list that is an entry of a map need not be indented below the key.
    fn node<'d>(&mut self, written: Written<'d>, is_entry: bool) -> Result<Noted<'d>, Unwritten> {
        let mut sign = self.peek();
        while sign == Sign::Property {
            self.skip();
            sign = self.peek();
        }
        let mut noted = Noted { written, comments: Comments::default(), children: Vec::new() };
        match (written.kind(), sign) {
            _ if written.is_alias() != (sign == Sign::Alias) => return Err(Unwritten::Comment),
            (_, Sign::Alias) | (Kind::Scalar(_), Sign::Scalar) => {
                noted.comments = self.take();
                self.skip();
            }
            // An anchor or tag without a value.
            (Kind::Scalar(""), _) => {}
            (Kind::Sequence(_), Sign::Entry) if is_entry => self.items(&mut noted)?,
            (Kind::Sequence(_), Sign::BlockSequence) => {
                noted.comments.head = std::mem::take(&mut self.stem);
                self.skip();
                self.items(&mut noted)?;
                self.expect(Sign::BlockEnd)?;
            }
            (Kind::Mapping(_), Sign::BlockMapping) => {
                noted.comments.head = std::mem::take(&mut self.stem);
                self.block_map(&mut noted)?;
            }
            (Kind::Sequence(_) | Kind::Mapping(_), Sign::FlowStart) if written.style() == Style::Flow => {
                self.flow(&mut noted)?;
            }
            _ => return Err(Unwritten::Comment),
        }
        Ok(noted)
    }

    fn items<'d>(&mut self, noted: &mut Noted<'d>) -> Result<(), Unwritten> {
        let Kind::Sequence(items) = noted.written.kind() else { return Err(Unwritten::Comment) };
        for item in items.iter() {
            self.peek();
            let above = self.pending.head.len();
            self.expect(Sign::Entry)?;
            self.split_stem(above);
            noted.children.push(self.child(item, false)?);
        }
        self.peek();
        Ok(())
    }

    /// Sets aside the comment above an item if the item is a collection.
    fn split_stem(&mut self, above: usize) {
        if above == 0 || !matches!(self.peek(), Sign::BlockSequence | Sign::BlockMapping) {
            return;
        }
        let below = self.pending.head.get(above + 1..).unwrap_or_default().to_owned();
        self.pending.head.truncate(above);
        self.stem = std::mem::replace(&mut self.pending.head, below);
    }

    fn block_map<'d>(&mut self, noted: &mut Noted<'d>) -> Result<(), Unwritten> {
        self.skip();
        let Kind::Mapping(entries) = noted.written.kind() else { return Err(Unwritten::Comment) };
        for (key, value) in entries.iter() {
            self.expect(Sign::Key)?;
            let key = self.child(key, true)?;
            self.expect(Sign::Value)?;
            let value = self.child(value, true)?;
            add(&mut noted.children, key, value, true);
        }
        self.peek();
        let end = self.take();
        self.expect(Sign::BlockEnd)?;
        noted.comments.line = end.line;
        if !end.foot.is_empty() {
            let last = noted.children.len().checked_sub(2);
            if let Some(key) = last.and_then(|at| noted.children.get_mut(at)) {
                key.comments.foot = end.foot;
            }
        }
        Ok(())
    }

    fn flow<'d>(&mut self, noted: &mut Noted<'d>) -> Result<(), Unwritten> {
        noted.comments.head = self.take().head;
        self.skip();
        match noted.written.kind() {
            Kind::Scalar(_) => {}
            Kind::Sequence(items) => {
                for item in items.iter() {
                    self.comma(&noted.children)?;
                    noted.children.push(self.child(item, false)?);
                }
            }
            Kind::Mapping(entries) => {
                for (key, value) in entries.iter() {
                    self.comma(&noted.children)?;
                    if self.peek() == Sign::Key {
                        self.skip();
                    }
                    let key = self.child(key, false)?;
                    if self.peek() == Sign::Value {
                        self.skip();
                    }
                    let value = self.child(value, false)?;
                    add(&mut noted.children, key, value, false);
                }
            }
        }
        if self.peek() == Sign::FlowEntry {
            self.skip();
        }
        self.peek();
        let end = self.take();
        self.expect(Sign::FlowEnd)?;
        (noted.comments.line, noted.comments.foot) = (end.line, end.foot);
        Ok(())
    }

    fn comma(&mut self, before: &[Noted<'_>]) -> Result<(), Unwritten> {
        if before.is_empty() {
            self.peek();
            return Ok(());
        }
        self.expect(Sign::FlowEntry)
    }
}

/// Adds an entry. A foot comment read with a key belongs to the entry before it, and one read with
/// a value to the entry itself.
fn add<'d>(children: &mut Vec<Noted<'d>>, mut key: Noted<'d>, mut value: Noted<'d>, is_block: bool) {
    let before = children.len().checked_sub(2);
    if let Some(before) = before.and_then(|at| children.get_mut(at)).filter(|_| is_block)
        && !key.comments.foot.is_empty()
    {
        before.comments.foot = std::mem::take(&mut key.comments.foot);
    }
    if key.comments.foot.is_empty() {
        key.comments.foot = std::mem::take(&mut value.comments.foot);
    }
    children.extend([key, value]);
}
