//! Compares our output with the recorded output of `sigs.k8s.io/yaml`, our reference for writing
//! (`tests/baseline/record`): strings and keys that have to be quoted, broken or rejected, numbers,
//! and generated values.

use serde_json::Value as Json;
use setpoint_yaml::go::{Shape, Tree, write};

const VALUES: &str = include_str!("../baseline/values.txt");
const ANSWERS: &str = include_str!("../baseline/go-written.txt");

#[test]
fn values_are_written_as_go_writes_them() {
    assert_eq!(VALUES.lines().count(), ANSWERS.lines().count(), "record the answers again");
    let mut refused = 0;
    for (value, answer) in VALUES.lines().zip(ANSWERS.lines()) {
        let tree = Value::of(serde_json::from_str(value).expect("a case is JSON"));
        let mut out = String::new();
        match write(&tree, &mut out) {
            Ok(()) => {
                let expected: String =
                    serde_json::from_str(answer).unwrap_or_else(|_| panic!("{value} is refused: {answer}"));
                assert_eq!(out, expected, "of {value}");
            }
            Err(_) => {
                assert_eq!(answer, "error", "of {value}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "what cannot be written was tried: {refused}");
}

enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Seq(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    fn of(json: Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::Number(number.to_string()),
            Json::String(text) => Self::Text(text),
            Json::Array(items) => Self::Seq(items.into_iter().map(Self::of).collect()),
            Json::Object(entries) => {
                Self::Map(entries.into_iter().map(|(key, value)| (key, Self::of(value))).collect())
            }
        }
    }
}

impl Tree for Value {
    fn shape(&self) -> Shape<'_, Self> {
        match self {
            Self::Null => Shape::Null,
            Self::Bool(value) => Shape::Bool(*value),
            Self::Number(json) => Shape::Number(json.into()),
            Self::Text(text) => Shape::Text(text.into()),
            Self::Seq(items) => Shape::Seq(items.iter().collect()),
            Self::Map(entries) => Shape::Map(entries.iter().map(|(key, value)| (&**key, value)).collect()),
        }
    }
}
