//! Literal (`|`) and folded (`>`) scalars.

use std::borrow::Cow;

use super::Fault;
use super::scanner::{Scanned, Scanner};
use super::token::{Token, TokenKind};
use crate::tree::{Span, Style};

/// The treatment of line breaks at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    chomping: Chomping,
    /// The written indentation; if omitted, the first line with text sets it.
    increment: Option<usize>,
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Scanned<Token<'a>> {
        let mark = self.mark();
        self.at += 1;
        let header = self.scan_block_header()?;
        let mut end = self.at;
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_to_break();
        }
        if self.at < self.bytes.len() && !self.skip_break() {
            let help = "start the text on the next line";
            return Err(Fault::syntax(Span::new(self.at, self.at + 1), "text after the head of a block scalar", help));
        }
        let value = self.read_block_lines(literal, header, &mut end)?;
        let style = if literal { Style::Literal } else { Style::Folded };
        let kind = TokenKind::Scalar { value: Cow::Owned(value), style };
        Ok(Token { kind, span: Span::new(mark.at, end), line: mark.line })
    }

    fn scan_block_header(&mut self) -> Scanned<Header> {
        let mut header = Header { chomping: Chomping::Clip, increment: None };
        let mut chomped = false;
        for _ in 0..2 {
            match self.byte(0) {
                sign @ (b'+' | b'-') if !chomped => {
                    chomped = true;
                    header.chomping = if sign == b'+' { Chomping::Keep } else { Chomping::Strip };
                }
                digit @ b'1'..=b'9' if header.increment.is_none() => header.increment = Some(usize::from(digit - b'0')),
                b'0' => {
                    let span = Span::new(self.at, self.at + 1);
                    return Err(Fault::syntax(span, "an indentation of 0", "expected a digit from 1 to 9"));
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(header)
    }

    /// Reads the text of the lines and sets `end` to its end in the source.
    fn read_block_lines(&mut self, literal: bool, header: Header, end: &mut usize) -> Scanned<String> {
        let mut value = String::new();
        let mut line_break = "";
        let mut after_blank = false;
        let mut breaks = String::new();
        let outer = self.indent.max(0).unsigned_abs();
        let mut indent = header.increment.map(|increment| outer + increment);
        self.skip_block_breaks(&mut indent, &mut breaks)?;
        while self.at < self.bytes.len() && Some(self.column()) == indent {
            let blank = self.is_blank();
            if literal || line_break != "\n" || after_blank || blank {
                value.push_str(line_break);
            } else if breaks.is_empty() {
                value.push(' ');
            }
            value.push_str(&breaks);
            breaks.clear();
            after_blank = blank;
            let start = self.at;
            self.skip_to_break();
            value.push_str(&self.text[start..self.at]);
            *end = self.at;
            line_break = self.read_break().unwrap_or("");
            self.skip_block_breaks(&mut indent, &mut breaks)?;
        }
        if header.chomping != Chomping::Strip {
            value.push_str(line_break);
        }
        if header.chomping == Chomping::Keep {
            value.push_str(&breaks);
            *end = self.line_start.max(*end);
        }
        Ok(value)
    }

    /// Skips indentation and empty lines, and detects the indentation if it is not known yet.
    fn skip_block_breaks(&mut self, indent: &mut Option<usize>, breaks: &mut String) -> Scanned<()> {
        let mut deepest = 0;
        loop {
            while indent.is_none_or(|indent| self.column() < indent) && self.byte(0) == b' ' {
                self.at += 1;
            }
            deepest = deepest.max(self.column());
            if indent.is_none_or(|indent| self.column() < indent) && self.byte(0) == b'\t' {
                let span = Span::new(self.at, self.at + 1);
                return Err(Fault::syntax(span, "a tab is used for indentation", "indent with spaces"));
            }
            match self.read_break() {
                Some(line_break) => breaks.push_str(line_break),
                None => break,
            }
        }
        let least = (self.indent + 1).max(1).unsigned_abs();
        indent.get_or_insert(deepest.max(least));
        Ok(())
    }
}
