//! Resolves scalars to values. The text alone is ambiguous: kubectl reads `on` as true and `0777`
//! as 511, YAML 1.2 reads a string and 777. Numbers keep their exact digits; none passes through a
//! float.

use std::borrow::Cow;

use crate::diagnostic::{Class, Diagnostic, Diagnostics, visible_text};
use crate::tree::{Kind, Node, Style, Tag};

/// The rules that give a plain scalar its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// kubectl, Helm, kustomize (sigs.k8s.io/yaml): YAML 1.1 booleans, Go's integer literals.
    GoYamlV2,
    /// go-yaml v3: as v2, but only `true` and `false` are booleans.
    GoYamlV3,
    /// The core schema of YAML 1.2.
    Yaml12,
}

/// A scalar as a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar<'d> {
    Null,
    Bool(bool),
    /// An integer as decimal digits, with `-` if negative, of any size.
    Int(Cow<'d, str>),
    /// Any other number, as a JSON number with the digits that were written.
    Float(Cow<'d, str>),
    /// `.inf`, `-.inf`, `.nan`: JSON has no such number.
    NonFinite(&'d str),
    /// Timestamps too: JSON has none.
    Str(&'d str),
}

impl Scalar<'_> {
    /// Returns the type with an article, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "a boolean",
            Scalar::Int(_) => "an integer",
            Scalar::Float(_) | Scalar::NonFinite(_) => "a number",
            Scalar::Str(_) => "a string",
        }
    }
}

impl<'d> Node<'d> {
    /// Returns the value of this scalar, or `None` if the node is a collection. It is an error if
    /// the tag contradicts the text.
    pub fn resolve(self, dialect: Dialect) -> Option<Result<Scalar<'d>, Diagnostics>> {
        let Kind::Scalar(text) = self.kind() else { return None };
        Some(match self.tag() {
            None if self.style() == Style::Plain => Ok(dialect.resolve(text)),
            None | Some(Tag::Str | Tag::NonSpecific | Tag::Merge) => Ok(Scalar::Str(text)),
            Some(tag) => self.resolve_as(tag, dialect.resolve(text)),
        })
    }

    fn resolve_as(self, tag: &Tag, scalar: Scalar<'d>) -> Result<Scalar<'d>, Diagnostics> {
        let expected = match (tag, scalar) {
            (Tag::Null, Scalar::Null) => return Ok(Scalar::Null),
            (Tag::Bool, scalar @ Scalar::Bool(_)) | (Tag::Int, scalar @ Scalar::Int(_)) => return Ok(scalar),
            (Tag::Float, Scalar::Int(digits)) => return Ok(Scalar::Float(digits)),
            (Tag::Float, scalar @ (Scalar::Float(_) | Scalar::NonFinite(_))) => return Ok(scalar),
            (Tag::Null, _) => "null",
            (Tag::Bool, _) => "a boolean",
            (Tag::Int, _) => "an integer",
            _ => "a number",
        };
        let message = format!("`{}` is not {expected}, but its tag says so", visible_text(self.source_text()));
        Err(Diagnostic::new(Class::Type, self.place(), message)
            .with_help("remove the tag, or correct the value")
            .into())
    }
}

impl Dialect {
    /// Returns the value of a plain scalar with this text.
    pub fn resolve(self, text: &str) -> Scalar<'_> {
        match text.as_bytes().first() {
            None => Scalar::Null,
            Some(b'0'..=b'9' | b'+' | b'-' | b'.') => self.number(text).unwrap_or(Scalar::Str(text)),
            Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'o' | b'O') => self.word(text),
            Some(_) => Scalar::Str(text),
        }
    }

    fn word(self, text: &str) -> Scalar<'_> {
        match text {
            "~" | "null" | "Null" | "NULL" => Scalar::Null,
            "true" | "True" | "TRUE" => Scalar::Bool(true),
            "false" | "False" | "FALSE" => Scalar::Bool(false),
            "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if self == Dialect::GoYamlV2 => Scalar::Bool(true),
            "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if self == Dialect::GoYamlV2 => Scalar::Bool(false),
            _ => Scalar::Str(text),
        }
    }

    fn number(self, text: &str) -> Option<Scalar<'_>> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
            return Some(Scalar::NonFinite(text));
        }
        if self != Dialect::Yaml12 && text.contains('_') {
            // Go's resolver removes every `_` before it reads a number that starts with a digit or
            // a sign. For one that starts with a point, Go's own rule applies: each `_` is between
            // two digits.
            if text.starts_with('.') && !separates_digits(text) {
                return None;
            }
            let plain = text.replace('_', "");
            let owned = self.integer(&plain).map(|digits| Scalar::Int(digits.into_owned().into()));
            return owned.or_else(|| float(&plain).map(|number| Scalar::Float(number.into_owned().into())));
        }
        self.integer(text).map(Scalar::Int).or_else(|| float(text).map(Scalar::Float))
    }

    /// Returns the decimal digits of an integer in any base of this dialect.
    fn integer(self, text: &str) -> Option<Cow<'_, str>> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (digits, radix) = match self {
            Dialect::Yaml12 if unsigned.len() == text.len() => yaml12_base(unsigned),
            Dialect::Yaml12 => (unsigned, 10),
            Dialect::GoYamlV2 | Dialect::GoYamlV3 => go_base(unsigned),
        };
        if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
            return self.signed_behind_base(text).map(Cow::from);
        }
        if radix == 10 {
            let is_none = self != Dialect::Yaml12 && (is_beyond_float(digits) || is_large_behind_plus(text));
            return (!is_none).then(|| plain_integer(text, digits, negative));
        }
        // As in Go, a number in these bases is no integer if it needs more than 64 bits or, with a
        // sign, if it does not fit `int64`.
        let value = u64::from_str_radix(digits, radix).ok()?;
        match (negative, unsigned.len() < text.len()) {
            (true, _) => 0_i64.checked_sub_unsigned(value).map(|value| value.to_string().into()),
            (false, true) => i64::try_from(value).ok().map(|value| value.to_string().into()),
            (false, false) => Some(value.to_string().into()),
        }
    }

    /// Retries without the prefix, as Go does for `0b` and v3 also for `0o`; the sign may then
    /// follow the prefix.
    fn signed_behind_base(self, text: &str) -> Option<String> {
        let (digits, radix) = match (text.strip_prefix("0b"), text.strip_prefix("0o")) {
            (Some(digits), _) if self != Dialect::Yaml12 => (digits, 2),
            (_, Some(digits)) if self == Dialect::GoYamlV3 => (digits, 8),
            _ => return None,
        };
        i64::from_str_radix(digits, radix).ok().map(|value| value.to_string())
    }
}

fn yaml12_base(text: &str) -> (&str, u32) {
    if let Some(digits) = text.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = text.strip_prefix("0o") {
        (digits, 8)
    } else {
        (text, 10)
    }
}

/// Returns the digits and the base as in `strconv.ParseInt(text, 0, 64)`.
fn go_base(text: &str) -> (&str, u32) {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'o' | b'O', ..] => (&text[2..], 8),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    }
}

/// Reports whether Go has no such integer because of its `+`: `strconv.ParseUint`, which reads the
/// upper half of 64 bits, accepts no sign.
fn is_large_behind_plus(text: &str) -> bool {
    text.starts_with('+') && text.parse::<i64>().is_err()
}

/// Reports whether decimal digits exceed the range of a float64. Go reads an integer of more than
/// 64 bits as a float, and beyond that range as a string.
fn is_beyond_float(digits: &str) -> bool {
    const SAFE: usize = 308;
    digits.len() > SAFE && digits.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// Reports whether each `_` is between two digits.
fn separates_digits(text: &str) -> bool {
    let is_digit = |part: Option<&u8>| part.is_some_and(u8::is_ascii_digit);
    let parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'_').collect();
    parts.windows(2).all(|pair| is_digit(pair[0].last()) && is_digit(pair[1].first()))
}

/// Returns decimal digits without `+` and leading zeros; borrowed if the text is already in this
/// form.
fn plain_integer<'t>(text: &'t str, digits: &'t str, negative: bool) -> Cow<'t, str> {
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return "0".into();
    }
    match (negative, significant.len() == digits.len()) {
        (false, _) => significant.into(),
        (true, true) => text.into(),
        (true, false) => format!("-{significant}").into(),
    }
}

/// Reads `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` as a JSON number.
fn float(text: &str) -> Option<Cow<'_, str>> {
    let sign = if text.starts_with('-') { "-" } else { "" };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent_digits = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let proper = is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent_digits.is_none_or(|digits| !digits.is_empty() && is_digits(digits));
    // Go reads a number beyond float64 as a string. Only this comparison uses a float, never the
    // value.
    if !proper || text.parse::<f64>().is_ok_and(f64::is_infinite) {
        return None;
    }
    Some(json_number(sign, whole, fraction, exponent).into())
}

fn json_number(sign: &str, whole: &str, fraction: &str, exponent: Option<&str>) -> String {
    let significant = whole.trim_start_matches('0');
    let whole = if significant.is_empty() { "0" } else { significant };
    let point = if fraction.is_empty() { "" } else { "." };
    let (e, exponent) = exponent.map_or(("", ""), |exponent| ("e", exponent));
    format!("{sign}{whole}{point}{fraction}{e}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn means(dialect: Dialect, text: &str, expected: &Scalar<'_>) {
        assert_eq!(&dialect.resolve(text), expected, "{text:?} in {dialect:?}");
    }

    #[test]
    fn only_go_yaml_v2_reads_the_booleans_of_yaml_1_1() {
        for text in ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"] {
            means(Dialect::GoYamlV2, text, &Scalar::Bool(true));
            means(Dialect::GoYamlV3, text, &Scalar::Str(text));
            means(Dialect::Yaml12, text, &Scalar::Str(text));
        }
        for text in ["n", "N", "no", "No", "NO", "off", "Off", "OFF"] {
            means(Dialect::GoYamlV2, text, &Scalar::Bool(false));
            means(Dialect::GoYamlV3, text, &Scalar::Str(text));
        }
        for text in ["yEs", "oN", "tRUE", "nULL", "none"] {
            means(Dialect::GoYamlV2, text, &Scalar::Str(text));
        }
    }

    #[test]
    fn go_reads_integers_in_its_own_bases() {
        let table = [
            ("0777", "511"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("-0x1f", "-31"),
            ("0b101", "5"),
            ("+12", "12"),
            ("1_000", "1000"),
            ("0x_ff", "255"),
            ("-0", "0"),
            ("18446744073709551616", "18446744073709551616"),
        ];
        for (text, digits) in table {
            means(Dialect::GoYamlV2, text, &Scalar::Int(digits.into()));
            means(Dialect::GoYamlV3, text, &Scalar::Int(digits.into()));
        }
        means(Dialect::GoYamlV2, "08", &Scalar::Float("8".into()));
        means(Dialect::GoYamlV2, "0x", &Scalar::Str("0x"));
    }

    #[test]
    fn yaml_1_2_reads_leading_zeros_as_decimal_and_underscores_as_text() {
        means(Dialect::Yaml12, "0777", &Scalar::Int("777".into()));
        means(Dialect::Yaml12, "0o17", &Scalar::Int("15".into()));
        means(Dialect::Yaml12, "0b1", &Scalar::Str("0b1"));
        means(Dialect::Yaml12, "1_000", &Scalar::Str("1_000"));
        means(Dialect::Yaml12, "-0x1f", &Scalar::Str("-0x1f"));
    }

    #[test]
    fn floats_keep_every_digit_as_a_json_number() {
        let table = [
            ("1e3", "1e3"),
            ("1.10", "1.10"),
            ("+.5", "0.5"),
            ("-.5e-2", "-0.5e-2"),
            ("1.", "1"),
            ("0.30000000000000000000000000004", "0.30000000000000000000000000004"),
            ("007.50", "7.50"),
        ];
        for (text, number) in table {
            means(Dialect::GoYamlV2, text, &Scalar::Float(number.into()));
            means(Dialect::Yaml12, text, &Scalar::Float(number.into()));
        }
    }

    #[test]
    fn what_only_looks_like_a_number_is_a_string() {
        for text in [
            "1.2.3",
            "-",
            "+",
            ".",
            "1e",
            "e5",
            "2001-01-01",
            "2026-11-15T10:00:00Z",
            "12:30:45",
            "1e999",
            "0x1.8p1",
            ".5_",
        ] {
            means(Dialect::GoYamlV2, text, &Scalar::Str(text));
        }
        means(Dialect::GoYamlV2, "-.inf", &Scalar::NonFinite("-.inf"));
        means(Dialect::GoYamlV2, ".nan", &Scalar::NonFinite(".nan"));
        means(Dialect::GoYamlV2, "", &Scalar::Null);
        means(Dialect::GoYamlV2, "~", &Scalar::Null);
    }
}
