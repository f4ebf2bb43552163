//! Sequences and mappings in brackets.

use super::grammar::{Parser, State};
use super::scanner::Scanned;
use super::token::TokenKind;
use super::{Event, EventKind};
use crate::tree::Style;

impl<'a> Parser<'a> {
    pub(super) fn flow_sequence(&mut self, first: bool) -> Scanned<Event<'a>> {
        self.skip_start(first)?;
        if self.peek()? != &TokenKind::FlowSequenceEnd {
            if !first {
                self.expect_entry("a `,` or the closing `]` is missing before this")?;
            }
            match self.peek()? {
                TokenKind::Key => {
                    let token = self.scanner.take();
                    self.state = State::FlowPairKey;
                    let kind = EventKind::MappingStart { style: Style::Flow };
                    return Ok(Event { kind, span: token.span, line: token.line, properties: None });
                }
                TokenKind::FlowSequenceEnd => {}
                _ => return self.nested(State::FlowSequence, false, false),
            }
        }
        Ok(self.end())
    }

    /// Reads the key of a pair without braces: `[? a : 1]`. If the key is missing, libyaml and
    /// go-yaml lose a token; this parser returns an error.
    pub(super) fn flow_pair_key(&mut self) -> Scanned<Event<'a>> {
        match self.peek()? {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                Err(self.unexpected("a key is missing before this", "expected a key after `?`"))
            }
            _ => self.nested(State::FlowPairValue, false, false),
        }
    }

    pub(super) fn flow_pair_value(&mut self) -> Scanned<Event<'a>> {
        if self.peek()? == &TokenKind::Value {
            self.scanner.take();
            if !matches!(self.peek()?, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.nested(State::FlowPairEnd, false, false);
            }
        }
        self.empty_here(State::FlowPairEnd)
    }

    pub(super) fn flow_pair_end(&mut self) -> Scanned<Event<'a>> {
        self.state = State::FlowSequence;
        self.here(EventKind::CollectionEnd)
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Scanned<Event<'a>> {
        self.skip_start(first)?;
        if self.peek()? != &TokenKind::FlowMappingEnd {
            if !first {
                self.expect_entry("a `,` or the closing `}` is missing before this")?;
            }
            match self.peek()? {
                TokenKind::Key => {
                    self.scanner.take();
                    return match self.peek()? {
                        TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                            self.empty_here(State::FlowMappingValue)
                        }
                        _ => self.nested(State::FlowMappingValue, false, false),
                    };
                }
                TokenKind::FlowMappingEnd => {}
                _ => return self.nested(State::FlowMappingNoValue, false, false),
            }
        }
        Ok(self.end())
    }

    pub(super) fn flow_mapping_value(&mut self) -> Scanned<Event<'a>> {
        if self.peek()? == &TokenKind::Value {
            self.scanner.take();
            if !matches!(self.peek()?, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.nested(State::FlowMappingKey, false, false);
            }
        }
        self.empty_here(State::FlowMappingKey)
    }
}
