//! The notation of scalars. It decides the type of a later value in the same place: a number in
//! quotes is a string.

use setpoint_yaml::go::{self, Shape, Tree};
use setpoint_yaml::{Dialect, Kind, Scalar, Source, Style as Written, parse};

use crate::limits::BYTES;
use crate::node::Tag;

/// The cost of a text of up to this many bytes is part of that of its node.
const SHORT: usize = 64;

/// The notation of a node. A patched value gets the notation of the old one, which may change its
/// type: a number in quotes is a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// Quoted, or a literal block.
    Quoted,
    /// A block whose lines are folded into one.
    Folded,
    /// Omitted, between braces or brackets. It is null, but go-yaml writes an empty string there,
    /// which it reads back as a string.
    Blank,
    /// Quoted, after a tag. A new value without a tag removes the quotes.
    Tagged,
    /// A map or a list between braces or brackets.
    Flow,
}

impl Style {
    fn quoted_if(is_quoted: bool) -> Self {
        if is_quoted { Self::Quoted } else { Self::Plain }
    }

    /// Returns the style of a new map entry: kustomize quotes a text that YAML 1.1 would not read
    /// as a single string.
    pub(crate) fn of_entry(text: &str) -> Self {
        Self::quoted_if(!text.is_empty() && !text.contains('\n') && is_no_text(text))
    }

    /// Returns the number of steps to determine that style for a long text. A text with characters
    /// that are special in YAML must be parsed.
    pub(crate) fn cost_of_entry(text: &str) -> usize {
        let is_read = text.len() > SHORT && !text.contains('\n') && !is_one_scalar(text);
        if is_read { text.len() } else { text.len() / (4 * BYTES) }
    }

    /// Returns the same for a text that passed through JSON: all but simple words are written to
    /// see the result.
    pub(crate) fn cost_of_json(text: &str) -> usize {
        if text.len() > SHORT && !is_word(text) { text.len() / 2 } else { text.len() / (4 * BYTES) }
    }

    /// Returns the style of a text for a new node. Several lines are a block.
    pub(crate) fn of_new(text: &str) -> Self {
        if text.contains('\n') { Self::Quoted } else { Self::of_entry(text) }
    }

    /// Returns the style of a text that passed through JSON: Go quotes where it must.
    pub(crate) fn of_json(text: &str) -> Self {
        if is_word(text) {
            return Self::quoted_if(is_no_text(text));
        }
        let has_quotes = |written: String| written.starts_with(['"', '\'', '|']);
        Self::quoted_if(Tag::of(text) != Tag::Text || written_alone(text).is_none_or(has_quotes))
    }
}

/// Reports whether no character is special in YAML, in any position.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'/'))
}

/// Reports whether the text without quotes can only be a single scalar, as most texts are.
fn is_one_scalar(text: &str) -> bool {
    let is_sign = |c: char| c == ' ' || "-?:,[]{}#&*!|>'\"%@`".contains(c);
    text.bytes().all(|byte| (b' '..0x7f).contains(&byte))
        && !text.starts_with(is_sign)
        && !text.starts_with("...")
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Reports whether YAML 1.1 reads the text as anything but a string.
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

/// Returns a text as Go's older library writes it as a whole document; `None` if it cannot be
/// written.
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
