//! Splits characters into tokens. This is the difficult part of YAML: the meaning of a token
//! depends on indentation, and a key is only recognised when its `:` is found. Tokens therefore
//! wait in a queue until no key can be inserted before them.

use std::collections::VecDeque;

use super::token::{Token, TokenKind};
use super::{Fault, MAX_DEPTH};
use crate::source::{BYTE_ORDER_MARK, break_length};
use crate::tree::Span;

/// A key without `?` must end on its line and within this many bytes (YAML 1.1, 1.2: 1024
/// characters).
const MAX_SIMPLE_KEY: usize = 1024;

pub(super) type Scanned<T> = Result<T, Fault>;

/// A position in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) at: usize,
    pub(super) line: u32,
}

/// A token that becomes a key if `:` follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimpleKey {
    /// Must be a key: the enclosing block mapping expects one here.
    required: bool,
    token: usize,
    mark: Mark,
    column: usize,
}

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) line_start: usize,
    /// Column of the innermost block collection; -1 outside any.
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) simple_key_allowed: bool,
    /// The candidate key of each flow level; the first is that of the block context.
    pub(super) simple_keys: Vec<Option<SimpleKey>>,
    tokens: VecDeque<Token<'a>>,
    /// The number of tokens that have left the queue.
    taken: usize,
    /// The first token of the queue cannot become a key any more.
    settled: bool,
    ended: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Self {
            text,
            bytes: text.as_bytes(),
            at: mark,
            line: 1,
            line_start: mark,
            indent: -1,
            indents: Vec::new(),
            simple_key_allowed: true,
            simple_keys: vec![None],
            tokens: VecDeque::new(),
            taken: 0,
            settled: false,
            ended: false,
        }
    }

    #[inline]
    pub(super) fn peek(&mut self) -> Scanned<&Token<'a>> {
        if !self.settled {
            self.fill()?;
        }
        Ok(self.tokens.front().expect("the queue ends with StreamEnd, which is never taken"))
    }

    /// Takes the token last peeked.
    pub(super) fn take(&mut self) -> Token<'a> {
        self.taken += 1;
        self.settled = false;
        self.tokens.pop_front().expect("a token is taken after it was peeked")
    }

    fn fill(&mut self) -> Scanned<()> {
        while !self.ended && (self.tokens.is_empty() || self.head_may_become_key()?) {
            self.fetch()?;
        }
        self.settled = true;
        Ok(())
    }

    fn head_may_become_key(&mut self) -> Scanned<bool> {
        self.drop_stale_keys()?;
        let head = self.taken;
        Ok(self.simple_keys.iter().flatten().any(|key| key.token == head))
    }

    fn fetch(&mut self) -> Scanned<()> {
        self.skip_to_token();
        self.drop_stale_keys()?;
        self.close_blocks(self.column() as isize);
        let byte = self.byte(0);
        if self.at == self.bytes.len() {
            return self.fetch_stream_end();
        }
        if self.column() == 0 {
            if byte == b'%' {
                return self.fetch_directive();
            }
            if self.at_document_marker() {
                let kind = if byte == b'-' { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
                return self.fetch_document_marker(kind);
            }
        }
        self.fetch_content(byte)
    }

    fn fetch_content(&mut self, byte: u8) -> Scanned<()> {
        let in_flow = self.in_flow();
        match byte {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blank_or_end(1) => self.fetch_key(),
            b':' if in_flow || self.is_blank_or_end(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_keyable(|scanner| scanner.scan_anchor(byte == b'*')),
            b'!' => self.fetch_keyable(Self::scan_tag),
            b'|' | b'>' if !in_flow => self.fetch_block_scalar(byte == b'|'),
            b'\'' | b'"' => self.fetch_keyable(|scanner| scanner.scan_quoted(byte)),
            b'#' | b'%' | b'@' | b'`' | b'|' | b'>' | b'\t' => Err(self.cannot_start(byte)),
            _ => self.fetch_keyable(Self::scan_plain),
        }
    }

    fn cannot_start(&self, byte: u8) -> Fault {
        let span = Span::new(self.at, self.at + 1);
        if byte == b'\t' {
            return Fault::syntax(span, "a tab is used for indentation", "indent with spaces");
        }
        let message = format!("`{}` cannot start a value", byte as char);
        Fault::syntax(span, message, "put the value in quotes")
    }

    // -- indentation and simple keys

    fn drop_stale_keys(&mut self) -> Scanned<()> {
        let (line, at) = (self.line, self.at);
        for slot in &mut self.simple_keys {
            if let Some(key) = slot
                && (key.mark.line < line || key.mark.at + MAX_SIMPLE_KEY < at)
            {
                if key.required {
                    return Err(missing_colon(self.text, key.mark.at));
                }
                *slot = None;
            }
        }
        Ok(())
    }

    fn save_simple_key(&mut self) -> Scanned<()> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let column = self.column();
        let key = SimpleKey {
            required: !self.in_flow() && self.indent == column as isize,
            token: self.taken + self.tokens.len(),
            mark: self.mark(),
            column,
        };
        self.forget_simple_key()?;
        *self.simple_key() = Some(key);
        Ok(())
    }

    fn forget_simple_key(&mut self) -> Scanned<()> {
        match self.simple_key().take() {
            Some(key) if key.required => Err(missing_colon(self.text, key.mark.at)),
            _ => Ok(()),
        }
    }

    fn simple_key(&mut self) -> &mut Option<SimpleKey> {
        self.simple_keys.last_mut().expect("the block context has a slot that is never popped")
    }

    /// Opens a block collection if `column` is further in than the innermost one. Its start token
    /// gets the number `token`.
    fn open_block(&mut self, column: usize, token: Option<usize>, kind: TokenKind<'a>, mark: Mark) -> Scanned<()> {
        if self.in_flow() || self.indent >= column as isize {
            return Ok(());
        }
        if self.indents.len() >= MAX_DEPTH {
            return Err(Fault::too_deep(Span::new(mark.at, mark.at)));
        }
        self.indents.push(self.indent);
        self.indent = column as isize;
        let index = token.map_or(self.tokens.len(), |token| token - self.taken);
        self.tokens.insert(index, Token { kind, span: Span::new(mark.at, mark.at), line: mark.line });
        Ok(())
    }

    fn close_blocks(&mut self, column: isize) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.mark());
            self.indent = self.indents.pop().expect("every indent but the outermost was pushed");
        }
    }

    // -- tokens

    fn fetch_stream_end(&mut self) -> Scanned<()> {
        self.close_blocks(-1);
        self.forget_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.mark());
        self.ended = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scanned<()> {
        self.close_blocks(-1);
        self.forget_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.mark();
        let kind = self.scan_directive()?;
        self.push(kind, mark);
        Ok(())
    }

    fn fetch_document_marker(&mut self, kind: TokenKind<'a>) -> Scanned<()> {
        self.close_blocks(-1);
        self.forget_simple_key()?;
        self.simple_key_allowed = false;
        self.push_indicator(kind, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Scanned<()> {
        self.save_simple_key()?;
        if self.simple_keys.len() > MAX_DEPTH {
            return Err(Fault::too_deep(Span::new(self.at, self.at + 1)));
        }
        self.simple_keys.push(None);
        self.simple_key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Scanned<()> {
        self.forget_simple_key()?;
        if self.in_flow() {
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scanned<()> {
        self.forget_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scanned<()> {
        if !self.in_flow() {
            self.require_block_start("a block sequence cannot start here", "start `-` on its own line")?;
            self.open_block(self.column(), None, TokenKind::BlockSequenceStart, self.mark())?;
        }
        self.forget_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scanned<()> {
        if !self.in_flow() {
            self.require_block_start("a mapping key cannot start here", "start `?` on its own line")?;
            self.open_block(self.column(), None, TokenKind::BlockMappingStart, self.mark())?;
        }
        self.forget_simple_key()?;
        self.simple_key_allowed = !self.in_flow();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scanned<()> {
        if let Some(key) = self.simple_key().take() {
            let token = Token { kind: TokenKind::Key, span: Span::new(key.mark.at, key.mark.at), line: key.mark.line };
            self.tokens.insert(key.token - self.taken, token);
            self.open_block(key.column, Some(key.token), TokenKind::BlockMappingStart, key.mark)?;
            self.simple_key_allowed = false;
        } else {
            if !self.in_flow() {
                self.require_block_start(
                    "a mapping value is not allowed here",
                    "put a value that contains `: ` in quotes, or check the indentation",
                )?;
                self.open_block(self.column(), None, TokenKind::BlockMappingStart, self.mark())?;
            }
            self.simple_key_allowed = !self.in_flow();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    fn require_block_start(&self, message: &'static str, help: &'static str) -> Scanned<()> {
        if self.simple_key_allowed {
            return Ok(());
        }
        Err(Fault::syntax(Span::new(self.at, self.at + 1), message, help))
    }

    /// Reads a token that may turn out to be a key, or the start of one.
    fn fetch_keyable(&mut self, scan: impl FnOnce(&mut Self) -> Scanned<Token<'a>>) -> Scanned<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Scanned<()> {
        self.forget_simple_key()?;
        self.simple_key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn push(&mut self, kind: TokenKind<'a>, mark: Mark) {
        self.tokens.push_back(Token { kind, span: Span::new(mark.at, self.at), line: mark.line });
    }

    fn push_indicator(&mut self, kind: TokenKind<'a>, length: usize) {
        let mark = self.mark();
        self.at += length;
        self.push(kind, mark);
    }
}

fn missing_colon(text: &str, at: usize) -> Fault {
    let bytes = text.as_bytes();
    let mut end = at;
    while end < bytes.len() && break_length(bytes, end) == 0 {
        end += 1;
    }
    Fault::syntax(
        Span::new(at, end),
        "this line has no `:`",
        "expected `key: value`, as in the lines of this mapping before it",
    )
}
