//! The table of a bench: `what | ours | peer | ratio | bar | met`.

use std::fmt;

/// The unit of the figures in a row, and which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// More is better: a rate. The text is its name, such as `MB/s`.
    Rate(&'static str),
    /// Less is better: a time or a size. The text is its name, such as `ms`.
    Cost(&'static str),
}

/// The result of other software on the same input in the same run.
#[derive(Debug, Clone, PartialEq)]
pub enum Peer {
    /// No other software does the same; the bar is a figure of our own.
    None,
    /// There is a peer, but it could not be measured; that is never a success.
    Missing {
        /// The name of the peer.
        name: &'static str,
        /// The reason, and how to install it.
        reason: String,
    },
    /// The peer was measured.
    Measured {
        /// The name of the peer.
        name: &'static str,
        /// The figure in the unit of the row.
        figure: f64,
    },
}

/// The bar of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// No bar: the row is there to be read with the others.
    None,
    /// A figure in the unit of the row: at least this rate, at most this cost.
    Figure(f64),
    /// This many times as good as the peer.
    TimesPeer(f64),
}

/// One measured item.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The subject of the measurement, and its input.
    pub what: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// Our figure.
    pub ours: f64,
    /// The peer's figure.
    pub peer: Peer,
    /// The bar for our figure.
    pub bar: Bar,
}

impl Row {
    /// Returns how many times as good as the peer we are.
    pub fn ratio(&self) -> Option<f64> {
        let Peer::Measured { figure, .. } = self.peer else {
            return None;
        };
        Some(match self.unit {
            Unit::Rate(_) => self.ours / figure,
            Unit::Cost(_) => figure / self.ours,
        })
    }

    /// Reports whether the bar was met. A figure that is no number meets none, nor does a row whose
    /// peer is missing.
    pub fn is_met(&self) -> bool {
        if matches!(self.peer, Peer::Missing { .. }) {
            return false;
        }
        match (self.bar, self.unit) {
            (Bar::None, _) => self.ours.is_finite(),
            (Bar::Figure(bar), Unit::Rate(_)) => self.ours >= bar,
            (Bar::Figure(bar), Unit::Cost(_)) => self.ours <= bar,
            (Bar::TimesPeer(bar), _) => self.ratio().is_some_and(|ratio| ratio >= bar),
        }
    }

    fn cells(&self) -> [String; 6] {
        let (name, relation) = match self.unit {
            Unit::Rate(name) => (name, "≥"),
            Unit::Cost(name) => (name, "≤"),
        };
        let peer = match &self.peer {
            Peer::None => "–".to_owned(),
            Peer::Missing { name, reason } => format!("{name} is missing: {reason}"),
            Peer::Measured { name: who, figure } => format!("{figure:.1} {name} ({who})"),
        };
        let bar = match self.bar {
            Bar::None => "–".to_owned(),
            Bar::Figure(bar) => format!("{relation} {bar} {name}"),
            Bar::TimesPeer(bar) => format!("≥ {bar} × peer"),
        };
        [
            self.what.clone(),
            format!("{:.1} {name}", self.ours),
            peer,
            self.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
            bar,
            match (self.is_met(), self.bar) {
                (true, Bar::None) => "–",
                (true, _) => "yes",
                (false, _) => "NO",
            }
            .to_owned(),
        ]
    }
}

/// The rows of a suite, in the order of measurement.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a measured row.
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Reports whether there are rows and each of them met its bar.
    pub fn is_met(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::is_met)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "ours", "peer", "ratio", "bar", "met"].map(str::to_owned);
        let mut lines = vec![head];
        lines.extend(self.rows.iter().map(Row::cells));
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
        for (number, line) in lines.iter().enumerate() {
            let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(formatter, "| {} |", cells.join(" | "))?;
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                writeln!(formatter, "| {} |", rule.join(" | "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: Unit, ours: f64, peer: Peer, bar: Bar) -> Row {
        Row { what: "parse".to_owned(), unit, ours, peer, bar }
    }

    fn measured(figure: f64) -> Peer {
        Peer::Measured { name: "peer", figure }
    }

    #[test]
    fn a_ratio_above_one_always_means_that_ours_is_better() {
        let rate = row(Unit::Rate("MB/s"), 40.0, measured(20.0), Bar::TimesPeer(1.0));
        let cost = row(Unit::Cost("ms"), 5.0, measured(10.0), Bar::TimesPeer(1.0));
        assert_eq!((rate.ratio(), cost.ratio()), (Some(2.0), Some(2.0)));
        assert!(rate.is_met() && cost.is_met());
    }

    #[test]
    fn a_figure_bar_follows_the_direction_of_the_unit() {
        let bar = Bar::Figure(10.0);
        assert!(row(Unit::Cost("s"), 9.9, Peer::None, bar).is_met());
        assert!(!row(Unit::Cost("s"), 10.1, Peer::None, bar).is_met());
        assert!(row(Unit::Rate("records/s"), 10.1, Peer::None, bar).is_met());
        assert!(!row(Unit::Rate("records/s"), 9.9, Peer::None, bar).is_met());
    }

    #[test]
    fn a_missing_peer_is_never_met_even_if_the_figure_is() {
        let peer = Peer::Missing { name: "helm", reason: "not installed".to_owned() };
        assert!(!row(Unit::Rate("MB/s"), 99.0, peer, Bar::Figure(1.0)).is_met());
    }

    #[test]
    fn a_row_without_a_bar_is_shown_so_and_still_needs_its_peer() {
        let alone = row(Unit::Cost("ms"), 3.0, Peer::None, Bar::None);
        assert!(alone.is_met());
        assert_eq!(alone.cells()[4..], ["–", "–"]);
        let peer = Peer::Missing { name: "helm", reason: "not installed".to_owned() };
        let lonely = row(Unit::Cost("ms"), 3.0, peer, Bar::None);
        assert_eq!(lonely.cells()[5], "NO");
    }

    #[test]
    fn a_bar_against_no_peer_and_a_figure_that_is_no_number_are_missed() {
        assert!(!row(Unit::Rate("MB/s"), 99.0, Peer::None, Bar::TimesPeer(1.0)).is_met());
        assert!(!row(Unit::Cost("s"), f64::NAN, Peer::None, Bar::Figure(1.0)).is_met());
    }

    #[test]
    fn the_table_shows_every_column_and_an_empty_one_is_not_met() {
        let mut table = Table::default();
        assert!(!table.is_met());
        table.add(row(Unit::Rate("MB/s"), 40.0, measured(20.0), Bar::TimesPeer(1.5)));
        table.add(row(Unit::Cost("s"), 12.0, Peer::None, Bar::Figure(10.0)));
        let expected = "\
| what  | ours      | peer             | ratio | bar          | met |
| ----- | --------- | ---------------- | ----- | ------------ | --- |
| parse | 40.0 MB/s | 20.0 MB/s (peer) | 2.00  | ≥ 1.5 × peer | yes |
| parse | 12.0 s    | –                | –     | ≤ 10 s       | NO  |
";
        assert_eq!(table.to_string(), expected);
        assert!(!table.is_met());
    }
}
