//! The timestamps of go-yaml: a plain scalar of this form is not a string.

use std::fmt;

/// A day, in minutes.
const DAY: i32 = 24 * 60;

/// A time as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    /// East of Greenwich, in minutes.
    offset: i32,
}

impl Timestamp {
    /// Reads a date, or a date and a time after `T`, `t` or spaces. A zone is required after a
    /// letter and not allowed after spaces.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_year = bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
        if !is_year {
            return None;
        }
        let mut rest = Rest(&bytes[5..]);
        let year = text[..4].parse().ok()?;
        let month = rest.number().filter(|month| (1..=12).contains(month))?;
        rest.expect(b"-")?;
        let day = rest.number().filter(|day| (1..=days_in(month, year)).contains(day))?;
        let date = Self { year, month, day, hour: 0, minute: 0, second: 0, nanos: 0, offset: 0 };
        match rest.0.first() {
            None => Some(date),
            Some(b'T' | b't') => {
                rest.0 = &rest.0[1..];
                let time = date.with_time(&mut rest)?;
                let offset = rest.zone()?;
                rest.0.is_empty().then_some(Self { offset, ..time })
            }
            Some(b' ') => {
                let spaces = rest.0.iter().take_while(|byte| **byte == b' ').count();
                rest.0 = &rest.0[spaces..];
                let time = date.with_time(&mut rest)?;
                rest.0.is_empty().then_some(time)
            }
            Some(_) => None,
        }
    }

    /// Formats the time as Go does in JSON. Returns `None` for a zone a day or more from Greenwich:
    /// Go reads such a zone but cannot write it.
    pub fn json(&self) -> Option<String> {
        (self.offset.abs() < DAY).then(|| self.to_string())
    }

    fn with_time(self, rest: &mut Rest<'_>) -> Option<Self> {
        let hour = rest.number().filter(|hour| *hour < 24)?;
        rest.expect(b":")?;
        let minute = rest.number().filter(|minute| *minute < 60)?;
        rest.expect(b":")?;
        let second = rest.number().filter(|second| *second < 60)?;
        Some(Self { hour, minute, second, nanos: rest.fraction(), ..self })
    }
}

/// Formats the time by RFC 3339.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanos, offset } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if *nanos > 0 {
            let digits = format!("{nanos:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        match offset {
            0 => f.write_str("Z"),
            _ => {
                let sign = if *offset < 0 { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
            }
        }
    }
}

/// The unread rest of a text.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    /// Reads a number of one or two digits.
    fn number(&mut self) -> Option<u32> {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
        let first = self.0.first().and_then(digit)?;
        let (value, length) = match self.0.get(1).and_then(digit) {
            Some(second) => (first * 10 + second, 2),
            None => (first, 1),
        };
        self.0 = &self.0[length..];
        Some(value)
    }

    fn expect(&mut self, bytes: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(bytes)?;
        Some(())
    }

    /// Reads digits after a point or a comma; those beyond nanoseconds are ignored.
    fn fraction(&mut self) -> u32 {
        let ([b'.' | b',', digits @ ..], true) = (self.0, self.0.get(1).is_some_and(u8::is_ascii_digit)) else {
            return 0;
        };
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let nanos = (0..9).fold(0, |nanos, at| {
            let digit = if at < length { u32::from(digits[at] - b'0') } else { 0 };
            nanos * 10 + digit
        });
        self.0 = &digits[length..];
        nanos
    }

    /// Reads `Z`, or hours and minutes with two digits each. Like Go, accepts a day of 24 hours and
    /// an hour of 60 minutes.
    fn zone(&mut self) -> Option<i32> {
        if let Some(rest) = self.0.strip_prefix(b"Z") {
            self.0 = rest;
            return Some(0);
        }
        let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, rest @ ..] = self.0 else { return None };
        let two = |tens: &u8, ones: &u8| {
            let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
            digits.then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
        };
        let hours = two(h1, h2).filter(|hours| *hours <= 24)?;
        let minutes = two(m1, m2).filter(|minutes| *minutes <= 60)?;
        self.0 = rest;
        let offset = hours * 60 + minutes;
        Some(if *sign == b'-' { -offset } else { offset })
    }
}

fn days_in(month: u32, year: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_with_or_without_a_time_is_a_time() {
        for (text, written) in [
            ("2020-01-01", "2020-01-01T00:00:00Z"),
            ("2020-1-2", "2020-01-02T00:00:00Z"),
            ("2001-12-14T21:59:43.10-05:00", "2001-12-14T21:59:43.1-05:00"),
            ("2001-12-14t1:2:3Z", "2001-12-14T01:02:03Z"),
            ("2001-12-14 21:59:43", "2001-12-14T21:59:43Z"),
            ("2001-12-14   21:59:43.5", "2001-12-14T21:59:43.5Z"),
            ("2001-12-14T21:59:43,123456789123+00:00", "2001-12-14T21:59:43.123456789Z"),
            ("2000-02-29", "2000-02-29T00:00:00Z"),
            ("0000-01-01", "0000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::parse(text).map(|time| time.to_string()).as_deref(), Some(written), "{text}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "",
            "2020",
            "2020-",
            "2020-13-01",
            "2020-00-01",
            "1900-02-29",
            "2020-01-32",
            "20200-01-01",
            "2020-01-01 ",
            "2020-01-01T10:00:00",
            "2020-01-01T24:00:00Z",
            "2020-01-01 10:00:00Z",
            "2020-01-01T10:00:00+0100",
            "2020-01-01T10:00:00+25:00",
            "2020-01-01T10:00Z",
            "2020-01-01x",
            "2020-001-01",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
