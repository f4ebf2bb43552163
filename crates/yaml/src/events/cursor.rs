//! The scanner's position in the text: reads characters and moves over them.

use super::scanner::{Mark, Scanner};
use crate::source::break_length;

impl Scanner<'_> {
    /// Moves over blanks, comments and line breaks to the next token.
    pub(super) fn skip_to_token(&mut self) {
        loop {
            // A tab may separate tokens, but is not allowed where indentation is counted.
            let tab = if self.in_flow() || !self.simple_key_allowed { b'\t' } else { b' ' };
            while self.byte(0) == b' ' || self.byte(0) == tab {
                self.at += 1;
            }
            if self.byte(0) == b'#' {
                self.skip_to_break();
            }
            if !self.skip_break() {
                return;
            }
            if !self.in_flow() {
                self.simple_key_allowed = true;
            }
        }
    }

    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        // NUL is rejected before scanning, so 0 means the end of the text.
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn column(&self) -> usize {
        self.at - self.line_start
    }

    #[inline]
    pub(super) fn in_flow(&self) -> bool {
        self.simple_keys.len() > 1
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.at, line: self.line }
    }

    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.byte(0), b' ' | b'\t')
    }

    #[inline]
    pub(super) fn is_break(&self) -> bool {
        break_length(self.bytes, self.at) > 0
    }

    /// Reports whether a blank, a line break or the end is `ahead` bytes on.
    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | 0) || break_length(self.bytes, self.at + ahead) > 0
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.at += 1;
        }
    }

    pub(super) fn skip_to_break(&mut self) {
        while self.at < self.bytes.len() && !self.is_break() {
            self.at += 1;
        }
    }

    pub(super) fn skip_break(&mut self) -> bool {
        self.read_break().is_some()
    }

    /// Skips a line break and returns what it contributes to a scalar: LF, or LS and PS as they
    /// are.
    pub(super) fn read_break(&mut self) -> Option<&'static str> {
        let length = break_length(self.bytes, self.at);
        if length == 0 {
            return None;
        }
        let separator = length == 3;
        let text = match (separator, self.byte(2)) {
            (true, 0xa8) => "\u{2028}",
            (true, _) => "\u{2029}",
            (false, _) => "\n",
        };
        self.at += length;
        self.line += 1;
        self.line_start = self.at;
        Some(text)
    }

    /// Reports whether this line starts with `---` or `...`.
    pub(super) fn at_document_marker(&self) -> bool {
        let marker = [self.byte(0), self.byte(1), self.byte(2)];
        self.column() == 0 && (marker == *b"---" || marker == *b"...") && self.is_blank_or_end(3)
    }
}
