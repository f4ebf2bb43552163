//! The recorded values that go-yaml gives to scalars without quotes (`tests/baseline/record`):
//! integers in every base and around the limits of 64 bits, floats, words, times, and scalars that
//! only resemble one of them.

use setpoint_yaml::go::{Timestamp, json_float};
use setpoint_yaml::{Dialect, Node, Scalar, Source, parse};

const ROWS: &str = include_str!("../baseline/scalars.txt");

/// A line of the record.
struct Row<'r> {
    text: &'r str,
    tag: &'r str,
    value: &'r str,
    /// The value of v3 where a boolean is expected.
    boolean: Option<bool>,
    /// The value of v2.
    in_v2: &'r str,
}

impl<'r> Row<'r> {
    fn of(line: &'r str) -> Self {
        let parts: Vec<&str> = line.split('\t').collect();
        let [text, tag, value, boolean, in_v2] = parts[..] else { panic!("{line:?} is no row") };
        let in_v2 = if in_v2 == "=" { value } else { in_v2 };
        Self { text, tag, value, boolean: boolean.parse().ok(), in_v2 }
    }

    /// Calls `ask` with the scalar as it was recorded: as the value of a key, without quotes.
    fn with<T>(&self, ask: impl Fn(Node<'_>) -> T) -> T {
        let text = format!("k: {}\n", self.text);
        let documents = parse(Source::new("row", &text)).unwrap_or_else(|found| panic!("{text:?}: {found}"));
        ask(documents[0].root().get("k").expect("the key was written"))
    }
}

/// Returns the tag and the value of a scalar in go-yaml v3.
fn in_v3(node: Node<'_>) -> (&'static str, String) {
    let scalar = node.resolve(Dialect::GoYamlV3).expect("it is a scalar").expect("it has no tag");
    match scalar {
        Scalar::Null => ("!!null", "null".to_owned()),
        Scalar::Bool(value) => ("!!bool", value.to_string()),
        Scalar::Int(digits) if is_of_64_bits(&digits) => ("!!int", digits.into_owned()),
        // Go has no such integer and makes it a float. We keep the digits; a caller that needs Go's
        // value makes the float.
        Scalar::Int(digits) | Scalar::Float(digits) => ("!!float", float(&digits)),
        Scalar::NonFinite(text) => ("!!float", non_finite(text)),
        Scalar::Str(text) if node.is_merge_key() => ("!!merge", json(text)),
        Scalar::Str(text) => match Timestamp::parse(text) {
            Some(time) => ("!!timestamp", time.json().map_or_else(|| format!("!{time}"), |text| json(&text))),
            None => ("!!str", json(text)),
        },
    }
}

/// Returns the value of a scalar in go-yaml v2, for which a time is a string.
fn in_v2(node: Node<'_>) -> String {
    let scalar = node.resolve(Dialect::GoYamlV2).expect("it is a scalar").expect("it has no tag");
    match scalar {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(digits) if is_of_64_bits(&digits) => digits.into_owned(),
        Scalar::Int(digits) | Scalar::Float(digits) => float(&digits),
        Scalar::NonFinite(text) => non_finite(text),
        Scalar::Str(text) => json(text),
    }
}

fn is_of_64_bits(digits: &str) -> bool {
    digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok()
}

fn float(digits: &str) -> String {
    digits.parse().ok().and_then(json_float).unwrap_or_else(|| format!("{digits} is too large"))
}

/// Formats a number as Go does.
fn non_finite(text: &str) -> String {
    match text.as_bytes() {
        [b'.', b'n' | b'N', ..] => "!NaN",
        [b'-', ..] => "!-Inf",
        _ => "!+Inf",
    }
    .to_owned()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

#[test]
fn scalars_mean_what_they_mean_in_go_yaml_v3() {
    for row in ROWS.lines().map(Row::of) {
        let (tag, value) = row.with(in_v3);
        assert_eq!((tag, &*value), (row.tag, row.value), "of {:?}", row.text);
    }
}

#[test]
fn scalars_mean_what_they_mean_in_go_yaml_v2() {
    for row in ROWS.lines().map(Row::of) {
        assert_eq!(row.with(in_v2), row.in_v2, "of {:?}", row.text);
    }
}

/// A field of a struct gives a word the same meaning in both.
#[test]
fn where_v3_is_asked_for_a_boolean_it_knows_those_of_v2() {
    for row in ROWS.lines().map(Row::of) {
        let boolean = match Dialect::GoYamlV2.resolve(row.text) {
            Scalar::Bool(value) => Some(value),
            _ => None,
        };
        assert_eq!(boolean, row.boolean, "of {:?}", row.text);
    }
}

#[test]
fn the_record_holds_scalars_of_every_tag() {
    let count = |tag: &str| ROWS.lines().map(Row::of).filter(|row| row.tag == tag).count();
    for (tag, least) in [
        ("!!null", 5),
        ("!!bool", 6),
        ("!!int", 250),
        ("!!float", 200),
        ("!!timestamp", 40),
        ("!!merge", 1),
        ("!!str", 500),
    ] {
        assert!(count(tag) >= least, "{} of {tag}", count(tag));
    }
    assert!(ROWS.lines().map(Row::of).filter(|row| row.boolean.is_some()).count() > 20, "booleans of both kinds");
}
