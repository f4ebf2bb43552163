//! Canonical JSON: one value, one sequence of bytes. What is hashed is what was written here, and nothing is ever
//! written a second time to check a hash.
//!
//! The form is RFC 8785 (keys sorted by UTF-16 code units, no whitespace, minimal escapes) restricted to integers
//! that every JSON reader holds exactly: a verifier in another language must not round our numbers.

use serde_json::{Map, Number, Value};

/// Integers beyond this are rounded by readers that keep numbers as doubles.
const LARGEST_EXACT: u64 = (1 << 53) - 1;
/// Deeper data is a mistake or an attack on the reader's stack.
const DEEPEST: usize = 64;

/// A value that has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    #[error("`{number}` is not an integer within ±(2^53 - 1): write it as text")]
    Number { number: String },
    #[error("the data is nested deeper than {DEEPEST} levels: flatten it or keep it in the body")]
    TooDeep,
}

/// The canonical bytes of `value`.
pub fn to_bytes(value: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut out = Vec::with_capacity(256);
    write_value(&mut out, value, 0)?;
    Ok(out)
}

fn write_value(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), NotCanonical> {
    if depth > DEEPEST {
        return Err(NotCanonical::TooDeep);
    }
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_integer(out, number)?,
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(out, item, depth + 1)?;
            }
            out.push(b']');
        }
        Value::Object(fields) => write_object(out, fields, depth)?,
    }
    Ok(())
}

fn write_object(out: &mut Vec<u8>, fields: &Map<String, Value>, depth: usize) -> Result<(), NotCanonical> {
    // Sorted here although serde_json's map usually is: another crate of the build may turn on `preserve_order`.
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    out.push(b'{');
    for (i, (name, value)) in sorted.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_text(out, name);
        out.push(b':');
        write_value(out, value, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_integer(out: &mut Vec<u8>, number: &Number) -> Result<(), NotCanonical> {
    let exact = match (number.as_u64(), number.as_i64()) {
        (Some(n), _) => n <= LARGEST_EXACT,
        (None, Some(n)) => n.unsigned_abs() <= LARGEST_EXACT,
        (None, None) => false,
    };
    if !exact {
        return Err(NotCanonical::Number { number: number.to_string() });
    }
    out.extend_from_slice(number.to_string().as_bytes());
    Ok(())
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    // serde_json escapes exactly what RFC 8785 asks for: quote, backslash and control characters.
    serde_json::to_writer(out, text).expect("writing text to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(value: &Value) -> String {
        String::from_utf8(to_bytes(value).unwrap()).unwrap()
    }

    #[test]
    fn keys_are_sorted_by_utf16_code_units_as_in_rfc_8785() {
        // The example of RFC 8785 §3.2.3: the emoji (a surrogate pair) sorts before U+FB33.
        let value = json!({ "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7 });
        assert_eq!(
            text(&value),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn strings_are_escaped_minimally() {
        assert_eq!(text(&json!("\u{20ac}$\u{f}\nA'B\"\\/")), "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\/\"");
    }

    #[test]
    fn numbers_that_some_reader_would_round_are_refused() {
        for value in [json!(1.5), json!(9_007_199_254_740_992_u64), json!(-9_007_199_254_740_992_i64), json!(1e3)] {
            assert!(matches!(to_bytes(&value), Err(NotCanonical::Number { .. })), "{value}");
        }
        assert_eq!(text(&json!([9_007_199_254_740_991_u64, -1, 0])), "[9007199254740991,-1,0]");
    }

    #[test]
    fn data_nested_too_deep_is_refused() {
        let deep = (0..100).fold(json!(0), |inner, _| json!([inner]));
        assert_eq!(to_bytes(&deep), Err(NotCanonical::TooDeep));
    }
}
