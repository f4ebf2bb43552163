//! Formats numbers as Go does.

use std::borrow::Cow;

/// Formats a float as Go does in JSON: with an exponent only if it is very small or very large.
/// Returns `None` if JSON has no such number.
pub fn json_float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let Digits { negative, digits, exponent } = Digits::of(value);
    let sign = if negative { "-" } else { "" };
    let is_far = value != 0.0 && !(-6..21).contains(&exponent);
    Some(match is_far {
        true => format!("{sign}{}e{exponent:+}", pointed(&digits)),
        false => format!("{sign}{}", plain(&digits, exponent)),
    })
}

/// Formats a JSON number as `sigs.k8s.io/yaml` does: integers of 64 bits unchanged, everything else
/// as a float, with an exponent from a million on.
pub fn written_number(json: &str) -> Cow<'_, str> {
    match (json.parse::<i64>(), json.parse::<u64>()) {
        (Ok(0), _) => "0".into(),
        (Ok(_), _) | (_, Ok(_)) => json.into(),
        _ => json.parse::<f64>().map_or(json.into(), |value| general(value).into()),
    }
}

/// Formats a float as `%g` with the fewest digits that read back as the same float.
fn general(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-.inf" } else { ".inf" }.to_owned();
    }
    let Digits { negative, digits, exponent } = Digits::of(value);
    let sign = if negative { "-" } else { "" };
    match (-4..6).contains(&exponent) || value == 0.0 {
        true => format!("{sign}{}", plain(&digits, exponent)),
        false => {
            let direction = if exponent < 0 { '-' } else { '+' };
            format!("{sign}{}e{direction}{:02}", pointed(&digits), exponent.abs())
        }
    }
}

/// The fewest digits of a float, with a point after the first, times ten to the exponent.
struct Digits {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Digits {
    fn of(value: f64) -> Self {
        let written = format!("{:e}", value.abs());
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        Self {
            negative: value.is_sign_negative(),
            digits: mantissa.replace('.', ""),
            exponent: exponent.parse().unwrap_or_default(),
        }
    }
}

fn pointed(digits: &str) -> String {
    match digits.split_at(1) {
        (first, "") => first.to_owned(),
        (first, rest) => format!("{first}.{rest}"),
    }
}

/// Formats digits without an exponent.
fn plain(digits: &str, exponent: i32) -> String {
    let whole = usize::try_from(exponent + 1).unwrap_or_default();
    match whole {
        0 => format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        _ if whole >= digits.len() => format!("{digits}{}", "0".repeat(whole - digits.len())),
        _ => format!("{}.{}", &digits[..whole], &digits[whole..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_exponents_only_far_from_one() {
        for (value, written) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (1e6, "1000000"),
            (123_456_789.5, "123456789.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.25e-6, "0.00000125"),
            (1.25e-7, "1.25e-7"),
            (-1e300, "-1e+300"),
        ] {
            assert_eq!(json_float(value).as_deref(), Some(written));
        }
        assert_eq!(json_float(f64::NAN), None);
        assert_eq!(json_float(f64::INFINITY), None);
    }

    #[test]
    fn floats_have_exponents_from_a_million_on_and_integers_have_none() {
        for (json, written) in [
            ("0", "0"),
            ("-0", "0"),
            ("1000000", "1000000"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709552000", "1.8446744073709552e+19"),
            ("123456.5", "123456.5"),
            ("1234567.5", "1.2345675e+06"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e+21", "1e+21"),
            ("1.50", "1.5"),
            ("1e2", "100"),
        ] {
            assert_eq!(written_number(json), written, "{json}");
        }
    }
}
