//! How kustomize takes a text of resources apart before it reads it: at lines that begin with
//! `---`. Of what lies between two of them it reads the first document, and loses what YAML would
//! take for more of them: here that is refused.

use std::borrow::Cow;

use setpoint_yaml::{Class, Diagnostic, Diagnostics, Source};

const SEPARATOR: &str = "\n---";

/// A text and where it is taken apart.
pub(crate) struct Parts<'t> {
    /// As it can be read: nothing stands behind a separator. It is as long as the text.
    pub(crate) text: Cow<'t, str>,
    separators: Vec<usize>,
}

impl<'t> Parts<'t> {
    pub(crate) fn of(name: &str, text: &'t str) -> Result<Self, Diagnostics> {
        check_directives(name, text)?;
        let mut parts = Self { text: text.into(), separators: Vec::new() };
        let mut from = 0;
        while let Some(found) = text[from..].find(SEPARATOR) {
            let start = from + found + 1;
            let behind = start + SEPARATOR.len() - 1;
            // What is at the end of the text, without a line break, is no separator but part of the
            // last document.
            let Some(length) = text[behind..].find('\n') else { break };
            let end = behind + length;
            parts.separate(name, start, behind..end)?;
            // Its line break is taken: a separator right behind it is none, and begins a document.
            from = end + 1;
        }
        Ok(parts)
    }

    fn separate(&mut self, name: &str, start: usize, rest: std::ops::Range<usize>) -> Result<(), Diagnostics> {
        let comment = self.text[rest.clone()].trim();
        if !comment.is_empty() && !comment.starts_with('#') {
            let place = Source::new(name, &self.text).place(start, rest.end);
            let problem = format!("invalid document separator: ---{comment}");
            let help = "write what stands behind the dashes on a line of its own";
            return Err(Diagnostic::new(Class::Syntax, place, problem).with_help(help).into());
        }
        // Without a blank before it, YAML takes a comment for the rest of a word.
        if self.text[rest.clone()].starts_with('#') {
            let blank = " ".repeat(rest.len());
            self.text.to_mut().replace_range(rest, &blank);
        }
        self.separators.push(start);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.separators.len() + 1
    }

    /// The number of the part that something at an offset is in.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.separators.partition_point(|separator| *separator < offset)
    }
}

/// A directive would stand in a document without a start.
fn check_directives(name: &str, text: &str) -> Result<(), Diagnostics> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.starts_with('%') && !text.contains("\n%") {
        return Ok(());
    }
    let mut is_before_content = true;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end().len();
        if is_before_content && line.starts_with('%') {
            let place = Source::new(name, text).place(start, end);
            let problem = "did not find expected <document start> behind a directive".to_owned();
            return Err(Diagnostic::new(Class::Syntax, place, problem).with_help("remove the directive").into());
        }
        is_before_content = match line.trim_start() {
            "" => is_before_content,
            trimmed if trimmed.starts_with('#') => is_before_content,
            _ => line.starts_with("---") || line.starts_with("..."),
        };
        start += line.len();
    }
    Ok(())
}
