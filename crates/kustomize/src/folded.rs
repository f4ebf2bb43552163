//! Folded strings (`>`). Kustomize writes a resource once in its original style and parses it again
//! before it writes the output. Go's library does not write all folded strings so that they read
//! back equal; the text that is read back counts.

use std::borrow::Cow;

use crate::node::{Content, Node, Style, Tag};

/// Returns a folded string as Go's library writes and reads it back.
pub(crate) fn refolded(text: &str) -> Cow<'_, str> {
    let body = text.trim_start_matches('\n');
    if body.is_empty() || text.ends_with(' ') || text.contains(" \n") || text.contains(is_special) {
        // Quoted, or nothing to fold.
        return text.into();
    }
    let lines: Vec<(&str, usize)> = lines(body).collect();
    // Go's library should check the next line here, but checks the first one.
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

/// Changes all folded strings of a node as Go's library does when it writes and reads them.
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

/// Reports whether Go's library quotes a text with this character. It does so for all characters
/// that it considers not printable, such as emoji.
fn is_special(c: char) -> bool {
    !matches!(c, '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// Returns the lines of a text that starts with one, each with the number of line breaks after it.
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
