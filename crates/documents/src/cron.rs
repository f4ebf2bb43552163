//! Cron expressions for the start times of windows, validated when they are read.

use setpoint_yaml::{Class, Node, visible_text};

use crate::declaration::{Field, Shape};
use crate::reader::Reader;

/// A cron expression: `minute hour day-of-month month day-of-week`, such as `0 18 * * 5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron(String);

const FIELDS: [(&str, u32, u32); 5] =
    [("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 7)];

impl Cron {
    /// Returns the expression, which has five valid fields.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for Cron {
    fn shape() -> Shape {
        Shape::Scalar("cron expression".to_owned())
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let text = reader.text(node)?;
        match problem_of(text) {
            None => Some(Self(text.to_owned())),
            Some(problem) => {
                reader.report(Class::Value, node, format!("`{}` is not a cron expression", visible_text(text)), problem)
            }
        }
    }

    fn show(&self) -> String {
        format!("\"{}\"", self.0)
    }
}

fn problem_of(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Some(format!("expected 5 fields (minute, hour, day, month, weekday), got {}", parts.len()));
    }
    let checked = parts.iter().zip(FIELDS);
    checked
        .filter(|(part, (_, least, most))| !part.split(',').all(|item| is_item(item, *least, *most)))
        .map(problem)
        .next()
}

fn problem((part, (name, least, most)): (&&str, (&str, u32, u32))) -> String {
    format!(
        "invalid {name} `{}`; expected `*`, or numbers from {least} to {most} as in `1,3`, `1-5` or `*/2`",
        visible_text(part)
    )
}

/// Reports whether an item is `*`, `n` or `n-m`, each with or without `/step`.
fn is_item(item: &str, least: u32, most: u32) -> bool {
    let number = |text: &str| {
        text.parse::<u32>().ok().filter(|n| (least..=most).contains(n) && text.bytes().all(|b| b.is_ascii_digit()))
    };
    let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
    let steps = step.is_none_or(|step| step.parse::<u32>().is_ok_and(|step| (1..=most).contains(&step)));
    let ranges = match range.split_once('-') {
        _ if range == "*" => true,
        Some((from, to)) => number(from).zip(number(to)).is_some_and(|(from, to)| from <= to),
        None => number(range).is_some(),
    };
    steps && ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_fields_in_range_are_a_cron_expression() {
        for text in ["0 18 * * 5", "*/15 0-6,22 1 1-12/2 7", "59 23 31 12 0"] {
            assert_eq!(problem_of(text), None, "{text}");
        }
        for text in [
            "",
            "0 18 * *",
            "60 0 * * *",
            "0 24 * * *",
            "0 0 0 * *",
            "0 0 * * mon",
            "5-1 0 * * *",
            "*/0 0 * * *",
            "+1 0 * * *",
        ] {
            assert!(problem_of(text).is_some(), "{text}");
        }
    }
}
