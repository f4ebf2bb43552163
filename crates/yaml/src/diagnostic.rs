//! What is wrong in a text, where, and what to do about it. Plain text in the form of rustc's
//! messages, so that a person finds the place and an editor can parse it. Readers built on this
//! crate report through the same type.

use std::fmt;

use crate::source::Source;

/// What kind of mistake a diagnostic is about: for callers that decide by it. Text is for people.
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
    /// An alias without anchor, or an anchor that contains itself.
    Alias,
    /// A value of another type than the reader needs.
    Type,
    /// A field or kind the reader does not know.
    Unknown,
    /// Something required is absent.
    Missing,
    /// The right type, but not an allowed value.
    Value,
}

impl Class {
    /// The word shown in brackets after `error`.
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

/// A place in a text together with its line, kept so that a message can be shown after the text is
/// gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name the text was given, usually a path.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// How many characters are meant; at least 1.
    pub width: u32,
    /// The line, unescaped; of a long one, what is near the column.
    pub text: String,
    /// How many characters of the line were left out before `text`.
    pub left_out: u32,
}

/// Lines longer than this are cut around the place: minified JSON is one line of megabytes, and
/// every place keeps its own.
const SHOWN_WIDTH: usize = 120;

impl Place {
    /// The place of a byte range on a line that starts at `line_start`. A range over several lines
    /// is shown by its first.
    pub(crate) fn of(source: Source<'_>, line: u32, line_start: usize, start: usize, end: usize) -> Self {
        let before = source.text()[line_start..start].chars().count();
        let rest = source.rest_of_line(start);
        let inside = &rest[..rest.len().min(end.saturating_sub(start))];
        let width = inside.chars().take(SHOWN_WIDTH).count().max(1);
        let left_out = if before + width > SHOWN_WIDTH { before.saturating_sub(SHOWN_WIDTH / 3) } else { 0 };
        let near = source.text()[line_start..start].chars().skip(left_out).chain(rest.chars());
        // One more than is shown tells that there is more.
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

    /// The line as shown, the columns before the carets, and how many carets. Control and direction
    /// characters are escaped, so that what is shown is what is there.
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

/// A character as it may be shown on a terminal: itself, or an escape where showing it would
/// mislead.
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

/// Text from outside as it may be shown: control, direction and invisible characters escaped.
pub fn visible_text(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// One mistake: what, where, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub class: Class,
    /// One sentence without a full stop.
    pub message: String,
    pub place: Place,
    /// What was expected, or what to do next.
    pub help: Option<String>,
    /// A second place the message is about, with a note: the first of two equal keys.
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

/// Collects what is wrong while reading goes on. A text with more mistakes than fit is broken as a
/// whole, and the rest of the list would help nobody.
#[derive(Clone, Debug, Default)]
pub struct Findings(Vec<Diagnostic>);

const MAX_FINDINGS: usize = 50;

impl Findings {
    /// Whether nothing more is kept: time to stop looking.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_FINDINGS
    }

    /// Keeps a diagnostic if there is room; it is not even made otherwise.
    pub fn add(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if !self.is_full() {
            self.0.push(diagnostic());
        }
    }

    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        let room = MAX_FINDINGS - self.0.len();
        self.0.extend(diagnostics.into_iter().take(room));
    }

    /// `value` if nothing was found.
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

/// Everything wrong with a text, in the order of the text. Never empty.
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
