//! Chooses how a string is written: plain, quoted, or as a block of lines.

use std::fmt::Write as _;

use super::timestamp::Timestamp;
use crate::resolve::{Dialect, Scalar};

/// The notation of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The notations that a string allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Analysis {
    pub(super) is_multiline: bool,
    /// Only ASCII letters, digits, signs and spaces, as in most strings.
    pub(super) is_simple: bool,
    is_plain_allowed: bool,
    is_single_allowed: bool,
    is_block_allowed: bool,
}

impl Analysis {
    pub(super) fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                is_multiline: false,
                is_simple: true,
                is_plain_allowed: true,
                is_single_allowed: true,
                is_block_allowed: false,
            };
        }
        let first = text.chars().next().unwrap_or_default();
        let last = text.chars().next_back().unwrap_or_default();
        let is_simple = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        let mut seen = Lines::default();
        if !is_simple {
            text.chars().for_each(|c| seen.take(c));
        }
        let has_edge = [first, last].iter().any(|c| *c == ' ' || is_break(*c));
        let is_broken = seen.space_before_break || seen.unprintable;
        Self {
            is_multiline: seen.breaks,
            is_simple,
            is_plain_allowed: !(has_edge
                || seen.space_after_break
                || is_broken
                || seen.breaks
                || has_indicators(text, first)),
            is_single_allowed: !(seen.space_after_break || is_broken),
            is_block_allowed: !(last == ' ' || is_broken),
        }
    }

    /// Returns the style of a string. `is_key` is set for one before a colon on its line.
    pub(super) fn style(self, text: &str, is_key: bool) -> Style {
        let wanted = match () {
            () if text.contains('\n') => Style::Literal,
            () if is_text_when_plain(text) => Style::Plain,
            () => Style::Double,
        };
        match wanted {
            _ if is_key && self.is_multiline => Style::Double,
            Style::Plain if self.is_plain_allowed => Style::Plain,
            Style::Plain if self.is_single_allowed => Style::Single,
            Style::Literal if self.is_block_allowed && !is_key => Style::Literal,
            _ => Style::Double,
        }
    }
}

/// State carried from one character to the next.
#[derive(Default)]
struct Lines {
    breaks: bool,
    unprintable: bool,
    space_after_break: bool,
    space_before_break: bool,
    last: Option<char>,
}

impl Lines {
    fn take(&mut self, c: char) {
        let after_break = self.last.is_some_and(is_break);
        self.unprintable |= !is_printable(c);
        self.space_after_break |= c == ' ' && after_break;
        self.space_before_break |= is_break(c) && self.last == Some(' ');
        self.breaks |= is_break(c);
        self.last = Some(c);
    }
}

/// Reports whether a string has characters with a meaning in YAML.
fn has_indicators(text: &str, first: char) -> bool {
    let is_followed_by_blank = |at: usize| text[at..].chars().nth(1).is_none_or(|c| matches!(c, ' ' | '\t'));
    let begins = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
        '?' | ':' | '-' => is_followed_by_blank(0),
        _ => false,
    };
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\0') || is_break(c);
    let is_preceded_by_blank = |at: usize| text[..at].chars().next_back().is_some_and(is_blank);
    let holds = |(at, c): (usize, char)| match c {
        ':' => is_followed_by_blank(at),
        '#' => is_preceded_by_blank(at),
        _ => false,
    };
    let may_hold = text.bytes().any(|b| matches!(b, b':' | b'#'));
    begins || text.starts_with("---") || text.starts_with("...") || may_hold && text.char_indices().skip(1).any(holds)
}

/// Reports whether a string without quotes would be read back as a string.
fn is_text_when_plain(text: &str) -> bool {
    let is_text = matches!(Dialect::GoYamlV2.resolve(text), Scalar::Str(_));
    is_text && Timestamp::parse(text).is_none() && !is_sexagesimal(text)
}

/// Reports whether this is a base-60 number of YAML 1.1: `1:30` and `-190:20:30.15`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let is_first = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit()) && part.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    };
    let is_minute = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    if !parts.next().is_some_and(is_first) {
        return false;
    }
    let mut rest: Vec<&str> = parts.collect();
    let Some(last) = rest.pop() else { return false };
    let (last, fraction) = last.split_once('.').unwrap_or((last, ""));
    let is_fraction = fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    rest.into_iter().all(is_minute) && is_minute(last) && is_fraction
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// Reports whether a character is escaped in double quotes.
pub(super) fn is_escaped(c: char) -> bool {
    !is_printable(c) || is_break(c) || matches!(c, '"' | '\\')
}

/// Appends a character as an escape.
pub(super) fn escape(c: char, out: &mut String) {
    out.push('\\');
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            // Writing to a string cannot fail.
            let _ = match code {
                0..=0xff => write!(out, "x{code:02X}"),
                0x100..=0xffff => write!(out, "u{code:04X}"),
                _ => write!(out, "U{code:08X}"),
            };
            return;
        }
    };
    out.push(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_written(text: &str, value: Style, key: Style) {
        let analysis = Analysis::of(text);
        assert_eq!(analysis.style(text, false), value, "{text:?}");
        assert_eq!(analysis.style(text, true), key, "{text:?} as a key");
    }

    #[test]
    fn what_would_be_read_as_something_else_is_in_double_quotes() {
        for text in [
            "",
            "~",
            "null",
            "yes",
            "No",
            "on",
            "OFF",
            "y",
            "true",
            "12",
            "-1",
            "0x1f",
            "0o14",
            "0b1",
            "1_000",
            "1.5",
            ".5",
            "1e3",
            ".inf",
            "+.Inf",
            ".NaN",
            "2020-01-01",
            "2001-12-14 21:59:43",
            "1:30",
            "-190:20:30.15",
            "08",
        ] {
            is_written(text, Style::Double, Style::Double);
        }
        for text in ["<<", "=", "1.2.3", "1:60", "v1", "a:b", "0x", "nope", "1e", "2020-13-01", "12:", "-", "--"] {
            let style = Analysis::of(text).style(text, false);
            assert!(matches!(style, Style::Plain | Style::Single), "{text}: {style:?}");
        }
    }

    #[test]
    fn what_means_something_in_yaml_is_in_single_quotes() {
        for text in [
            "# a", "a #b", "a: b", "a:", "- a", "-", "? a", ": a", "[a", "{a", "&a", "*a", "!a", "|", ">", "'a", "\"a",
            "%a", "@a", "`a", " a", "a ", "--- a", "...", ",a",
        ] {
            is_written(text, Style::Single, Style::Single);
        }
        for text in ["a#b", "a:b", "-a", "?a", ":a", "a[b", "a,b", "--", "..", "a'b", "--a"] {
            is_written(text, Style::Plain, Style::Plain);
        }
    }

    #[test]
    fn lines_are_a_block_unless_a_space_stands_before_a_break() {
        is_written("a\nb", Style::Literal, Style::Double);
        is_written("a\n  b\n", Style::Literal, Style::Double);
        is_written("\na\n", Style::Literal, Style::Double);
        is_written("a \nb", Style::Double, Style::Double);
        is_written("a\nb ", Style::Double, Style::Double);
        is_written("a\tb\nc", Style::Double, Style::Double);
        is_written("a\u{2028}b", Style::Single, Style::Double);
    }

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        let mut out = String::new();
        "\u{0}\u{7}\t\n\u{1b}\"\\\u{85}\u{1}\u{7f}\u{feff}\u{1F600}\u{2028}".chars().for_each(|c| escape(c, &mut out));
        assert_eq!(out, r#"\0\a\t\n\e\"\\\N\x01\x7F\uFEFF\U0001F600\L"#);
        for text in ["a\tb", "a\u{1F600}", "\u{7f}", "\u{feff}"] {
            is_written(text, Style::Double, Style::Double);
        }
        is_written("a\u{a0}b", Style::Plain, Style::Plain);
        is_written("äöü", Style::Plain, Style::Plain);
    }
}
