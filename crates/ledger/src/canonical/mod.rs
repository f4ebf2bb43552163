//! Canonical JSON: each value has exactly one sequence of bytes. The bytes written here are the
//! bytes that are hashed, and nothing is written a second time to check a hash.
//!
//! The form is RFC 8785 (keys sorted by UTF-16 code units, no whitespace, minimal escapes)
//! restricted to integers that every JSON reader holds exactly: a verifier in another language must
//! not round our numbers.

mod nested;
mod writer;

use serde::Serialize;

/// The largest integer that readers with doubles hold exactly. They round larger ones.
const LARGEST_EXACT: u64 = (1 << 53) - 1;
/// The deepest nesting. Deeper data is a mistake or an attack on the reader's stack.
const DEEPEST: usize = 64;

/// The reason why a value has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    #[error("`{number}` is not an integer within ±(2^53 - 1): write it as text")]
    Number { number: String },
    #[error("the data is nested deeper than {DEEPEST} levels: flatten it or keep it in the body")]
    TooDeep,
    #[error("`{name}` is not text: only text can name a member")]
    Name { name: String },
    #[error("`{name}` is a duplicate name: remove one of the two")]
    Twice { name: String },
    /// The value's own serialisation reports an error.
    #[error("it cannot be written: {problem}")]
    Refused { problem: String },
}

/// Returns the canonical bytes of `value`.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, NotCanonical> {
    let mut out = writer::Output { bytes: Vec::with_capacity(512), ..Default::default() };
    value.serialize(writer::Writer::new(&mut out))?;
    Ok(out.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

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
    #[test]
    fn data_is_refused_from_the_level_on_that_is_too_deep() {
        let nested = |levels| (0..levels).fold(json!([]), |inner, _| json!({ "inner": inner }));
        assert!(to_bytes(&nested(DEEPEST)).is_ok());
        assert_eq!(to_bytes(&nested(DEEPEST + 1)), Err(NotCanonical::TooDeep));
    }

    #[derive(Serialize)]
    struct Point {
        y: i32,
        x: Option<u8>,
    }

    #[derive(Serialize)]
    enum Shape {
        Empty,
        Named(&'static str),
        Pair(u8, char),
        Spot { z: bool, a: Point },
    }

    #[test]
    fn types_have_the_form_that_serde_json_gives_them_with_sorted_names() {
        let point = || Point { y: -2, x: None };
        let shapes = [Shape::Empty, Shape::Named("ä"), Shape::Pair(1, 'c'), Shape::Spot { z: true, a: point() }];
        let map = BTreeMap::from([("b", 1), ("a", 2)]);
        let all = (shapes, map, ((), [1_u16]), Some("text"));
        let text = String::from_utf8(to_bytes(&all).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"[["Empty",{"Named":"ä"},{"Pair":[1,"c"]},{"Spot":{"a":{"x":null,"y":-2},"z":true}}],{"a":2,"b":1},[null,[1]],"text"]"#
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), serde_json::to_value(all).unwrap());
    }

    #[test]
    fn a_name_that_is_no_text_or_is_there_twice_is_refused() {
        assert!(matches!(to_bytes(&BTreeMap::from([(1, 1)])), Err(NotCanonical::Name { .. })));
        #[derive(Serialize)]
        struct Twice {
            a: u8,
            #[serde(flatten)]
            more: BTreeMap<&'static str, u8>,
        }
        let twice = Twice { a: 1, more: BTreeMap::from([("a", 2)]) };
        assert_eq!(to_bytes(&twice), Err(NotCanonical::Twice { name: "a".to_owned() }));
    }
}
