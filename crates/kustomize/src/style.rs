//! How scalars are written. It decides what becomes of whatever is put in their place: a number in
//! quotes is a text.

use setpoint_yaml::go::{self, Shape, Tree};
use setpoint_yaml::{Dialect, Kind, Scalar, Source, Style as Written, parse};

use crate::limits::BYTES;
use crate::node::Tag;

/// What a text of so many bytes takes is part of what its node takes.
const SHORT: usize = 64;

/// How a node was written. What a patch puts in its place is written so too, and may become
/// something else by it: a number in quotes is a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// Or as a block of lines.
    Quoted,
    /// As a block whose lines are one.
    Folded,
    /// As nothing at all, between braces or brackets. It is null, but go-yaml writes an empty text
    /// there, which is what it is read as again.
    Blank,
    /// In quotes, behind a tag that says what it is. Who sets it without a tag leaves the quotes.
    Tagged,
    /// A map or a list, between braces or brackets.
    Flow,
}

impl Style {
    fn quoted_if(is_quoted: bool) -> Self {
        if is_quoted { Self::Quoted } else { Self::Plain }
    }

    /// Of a text that is an entry of a map from now on: kustomize puts quotes around what YAML 1.1
    /// would not read as one text.
    pub(crate) fn of_entry(text: &str) -> Self {
        Self::quoted_if(!text.is_empty() && !text.contains('\n') && is_no_text(text))
    }

    /// How many steps it takes to tell that of a long text. What means something to YAML has to be
    /// read.
    pub(crate) fn cost_of_entry(text: &str) -> usize {
        let is_read = text.len() > SHORT && !text.contains('\n') && !is_one_scalar(text);
        if is_read { text.len() } else { text.len() / (4 * BYTES) }
    }

    /// The same of a text that went through JSON: all but words are written to see what becomes of
    /// them.
    pub(crate) fn cost_of_json(text: &str) -> usize {
        if text.len() > SHORT && !is_word(text) { text.len() / 2 } else { text.len() / (4 * BYTES) }
    }

    /// Of a text that is put where nothing was. Lines are a block.
    pub(crate) fn of_new(text: &str) -> Self {
        if text.contains('\n') { Self::Quoted } else { Self::of_entry(text) }
    }

    /// Of a text that went through JSON: Go puts quotes wherever it has to.
    pub(crate) fn of_json(text: &str) -> Self {
        if is_word(text) {
            return Self::quoted_if(is_no_text(text));
        }
        let has_quotes = |written: String| written.starts_with(['"', '\'', '|']);
        Self::quoted_if(Tag::of(text) != Tag::Text || written_alone(text).is_none_or(has_quotes))
    }
}

/// Whether it is of characters that mean nothing to YAML, wherever they stand.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'/'))
}

/// Whether nothing in it can make anything but one scalar without quotes of it, as is the case with
/// most texts.
fn is_one_scalar(text: &str) -> bool {
    let is_sign = |c: char| c == ' ' || "-?:,[]{}#&*!|>'\"%@`".contains(c);
    text.bytes().all(|byte| (b' '..0x7f).contains(&byte))
        && !text.starts_with(is_sign)
        && !text.starts_with("...")
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Whether YAML 1.1 reads something else than a text.
fn is_no_text(text: &str) -> bool {
    let is_other = |text| !matches!(Dialect::GoYamlV2.resolve(text), Scalar::Str(_));
    if is_one_scalar(text) {
        return is_other(text.trim_end());
    }
    let Ok(documents) = parse(Source::new("", text)) else { return false };
    let Some(root) = documents.first().map(|document| document.root()) else { return true };
    match root.kind() {
        Kind::Scalar(text) => root.style() == Written::Plain && root.tag().is_none() && is_other(text),
        Kind::Sequence(_) | Kind::Mapping(_) => true,
    }
}

/// A text as Go's older library writes it where it is all of a document. None if it cannot.
pub(crate) fn written_alone(text: &str) -> Option<String> {
    let mut written = String::new();
    go::write(&Lone(text), &mut written).ok()?;
    Some(written)
}

struct Lone<'t>(&'t str);

impl Tree for Lone<'_> {
    fn shape(&self) -> Shape<'_, Self> {
        Shape::Text(self.0.into())
    }
}
