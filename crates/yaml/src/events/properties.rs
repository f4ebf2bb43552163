//! Anchors, aliases, tags and directives.

use super::Fault;
use super::scanner::{Scanned, Scanner};
use super::token::{Token, TokenKind};
use crate::tree::Span;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Reports whether a byte is a URI character. Indicators of flow collections count only if brackets
/// or the end of the line delimit the URI.
fn is_uri(byte: u8, delimited: bool) -> bool {
    is_word(byte) || b";/?:@&=+$.!~*'()%".contains(&byte) || delimited && b",[]".contains(&byte)
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_anchor(&mut self, alias: bool) -> Scanned<Token<'a>> {
        let mark = self.mark();
        self.at += 1;
        let name = self.read_word();
        if name.is_empty() || !(self.is_blank_or_end(0) || b"?:,]}%@`".contains(&self.byte(0))) {
            let message = if alias { "not the name of an anchor" } else { "an anchor without a valid name" };
            let help = "names of anchors have ASCII letters, digits, `-` and `_`; put a value that starts with `*` or `&` in quotes";
            return Err(Fault::syntax(Span::new(mark.at, self.at), message, help));
        }
        let kind = if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) };
        Ok(Token { kind, span: Span::new(mark.at, self.at), line: mark.line })
    }

    pub(super) fn scan_tag(&mut self) -> Scanned<Token<'a>> {
        let mark = self.mark();
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.at += 2;
            let uri = self.read_uri(mark.at, true)?;
            if self.byte(0) != b'>' {
                return Err(Fault::syntax(Span::new(mark.at, self.at), "a verbatim tag is not closed", "expected `>`"));
            }
            self.at += 1;
            ("", uri)
        } else {
            self.read_short_tag(mark.at)?
        };
        if !(self.is_blank_or_end(0) || self.in_flow() && self.byte(0) == b',') {
            let span = Span::new(mark.at, self.at);
            return Err(Fault::syntax(span, "a tag runs into what follows it", "put a space after the tag"));
        }
        Ok(Token { kind: TokenKind::Tag { handle, suffix }, span: Span::new(mark.at, self.at), line: mark.line })
    }

    /// Reads `!suffix`, `!!suffix`, `!handle!suffix`, or `!` alone (empty handle).
    fn read_short_tag(&mut self, start: usize) -> Scanned<(&'a str, String)> {
        self.at += 1;
        self.read_word();
        if self.byte(0) == b'!' {
            self.at += 1;
            let handle = &self.text[start..self.at];
            let suffix = self.read_uri(start, false)?;
            if suffix.is_empty() {
                return Err(Fault::syntax(
                    Span::new(start, self.at),
                    "a tag without a name",
                    "expected a name, as in `!!str`",
                ));
            }
            return Ok((handle, suffix));
        }
        self.at = start + 1;
        let suffix = self.read_uri(start, false)?;
        Ok(if suffix.is_empty() { ("", "!".to_owned()) } else { ("!", suffix) })
    }

    /// Reads the characters of a URI, with `%41` decoded.
    fn read_uri(&mut self, start: usize, delimited: bool) -> Scanned<String> {
        let mut bytes = Vec::new();
        while is_uri(self.byte(0), delimited) {
            if self.byte(0) == b'%' {
                let hex = self.text.get(self.at + 1..self.at + 3);
                let byte = hex
                    .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let Some(byte) = byte else { return Err(self.bad_uri(start)) };
                bytes.push(byte);
                self.at += 3;
            } else {
                bytes.push(self.byte(0));
                self.at += 1;
            }
        }
        String::from_utf8(bytes).map_err(|_| self.bad_uri(start))
    }

    fn bad_uri(&self, start: usize) -> Fault {
        Fault::syntax(Span::new(start, self.at), "a broken escape in a tag", "expected `%` and two hex digits of UTF-8")
    }

    fn read_word(&mut self) -> &'a str {
        let start = self.at;
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Reads `%YAML 1.2` or `%TAG !e! tag:example.com,2026:`.
    pub(super) fn scan_directive(&mut self) -> Scanned<TokenKind<'a>> {
        let start = self.at;
        self.at += 1;
        let name = self.read_word();
        let followed = self.is_blank_or_end(0);
        self.skip_blanks();
        let kind = match name {
            "YAML" if followed => self.scan_version(start)?,
            "TAG" if followed => self.scan_tag_directive(start)?,
            _ => {
                let span = Span::new(start, self.at);
                return Err(Fault::syntax(span, "unknown directive", "put a value that starts with `%` in quotes"));
            }
        };
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_to_break();
        }
        if self.at < self.bytes.len() && !self.is_break() {
            return Err(Fault::syntax(
                Span::new(self.at, self.at + 1),
                "text after a directive",
                "expected the end of the line",
            ));
        }
        self.skip_break();
        Ok(kind)
    }

    fn scan_version(&mut self, start: usize) -> Scanned<TokenKind<'a>> {
        let from = self.at;
        while matches!(self.byte(0), b'0'..=b'9' | b'.') {
            self.at += 1;
        }
        match &self.text[from..self.at] {
            "1.1" | "1.2" => Ok(TokenKind::Version),
            _ => Err(Fault::syntax(
                Span::new(start, self.at),
                "unknown YAML version",
                "expected `%YAML 1.1` or `%YAML 1.2`",
            )),
        }
    }

    fn scan_tag_directive(&mut self, start: usize) -> Scanned<TokenKind<'a>> {
        let from = self.at;
        if self.byte(0) == b'!' {
            self.at += 1;
            self.read_word();
            if self.byte(0) == b'!' {
                self.at += 1;
            }
        }
        let handle = &self.text[from..self.at];
        let proper = matches!(handle, "!" | "!!") || handle.len() > 2 && handle.ends_with('!');
        let separated = self.is_blank();
        self.skip_blanks();
        let prefix = self.read_uri(start, true)?;
        if !proper || !separated || prefix.is_empty() || !self.is_blank_or_end(0) {
            let help = "expected `%TAG !handle! prefix`";
            return Err(Fault::syntax(Span::new(start, self.at), "a broken tag directive", help));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
