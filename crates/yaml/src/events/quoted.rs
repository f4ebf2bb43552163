//! Scalars in single and double quotes: borrowed if they have neither escapes nor line breaks.

use std::borrow::Cow;

use super::Fault;
use super::plain::Fold;
use super::scanner::{Mark, Scanned, Scanner};
use super::token::{Token, TokenKind};
use crate::tree::{Span, Style};

impl<'a> Scanner<'a> {
    pub(super) fn scan_quoted(&mut self, quote: u8) -> Scanned<Token<'a>> {
        let mark = self.mark();
        let style = if quote == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted };
        self.at += 1;
        let start = self.at;
        self.skip_ordinary(quote);
        let ends = self.byte(0) == quote && !(quote == b'\'' && self.byte(1) == b'\'');
        let value = if ends {
            let value = &self.text[start..self.at];
            self.at += 1;
            Cow::Borrowed(value)
        } else {
            self.at = start;
            Cow::Owned(self.read_quoted(quote, mark)?)
        };
        Ok(Token { kind: TokenKind::Scalar { value, style }, span: Span::new(mark.at, self.at), line: mark.line })
    }

    /// Moves over ordinary characters, blanks included.
    fn skip_ordinary(&mut self, quote: u8) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                byte if byte == quote => return,
                b'\\' if quote == b'"' => return,
                b'\r' | b'\n' => return,
                0xc2 | 0xe2 if self.is_break() => return,
                _ => self.at += 1,
            }
        }
    }

    fn read_quoted(&mut self, quote: u8, mark: Mark) -> Scanned<String> {
        let mut value = String::new();
        loop {
            let start = self.at;
            self.skip_ordinary(quote);
            let piece = &self.text[start..self.at];
            if self.is_break() {
                value.push_str(piece.trim_end_matches([' ', '\t']));
                self.read_quoted_fold(&mut value, mark)?;
                continue;
            }
            value.push_str(piece);
            match (self.byte(0), self.byte(1)) {
                (0, _) => return Err(unclosed(mark)),
                (b'\\', _) if quote == b'"' => self.read_escape(&mut value, mark)?,
                (b'\'', b'\'') => {
                    value.push('\'');
                    self.at += 2;
                }
                _ => {
                    self.at += 1;
                    return Ok(value);
                }
            }
        }
    }

    /// Skips line breaks and the blanks before the next text.
    fn read_quoted_fold(&mut self, value: &mut String, mark: Mark) -> Scanned<()> {
        let mut fold = Fold::default();
        loop {
            if let Some(line_break) = self.read_break() {
                fold.add(line_break);
            } else if self.is_blank() {
                self.at += 1;
            } else if self.at_document_marker() {
                return Err(unclosed(mark));
            } else {
                fold.append_to(value);
                return Ok(());
            }
        }
    }

    fn read_escape(&mut self, value: &mut String, mark: Mark) -> Scanned<()> {
        let start = self.at;
        self.at += 1;
        if self.is_break() {
            return self.read_escaped_break(value, mark);
        }
        let c = match self.byte(0) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            b' ' => ' ',
            b'"' => '"',
            b'\'' => '\'',
            b'/' => '/',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => self.read_code_point(start, 2)?,
            b'u' => self.read_code_point(start, 4)?,
            b'U' => self.read_code_point(start, 8)?,
            _ => {
                let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
                let span = Span::new(start, self.at + width);
                let help = "write `\\\\` for a backslash, or use single quotes";
                return Err(Fault::syntax(span, "unknown escape in double quotes", help));
            }
        };
        self.at += 1;
        value.push(c);
        Ok(())
    }

    /// Joins lines at `\` before a line break, without a space. Each further break counts.
    fn read_escaped_break(&mut self, value: &mut String, mark: Mark) -> Scanned<()> {
        self.skip_break();
        loop {
            if self.at_document_marker() {
                return Err(unclosed(mark));
            }
            self.skip_blanks();
            match self.read_break() {
                Some(line_break) => value.push_str(line_break),
                None => return Ok(()),
            }
        }
    }

    /// Reads the digits after `x`, `u` or `U`, and stops at the last one.
    fn read_code_point(&mut self, start: usize, digits: usize) -> Scanned<char> {
        let from = self.at + 1;
        let hex = self.text.get(from..from + digits).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let c = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        self.at += digits;
        c.ok_or_else(|| {
            let span = Span::new(start, from);
            let help = "expected `\\x` with 2, `\\u` with 4 or `\\U` with 8 hex digits of a character (no surrogates)";
            Fault::syntax(span, "not the code of a character", help)
        })
    }
}

fn unclosed(mark: Mark) -> Fault {
    Fault::syntax(Span::new(mark.at, mark.at + 1), "this quote is never closed", "add the closing quote")
}
