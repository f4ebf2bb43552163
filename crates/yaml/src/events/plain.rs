//! Plain scalars: text without quotes, over one line (borrowed) or several (folded).

use std::borrow::Cow;

use super::Fault;
use super::scanner::{Scanned, Scanner};
use super::token::{Token, TokenKind};
use crate::tree::{Span, Style};

/// The line breaks between two pieces of a folded scalar.
#[derive(Debug, Default)]
pub(super) struct Fold {
    first: &'static str,
    rest: String,
}

impl Fold {
    pub(super) fn add(&mut self, line_break: &'static str) {
        if self.first.is_empty() {
            self.first = line_break;
        } else {
            self.rest.push_str(line_break);
        }
    }

    /// Appends a space for a single line break, and one break fewer for several.
    pub(super) fn append_to(&self, text: &mut String) {
        if self.first == "\n" {
            text.push_str(if self.rest.is_empty() { " " } else { &self.rest });
        } else {
            text.push_str(self.first);
            text.push_str(&self.rest);
        }
    }
}

/// The bytes at which a plain scalar may end in some context; all others are skipped without a
/// check.
const MAY_END: [bool; 256] = {
    let mut table = [false; 256];
    let stops = b" \t\r\n:,?[]{}\xc2\xe2";
    let mut index = 0;
    while index < stops.len() {
        table[stops[index] as usize] = true;
        index += 1;
    }
    table
};

impl<'a> Scanner<'a> {
    pub(super) fn scan_plain(&mut self) -> Scanned<Token<'a>> {
        let mark = self.mark();
        let mut end = self.plain_line_end();
        let mut value = Cow::Borrowed(&self.text[mark.at..end]);
        while self.is_break() {
            let fold = self.plain_fold()?;
            self.simple_key_allowed = true;
            let start = self.at;
            if !self.plain_continues() {
                break;
            }
            let line_end = self.plain_line_end();
            if line_end == start {
                break;
            }
            let text = value.to_mut();
            fold.append_to(text);
            text.push_str(&self.text[start..line_end]);
            self.simple_key_allowed = false;
            end = line_end;
        }
        Ok(Token {
            kind: TokenKind::Scalar { value, style: Style::Plain },
            span: Span::new(mark.at, end),
            line: mark.line,
        })
    }

    /// Moves to the end of this line's part of the scalar and returns the end of its text, without
    /// trailing blanks.
    fn plain_line_end(&mut self) -> usize {
        let mut end = self.at;
        loop {
            while self.at < self.bytes.len() && !self.plain_ends_here() {
                self.at += 1;
            }
            if self.at > end {
                end = self.at;
            }
            if !self.is_blank() {
                return end;
            }
            self.skip_blanks();
            if self.byte(0) == b'#' || self.is_blank_or_end(0) || self.plain_ends_here() {
                return end;
            }
        }
    }

    #[inline]
    fn plain_ends_here(&self) -> bool {
        let byte = self.bytes[self.at];
        if !MAY_END[byte as usize] {
            return false;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => true,
            b':' => self.is_blank_or_end(1),
            // `?` too, as in go-yaml: kubectl rejects `[http://a?b]`, and so does this parser.
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.in_flow(),
            _ => self.is_break(),
        }
    }

    /// Skips line breaks and indentation up to the next line with text.
    fn plain_fold(&mut self) -> Scanned<Fold> {
        let indent = self.indent + 1;
        let mut fold = Fold::default();
        loop {
            if let Some(line_break) = self.read_break() {
                fold.add(line_break);
            } else if self.byte(0) == b'\t' && (self.column() as isize) < indent {
                let span = Span::new(self.at, self.at + 1);
                return Err(Fault::syntax(span, "a tab is used for indentation", "indent with spaces"));
            } else if self.is_blank() {
                self.at += 1;
            } else {
                return Ok(fold);
            }
        }
    }

    fn plain_continues(&self) -> bool {
        self.at < self.bytes.len()
            && self.byte(0) != b'#'
            && !self.at_document_marker()
            && (self.in_flow() || self.column() as isize > self.indent)
    }
}
