//! Finds comments as go-yaml does while it scans tokens: each belongs to what follows it, to what
//! it ends, or to its line. The tree of the text gives the positions of scalars; all else is
//! punctuation.

use setpoint_yaml::Style;

use super::Unwritten;
use super::group::{Comment, Group, Mark, Place};

/// The maximum distance at which go-yaml finds a comment.
const LOOKAHEAD: usize = 512;

/// A scalar of the text, as a byte range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) style: Style,
    pub(super) is_key: bool,
}

impl Piece {
    /// Returns the start of its text: after the first line for a block scalar.
    pub(super) fn body(&self, text: &str) -> usize {
        match self.style {
            Style::Literal | Style::Folded => {
                text[self.start..].find('\n').map_or(text.len(), |length| self.start + length)
            }
            _ => self.start,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    BlockSequence,
    BlockMapping,
    BlockEnd,
    FlowStart,
    FlowEnd,
    FlowEntry,
    Entry,
    Key,
    Value,
    /// An anchor or a tag.
    Property,
    Alias,
    Scalar,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) sign: Sign,
    pub(super) at: usize,
}

#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) tokens: Vec<Token>,
    pub(super) comments: Vec<Comment>,
}

/// Scans a text whose scalars are given in order.
pub(super) fn scan(text: &str, pieces: &[Piece]) -> Result<Scanned, Unwritten> {
    if text.contains(['\0', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
        return Err(Unwritten::Comment);
    }
    let scanner = Scanner {
        text,
        pieces,
        mark: Mark::default(),
        newlines: 0,
        indent: -1,
        indents: Vec::new(),
        flow: 0,
        property: None,
        key: None,
        found: Scanned::default(),
    };
    scanner.run()
}

struct Scanner<'t> {
    text: &'t str,
    /// The remaining scalars.
    pieces: &'t [Piece],
    mark: Mark,
    /// Line breaks since the last non-blank character.
    newlines: usize,
    /// The column of the innermost collection without brackets; -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    /// The number of open brackets.
    flow: usize,
    /// The anchor and tag of the next node: their position, and the number of the first token.
    property: Option<(Mark, usize)>,
    /// The same for the last scalar, if it is a key.
    key: Option<(Mark, usize)>,
    found: Scanned,
}

impl Scanner<'_> {
    fn run(mut self) -> Result<Scanned, Unwritten> {
        self.push(Sign::StreamStart);
        loop {
            let from = self.mark;
            self.skip_to_token(from)?;
            self.close(self.column(), from.at);
            let rest = &self.text[self.mark.at..];
            if rest.is_empty() {
                self.close(-1, self.mark.at);
                self.push(Sign::StreamEnd);
                return Ok(self.found);
            }
            if let Some(sign) = document_sign(rest).filter(|_| self.mark.column == 0) {
                self.close(-1, self.mark.at);
                self.push(sign);
                self.advance(self.mark.at + 3);
                continue;
            }
            let is_behind = rest.starts_with(if self.flow > 0 { ',' } else { ':' });
            let owner = if is_behind { self.last().at } else { self.mark.at };
            self.token()?;
            if self.last().sign != Sign::Property {
                self.property = None;
            }
            // A comment after a dash alone belongs to the node that follows.
            if self.last().sign != Sign::Entry {
                self.line_comment(owner);
            }
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.mark.at + ahead).copied().unwrap_or_default()
    }

    fn column(&self) -> isize {
        isize::try_from(self.mark.column).unwrap_or(isize::MAX)
    }

    fn last(&self) -> Token {
        self.found.tokens.last().copied().unwrap_or(Token { sign: Sign::StreamStart, at: 0 })
    }

    fn push(&mut self, sign: Sign) {
        self.found.tokens.push(Token { sign, at: self.mark.at });
    }

    fn advance(&mut self, to: usize) {
        for c in self.text[self.mark.at..to].chars() {
            self.mark.column += 1;
            match c {
                '\n' => {
                    self.mark.line += 1;
                    self.mark.column = 0;
                    self.newlines += 1;
                }
                ' ' | '\t' => {}
                _ => self.newlines = 0,
            }
        }
        self.mark.at = to;
    }

    fn advance_over(&mut self, is_skipped: impl Fn(char) -> bool) {
        let rest = &self.text[self.mark.at..];
        self.advance(self.text.len() - rest.trim_start_matches(is_skipped).len());
    }

    fn line_end(&self, from: usize) -> usize {
        self.text[from..].find('\n').map_or(self.text.len(), |length| from + length)
    }

    fn skip_to_token(&mut self, from: Mark) -> Result<(), Unwritten> {
        loop {
            self.advance_over(|c| c == ' ');
            match self.byte(0) {
                b'#' => self.comments(from)?,
                b'\t' => return Err(Unwritten::Comment),
                _ => {}
            }
            if self.byte(0) != b'\n' {
                return Ok(());
            }
            self.advance(self.mark.at + 1);
        }
    }

    fn token(&mut self) -> Result<(), Unwritten> {
        if let Some((piece, rest)) = self.pieces.split_first().filter(|(piece, _)| piece.start == self.mark.at) {
            self.pieces = rest;
            self.scalar(*piece);
            return Ok(());
        }
        match self.byte(0) {
            b'[' | b'{' => {
                self.flow += 1;
                self.push(Sign::FlowStart);
            }
            b']' | b'}' => {
                self.flow = self.flow.saturating_sub(1);
                self.push(Sign::FlowEnd);
            }
            b',' if self.flow > 0 => self.push(Sign::FlowEntry),
            b'-' if self.flow == 0 => {
                if self.open(self.column()) {
                    self.push(Sign::BlockSequence);
                }
                self.push(Sign::Entry);
            }
            b':' => self.value()?,
            b'*' => {
                self.word(Sign::Alias);
                return Ok(());
            }
            b'&' | b'!' => {
                let first = self.property.unwrap_or((self.mark, self.found.tokens.len()));
                self.word(Sign::Property);
                self.property = Some(first);
                return Ok(());
            }
            _ => return Err(Unwritten::Comment),
        }
        self.advance(self.mark.at + 1);
        Ok(())
    }

    fn word(&mut self, sign: Sign) {
        self.push(sign);
        self.advance(self.mark.at + 1);
        self.advance_over(|c| !matches!(c, ' ' | '\t' | '\n' | ',' | ']' | '}'));
    }

    fn scalar(&mut self, piece: Piece) {
        let is_on_line = |(mark, _): &(Mark, usize)| mark.line == self.mark.line;
        let first = self.property.take().filter(is_on_line).unwrap_or((self.mark, self.found.tokens.len()));
        self.key = piece.is_key.then_some(first);
        self.push(Sign::Scalar);
        match piece.style {
            Style::Literal | Style::Folded => {
                let owner = self.mark.at;
                self.advance(owner + 1);
                self.advance_over(|c| matches!(c, '+' | '-' | '0'..='9'));
                self.line_comment(owner);
                self.advance(piece.end.max(self.line_end(self.mark.at)));
                self.advance_over(|c| matches!(c, ' ' | '\n'));
            }
            Style::Plain => {
                self.advance(piece.end);
                self.advance_over(|c| matches!(c, ' ' | '\t' | '\n'));
            }
            _ => self.advance(piece.end),
        }
    }

    /// Handles a colon: the scalar before it becomes a key, and a map begins if there was none.
    fn value(&mut self) -> Result<(), Unwritten> {
        let Some((key, at)) = self.key.take() else { return Err(Unwritten::Comment) };
        let mut signs = vec![Token { sign: Sign::Key, at: key.at }];
        let column = isize::try_from(key.column).unwrap_or(isize::MAX);
        if self.flow == 0 && self.open(column) {
            signs.insert(0, Token { sign: Sign::BlockMapping, at: key.at });
        }
        self.found.tokens.splice(at..at, signs);
        self.push(Sign::Value);
        Ok(())
    }

    fn open(&mut self, column: isize) -> bool {
        if self.indent >= column {
            return false;
        }
        self.indents.push(self.indent);
        self.indent = column;
        true
    }

    /// Closes collections that are further in. Comments at the indentation of one of them do not
    /// belong to it any more.
    fn close(&mut self, column: isize, from: usize) {
        let mut end = from.saturating_sub(1);
        while self.flow == 0 && self.indent > column {
            let mut stop = end;
            for comment in self.found.comments.iter().rev().take_while(|comment| {
                let is_near = comment.end >= stop;
                stop = comment.from;
                is_near
            }) {
                if isize::try_from(comment.column) == Ok(self.indent + 1) {
                    end = comment.at;
                }
            }
            self.found.tokens.push(Token { sign: Sign::BlockEnd, at: end });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Reads a comment on the current line.
    fn line_comment(&mut self, owner: usize) {
        let blanks = self.text[self.mark.at..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if self.newlines > 0 || blanks >= LOOKAHEAD || self.byte(blanks) != b'#' {
            return;
        }
        let at = self.mark.at + blanks;
        let end = self.line_end(at);
        let text = self.text[at..end].to_owned();
        self.found.comments.push(Comment { place: Place::Line, text, owner, at, column: 0, end: 0, from: 0 });
        self.advance(end);
    }

    /// Reads comments on lines of their own.
    fn comments(&mut self, from: Mark) -> Result<(), Unwritten> {
        let mut group = self.group(from);
        let mut ahead = 0;
        while ahead < LOOKAHEAD {
            group.column += 1;
            let (byte, at) = (self.byte(ahead), self.mark.at + ahead);
            let found = match byte {
                b' ' => None,
                b'\t' => return Err(Unwritten::Comment),
                b']' | b'}' if self.flow > 0 => group.end(at),
                b'\n' => group.blank_line(at),
                0 => group.end_of_text(at),
                _ => group.further_out(at),
            };
            self.found.comments.extend(found);
            match byte {
                b' ' | b'\n' => {}
                b'#' => {
                    let end = self.line_end(at);
                    group.add(at, &self.text[at..end]);
                    self.advance(end);
                    group.line = self.mark.line;
                    ahead = 0;
                }
                _ => break,
            }
            ahead += 1;
        }
        let end = (self.mark.at + ahead).saturating_sub(1);
        self.found.comments.extend(group.head(end));
        Ok(())
    }

    fn group(&self, from: Mark) -> Group {
        let before = match self.found.tokens[..] {
            [.., token, Token { sign: Sign::FlowEntry, .. }] => token,
            _ => self.last(),
        };
        let is_behind = self.newlines == 0 && self.mark.column > 1;
        let below = self.mark.line + 1 + usize::from(is_behind) - self.newlines.min(self.mark.line);
        Group {
            text: String::new(),
            start: Mark::default(),
            owner: before.at,
            from: from.at,
            indent: self.indent.max(0).unsigned_abs(),
            // A value that is still to come has no foot comment.
            foot_line: Some(below).filter(|_| from.line > 0 && before.sign != Sign::Value),
            line: self.mark.line,
            column: self.mark.column,
            has_blank_line: self.newlines > 1,
            is_blank: false,
        }
    }
}

fn document_sign(rest: &str) -> Option<Sign> {
    let sign = match rest.get(..3)? {
        "---" => Sign::DocumentStart,
        "..." => Sign::DocumentEnd,
        _ => return None,
    };
    matches!(rest.as_bytes().get(3), None | Some(b' ' | b'\t' | b'\n')).then_some(sign)
}
