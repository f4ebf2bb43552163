//! YAML as people write it: one tree in many styles.

use super::dice::Dice;

/// A tree whose scalars are YAML source text, so that they can be anything, including invalid.
#[derive(Clone, Debug)]
pub(super) enum Yaml {
    Raw(String),
    /// Lines of text, written as a block scalar.
    Lines(String),
    Map(Vec<(String, Yaml)>),
    List(Vec<Yaml>),
}

pub(super) fn raw(text: impl Into<String>) -> Yaml {
    Yaml::Raw(text.into())
}

/// Returns a scalar that is read as this text.
pub(super) fn text(text: &str) -> Yaml {
    let is_plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-./_".contains(c))
        && text.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
        && !["yes", "no", "on", "off", "true", "false", "null", "y", "n"].contains(&text);
    raw(if is_plain { text.to_owned() } else { quoted(text) })
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string has a JSON form")
}

pub(super) fn map<const N: usize>(fields: [(&str, Yaml); N]) -> Yaml {
    Yaml::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

pub(super) fn list(items: impl IntoIterator<Item = Yaml>) -> Yaml {
    Yaml::List(items.into_iter().collect())
}

impl Yaml {
    /// Sets a field of a map; other nodes stay unchanged.
    pub(super) fn set(&mut self, name: &str, value: Yaml) {
        if let Self::Map(fields) = self {
            fields.retain(|(known, _)| known != name);
            fields.push((name.to_owned(), value));
        }
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Yaml> {
        match self {
            Self::Map(fields) => fields.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Writes the text of a document.
    pub(super) fn write(&self, dice: &mut Dice) -> String {
        let mut writer = Writer {
            out: String::new(),
            indents_lists: dice.percent(50),
            flow: dice.pick(&FLOW[..if dice.has_flow { 4 } else { 1 }]),
            dice,
        };
        writer.block(self, 0);
        let mut out = writer.out;
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out
    }

    fn is_simple(&self) -> bool {
        match self {
            Self::Raw(text) => !text.starts_with(['|', '>', '&', '*']) && !text.contains(['\n', '#']),
            Self::Lines(_) => false,
            Self::Map(fields) => fields.iter().all(|(_, value)| value.is_simple()),
            Self::List(items) => items.iter().all(Yaml::is_simple),
        }
    }
}

const FLOW: [usize; 4] = [0, 0, 5, 40];

/// Comments at the end of a line, and before the content below it.
const REMARKS: [&str; 2] = [" # why", " # below"];
const REMARK_LINES: &[&str] = &["# a remark\n", "# a remark\n\n", "# one\n# two\n", "#\n"];

/// Returns a text without the generated comments.
pub(super) fn without_remarks(text: &str) -> String {
    let is_remark =
        |line: &str| line.starts_with('#') && REMARK_LINES.iter().any(|lines| lines.lines().any(|known| known == line));
    let mut bare = String::new();
    for line in text.lines().filter(|line| !is_remark(line.trim())) {
        bare.push_str(REMARKS.iter().find_map(|remark| line.strip_suffix(remark)).unwrap_or(line));
        bare.push('\n');
    }
    bare
}

struct Writer<'d> {
    out: String,
    /// Lists are indented below their field.
    indents_lists: bool,
    /// The percentage of collections in flow style.
    flow: usize,
    dice: &'d mut Dice,
}

impl Writer<'_> {
    fn flow(&mut self, yaml: &Yaml) {
        match yaml {
            Yaml::Raw(text) if text.is_empty() => self.out.push_str("null"),
            Yaml::Raw(text) if text.contains([',', '[', ']', '{', '}']) && !text.starts_with(['"', '\'']) => {
                self.out.push_str(&quoted(text));
            }
            Yaml::Raw(text) | Yaml::Lines(text) => self.out.push_str(text),
            Yaml::Map(fields) => {
                self.out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    self.out.push_str(name);
                    self.out.push_str(": ");
                    self.flow(value);
                }
                self.out.push('}');
            }
            Yaml::List(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    self.flow(item);
                }
                self.out.push(']');
            }
        }
    }

    /// Writes a node on lines of its own, starting at a column.
    fn block(&mut self, yaml: &Yaml, column: usize) {
        match yaml {
            Yaml::Map(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    self.start(column);
                    self.out.push_str(name);
                    self.out.push(':');
                    let deeper = matches!(value, Yaml::Map(_)) || self.indents_lists;
                    self.after(value, if deeper { column + 2 } else { column });
                }
            }
            Yaml::List(items) if !items.is_empty() => {
                for item in items {
                    self.start(column);
                    self.out.push('-');
                    match item {
                        Yaml::Map(fields) if !fields.is_empty() && !self.dice.percent(self.flow) => {
                            self.out.push(' ');
                            self.block(item, column + 2);
                        }
                        item => self.after(item, column + 2),
                    }
                }
            }
            other => {
                self.start(column);
                self.flow(other);
                self.out.push('\n');
            }
        }
    }

    /// Moves to a column, unless the line is already there.
    fn start(&mut self, column: usize) {
        if self.out.is_empty() || self.out.ends_with('\n') {
            if self.dice.percent(1) {
                let spaces = self.dice.pick(&[0, column, column + 2]);
                self.out.push_str(&" ".repeat(spaces));
                self.out.push_str(self.dice.pick(REMARK_LINES));
            }
            self.out.push_str(&" ".repeat(column));
        }
    }

    /// Writes a node after a `:` or a `-`.
    fn after(&mut self, yaml: &Yaml, column: usize) {
        match yaml {
            Yaml::Lines(text) => self.lines(text, column),
            Yaml::Map(fields) if fields.is_empty() => self.out.push_str(" {}\n"),
            Yaml::List(items) if items.is_empty() => self.out.push_str(" []\n"),
            Yaml::Map(_) | Yaml::List(_) if !(yaml.is_simple() && self.dice.percent(self.flow)) => {
                self.out.push_str(if self.dice.percent(1) { REMARKS[1] } else { "" });
                self.out.push('\n');
                self.block(yaml, column);
            }
            other => {
                self.out.push(' ');
                self.flow_or_raw(other);
                self.out.push_str(if self.dice.percent(2) { REMARKS[0] } else { "" });
                self.out.push('\n');
            }
        }
    }

    fn flow_or_raw(&mut self, yaml: &Yaml) {
        match yaml {
            Yaml::Raw(text) => self.out.push_str(text),
            other => self.flow(other),
        }
    }

    fn lines(&mut self, text: &str, column: usize) {
        let ends = if text.ends_with('\n') { "" } else { "-" };
        // A folded scalar is a different text.
        self.out.push_str(if self.dice.percent(20) { " >" } else { " |" });
        self.out.push_str(if text.starts_with(' ') { "2" } else { "" });
        self.out.push_str(ends);
        self.out.push('\n');
        for line in text.lines() {
            if !line.is_empty() {
                self.out.push_str(&" ".repeat(column + 2));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }
}
