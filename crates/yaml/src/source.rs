//! A text with its name, checked for forbidden characters before it is parsed.

use crate::diagnostic::{Class, Diagnostic, Diagnostics, Place};

/// The size of the largest text that is read. A render reads files up to the same size. Positions
/// therefore fit in `u32`.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// A text and its name in messages.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Source<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// Reads bytes as UTF-8 (a byte order mark is accepted). The error names UTF-16 explicitly:
    /// some tools write it by default, and "invalid UTF-8" would not help their users.
    pub fn decode(file: &'a str, bytes: &'a [u8]) -> Result<Self, Diagnostics> {
        let refuse = |valid: &'a str, message: &str| -> Diagnostics {
            let source = Self { file, text: valid };
            Diagnostic::new(Class::Encoding, source.place(valid.len(), valid.len()), message)
                .with_help("save the file as UTF-8")
                .into()
        };
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(refuse("", "the file is UTF-16"));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { file, text }),
            Err(error) => {
                let valid =
                    std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("from_utf8 said it is valid up to here");
                Err(refuse(valid, "the file is not UTF-8 from here on"))
            }
        }
    }

    pub fn file(self) -> &'a str {
        self.file
    }

    pub fn text(self) -> &'a str {
        self.text
    }

    /// Returns the place of a byte range, which must lie on character boundaries.
    pub fn place(self, start: usize, end: usize) -> Place {
        let bytes = self.text.as_bytes();
        let line_start = self.line_start(start);
        let (mut line, mut at) = (1, 0);
        while at < line_start {
            let length = break_length(bytes, at);
            line += u32::from(length > 0);
            at += length.max(1);
        }
        Place::of(self, line, line_start, start, end)
    }

    /// Returns the place of a byte range on a line with a known number, without counting the lines
    /// before it.
    pub(crate) fn place_on_line(self, line: u32, start: usize, end: usize) -> Place {
        Place::of(self, line, self.line_start(start), start, end)
    }

    fn line_start(self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let after_break = |at: &usize| {
            let inside_crlf = bytes[at - 1] == b'\r' && bytes.get(*at) == Some(&b'\n');
            !inside_crlf && (1..=3.min(*at)).any(|length| break_length(bytes, at - length) == length)
        };
        let mark = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        (1..=offset).rev().find(after_break).unwrap_or(mark.min(offset))
    }

    /// Returns the text from an offset to the end of its line.
    pub(crate) fn rest_of_line(self, offset: usize) -> &'a str {
        let bytes = self.text.as_bytes();
        let end = (offset..bytes.len()).find(|&at| break_length(bytes, at) > 0).unwrap_or(bytes.len());
        &self.text[offset..end]
    }

    /// Rejects texts that are too large or contain control characters.
    pub(crate) fn check(self) -> Result<(), Diagnostics> {
        if self.text.len() > MAX_BYTES {
            let message = format!("the text has {} bytes, more than the {MAX_BYTES} that are read", self.text.len());
            let found = Diagnostic::new(Class::Limit, self.place(0, 0), message);
            return Err(found.with_help("split it into several files").into());
        }
        let bytes = self.text.as_bytes();
        let forbidden = (0..bytes.len()).find(|&at| is_forbidden(bytes, at));
        let Some(at) = forbidden else { return Ok(()) };
        let c = self.text[at..].chars().next().expect("a forbidden byte starts a character");
        let message = format!("the character {} is not allowed in YAML", c.escape_unicode());
        let place = self.place(at, at + c.len_utf8());
        Err(Diagnostic::new(Class::Encoding, place, message)
            .with_help("remove it, or write it as an escape in double quotes")
            .into())
    }
}

pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reports whether the character that starts at `at` is a control character (C0, DEL, C1 except
/// NEL) or a noncharacter.
fn is_forbidden(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'\t' | b'\n' | b'\r' => false,
        0..0x20 | 0x7f => true,
        0xc2 => bytes[at + 1] < 0xa0 && bytes[at + 1] != 0x85,
        0xef => bytes[at + 1] == 0xbf && bytes[at + 2] >= 0xbe,
        _ => false,
    }
}

/// Returns the length of the line break at `at` in bytes, or 0 if there is none. As in libyaml and
/// go-yaml, line breaks are CR LF, CR, LF, NEL, LS and PS.
#[inline]
pub(crate) fn break_length(bytes: &[u8], at: usize) -> usize {
    let Some(&byte) = bytes.get(at) else { return 0 };
    match byte {
        b'\n' => 1,
        b'\r' => 1 + usize::from(bytes.get(at + 1) == Some(&b'\n')),
        0xc2 if bytes.get(at + 1) == Some(&0x85) => 2,
        0xe2 if bytes.get(at + 1) == Some(&0x80) && matches!(bytes.get(at + 2), Some(0xa8 | 0xa9)) => 3,
        _ => 0,
    }
}
