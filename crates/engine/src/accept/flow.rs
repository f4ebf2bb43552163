//! Writes values as text that reads back: one line of YAML, all but printable ASCII escaped.
//! Accepted documents are read again by the same strict reader that read the files.

use std::fmt::Write;

use setpoint_core::value::Value;

pub(super) fn text_of(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

/// Recursion is bounded by the depth limit under which the value was read.
fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Num(number) => text.push_str(&number.to_string()),
        Value::Str(content) => write_quoted(content, text),
        Value::Seq(items) => {
            text.push('[');
            for item in items {
                write_value(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Map(map) => {
            text.push('{');
            for (key, item) in map.iter() {
                write_quoted(key, text);
                text.push_str(": ");
                write_value(item, text);
                text.push(',');
            }
            text.push('}');
        }
        // No control document contains one: documents are read from text, which has neither.
        Value::Secret(_) | Value::Deferred(_) => text.push_str("null"),
    }
}

fn write_quoted(content: &str, text: &mut String) {
    text.push('"');
    for c in content.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            ' '..='~' => text.push(c),
            c => write!(text, "\\U{:08x}", u32::from(c)).expect("writing to a String does not fail"),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use setpoint_documents::read_value;
    use setpoint_yaml::{Dialect, Source, parse};

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::int),
            (any::<i32>(), -9..9i32).prop_map(|(n, e)| Value::Num(format!("{n}e{e}").parse().unwrap())),
            any::<String>().prop_map(|text| Value::str(&text)),
            prop::sample::select(vec!["", "null", "~", "<<", "no", "1", "a: b", "# x", "\u{7f}\u{85}\u{feff}"])
                .prop_map(Value::str),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Seq),
                prop::collection::btree_map("\\PC{0,6}", inner, 0..4).prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_survives_its_text(value in values()) {
            let text = text_of(&value);
            let trees = parse(Source::new("value", &text)).map_err(|found| TestCaseError::fail(found.to_string()))?;
            prop_assert_eq!(read_value(trees[0].root(), Dialect::Yaml12), Ok(value));
        }
    }
}
