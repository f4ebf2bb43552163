//! Splits a text of resources as kustomize does before it parses it: at lines that begin with
//! `---`. Kustomize parses only the first YAML document between two such lines and loses any
//! others; this module rejects such a text.

use std::borrow::Cow;

use setpoint_yaml::{Class, Diagnostic, Diagnostics, Source};

const SEPARATOR: &str = "\n---";

/// A text and the places where it is split.
pub(crate) struct Parts<'t> {
    /// The text to parse: the rest of each separator line is blank. It has the length of the
    /// original.
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
            // A separator at the end of the text, without a line break, is part of the last
            // document.
            let Some(length) = text[behind..].find('\n') else { break };
            let end = behind + length;
            parts.separate(name, start, behind..end)?;
            // Its line break is consumed: a separator right after it is not recognised and begins a
            // document.
            from = end + 1;
        }
        Ok(parts)
    }

    fn separate(&mut self, name: &str, start: usize, rest: std::ops::Range<usize>) -> Result<(), Diagnostics> {
        let comment = self.text[rest.clone()].trim();
        if !comment.is_empty() && !comment.starts_with('#') {
            let place = Source::new(name, &self.text).place(start, rest.end);
            let problem = format!("invalid document separator: ---{comment}");
            let help = "write the text after the dashes on a line of its own";
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

    /// Returns the number of the part at an offset.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.separators.partition_point(|separator| *separator < offset)
    }
}

/// Rejects a directive, which would be in a document without a start.
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
            let problem = "did not find expected <document start> after a directive".to_owned();
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
