//! Tables with aligned columns.

use super::Screen;
use super::paint::{Paint, Painted};
use super::wrap::{width, wrap};

/// The space between two columns.
const GAP: usize = 2;

/// The least width of a column on a narrow terminal.
const NARROWEST: usize = 10;

/// Rows under headings. Each column is as wide as its content; on a terminal the widest columns
/// shrink, and their text is wrapped.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    headings: [&'static str; COLUMNS],
    rows: Vec<[Painted; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(headings: [&'static str; COLUMNS]) -> Self {
        Self { headings, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: [Painted; COLUMNS]) {
        self.rows.push(cells);
    }

    /// Returns the table as lines, each indented by this many columns.
    pub(super) fn render(&self, indent: usize, screen: &Screen) -> String {
        let headings = self.headings.map(|heading| Painted::new(heading, Paint::Strong));
        let widths = self.widths(indent, screen);
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            render_row(row, &widths, indent, screen, &mut text);
        }
        text
    }

    fn widths(&self, indent: usize, screen: &Screen) -> [usize; COLUMNS] {
        let mut widths = self.widest(str::lines);
        let Some(columns) = screen.width else { return widths };
        let words = self.widest(str::split_whitespace);
        let room = columns.saturating_sub(indent + GAP * COLUMNS.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            // Sentences shrink first; words are broken only where that is not enough. Of equally
            // wide columns the last one shrinks, because names come first.
            let widest = |least: &dyn Fn(usize) -> usize| {
                (0..COLUMNS).filter(|column| widths[*column] > least(*column)).max_by_key(|column| widths[*column])
            };
            match widest(&|column| words[column]).or_else(|| widest(&|_| NARROWEST)) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
        widths
    }

    /// Returns the width of the widest part of each column, headings included.
    fn widest<'a, Parts: Iterator<Item = &'a str>>(&'a self, parts: impl Fn(&'a str) -> Parts) -> [usize; COLUMNS] {
        let mut widest = self.headings.map(width);
        for row in &self.rows {
            for (widest, cell) in widest.iter_mut().zip(row) {
                *widest = parts(&cell.text).map(width).fold(*widest, usize::max);
            }
        }
        widest
    }
}

fn render_row(cells: &[Painted], widths: &[usize], indent: usize, screen: &Screen, text: &mut String) {
    let wrapped: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(cell, limit)| wrap(&cell.text, screen.width.map(|_| *limit))).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut shown = String::new();
        // Spaces are written only before the next text, so that no line ends in one.
        let mut owed = indent;
        for ((part, cell), limit) in wrapped.iter().zip(cells).zip(widths) {
            let part = part.get(line).map_or("", String::as_str);
            if !part.is_empty() {
                shown.push_str(&" ".repeat(owed));
                shown.push_str(&cell.paint.on(part, screen.colour));
                owed = 0;
            }
            owed += limit.saturating_sub(width(part)) + GAP;
        }
        text.push_str(&shown);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::time::Timestamp;

    use super::*;

    fn table() -> Table<3> {
        let mut table = Table::new(["APP", "STATE", "NOTE"]);
        table.row([
            "web/shop".into(),
            Painted::new("held", Paint::Warn),
            "history was rewritten: name the right one".into(),
        ]);
        table.row(["default/etc".into(), Painted::new("converged", Paint::Good), "".into()]);
        table
    }

    fn screen(width: Option<usize>, colour: bool) -> Screen {
        Screen { width, colour, rows: None, now: Timestamp::default() }
    }

    #[test]
    fn in_a_pipe_columns_are_aligned_and_nothing_is_broken() {
        let expected = "\
APP          STATE      NOTE
web/shop     held       history was rewritten: name the right one
default/etc  converged
";
        assert_eq!(table().render(0, &screen(None, false)), expected);
    }

    #[test]
    fn on_a_narrow_terminal_the_widest_column_is_wrapped() {
        let expected = "  APP          STATE      NOTE
  web/shop     held       history was
                          rewritten: name
                          the right one
  default/etc  converged
";
        let shown = table().render(2, &screen(Some(44), false));
        assert_eq!(shown, expected);
        assert!(shown.lines().all(|line| width(line) <= 44), "{shown}");
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let coloured = table().render(0, &screen(None, true));
        let third = coloured.lines().nth(2).expect("three lines");
        assert_eq!(third, "default/etc  \u{1b}[32mconverged\u{1b}[0m");
    }

    #[test]
    fn a_terminal_too_narrow_for_anything_still_gets_the_whole_text() {
        let shown = table().render(0, &screen(Some(5), false));
        for word in ["web/shop", "rewritten:", "converged"] {
            assert!(shown.contains(word), "{shown}");
        }
    }
}
