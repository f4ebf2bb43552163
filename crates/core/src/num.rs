//! Exact numbers. A number is its mathematical value: `1`, `1.0` and `1e0` are one number, and none
//! passes through a float.

use std::fmt;
use std::str::FromStr;

/// An exact decimal number in normal form, so that equal values have equal bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Num(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// Every integer that fits.
    Int(i128),
    /// `±0.digits × 10^exponent`: no leading or trailing zeros in `digits`.
    Decimal { negative: bool, digits: Box<str>, exponent: i32 },
}

/// An error for text that is not a number we can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a number: {problem}")]
pub struct BadNum {
    pub text: String,
    pub problem: &'static str,
}

/// The largest exponent. A larger one is a mistake or an attack, and printing such a number in
/// plain notation would be a bomb.
const LARGEST_EXPONENT: i32 = 1_000;
const MOST_DIGITS: usize = 1_000;

impl Num {
    pub fn as_i128(&self) -> Option<i128> {
        match self.0 {
            Repr::Int(n) => Some(n),
            Repr::Decimal { .. } => None,
        }
    }

    /// Builds the normal form of `±0.digits × 10^exponent`.
    fn normal(negative: bool, digits: &str, exponent: i32) -> Self {
        let without_leading = digits.trim_start_matches('0');
        let exponent = exponent - i32::try_from(digits.len() - without_leading.len()).unwrap_or(i32::MAX);
        let digits = without_leading.trim_end_matches('0');
        if digits.is_empty() {
            return Self(Repr::Int(0));
        }
        Self::integer(negative, digits, exponent)
            .unwrap_or_else(|| Self(Repr::Decimal { negative, digits: digits.into(), exponent }))
    }

    fn integer(negative: bool, digits: &str, exponent: i32) -> Option<Self> {
        let places = usize::try_from(exponent).ok().filter(|&places| places >= digits.len() && places <= 39)?;
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{digits:0<places$}");
        text.parse().ok().map(|n| Self(Repr::Int(n)))
    }
}

impl From<i64> for Num {
    fn from(n: i64) -> Self {
        Self(Repr::Int(n.into()))
    }
}

impl From<u64> for Num {
    fn from(n: u64) -> Self {
        Self(Repr::Int(n.into()))
    }
}

impl From<i128> for Num {
    fn from(n: i128) -> Self {
        Self(Repr::Int(n))
    }
}

impl FromStr for Num {
    type Err = BadNum;

    /// Reads a JSON number (a leading `+` and leading zeros are allowed too).
    fn from_str(text: &str) -> Result<Self, BadNum> {
        let bad = |problem| BadNum { text: text.chars().take(60).collect(), problem };
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| bad("its exponent is not a small integer"))?)
            }
            None => (rest, 0),
        };
        if exponent.abs() > LARGEST_EXPONENT {
            return Err(bad("its exponent is beyond ±1000"));
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad("expected decimal digits"));
        }
        if digits.len() > MOST_DIGITS {
            return Err(bad("it has more than 1000 digits"));
        }
        let places = i32::try_from(whole.len()).expect("at most 1000 digits");
        Ok(Self::normal(negative, &digits, exponent + places))
    }
}

impl fmt::Display for Num {
    /// Writes a JSON number that reads back as the same value: plain where that is short,
    /// scientific otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(n) => write!(f, "{n}"),
            Repr::Decimal { negative, digits, exponent } => {
                let sign = if *negative { "-" } else { "" };
                match usize::try_from(*exponent) {
                    Ok(0) => write!(f, "{sign}0.{digits}"),
                    Ok(places) if places < digits.len() => {
                        write!(f, "{sign}{}.{}", &digits[..places], &digits[places..])
                    }
                    _ => {
                        let (first, rest) = digits.split_at(1);
                        let point = if rest.is_empty() { "" } else { "." };
                        write!(f, "{sign}{first}{point}{rest}e{}", exponent - 1)
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn num(text: &str) -> Num {
        text.parse().unwrap()
    }

    #[test]
    fn equal_values_are_equal_numbers() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0.1", "1e-1"),
            ("-0", "0"),
            ("0.0000", "0"),
            ("120e-1", "12"),
            ("9007199254740993", "9007199254740993.0"),
        ] {
            assert_eq!(num(a), num(b), "{a} {b}");
        }
        assert_ne!(num("9007199254740993"), num("9007199254740992"), "a float would not tell these apart");
        assert_ne!(num("0.1"), num("0.10000000000000001"));
    }

    #[test]
    fn numbers_print_as_json() {
        for (text, printed) in [
            ("1e3", "1000"),
            ("0.5", "0.5"),
            ("-12.50", "-12.5"),
            ("1e-7", "1e-7"),
            ("123e-9", "1.23e-7"),
            ("1e40", "1e40"),
            ("170141183460469231731687303715884105728", "1.70141183460469231731687303715884105728e38"),
        ] {
            assert_eq!(num(text).to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", "-", ".", "e1", "1e", "1e99999", "1e999999999999", "0x10", "1_000", "١", "NaN", &"1".repeat(1001)]
        {
            assert!(text.parse::<Num>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_survives_its_text_form(mantissa in any::<i64>(), exponent in -60i32..60) {
            let n = num(&format!("{mantissa}e{exponent}"));
            prop_assert_eq!(num(&n.to_string()), n);
        }

        #[test]
        fn text_never_panics(text in "[-+0-9.eE]{0,12}") {
            let _ = text.parse::<Num>();
        }
    }
}
