//! Mistakes in a text: the message, the place and a hint how to correct it. They are plain text in
//! the form of rustc's messages, so that a person finds the place and an editor can parse it.
//! Readers built on this crate report through the same type.

use std::fmt;

use crate::source::Source;

/// The class of a mistake, for callers that decide by it. The message is for people only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Not UTF-8, or a character YAML does not allow.
    Encoding,
    /// Not YAML.
    Syntax,
    /// A budget (size, depth, aliases) is exceeded.
    Limit,
    /// The same key or object is written twice.
    Duplicate,
    /// A tag outside the core schema.
    Tag,
    /// An alias without an anchor, or an anchor that contains itself.
    Alias,
    /// A value of a type other than the expected one.
    Type,
    /// A field or kind the reader does not know.
    Unknown,
    /// Something required is absent.
    Missing,
    /// The right type, but not an allowed value.
    Value,
}

impl Class {
    /// Returns the word that is printed in brackets after `error`.
    pub fn word(self) -> &'static str {
        match self {
            Class::Encoding => "encoding",
            Class::Syntax => "syntax",
            Class::Limit => "limit",
            Class::Duplicate => "duplicate",
            Class::Tag => "tag",
            Class::Alias => "alias",
            Class::Type => "type",
            Class::Unknown => "unknown",
            Class::Missing => "missing",
            Class::Value => "value",
        }
    }
}

/// A place in a text together with its line, so that a message can be printed after the text is
/// dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the text, usually a path.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted in characters, from 1.
    pub column: u32,
    /// The number of marked characters; at least 1.
    pub width: u32,
    /// The line, unescaped. Of a long line, only the part near the column.
    pub text: String,
    /// The number of characters of the line before `text`.
    pub left_out: u32,
}

/// Longer lines are cut around the place: minified JSON is one line of megabytes, and every place
/// has its own copy.
const SHOWN_WIDTH: usize = 120;

impl Place {
    /// Returns the place of a byte range on a line that starts at `line_start`. For a range over
    /// several lines, this is the part on the first line.
    pub(crate) fn of(source: Source<'_>, line: u32, line_start: usize, start: usize, end: usize) -> Self {
        let before = source.text()[line_start..start].chars().count();
        let rest = source.rest_of_line(start);
        let inside = &rest[..rest.len().min(end.saturating_sub(start))];
        let width = inside.chars().take(SHOWN_WIDTH).count().max(1);
        let left_out = if before + width > SHOWN_WIDTH { before.saturating_sub(SHOWN_WIDTH / 3) } else { 0 };
        let near = source.text()[line_start..start].chars().skip(left_out).chain(rest.chars());
        // One more character than is printed shows that the line continues.
        let text = near.take(SHOWN_WIDTH + 1).collect();
        Self {
            file: source.file().to_owned(),
            line,
            column: bounded(before) + 1,
            width: bounded(width),
            text,
            left_out: bounded(left_out),
        }
    }

    fn write_snippet(&self, f: &mut fmt::Formatter<'_>, note: &str) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = number.len();
        let (shown, before, carets) = self.visible();
        writeln!(f, "{:gutter$}--> {}:{}:{}", "", visible_text(&self.file), self.line, self.column)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{number} | {shown}")?;
        let carets = "^".repeat(carets);
        let gap = if note.is_empty() { "" } else { " " };
        write!(f, "{:gutter$} | {:before$}{carets}{gap}{note}", "", "")
    }

    /// Returns the line as printed, the number of columns before the carets, and the number of
    /// carets. Control and direction characters are escaped, so that the printed line cannot
    /// mislead.
    fn visible(&self) -> (String, usize, usize) {
        let at = (self.column - 1 - self.left_out) as usize;
        let mut shown = String::new();
        let (mut before, mut carets) = (0, 0);
        if self.left_out > 0 {
            shown.push('…');
            before = 1;
        }
        for (index, c) in self.text.chars().enumerate().take(SHOWN_WIDTH) {
            let piece = visible_char(c);
            let columns = piece.chars().count();
            if index < at {
                before += columns;
            } else if index < at + self.width as usize {
                carets += columns;
            }
            shown.push_str(&piece);
        }
        if self.text.chars().nth(SHOWN_WIDTH).is_some() {
            shown.push('…');
        }
        (shown, before, carets.max(1))
    }
}

fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns a character in a form that is safe for a terminal: itself, or an escape if it would
/// mislead the reader.
fn visible_char(c: char) -> String {
    match c {
        '\t' => " ".to_owned(),
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => c.escape_unicode().to_string(),
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    }
}

/// Escapes control, direction and invisible characters of untrusted text.
pub fn visible_text(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// One mistake: a message, its place, and the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub class: Class,
    /// One sentence without a full stop.
    pub message: String,
    pub place: Place,
    /// The expected form, or the next step.
    pub help: Option<String>,
    /// A second place that the message is about, with a note: the first of two equal keys.
    pub other: Option<(Place, String)>,
}

impl Diagnostic {
    pub fn new(class: Class, place: Place, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), place, help: None, other: None }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn with_other(mut self, place: Place, note: impl Into<String>) -> Self {
        self.other = Some((place, note.into()));
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[{}]: {}", self.class.word(), self.message)?;
        self.place.write_snippet(f, "")?;
        if let Some((place, note)) = &self.other {
            writeln!(f)?;
            place.write_snippet(f, note)?;
        }
        if let Some(help) = &self.help {
            let gutter = self.place.line.to_string().len();
            write!(f, "\n{:gutter$} = help: {help}", "")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The mistakes collected while reading continues. A text with more mistakes than fit is broken as
/// a whole, and a longer list would not help its author.
#[derive(Clone, Debug, Default)]
pub struct Findings(Vec<Diagnostic>);

const MAX_FINDINGS: usize = 50;

impl Findings {
    /// Reports whether the list is full, so that the caller can stop checking.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_FINDINGS
    }

    /// Adds a diagnostic if there is room; otherwise it is not even built.
    pub fn add(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if !self.is_full() {
            self.0.push(diagnostic());
        }
    }

    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        let room = MAX_FINDINGS - self.0.len();
        self.0.extend(diagnostics.into_iter().take(room));
    }

    /// Returns `value` if no mistakes were found.
    pub fn or_value<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.0.is_empty() { Ok(value) } else { Err(Diagnostics::sorted(self.0)) }
    }
}

impl IntoIterator for Findings {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// All mistakes in a text, in the order of the text. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    fn sorted(mut found: Vec<Diagnostic>) -> Self {
        found.sort_by(|a, b| {
            (&a.place.file, a.place.line, a.place.column).cmp(&(&b.place.file, b.place.line, b.place.column))
        });
        Self(found)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
