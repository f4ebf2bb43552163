//! Tokens to events: a push-down automaton over the productions of YAML, as in libyaml.

use std::borrow::Cow;

use super::scanner::{Scanned, Scanner};
use super::token::TokenKind;
use super::{Event, EventKind, Fault};
use crate::tree::{Properties, Span, Style, Tag};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    FirstDocument,
    NextDocument,
    DocumentContent,
    BlockNode,
    DocumentEnd,
    BlockSequenceFirst,
    BlockSequence,
    IndentlessSequence,
    BlockMappingFirst,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirst,
    FlowSequence,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingFirst,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingNoValue,
    End,
}

#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) state: State,
    states: Vec<State>,
    /// The `%TAG` directives of the document being read.
    handles: Vec<(&'a str, String)>,
}

const CORE: &str = "tag:yaml.org,2002:";

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { scanner: Scanner::new(text), state: State::FirstDocument, states: Vec::new(), handles: Vec::new() }
    }

    pub(crate) fn next_event(&mut self) -> Scanned<Event<'a>> {
        match self.state {
            State::FirstDocument => self.document_start(true),
            State::NextDocument => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::BlockNode => self.node(true, false),
            State::DocumentEnd => self.document_end(),
            State::BlockSequenceFirst => self.block_sequence(true),
            State::BlockSequence => self.block_sequence(false),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockMappingFirst => self.block_mapping_key(true),
            State::BlockMappingKey => self.block_mapping_key(false),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirst => self.flow_sequence(true),
            State::FlowSequence => self.flow_sequence(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => self.flow_pair_end(),
            State::FlowMappingFirst => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingNoValue => self.empty_here(State::FlowMappingKey),
            State::End => self.here(EventKind::StreamEnd),
        }
    }

    // -- documents

    fn document_start(&mut self, first: bool) -> Scanned<Event<'a>> {
        if !first {
            while self.peek()? == &TokenKind::DocumentEnd {
                self.scanner.take();
            }
        }
        match self.peek()? {
            TokenKind::StreamEnd => {
                self.state = State::End;
                self.here(EventKind::StreamEnd)
            }
            TokenKind::Version | TokenKind::TagDirective { .. } | TokenKind::DocumentStart => self.explicit_document(),
            _ if first => {
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                self.here(EventKind::DocumentStart)
            }
            _ => Err(self.unexpected(
                "the document is over before this",
                "start another document with `---`, or check the indentation",
            )),
        }
    }

    fn explicit_document(&mut self) -> Scanned<Event<'a>> {
        self.read_directives()?;
        if self.peek()? != &TokenKind::DocumentStart {
            return Err(self.unexpected("directives without a document", "expected `---` after the directives"));
        }
        let token = self.scanner.take();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event { kind: EventKind::DocumentStart, span: token.span, line: token.line, properties: None })
    }

    fn read_directives(&mut self) -> Scanned<()> {
        let mut versioned = false;
        loop {
            let repeated = match self.peek()? {
                TokenKind::Version => std::mem::replace(&mut versioned, true),
                TokenKind::TagDirective { handle, .. } => {
                    let handle = *handle;
                    self.handles.iter().any(|(known, _)| *known == handle)
                }
                _ => return Ok(()),
            };
            if repeated {
                return Err(self.unexpected("the same directive twice", "remove one of them"));
            }
            if let TokenKind::TagDirective { handle, prefix } = self.scanner.take().kind {
                self.handles.push((handle, prefix));
            }
        }
    }

    fn document_content(&mut self) -> Scanned<Event<'a>> {
        match self.peek()? {
            TokenKind::Version
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let state = self.pop();
                self.empty_here(state)
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Scanned<Event<'a>> {
        if self.peek()? == &TokenKind::DocumentEnd {
            self.scanner.take();
        }
        self.handles.clear();
        self.state = State::NextDocument;
        self.here(EventKind::DocumentEnd)
    }

    // -- nodes

    /// Reads a node with its properties. `indentless` allows a sequence at the column of its key.
    fn node(&mut self, block: bool, indentless: bool) -> Scanned<Event<'a>> {
        if let TokenKind::Alias(name) = *self.peek()? {
            let token = self.scanner.take();
            self.state = self.pop();
            return Ok(Event { kind: EventKind::Alias(name), span: token.span, line: token.line, properties: None });
        }
        let properties = self.properties()?;
        let token = self.scanner.peek()?;
        let (span, line) = (token.span, token.line);
        let (kind, state) = match &token.kind {
            TokenKind::BlockEntry if indentless => {
                (EventKind::SequenceStart { style: Style::Block }, State::IndentlessSequence)
            }
            TokenKind::Scalar { .. } => return Ok(self.scalar(properties)),
            TokenKind::FlowSequenceStart => (EventKind::SequenceStart { style: Style::Flow }, State::FlowSequenceFirst),
            TokenKind::FlowMappingStart => (EventKind::MappingStart { style: Style::Flow }, State::FlowMappingFirst),
            TokenKind::BlockSequenceStart if block => {
                (EventKind::SequenceStart { style: Style::Block }, State::BlockSequenceFirst)
            }
            TokenKind::BlockMappingStart if block => {
                (EventKind::MappingStart { style: Style::Block }, State::BlockMappingFirst)
            }
            _ => return self.no_content(properties),
        };
        self.state = state;
        Ok(Event { kind, span, line, properties })
    }

    fn scalar(&mut self, properties: Option<Box<Properties<'a>>>) -> Event<'a> {
        let token = self.scanner.take();
        self.state = self.pop();
        let TokenKind::Scalar { value, style } = token.kind else { unreachable!("the caller peeked a scalar") };
        Event { kind: EventKind::Scalar { value, style }, span: token.span, line: token.line, properties }
    }

    fn no_content(&mut self, properties: Option<Box<Properties<'a>>>) -> Scanned<Event<'a>> {
        let Some(properties) = properties else {
            return Err(self.unexpected("a value is missing before this", "expected a scalar, a sequence or a mapping"));
        };
        self.state = self.pop();
        let end = properties.span.end();
        let line = properties.line;
        let kind = EventKind::Scalar { value: Cow::Borrowed(""), style: Style::Plain };
        Ok(Event { kind, span: Span::new(end, end), line, properties: Some(properties) })
    }

    /// Reads `&anchor` and `!tag`, in either order.
    fn properties(&mut self) -> Scanned<Option<Box<Properties<'a>>>> {
        let mut properties: Option<Box<Properties<'a>>> = None;
        loop {
            let seen = properties.as_deref();
            let wanted = match self.scanner.peek()?.kind {
                TokenKind::Anchor(_) => seen.is_none_or(|seen| seen.anchor.is_none()),
                TokenKind::Tag { .. } => seen.is_none_or(|seen| seen.tag.is_none()),
                _ => false,
            };
            if !wanted {
                return Ok(properties);
            }
            let token = self.scanner.take();
            let properties = properties.get_or_insert_with(|| {
                Box::new(Properties { anchor: None, tag: None, span: token.span, line: token.line })
            });
            properties.span = Span::new(properties.span.start(), token.span.end());
            match token.kind {
                TokenKind::Anchor(name) => properties.anchor = Some(name),
                TokenKind::Tag { handle, suffix } => properties.tag = Some(self.tag(handle, &suffix, token.span)?),
                _ => unreachable!("only properties were wanted"),
            }
        }
    }

    fn tag(&self, handle: &str, suffix: &str, span: Span) -> Scanned<Tag> {
        let declared = self.handles.iter().find(|(known, _)| *known == handle).map(|(_, prefix)| prefix.as_str());
        let prefix = match (declared, handle) {
            (Some(prefix), _) => prefix,
            (None, "") => "",
            (None, "!") => "!",
            (None, "!!") => CORE,
            (None, _) => {
                let message = format!("the tag handle `{handle}` is not declared");
                return Err(Fault::syntax(
                    span,
                    message,
                    "declare it with `%TAG` before the document, or remove the tag",
                ));
            }
        };
        Ok(Tag::named(&format!("{prefix}{suffix}"), CORE))
    }

    // -- block collections

    fn block_sequence(&mut self, first: bool) -> Scanned<Event<'a>> {
        self.skip_start(first)?;
        match self.peek()? {
            TokenKind::BlockEntry => {
                let mark = self.scanner.take();
                match self.peek()? {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        Ok(self.empty(mark.span, mark.line, State::BlockSequence))
                    }
                    _ => self.nested(State::BlockSequence, true, false),
                }
            }
            TokenKind::BlockEnd => Ok(self.end()),
            _ => {
                Err(self.unexpected("not an entry of the surrounding sequence", "expected `-`, or another indentation"))
            }
        }
    }

    fn indentless_sequence(&mut self) -> Scanned<Event<'a>> {
        if self.peek()? != &TokenKind::BlockEntry {
            self.state = self.pop();
            return self.here(EventKind::CollectionEnd);
        }
        let mark = self.scanner.take();
        match self.peek()? {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark.span, mark.line, State::IndentlessSequence))
            }
            _ => self.nested(State::IndentlessSequence, true, false),
        }
    }

    fn block_mapping_key(&mut self, first: bool) -> Scanned<Event<'a>> {
        self.skip_start(first)?;
        match self.peek()? {
            TokenKind::Key => {
                let mark = self.scanner.take();
                match self.peek()? {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        Ok(self.empty(mark.span, mark.line, State::BlockMappingValue))
                    }
                    _ => self.nested(State::BlockMappingValue, true, true),
                }
            }
            TokenKind::BlockEnd => Ok(self.end()),
            _ => Err(self
                .unexpected("not a key of the surrounding mapping", "expected `key: value`, or another indentation")),
        }
    }

    fn block_mapping_value(&mut self) -> Scanned<Event<'a>> {
        if self.peek()? != &TokenKind::Value {
            return self.empty_here(State::BlockMappingKey);
        }
        let mark = self.scanner.take();
        match self.peek()? {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark.span, mark.line, State::BlockMappingKey))
            }
            _ => self.nested(State::BlockMappingKey, true, true),
        }
    }

    // -- steps

    pub(super) fn peek(&mut self) -> Scanned<&TokenKind<'a>> {
        Ok(&self.scanner.peek()?.kind)
    }

    pub(super) fn pop(&mut self) -> State {
        self.states.pop().expect("a state was pushed before its node was entered")
    }

    /// Skips the start token of a collection, in the collection's first state.
    pub(super) fn skip_start(&mut self, first: bool) -> Scanned<()> {
        if first {
            self.scanner.peek()?;
            self.scanner.take();
        }
        Ok(())
    }

    pub(super) fn nested(&mut self, then: State, block: bool, indentless: bool) -> Scanned<Event<'a>> {
        self.states.push(then);
        self.node(block, indentless)
    }

    pub(super) fn expect_entry(&mut self, message: &'static str) -> Scanned<()> {
        if self.peek()? != &TokenKind::FlowEntry {
            return Err(self.unexpected(message, "check for an unclosed bracket, or a value that needs quotes"));
        }
        self.scanner.take();
        Ok(())
    }

    /// Takes the token that closes the collection.
    pub(super) fn end(&mut self) -> Event<'a> {
        let token = self.scanner.take();
        self.state = self.pop();
        Event { kind: EventKind::CollectionEnd, span: token.span, line: token.line, properties: None }
    }

    /// Returns an empty scalar for an omitted node, right after a token.
    pub(super) fn empty(&mut self, after: Span, line: u32, then: State) -> Event<'a> {
        self.state = then;
        let kind = EventKind::Scalar { value: Cow::Borrowed(""), style: Style::Plain };
        Event { kind, span: Span::new(after.end(), after.end()), line, properties: None }
    }

    pub(super) fn empty_here(&mut self, then: State) -> Scanned<Event<'a>> {
        self.state = then;
        self.here(EventKind::Scalar { value: Cow::Borrowed(""), style: Style::Plain })
    }

    /// Returns an event of no width before the next token.
    pub(super) fn here(&mut self, kind: EventKind<'a>) -> Scanned<Event<'a>> {
        let token = self.scanner.peek()?;
        let start = token.span.start();
        Ok(Event { kind, span: Span::new(start, start), line: token.line, properties: None })
    }

    pub(super) fn unexpected(&mut self, message: &'static str, help: &'static str) -> Fault {
        match self.scanner.peek() {
            Ok(token) => Fault::syntax(token.span, message, help),
            Err(fault) => fault,
        }
    }
}
