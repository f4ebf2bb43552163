//! Writes a value as a document: keys in natural order, sequences not indented below their key,
//! lines folded after 80 columns.

use std::borrow::Cow;

use super::number::written_number;
use super::order;
use super::scalar::{Analysis, Style, escape, is_break, is_escaped};

/// Lines are broken at a space once they are longer than this.
const WIDTH: usize = 80;
/// A longer key is written on a line of its own, after a question mark. In bytes.
const LONGEST_KEY: usize = 128;
const INDENT: usize = 2;
/// The length of the longest key that is read back on one line. In characters.
const LONGEST_IN_JSON: usize = 1022;
/// A line break in YAML but not in JSON.
const NEXT_LINE: char = '\u{85}';
/// The indentation indicator for a block that begins with blanks.
const INDENT_HINT: char = '2';

/// The type and content of a node.
#[derive(Clone, Debug)]
pub enum Shape<'t, T> {
    Null,
    Bool(bool),
    /// In the notation of JSON.
    Number(Cow<'t, str>),
    Text(Cow<'t, str>),
    Seq(Vec<&'t T>),
    Map(Vec<(&'t str, &'t T)>),
}

/// A value that can be written.
pub trait Tree {
    fn shape(&self) -> Shape<'_, Self>
    where
        Self: Sized;
}

/// The reason why a value cannot be written. Go's libraries write JSON and read that as YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// A character that YAML forbids everywhere and that JSON does not escape.
    Control(char),
    /// A key with a YAML line break (U+0085), or longer than YAML allows on one line.
    Key(String),
}

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Control(c) => write!(f, "the character U+{:04X} cannot be written as YAML", u32::from(*c)),
            Self::Key(key) => {
                let start: String = key.chars().take(40).collect();
                write!(f, "the key that begins with `{}` cannot be written as YAML", start.escape_default())
            }
        }
    }
}

impl std::error::Error for Unwritable {}

/// Appends a document, which ends with a line break.
pub fn write<T: Tree>(tree: &T, out: &mut String) -> Result<(), Unwritable> {
    let mut writer = Writer { out, column: 0, indent: None, after_space: true, at_indent: true, problem: None };
    writer.node(tree, Context::Root);
    writer.indent = None;
    writer.next_line();
    writer.problem.map_or(Ok(()), Err)
}

/// The position of a node in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Value,
}

/// The output and the position in it.
struct Writer<'o> {
    out: &'o mut String,
    /// In characters.
    column: usize,
    /// The indentation of the innermost collection.
    indent: Option<usize>,
    /// A space was written last, or nothing yet.
    after_space: bool,
    /// This line has only indentation and dashes so far.
    at_indent: bool,
    /// The first problem found.
    problem: Option<Unwritable>,
}

impl Writer<'_> {
    fn node<T: Tree>(&mut self, tree: &T, context: Context) {
        match tree.shape() {
            Shape::Null => self.plain("null", false),
            Shape::Bool(true) => self.plain("true", false),
            Shape::Bool(false) => self.plain("false", false),
            Shape::Number(json) => self.plain(&written_number(&json), false),
            Shape::Text(text) => {
                let text = joined(text);
                self.text(&text, Analysis::of(&text), false);
            }
            Shape::Seq(items) if items.is_empty() => self.mark("[]"),
            Shape::Map(entries) if entries.is_empty() => self.mark("{}"),
            Shape::Seq(items) => self.sequence(&items, context),
            Shape::Map(entries) => self.mapping(entries),
        }
    }

    fn sequence<T: Tree>(&mut self, items: &[&T], context: Context) {
        let outer = self.indent;
        if context != Context::Value || self.at_indent {
            self.deeper();
        }
        for item in items {
            self.next_line();
            self.indicator("-");
            self.node(*item, Context::Item);
        }
        self.indent = outer;
    }

    fn mapping<T: Tree>(&mut self, entries: Vec<(&str, &T)>) {
        let outer = self.indent;
        self.deeper();
        for (key, value) in order::sort(entries, &|entry| entry.0) {
            self.next_line();
            let analysis = Analysis::of(key);
            let has_break = !analysis.is_simple && key.contains(NEXT_LINE);
            if has_break || key.len() > LONGEST_IN_JSON && key.chars().count() > LONGEST_IN_JSON {
                self.problem.get_or_insert_with(|| Unwritable::Key(key.to_owned()));
            }
            if analysis.is_multiline || key.len() > LONGEST_KEY {
                self.indicator("?");
                self.text(key, analysis, false);
                self.next_line();
                self.indicator(":");
            } else {
                self.text(key, analysis, true);
                self.put(':');
                (self.after_space, self.at_indent) = (false, false);
            }
            self.node(value, Context::Value);
        }
        self.indent = outer;
    }

    fn deeper(&mut self) {
        self.indent = Some(self.indent.map_or(0, |indent| indent + INDENT));
    }

    /// Begins a line at the indentation, unless the current line is already there.
    fn next_line(&mut self) {
        let indent = self.indent.unwrap_or_default();
        if !self.at_indent || self.column > indent || self.column == indent && !self.after_space {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        (self.after_space, self.at_indent) = (true, true);
    }

    /// A dash, a question mark or a colon, after which a collection may begin on the same line.
    fn indicator(&mut self, indicator: &str) {
        self.space();
        indicator.chars().for_each(|c| self.put(c));
        self.after_space = false;
    }

    /// A token of its own.
    fn mark(&mut self, mark: &str) {
        self.indicator(mark);
        self.at_indent = false;
    }

    fn space(&mut self) {
        if !self.after_space {
            self.put(' ');
        }
    }

    fn text(&mut self, text: &str, analysis: Analysis, is_key: bool) {
        if !analysis.is_simple
            && let Some(control) = text.chars().find(|c| is_refused(*c))
        {
            self.problem.get_or_insert(Unwritable::Control(control));
        }
        let outer = self.indent;
        self.indent = Some(outer.unwrap_or_default() + INDENT);
        match analysis.style(text, is_key) {
            Style::Plain => self.plain(text, is_key),
            Style::Single => self.single(text, is_key),
            Style::Double => self.double(text, is_key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, is_key: bool) {
        self.space();
        // An ASCII string here has no line break, so it is written unchanged unless it must be
        // folded.
        if text.is_ascii() && (is_key || self.column + text.len() <= WIDTH || !text.contains(' ')) {
            self.put_all(text);
        } else {
            self.folded(text, is_key, |_| true, Self::put);
        }
        (self.after_space, self.at_indent) = (false, false);
    }

    fn single(&mut self, text: &str, is_key: bool) {
        self.mark("'");
        let last = text.len() - 1;
        self.folded(
            text,
            is_key,
            |at| at > 0 && at < last,
            |writer, c| {
                if c == '\'' {
                    writer.put(c);
                }
                writer.put(c);
            },
        );
        self.put('\'');
        (self.after_space, self.at_indent) = (false, false);
    }

    /// Writes a string and breaks long lines at single spaces where this is allowed.
    fn folded(&mut self, text: &str, is_key: bool, may_break: impl Fn(usize) -> bool, put: impl Fn(&mut Self, char)) {
        let (mut after_space, mut after_break) = (false, false);
        for (at, c) in text.char_indices() {
            if c == ' ' {
                let is_single = !after_space && !text[at + 1..].starts_with(' ');
                if !is_key && is_single && self.column > WIDTH && may_break(at) {
                    self.next_line();
                } else {
                    self.put(c);
                }
                after_space = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.line_break();
                }
                self.broken(c);
                self.at_indent = true;
                after_break = true;
            } else {
                if after_break {
                    self.next_line();
                }
                put(self, c);
                self.at_indent = false;
                (after_space, after_break) = (false, false);
            }
        }
    }

    fn double(&mut self, text: &str, is_key: bool) {
        self.mark("\"");
        // go-yaml checks once whether the whole string begins with a byte order mark, not each
        // character.
        let escapes_all = text.starts_with('\u{feff}');
        let last = text.len().saturating_sub(1);
        let mut after_space = false;
        for (at, c) in text.char_indices() {
            if escapes_all || is_escaped(c) {
                let before = self.out.len();
                escape(c, self.out);
                self.column += self.out.len() - before;
                after_space = false;
            } else if c == ' ' {
                if !is_key && !after_space && self.column > WIDTH && at > 0 && at < last {
                    self.next_line();
                    if text[at + 1..].starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
        (self.after_space, self.at_indent) = (false, false);
    }

    fn literal(&mut self, text: &str) {
        self.mark("|");
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            self.put(INDENT_HINT);
        }
        let mut from_the_end = text.chars().rev();
        match (from_the_end.next().is_some_and(is_break), from_the_end.next()) {
            (false, _) => self.put('-'),
            (true, None) => self.put('+'),
            (true, Some(before)) if is_break(before) => self.put('+'),
            (true, Some(_)) => {}
        }
        self.line_break();
        (self.after_space, self.at_indent) = (true, true);
        if text.is_ascii() && !text.contains('\r') {
            return self.lines(text);
        }
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.broken(c);
                self.at_indent = true;
                after_break = true;
            } else {
                if after_break {
                    self.next_line();
                }
                self.put(c);
                self.at_indent = false;
                after_break = false;
            }
        }
    }

    /// Writes the lines of a block whose line breaks are all the same.
    fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let (line, is_ended) = line.strip_suffix('\n').map_or((line, false), |line| (line, true));
            if !line.is_empty() {
                self.next_line();
                self.put_all(line);
                self.at_indent = false;
            }
            if is_ended {
                self.line_break();
                self.at_indent = true;
            }
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Writes an ASCII string without line breaks.
    fn put_all(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    /// Writes a line break of the string itself.
    fn broken(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn line_break(&mut self) {
        self.broken('\n');
    }
}

/// Reports whether YAML readers reject a character unless it is escaped.
fn is_refused(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}') && c != NEXT_LINE
}

/// Returns a string as it is read back from quotes. A YAML line break that JSON does not know
/// becomes a space, and blanks around it are dropped.
fn joined(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(NEXT_LINE) {
        return text;
    }
    let blanks = [' ', '\t'];
    let mut lines = text.split(NEXT_LINE).peekable();
    let mut read = lines.next().unwrap_or_default().trim_end_matches(blanks).to_owned();
    let mut breaks = 0;
    while let Some(line) = lines.next() {
        breaks += 1;
        let line = line.trim_start_matches(blanks);
        let line = if lines.peek().is_some() { line.trim_end_matches(blanks) } else { line };
        if !line.is_empty() || lines.peek().is_none() {
            read += &if breaks == 1 { " ".to_owned() } else { "\n".repeat(breaks - 1) };
            read += line;
            breaks = 0;
        }
    }
    read.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Value {
        Null,
        Bool(bool),
        Number(&'static str),
        Text(&'static str),
        Seq(Vec<Value>),
        Map(Vec<(&'static str, Value)>),
    }

    impl Tree for Value {
        fn shape(&self) -> Shape<'_, Self> {
            match self {
                Self::Null => Shape::Null,
                Self::Bool(value) => Shape::Bool(*value),
                Self::Number(json) => Shape::Number((*json).into()),
                Self::Text(text) => Shape::Text((*text).into()),
                Self::Seq(items) => Shape::Seq(items.iter().collect()),
                Self::Map(entries) => Shape::Map(entries.iter().map(|(key, value)| (*key, value)).collect()),
            }
        }
    }

    use Value::{Bool, Map, Null, Number, Seq, Text};

    #[track_caller]
    fn is_written(value: &Value, expected: &str) {
        let mut out = String::new();
        assert_eq!(write(value, &mut out), Ok(()));
        assert_eq!(out, expected, "\n{out}");
    }

    #[test]
    fn collections_are_blocks_and_sequences_are_not_indented_below_a_key() {
        let pod = Map(vec![
            (
                "spec",
                Map(vec![
                    (
                        "containers",
                        Seq(vec![
                            Map(vec![
                                ("name", Text("a")),
                                ("args", Seq(vec![Text("x"), Text("y")])),
                                ("env", Seq(vec![])),
                            ]),
                            Map(vec![]),
                        ]),
                    ),
                    ("paused", Bool(false)),
                ]),
            ),
            ("nested", Seq(vec![Seq(vec![Number("1"), Number("2")]), Seq(vec![Seq(vec![Null])])])),
            ("data", Map(vec![("b", Text("1")), ("a", Text("x"))])),
        ]);
        is_written(
            &pod,
            "data:\n  a: x\n  b: \"1\"\nnested:\n- - 1\n  - 2\n- - - null\nspec:\n  containers:\n  - args:\n    - x\n    - \"y\"\n    env: []\n    name: a\n  - {}\n  paused: false\n",
        );
    }

    #[test]
    fn blocks_of_lines_say_how_they_end_and_whether_they_begin_with_blanks() {
        let texts = Map(vec![
            ("a", Text("x\ny")),
            ("b", Text("x\n\n")),
            ("c", Text("  x\ny\n")),
            ("d", Seq(vec![Text("x\n\ny\n")])),
            ("e", Text("\n")),
        ]);
        is_written(&texts, "a: |-\n  x\n  y\nb: |+\n  x\n\nc: |2\n    x\n  y\nd:\n- |\n  x\n\n  y\ne: |2+\n\n");
    }

    #[test]
    fn long_lines_are_broken_at_single_spaces_and_keys_are_not() {
        const LONG: &str =
            "aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa  bb cc dd";
        is_written(
            &Map(vec![("k", Text(LONG))]),
            "k: aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa\n  aaaaaaaaa  bb cc dd\n",
        );
        is_written(&Map(vec![(LONG, Text("v"))]), &format!("{LONG}: v\n"));
    }

    #[test]
    fn keys_that_are_long_or_have_lines_stand_after_a_question_mark() {
        const LONGEST: &str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";
        assert_eq!(LONGEST.len(), LONGEST_KEY + 1);
        is_written(&Map(vec![(LONGEST, Map(vec![("a", Number("1"))]))]), &format!("? {LONGEST}\n: a: 1\n"));
        is_written(&Map(vec![("a\nb", Seq(vec![Text("c")]))]), "? |-\n  a\n  b\n: - c\n");
    }
}
