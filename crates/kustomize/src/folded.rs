//! Texts that are written as `>`. Kustomize writes a resource once in the style it was read in and
//! reads it again before it writes what one sees. Go's library does not write all folded texts so
//! that they read the same: what is read then is what counts.

use std::borrow::Cow;

use crate::node::{Content, Node, Style, Tag};

/// What becomes of a folded text when Go's library writes and reads it.
pub(crate) fn refolded(text: &str) -> Cow<'_, str> {
    let body = text.trim_start_matches('\n');
    if body.is_empty() || text.ends_with(' ') || text.contains(" \n") || text.contains(is_special) {
        // In quotes, or nothing to fold.
        return text.into();
    }
    let lines: Vec<(&str, usize)> = lines(body).collect();
    // The line that is looked at should be the next one; it is the first.
    let is_doubled = !is_indented(body);
    let mut result = text[..text.len() - body.len()].to_owned();
    for (at, (line, breaks)) in lines.iter().enumerate() {
        result.push_str(line);
        let written = breaks + usize::from(*breaks > 0 && is_doubled && !is_indented(line));
        let read = match lines.get(at + 1) {
            None if *breaks < 2 => *breaks,
            None => written,
            Some((next, _)) if is_indented(line) || is_indented(next) => written,
            Some(_) => written - 1,
        };
        match read {
            0 if at + 1 < lines.len() => result.push(' '),
            _ => result.extend(std::iter::repeat_n('\n', read)),
        }
    }
    if result == text { text.into() } else { result.into() }
}

/// Makes of all folded texts of a node what becomes of them when Go's library writes and reads it.
pub(crate) fn refold(node: &mut Node) {
    match &mut node.content {
        Content::Scalar(scalar) if node.style == Style::Folded && scalar.tag == Tag::Text => {
            scalar.text = refolded(&scalar.text).into();
            node.style = Style::Quoted;
        }
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(refold),
        Content::Map(map) => map.iter_mut().for_each(|(_, field)| refold(field)),
    }
}

/// Whether Go's library writes a text with this character in quotes: all that is not printable to
/// it, such as an emoji.
fn is_special(c: char) -> bool {
    !matches!(c, '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// The lines of a text that starts with one, each with how many breaks are behind it.
fn lines(body: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let line = rest.split('\n').next().filter(|_| !rest.is_empty())?;
        let behind = &rest[line.len()..];
        rest = behind.trim_start_matches('\n');
        Some((line, behind.len() - rest.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_texts_become_what_go_writes_and_reads() {
        // Recorded from kyaml's `RNode.MarshalJSON`.
        let changed = [
            ("a\n b", "a\n\n b"),
            ("a\n b\nc\n", "a\n\n b\nc\n"),
            ("a\n\n\n b\n\n", "a\n\n\n\n b\n\n"),
            ("a\n\tb", "a\n\n\tb"),
            ("a\n\n", "a\n\n\n"),
            (" a\nb\nc", " a\nb c"),
            ("\n a\nb\n\nc\n\n", "\n a\nb\nc\n\n"),
        ];
        for (text, wanted) in changed {
            assert_eq!(refolded(text), wanted, "{text:?}");
        }
        for same in [
            "",
            "a",
            "a\n",
            "a\nb\n\nc",
            "\na\nb",
            "\n\n",
            "a \n b",
            "a\n b ",
            " a\n b\n",
            "a b",
            "😀\n b",
            "a\n b\r\n",
        ] {
            assert_eq!(refolded(same), same);
        }
    }
}
