//! Durations such as `30s` and `1h30m`, with bounds that are part of the field's type.

use setpoint_core::time::Span;
use setpoint_yaml::{Class, Node, Scalar, visible_text};

use crate::declaration::{Field, Shape};
use crate::reader::Reader;

/// A duration of at least `LEAST` and at most `MOST` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration<const LEAST: u64, const MOST: u64>(Span);

/// The seconds of a minute, as a bound.
pub const MINUTE: u64 = 60;
pub(crate) const HOUR: u64 = 60 * MINUTE;
/// The seconds of a day, as a bound.
pub const DAY: u64 = 24 * HOUR;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl<const LEAST: u64, const MOST: u64> Duration<LEAST, MOST> {
    /// Makes the default of a declaration.
    pub const fn seconds(seconds: u64) -> Self {
        assert!(LEAST <= seconds && seconds <= MOST, "a default is within its bounds");
        Self(Span::seconds(seconds))
    }

    /// Returns the length.
    pub fn span(self) -> Span {
        self.0
    }
}

impl<const LEAST: u64, const MOST: u64> Field for Duration<LEAST, MOST> {
    fn shape() -> Shape {
        Shape::Scalar(format!("duration, {} to {}", show(LEAST * 1_000), show(MOST * 1_000)))
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let bounds = format!("expected {} to {}", show(LEAST * 1_000), show(MOST * 1_000));
        let Scalar::Str(text) = reader.scalar(node, "a duration")? else {
            let message = format!("`{}` is not a duration", visible_text(node.source_text()));
            return reader.report(
                Class::Type,
                node,
                message,
                format!("write a number and a unit, as in `30s`; {bounds}"),
            );
        };
        match parse(text) {
            Some(millis) if (LEAST * 1_000..=MOST * 1_000).contains(&millis) => Some(Self(Span::millis(millis))),
            Some(_) => reader.report(Class::Value, node, format!("`{}` is out of range", visible_text(text)), bounds),
            None => {
                let help =
                    format!("write a number and a unit (`ms`, `s`, `m`, `h`, `d`), as in `30s` or `1h30m`; {bounds}");
                reader.report(Class::Value, node, format!("`{}` is not a duration", visible_text(text)), help)
            }
        }
    }

    fn show(&self) -> String {
        show(self.0.as_millis())
    }
}

/// Parses a duration outside of documents, such as a command-line argument. Returns `None` if the
/// text is not a duration.
pub fn read_span(text: &str) -> Option<Span> {
    parse(text).map(Span::millis)
}

/// Returns the duration in milliseconds; `None` if the text is not a duration or the number
/// overflows.
fn parse(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at(letters);
        let (_, millis) = UNITS.iter().find(|(known, _)| *known == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*millis)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// Formats the duration in the largest unit that divides it.
fn show(millis: u64) -> String {
    let (unit, size) =
        UNITS.iter().rev().find(|(_, size)| millis >= *size && millis.is_multiple_of(*size)).unwrap_or(&UNITS[0]);
    format!("{}{unit}", millis / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        for (text, millis) in [("30s", 30_000), ("1h30m", 5_400_000), ("250ms", 250), ("2d", 172_800_000), ("0s", 0)] {
            assert_eq!(parse(text), Some(millis), "{text}");
        }
        for text in ["", "30", "s", "-5s", "1.5h", "1ns", "banana", "30 s", "99999999999999999999s", "300000000000d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_formatted_in_their_largest_unit() {
        for (millis, text) in
            [(30_000, "30s"), (90_000, "90s"), (600_000, "10m"), (86_400_000, "1d"), (250, "250ms"), (0, "0ms")]
        {
            assert_eq!(show(millis), text);
        }
    }
}
