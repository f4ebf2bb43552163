//! The output of a command: lines, fields and tables, one after the other.

use super::Screen;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::wrap::{pieces, width, wrap, wrap_words};

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

    /// Writes a line of a text as it is, after a mark. On a terminal it is broken where the line
    /// ends, not between words: its spaces are part of the text.
    pub(super) fn verbatim(&mut self, indent: usize, mark: char, text: &str, paint: Paint) {
        let parts = match self.screen.width {
            Some(columns) => pieces(text, columns.saturating_sub(indent + 1).max(20)),
            None => vec![text.to_owned()],
        };
        for (number, part) in parts.iter().enumerate() {
            let mark = if number == 0 { mark } else { ' ' };
            let shown = paint.on(&format!("{mark}{part}"), self.screen.colour);
            // Spaces at the end of a text may be its only difference.
            let shown = if part.is_empty() { shown.trim_end_matches(' ') } else { shown.as_str() };
            self.text.push_str(&format!("{}{shown}\n", " ".repeat(if shown.is_empty() { 0 } else { indent })));
        }
    }

    /// Writes `first` and then the text, with further lines of the text aligned under its first. A
    /// word that is too wide for its place, and not for the terminal, begins further to the left.
    fn hang(&mut self, first: &str, indent: usize, value: &Painted) {
        let colour = self.screen.colour;
        let limit = self.screen.width.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(20));
        let mut parts = match self.screen.width {
            Some(columns) => wrap_words(&value.text, limit, columns),
            None => wrap(&value.text, None),
        };
        if !first.is_empty() && parts.first().is_some_and(|part| width(part) > limit) {
            parts.insert(0, String::new());
        }
        for (number, part) in parts.iter().enumerate() {
            let before = if number == 0 { Paint::Faint.on(first, colour) } else { String::new() };
            let taken = if number == 0 { width(first) } else { 0 };
            let further_left = width(part).saturating_sub(limit);
            let space = " ".repeat(indent.saturating_sub(taken + further_left));
            let line = format!("{before}{space}{}", value.paint.on(part, colour));
            self.text.push_str(line.trim_end_matches(' '));
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

    #[test]
    fn a_name_that_fits_the_terminal_is_not_broken() {
        let screen = Screen { width: Some(40), colour: false, rows: None, now: Timestamp::default() };
        let mut page = Page::new(&screen);
        page.field("refused", "/var/lib/setpoint/token-of-the-shop: gone");
        page.line(2, "see /srv/shop/config/production/tokens.conf");
        let expected = "\
refused
    /var/lib/setpoint/token-of-the-shop:
              gone
  see
 /srv/shop/config/production/tokens.conf
";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn a_line_of_a_text_keeps_its_spaces() {
        let screen = Screen { width: Some(24), colour: false, rows: None, now: Timestamp::default() };
        let mut page = Page::new(&screen);
        page.verbatim(2, '+', "  key:  a value with two  spaces", Paint::Good);
        page.verbatim(2, ' ', "", Paint::Plain);
        assert_eq!(page.into_text(), "  +  key:  a value with \n   two  spaces\n\n");
    }
}
