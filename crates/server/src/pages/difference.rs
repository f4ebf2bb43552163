//! Differences of values: short values as two lines, texts of several lines as a unified diff.
//!
//! Secrets never get here in plain text: `setpoint_core::diff` replaces them by keyed digests.

use askama::Template;
use askama::filters::HtmlSafe;
use setpoint_core::diff::Difference;
use setpoint_core::value::Value;
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

use super::words;

/// The most lines of one difference.
const MOST_LINES: usize = 60;

/// The number of equal lines around a change.
const CONTEXT: usize = 3;

/// The number of characters at which a line is cut.
const LONGEST: usize = 400;

/// A difference as it is shown: the path, and marked lines.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/difference.html")]
pub(crate) struct Change {
    path: String,
    lines: Vec<Line>,
    /// The number of lines that are left out.
    more: usize,
}

impl HtmlSafe for Change {}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    class: &'static str,
    sign: &'static str,
    /// The meaning of the sign, for readers that do not see it.
    spoken: &'static str,
    text: String,
}

impl Line {
    fn removed(text: &str) -> Self {
        Self { class: "del", sign: "−", spoken: "before: ", text: cut(text) }
    }

    fn added(text: &str) -> Self {
        Self { class: "add", sign: "+", spoken: "after: ", text: cut(text) }
    }

    fn equal(text: &str) -> Self {
        Self { class: "eq", sign: " ", spoken: "", text: cut(text) }
    }

    fn note(text: &str) -> Self {
        Self { class: "note", sign: " ", spoken: "", text: text.to_owned() }
    }
}

impl Change {
    pub(crate) fn of(difference: &Difference) -> Self {
        let Difference { path, before, after } = difference;
        let mut lines = match (text_of(before.as_ref()), text_of(after.as_ref())) {
            _ if path.0.is_empty() && after.is_none() => vec![Line::note("the object does not exist")],
            (Some(old), Some(new)) if has_lines(old) || has_lines(new) => unified(old, new),
            _ => [
                before.as_ref().map(|value| Line::removed(&shown(value))),
                after.as_ref().map(|value| Line::added(&shown(value))),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        Self { path: path.to_string(), lines, more }
    }

    /// Builds the row of an undeclared field, of which only the path is known.
    pub(crate) fn undeclared(path: &str) -> Self {
        let lines = vec![Line::note("not declared; Setpoint does not change it")];
        Self { path: path.to_owned(), lines, more: 0 }
    }
}

fn cut(text: &str) -> String {
    let text = text.strip_suffix('\n').unwrap_or(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} more characters)", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

/// Returns a value on one line.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Num(number) => number.to_string(),
        Value::Str(text) => format!("{text:?}"),
        Value::Seq(items) => format!("[{}]", words::counted(items.len(), "item")),
        Value::Map(fields) => format!("{{{}}}", words::counted(fields.len(), "field")),
        Value::Secret(secret) => secret.digest.to_string(),
        Value::Deferred(deferred) => format!("(from {} {})", deferred.resource, deferred.path),
    }
}

/// Returns a text; an absent one has no lines. `None` for other values.
fn text_of(value: Option<&Value>) -> Option<&str> {
    match value {
        None => Some(""),
        Some(Value::Str(text)) => Some(text),
        Some(_) => None,
    }
}

fn has_lines(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

fn unified(before: &str, after: &str) -> Vec<Line> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // The heuristics of this algorithm bound its work for texts that have little in common.
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut lines = Vec::new();
    for group in group_diff_ops(operations, CONTEXT) {
        let start = group.first().map_or(0, |operation| operation.old_range().start);
        lines.push(Line::note(&format!("@@ line {} @@", start + 1)));
        for operation in &group {
            if operation.tag() == DiffTag::Equal {
                lines.extend(old[operation.old_range()].iter().map(|line| Line::equal(line)));
            } else {
                lines.extend(old[operation.old_range()].iter().map(|line| Line::removed(line)));
                lines.extend(new[operation.new_range()].iter().map(|line| Line::added(line)));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use setpoint_core::value::{Path, Segment};

    use super::*;

    fn change(before: Option<Value>, after: Option<Value>) -> Change {
        Change::of(&Difference { path: Path(vec![Segment::Field("content".into())]), before, after })
    }

    fn lines(change: &Change) -> Vec<(&str, &str)> {
        change.lines.iter().map(|line| (line.sign, line.text.as_str())).collect()
    }

    #[test]
    fn a_short_value_is_shown_before_and_after() {
        let change = change(Some(Value::int(3)), Some(Value::str("4")));
        assert_eq!(lines(&change), [("−", "3"), ("+", "\"4\"")]);
    }

    #[test]
    fn a_text_of_several_lines_is_shown_as_a_unified_diff() {
        let before: String = (1..=300).map(|number| format!("line {number}\n")).collect();
        let after = before.replace("line 250\n", "changed\n");
        let change = change(Some(Value::str(&before)), Some(Value::str(&after)));
        let lines = lines(&change);
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[0], (" ", "@@ line 247 @@"));
        assert_eq!(lines[4..6], [("−", "line 250"), ("+", "changed")]);
    }

    #[test]
    fn long_texts_are_cut() {
        let text: String = (0..500).map(|number| format!("{number}\n")).collect();
        let change = change(None, Some(Value::str(&text)));
        assert_eq!((change.lines.len(), change.more), (MOST_LINES, 441));
        assert!(cut(&"ü".repeat(1_000)).ends_with("… (600 more characters)"));
    }
}
