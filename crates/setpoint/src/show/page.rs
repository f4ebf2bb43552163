//! The output of a command: lines, fields and tables, one after the other.

use super::Screen;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::wrap::{width, wrap};

/// The column in which the values of fields begin.
const FIELD: usize = 14;

/// A page under construction.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(super) screen: &'a Screen,
    text: String,
}

impl<'a> Page<'a> {
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self { screen, text: String::new() }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Writes the first line of a part, with an empty line before it.
    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(0, Painted::new(text, Paint::Strong));
    }

    /// Writes a text, and wraps it under its own beginning.
    pub(crate) fn line(&mut self, indent: usize, text: impl Into<Painted>) {
        self.hang("", indent, &text.into());
    }

    /// Writes `name          value`, with the value wrapped under itself.
    pub(crate) fn field(&mut self, name: &str, value: impl Into<Painted>) {
        let name = format!("{name:FIELD$}");
        self.hang(&name, width(&name), &value.into());
    }

    pub(crate) fn table<const COLUMNS: usize>(&mut self, indent: usize, table: &Table<COLUMNS>) {
        self.text.push_str(&table.render(indent, self.screen));
    }

    /// Writes `first` and then the text, with further lines of the text aligned under its first.
    fn hang(&mut self, first: &str, indent: usize, value: &Painted) {
        let limit = self.screen.width.map(|columns| columns.saturating_sub(indent).max(20));
        for (number, part) in wrap(&value.text, limit).iter().enumerate() {
            let before = if number == 0 { Paint::Faint.on(first, self.screen.colour) } else { String::new() };
            let missing = if number == 0 { indent - width(first) } else { indent };
            let shown = value.paint.on(part, self.screen.colour);
            let line = format!("{before}{}{shown}", " ".repeat(missing));
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::time::Timestamp;

    use super::*;

    #[test]
    fn parts_are_set_apart_and_values_hang_under_themselves() {
        let screen = Screen { width: Some(40), colour: false, rows: None, now: Timestamp::default() };
        let mut page = Page::new(&screen);
        page.heading("web/shop");
        page.field("hold", "history was rewritten, a person decides");
        page.heading("Report");
        page.line(2, "nothing");
        let expected = "\
web/shop
hold          history was rewritten, a
              person decides

Report
  nothing
";
        assert_eq!(page.into_text(), expected);
    }
}
