//! Times for people: how long ago, and the exact instant.

use askama::Template;
use askama::filters::HtmlSafe;
use setpoint_core::time::{Span, Timestamp};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// An instant relative to now. The script keeps its text current.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    source = r#"<time datetime="{{ machine }}" title="{{ exact }}" data-at="{{ at }}">{{ relative }}</time>"#,
    ext = "html"
)]
pub(crate) struct Moment {
    at: u64,
    machine: String,
    exact: String,
    relative: String,
}

impl HtmlSafe for Moment {}

impl Moment {
    pub(crate) fn new(at: Timestamp, now: Timestamp) -> Self {
        let exact = absolute(at);
        Self { at: at.as_millis(), machine: exact.replace(' ', "T"), exact, relative: relative(at, now) }
    }

    pub(crate) fn exact(&self) -> &str {
        &self.exact
    }
}

fn civil(at: Timestamp) -> Option<jiff::Timestamp> {
    i64::try_from(at.as_millis()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
}

/// Returns `2026-11-15 11:47:14Z`: UTC, so that two people and a ledger mean the same instant.
pub(crate) fn absolute(at: Timestamp) -> String {
    // A time after the year 9999 is shown as a number.
    civil(at).map_or_else(|| format!("{} ms", at.as_millis()), |at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// Returns `2026-11-15`, the UTC day of an instant.
pub(crate) fn day(at: Timestamp) -> String {
    civil(at).map_or_else(String::new, |at| at.strftime("%Y-%m-%d").to_string())
}

/// Returns `Sunday, 15 November 2026`.
pub(crate) fn day_in_words(at: Timestamp) -> String {
    civil(at).map_or_else(String::new, |at| at.strftime("%A, %-d %B %Y").to_string())
}

/// Returns `11:47`, the UTC time of day.
pub(crate) fn clock(at: Timestamp) -> String {
    civil(at).map_or_else(String::new, |at| at.strftime("%H:%M").to_string())
}

/// Returns `3 min ago`, or `in 2 h`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        return format!("in {}", length(at.since(now)));
    }
    match now.since(at) {
        ago if ago < Span::seconds(1) => "just now".to_owned(),
        ago => format!("{} ago", length(ago)),
    }
}

/// Returns `in 2 h (2026-11-15 14:00Z)` for an end that is to come; `now` if it has come and its
/// effect has not.
pub(crate) fn end(at: Timestamp, now: Timestamp) -> String {
    if at > now { format!("{} ({})", relative(at, now), absolute(at)) } else { "now".to_owned() }
}

/// Returns the largest unit that fits, and the next smaller one unless it is zero.
pub(crate) fn length(span: Span) -> String {
    let seconds = span.as_millis() / 1_000;
    let two = |large: u64, size: u64, name: &str, small: u64, rest: &str| {
        let small = if small == 0 { String::new() } else { format!(" {small} {rest}") };
        format!("{} {name}{small}", large / size)
    };
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        s if s < MINUTE => format!("{s} s"),
        s if s < HOUR => format!("{} min", s / MINUTE),
        s if s < DAY => two(s, HOUR, "h", s % HOUR / MINUTE, "min"),
        s => two(s, DAY, "d", s % DAY / HOUR, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_794_744_000_000);

    #[test]
    fn a_time_is_relative_and_has_its_exact_instant() {
        let html = Moment::new(NOON - Span::minutes(3), NOON).to_string();
        let expected = "<time datetime=\"2026-11-15T11:57:00Z\" title=\"2026-11-15 11:57:00Z\" \
                        data-at=\"1794743820000\">3 min ago</time>";
        assert_eq!(html, expected);
        assert_eq!(relative(NOON, NOON), "just now");
        assert_eq!(end(NOON + Span::hours(2), NOON), "in 2 h (2026-11-15 14:00:00Z)");
        assert_eq!(end(NOON - Span::seconds(17), NOON), "now");
    }

    #[test]
    fn lengths_have_at_most_two_units() {
        for (span, text) in [
            (Span::millis(38), "38 ms"),
            (Span::seconds(119), "1 min"),
            (Span::minutes(61), "1 h 1 min"),
            (Span::hours(24), "1 d"),
            (Span::hours(51), "2 d 3 h"),
        ] {
            assert_eq!(length(span), text);
        }
    }

    #[test]
    fn a_time_beyond_all_calendars_is_still_shown() {
        assert_eq!(absolute(Timestamp::from_millis(u64::MAX)), format!("{} ms", u64::MAX));
    }
}
