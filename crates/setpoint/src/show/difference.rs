//! Differences of values: short values on one line, texts of several lines as a unified diff.
//!
//! Secrets never get here in plain text: [`setpoint_core::diff`] replaces them by keyed digests.

use std::ops::Range;

use setpoint_core::diff::Difference;
use setpoint_core::value::Value;
use setpoint_yaml::visible_text;
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

use super::page::Page;
use super::paint::{Paint, Painted};
use super::words;

/// The most lines of one difference on pages that show more than differences. JSON output has the
/// values.
pub(super) const MOST_LINES: usize = 40;

/// The number of equal lines around a change.
const CONTEXT: usize = 3;

/// The number of characters at which a value on one line is cut.
const LONGEST: usize = 160;

/// The number of equal characters that are shown on both sides of a change in a long value.
const AROUND: usize = 40;

/// Writes a difference, with at most this many lines of a text.
pub(super) fn difference(difference: &Difference, indent: usize, most: Option<usize>, page: &mut Page<'_>) {
    let Difference { path, before, after } = difference;
    let texts = (text_of(before.as_ref()), text_of(after.as_ref()));
    match texts {
        _ if path.0.is_empty() && after.is_none() => page.line(indent, "it is not there"),
        (Some(old), Some(new)) if has_lines(old) || has_lines(new) => {
            let lines = unified(old, new);
            page.line(indent, format!("{path}: {}", counted(&lines)));
            write(&lines, indent + 2, most, page);
        }
        _ => page.line(indent, on_one_line(difference)),
    }
}

/// Writes the difference of texts of several lines as a part of a patch. Returns whether it is one.
pub(super) fn patch_of_texts(difference: &Difference, page: &mut Page<'_>) -> bool {
    let Difference { path, before, after } = difference;
    let (Some(old), Some(new)) = (text_of(before.as_ref()), text_of(after.as_ref())) else { return false };
    let is_long = has_lines(old) || has_lines(new);
    if is_long {
        page.line(0, Painted::new(format!("@@ {path} @@"), Paint::Faint));
        write(&unified(old, new), 0, None, page);
    }
    is_long
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

/// A line of a unified diff, without its mark.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// The places of the lines that follow, before and after.
    Hunk(Range<usize>, Range<usize>),
    Equal(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

fn unified<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // The heuristics of this algorithm bound its work for texts that have little in common.
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut lines = Vec::new();
    for group in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_lines = first.old_range().start..last.old_range().end;
        lines.push(Line::Hunk(old_lines, first.new_range().start..last.new_range().end));
        for operation in &group {
            if operation.tag() == DiffTag::Equal {
                lines.extend(old[operation.old_range()].iter().copied().map(Line::Equal));
            } else {
                lines.extend(old[operation.old_range()].iter().copied().map(Line::Removed));
                lines.extend(new[operation.new_range()].iter().copied().map(Line::Added));
            }
        }
    }
    lines
}

/// Returns `1 line removed, 2 lines added`.
fn counted(lines: &[Line<'_>]) -> String {
    let removed = lines.iter().filter(|line| matches!(line, Line::Removed(_))).count();
    let added = lines.iter().filter(|line| matches!(line, Line::Added(_))).count();
    let counts = [(removed, "removed"), (added, "added")].into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{} {what}", words::counted(count, "line"))).collect::<Vec<_>>().join(", ")
}

fn write(lines: &[Line<'_>], indent: usize, most: Option<usize>, page: &mut Page<'_>) {
    let shown = most.unwrap_or(usize::MAX);
    for line in lines.iter().take(shown) {
        match line {
            Line::Hunk(old, new) => {
                let text = format!("@@ -{} +{} @@", place(old), place(new));
                page.line(indent, Painted::new(text, Paint::Faint));
            }
            Line::Equal(text) => write_line(indent, ' ', text, Paint::Plain, page),
            Line::Removed(text) => write_line(indent, '-', text, Paint::Bad, page),
            Line::Added(text) => write_line(indent, '+', text, Paint::Good, page),
        }
    }
    if let Some(more) = lines.len().checked_sub(shown).filter(|more| *more > 0) {
        let text = format!("… {} more; `--output json` has both texts", words::counted(more, "line"));
        page.line(indent, Painted::new(text, Paint::Faint));
    }
}

fn write_line(indent: usize, mark: char, line: &str, paint: Paint, page: &mut Page<'_>) {
    let text = line.strip_suffix('\n').unwrap_or(line);
    // A tab steers no terminal, and a diff that replaced it would show two equal lines.
    let text = text.split('\t').map(visible_text).collect::<Vec<_>>().join("\t");
    page.verbatim(indent, mark, &text, paint);
    if !line.ends_with('\n') {
        page.verbatim(indent, '\\', " no newline at the end", Paint::Faint);
    }
}

/// Returns the place of some lines in the form of the tool `diff`, counted from 1.
fn place(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Returns a difference on one line. Long texts are cut where they are equal.
fn on_one_line(difference: &Difference) -> String {
    let Difference { path, before, after } = difference;
    let (before, after) = match (before, after) {
        (Some(Value::Str(before)), Some(Value::Str(after))) => {
            let equal = |pair: &(char, char)| pair.0 == pair.1;
            let start = before.chars().zip(after.chars()).take_while(equal).count();
            (Some(excerpt(before, start)), Some(excerpt(after, start)))
        }
        (before, after) => {
            let cut = |value: &Value| match value {
                Value::Str(text) => excerpt(text, 0),
                other => other.clone(),
            };
            (before.as_ref().map(cut), after.as_ref().map(cut))
        }
    };
    Difference { path: path.clone(), before, after }.to_string()
}

/// Returns the part of a long text around its first difference.
fn excerpt(text: &str, difference: usize) -> Value {
    let length = text.chars().count();
    if length <= LONGEST {
        return Value::str(text);
    }
    let left_out = difference.saturating_sub(AROUND).min(length - LONGEST);
    let shown: String = text.chars().skip(left_out).take(LONGEST).collect();
    let before = if left_out > 0 { format!("({left_out} more) …") } else { String::new() };
    let after = match length - left_out - LONGEST {
        0 => String::new(),
        more => format!("… ({more} more)"),
    };
    Value::str(&format!("{before}{shown}{after}"))
}

#[cfg(test)]
mod tests {
    use setpoint_core::diff::diff;
    use setpoint_core::digest::DigestKey;
    use setpoint_core::secret::SecretRef;
    use setpoint_core::time::Timestamp;
    use setpoint_core::value::{Path, Segment};

    use super::super::Screen;
    use super::*;

    fn page_of(before: Option<Value>, after: Option<Value>, screen: Screen, most: Option<usize>) -> String {
        let path = Path(vec![Segment::Field("content".into())]);
        let mut page = Page::new(&screen);
        difference(&Difference { path, before, after }, 2, most, &mut page);
        page.into_text()
    }

    fn shown(before: &str, after: &str) -> String {
        let screen = Screen { width: Some(60), colour: false, rows: None, now: Timestamp::default() };
        page_of(Some(Value::str(before)), Some(Value::str(after)), screen, Some(MOST_LINES))
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn a_change_far_down_in_a_text_is_shown_with_its_surroundings() {
        let before = numbered(300);
        let after = before.replace("line 250\n", "line 250, changed\n");
        let expected = "  content: 1 line removed, 1 line added
    @@ -247,7 +247,7 @@
     line 247
     line 248
     line 249
    -line 250
    +line 250, changed
     line 251
     line 252
     line 253
";
        assert_eq!(shown(&before, &after), expected);
    }

    #[test]
    fn colours_mark_what_is_removed_and_added() {
        let screen = Screen { width: None, colour: true, rows: None, now: Timestamp::default() };
        let text = |text| Some(Value::str(text));
        let shown = page_of(text("a\nb\n"), text("a\nc\n"), screen, None);
        for part in ["\u{1b}[31m-b\u{1b}[0m\n", "\u{1b}[32m+c\u{1b}[0m\n", "     a\n"] {
            assert!(shown.contains(part), "no {part:?} in {shown:?}");
        }
    }

    #[test]
    fn an_absent_text_and_a_missing_newline_are_shown() {
        let screen = Screen { width: None, colour: false, rows: None, now: Timestamp::default() };
        let created = page_of(None, Some(Value::str("a\nb")), screen, None);
        assert_eq!(
            created,
            "  content: 2 lines added\n    @@ -0,0 +1,2 @@\n    +a\n    +b\n    \\ no newline at the end\n"
        );
    }

    #[test]
    fn a_line_is_shown_with_its_spaces_and_steers_no_terminal() {
        let shown = shown("key:  1\n\tb\u{1b}[2J\n", "key:  1\n  b\r\n");
        assert!(shown.contains("     key:  1\n    -\tb\\u{1b}[2J\n    +  b\\u{d}\n"), "{shown:?}");
    }

    #[test]
    fn a_page_has_room_for_the_first_lines_and_a_plan_for_all() {
        let screen = Screen { width: None, colour: false, rows: None, now: Timestamp::default() };
        let all = numbered(100);
        let short = page_of(Some(Value::str(&all)), None, screen, Some(MOST_LINES));
        assert!(short.ends_with("-line 39\n    … 61 lines more; `--output json` has both texts\n"), "{short}");
        assert!(page_of(Some(Value::str(&all)), None, screen, None).ends_with("-line 100\n"));
    }

    #[test]
    fn a_long_line_is_cut_where_it_is_equal() {
        let line = |middle: &str| Some(Value::str(&format!("{}{middle}{}", "x".repeat(400), "y".repeat(200))));
        let path = Path(vec![Segment::Field("content".into())]);
        let difference = Difference { path, before: line("old"), after: line("new") };
        let side = |middle: &str| format!("\"(360 more) …{}{middle}{}… (83 more)\"", "x".repeat(40), "y".repeat(117));
        assert_eq!(on_one_line(&difference), format!("content: {} → {}", side("old"), side("new")));
        let short = Difference { before: Some(Value::str(&"x".repeat(LONGEST + 5))), after: None, ..difference };
        assert_eq!(on_one_line(&short), format!("content: \"{}… (5 more)\" → (absent)", "x".repeat(LONGEST)));
    }

    #[test]
    fn a_secret_stays_hidden_next_to_a_text_of_several_lines() {
        let digest = DigestKey::new([7; 32]).digest(b"other");
        let secret = Value::Secret(SecretRef { name: "key".into(), digest });
        let screen = Screen { width: None, colour: false, rows: None, now: Timestamp::default() };
        for (before, after) in [(Value::str("hunter\n2\n"), secret.clone()), (secret, Value::str("hunter\n2\n"))] {
            let mut page = Page::new(&screen);
            diff(&before, &after).iter().for_each(|each| difference(each, 2, None, &mut page));
            let shown = page.into_text();
            assert!(shown.contains("secret:") && !shown.contains("hunter"), "{shown}");
        }
    }
}
