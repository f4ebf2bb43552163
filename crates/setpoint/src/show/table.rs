//! Tables with aligned columns.

use super::Screen;
use super::paint::{Paint, Painted};
use super::wrap::{width, wrap, wrap_words};

/// The space between two columns.
const GAP: usize = 2;

/// The width below which no column of sentences shrinks while other columns can be left out.
const READABLE: usize = 24;

/// Rows under headings. Each column is as wide as its content.
///
/// On a terminal that is too narrow, these steps follow each other until the rows fit: columns of
/// sentences shrink and are wrapped, spare columns are left out, and the widest rows are written as
/// a few lines each. So a name is broken only if it is wider than the terminal.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    headings: [&'static str; COLUMNS],
    rows: Vec<[Painted; COLUMNS]>,
    /// Columns that are never wrapped: their spaces are part of a name.
    whole: [bool; COLUMNS],
    /// Columns that a narrow terminal can do without, the first one to be left out first.
    spare: Vec<usize>,
    /// Columns that no terminal shows: their cells are all the same.
    known: [bool; COLUMNS],
}

/// The columns that are shown, with their widths. A row that does not fit them is written as lines.
type Widths<const COLUMNS: usize> = [Option<usize>; COLUMNS];

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(headings: [&'static str; COLUMNS]) -> Self {
        Self { headings, rows: Vec::new(), whole: [false; COLUMNS], spare: Vec::new(), known: [false; COLUMNS] }
    }

    /// Names the columns that are never wrapped.
    pub(super) fn whole(mut self, headings: &[&str]) -> Self {
        self.whole = self.headings.map(|heading| headings.contains(&heading));
        self
    }

    /// Names the columns that a narrow terminal can do without, the first one to be left out first.
    pub(super) fn spare(mut self, headings: &[&str]) -> Self {
        let place = |wanted: &&str| self.headings.iter().position(|heading| heading == wanted);
        self.spare = headings.iter().filter_map(place).collect();
        self
    }

    /// Names the columns that a terminal does not show, because the reader asked for their value.
    pub(super) fn known(mut self, headings: &[&str]) -> Self {
        self.known = self.headings.map(|heading| headings.contains(&heading));
        self
    }

    pub(crate) fn row(&mut self, cells: [Painted; COLUMNS]) {
        self.rows.push(cells);
    }

    /// Returns the table as lines, each indented by this many columns.
    pub(super) fn render(&self, indent: usize, screen: &Screen) -> String {
        let headings = self.headings.map(|heading| Painted::new(heading, Paint::Strong));
        let widths = self.widths(indent, screen);
        let mut text = String::new();
        render_row(&headings, &widths, indent, screen, &mut text);
        for row in &self.rows {
            let least = self.least_of(row);
            if least.iter().zip(&widths).all(|(least, width)| width.is_none_or(|width| *least <= width)) {
                render_row(row, &widths, indent, screen, &mut text);
            } else {
                render_as_lines(row, &widths, indent, screen, &mut text);
            }
        }
        text
    }

    fn widths(&self, indent: usize, screen: &Screen) -> Widths<COLUMNS> {
        let mut rows: Vec<&[Painted; COLUMNS]> = self.rows.iter().collect();
        let Some(columns) = screen.width else { return self.natural(&rows).map(Some) };
        let room = columns.saturating_sub(indent);
        let readable = (0..=self.spare.len()).find_map(|left_out| self.fitted(&rows, left_out, room, READABLE));
        if let Some(widths) = readable {
            return widths;
        }
        loop {
            let left_out = self.spare.len();
            if let Some(widths) = self.fitted(&rows, left_out, room, 0) {
                return widths;
            }
            if rows.is_empty() {
                return self.headings.map(|heading| Some(width(heading)));
            }
            // Only the widest rows do not fit: the others keep their columns.
            let least = self.least(&rows);
            let of_shown = |column: &usize| if self.is_shown(*column, left_out) { least[*column] } else { 0 };
            let Some(widest) = (0..COLUMNS).max_by_key(of_shown) else { continue };
            rows.retain(|row| self.least_of(row)[widest] < least[widest]);
        }
    }

    /// Returns widths that fit, without the first `left_out` spare columns; `None` if names would
    /// be broken, or if sentences would get less than `readable` columns.
    fn fitted(
        &self,
        rows: &[&[Painted; COLUMNS]],
        left_out: usize,
        room: usize,
        readable: usize,
    ) -> Option<Widths<COLUMNS>> {
        let mut widths = self.natural(rows).map(|natural| natural.min(room));
        let floor = widest_of(self.least(rows), widths.map(|natural| natural.min(readable)));
        let shown: Vec<usize> = (0..COLUMNS).filter(|column| self.is_shown(*column, left_out)).collect();
        let room = room.checked_sub(GAP * shown.len().saturating_sub(1))?;
        while shown.iter().map(|column| widths[*column]).sum::<usize>() > room {
            // Of equally wide columns the last one shrinks, because names come first.
            let shrinking = shown.iter().filter(|column| widths[**column] > floor[**column]);
            widths[*shrinking.max_by_key(|column| widths[**column])?] -= 1;
        }
        let fits = |column: usize| shown.contains(&column) && floor[column] <= widths[column];
        let fitting = shown.iter().all(|column| fits(*column));
        fitting.then(|| std::array::from_fn(|column| shown.contains(&column).then_some(widths[column])))
    }

    fn is_shown(&self, column: usize, left_out: usize) -> bool {
        !self.known[column] && !self.spare[..left_out].contains(&column)
    }

    /// Returns the widths of the widest cells, headings included.
    fn natural(&self, rows: &[&[Painted; COLUMNS]]) -> [usize; COLUMNS] {
        let of_row = |row: &[Painted; COLUMNS]| std::array::from_fn(|column| widest_part(row[column].text.lines()));
        rows.iter().fold(self.headings.map(width), |widths, row| widest_of(widths, of_row(row)))
    }

    /// Returns the widths below which names would be broken, headings included.
    fn least(&self, rows: &[&[Painted; COLUMNS]]) -> [usize; COLUMNS] {
        rows.iter().fold(self.headings.map(width), |widths, row| widest_of(widths, self.least_of(row)))
    }

    fn least_of(&self, row: &[Painted; COLUMNS]) -> [usize; COLUMNS] {
        std::array::from_fn(|column| match self.whole[column] {
            true => widest_part(row[column].text.lines()),
            false => widest_part(row[column].text.split_whitespace()),
        })
    }
}

fn widest_part<'a>(parts: impl Iterator<Item = &'a str>) -> usize {
    parts.map(width).max().unwrap_or(0)
}

fn widest_of<const COLUMNS: usize>(one: [usize; COLUMNS], other: [usize; COLUMNS]) -> [usize; COLUMNS] {
    std::array::from_fn(|column| one[column].max(other[column]))
}

fn render_row<const COLUMNS: usize>(
    cells: &[Painted; COLUMNS],
    widths: &Widths<COLUMNS>,
    indent: usize,
    screen: &Screen,
    text: &mut String,
) {
    let shown = cells.iter().zip(widths).filter_map(|(cell, limit)| Some((cell, (*limit)?)));
    let wrapped: Vec<(&Painted, usize, Vec<String>)> =
        shown.map(|(cell, limit)| (cell, limit, wrap(&cell.text, screen.width.map(|_| limit)))).collect();
    let height = wrapped.iter().map(|(_, _, parts)| parts.len()).max().unwrap_or(0);
    for line in 0..height {
        let mut shown = String::new();
        // Spaces are written only before the next text, so that no line ends in one.
        let mut owed = indent;
        for (cell, limit, parts) in &wrapped {
            let part = parts.get(line).map_or("", String::as_str);
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

/// Writes the cells of a row one after the other, as many on a line as fit. Those before the cell
/// that is too wide are in their columns.
fn render_as_lines<const COLUMNS: usize>(
    cells: &[Painted; COLUMNS],
    widths: &Widths<COLUMNS>,
    indent: usize,
    screen: &Screen,
    text: &mut String,
) {
    let columns = screen.width.unwrap_or(usize::MAX);
    let (mut lines, mut taken, mut gap) = (0, 0, GAP);
    for (cell, column) in cells.iter().zip(widths).filter_map(|(cell, column)| Some((cell, (*column)?))) {
        let widest = width(&cell.text);
        if taken > 0 && taken + gap + widest <= columns {
            text.push_str(&format!("{}{}", " ".repeat(gap), cell.paint.on(&cell.text, screen.colour)));
            taken += gap + widest;
        } else if widest > 0 {
            text.push_str(if lines == 0 { "" } else { "\n" });
            let margin = if lines == 0 { indent } else { indent + GAP };
            let limit = columns.saturating_sub(margin).max(1);
            let parts = wrap_words(&cell.text, limit, limit);
            let shown =
                parts.iter().map(|part| format!("{}{}", " ".repeat(margin), cell.paint.on(part, screen.colour)));
            text.push_str(&shown.collect::<Vec<_>>().join("\n"));
            // Nothing follows on the last line of a wrapped text.
            taken = if parts.len() == 1 { margin + widest } else { columns };
            lines += 1;
        }
        gap = GAP + if lines == 1 { column.saturating_sub(widest) } else { 0 };
    }
    text.push('\n');
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
    fn a_spare_column_is_left_out_before_sentences_get_too_narrow() {
        let expected = "  APP          NOTE
  web/shop     history was rewritten: name
               the right one
  default/etc
";
        assert_eq!(table().spare(&["STATE"]).render(2, &screen(Some(44), false)), expected);
        assert!(table().spare(&["STATE"]).render(2, &screen(Some(54), false)).contains("STATE"));
    }

    #[test]
    fn a_row_that_is_too_wide_is_written_as_lines_and_breaks_no_name() {
        let mut table = table();
        let name = "production/shop-with-a-very-long-name-of-52-characters-x";
        table.row([name.into(), "held".into(), "history was rewritten: name the right one".into()]);
        let expected = "\
APP          STATE      NOTE
web/shop     held       history was rewritten: name the
                        right one
default/etc  converged
production/shop-with-a-very-long-name-of-52-characters-x
  held  history was rewritten: name the right one
";
        assert_eq!(table.render(0, &screen(Some(58), false)), expected);
    }

    #[test]
    fn a_whole_column_is_not_wrapped_at_its_spaces() {
        let mut table = Table::new(["KEY", "WHY"]).whole(&["KEY"]);
        table.row(["file /etc/shop.conf".into(), "the app is suspended".into()]);
        let expected = "\
KEY                  WHY
file /etc/shop.conf  the app is
                     suspended
";
        assert_eq!(table.render(0, &screen(Some(33), false)), expected);
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
        let shown: String = shown.split_whitespace().collect();
        for word in ["web/shop", "rewritten:", "converged"] {
            assert!(shown.contains(word), "{shown}");
        }
    }
}
