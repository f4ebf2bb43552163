//! Plain JSON to values and back. The reader is our own for three reasons: numbers must stay exact
//! (`9007199254740993`, `0.1`), a duplicate field must not be resolved silently, and nothing in a
//! live object may be read as one of our tagged forms.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::num::Num;
use setpoint_core::value::{Path, Segment, Value};

/// The maximum nesting. Deeper JSON is an attack on recursive readers: the server itself stops at
/// about this depth.
const DEEPEST: usize = 128;

/// The error for malformed JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "byte {offset} of the JSON is wrong: {problem}; check whether a proxy changes or truncates the responses of the API server"
)]
pub struct NotJson {
    pub problem: &'static str,
    pub offset: usize,
}

/// The error for a value that has no plain form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` holds {what}, which has no plain JSON form; open it before it is sent")]
pub struct NotPlain {
    pub path: Path,
    pub what: &'static str,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Value, NotJson> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| NotJson { problem: "it is not UTF-8", offset: error.valid_up_to() })?;
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.wrong("something follows the value"));
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, problem: &'static str) -> NotJson {
        NotJson { problem, offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: usize) -> Result<Value, NotJson> {
        if depth > DEEPEST {
            return Err(self.wrong("it is nested more than 128 deep"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.seq(depth),
            Some(b'"') => self.string().map(Value::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.wrong("no value begins like this")),
            None => Err(self.wrong("it ends too early")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, NotJson> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wrong("no value begins like this"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn map(&mut self, depth: usize) -> Result<Value, NotJson> {
        self.at += 1;
        let mut fields = BTreeMap::<Arc<str>, Value>::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Value::Map(fields.into()));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected the name of a field"));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.wrong("expected `:`"));
            }
            let value = self.value(depth + 1)?;
            if fields.insert(name, value).is_some() {
                return Err(self.wrong("a field comes twice"));
            }
            self.skip_space();
            if self.take(b'}') {
                return Ok(Value::Map(fields.into()));
            }
            if !self.take(b',') {
                return Err(self.wrong("expected `,` or `}`"));
            }
        }
    }

    fn seq(&mut self, depth: usize) -> Result<Value, NotJson> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Value::Seq(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::Seq(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("expected `,` or `]`"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Value, NotJson> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        let num = match text.parse::<i64>() {
            Ok(n) => Num::from(n),
            Err(_) => text.parse().map_err(|_| NotJson { problem: "the number is too large", offset: start })?,
        };
        Ok(Value::Num(num))
    }

    fn string(&mut self) -> Result<Arc<str>, NotJson> {
        self.at += 1;
        let plain = self.plain_run();
        if self.take(b'"') {
            return Ok(plain.into());
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text.into());
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(0..=0x1f) => return Err(self.wrong("a control character must be escaped")),
                Some(_) => text.push_str(self.plain_run()),
                None => return Err(self.wrong("it ends within a string")),
            }
        }
    }
}

impl<'t> Reader<'t> {
    /// Reads up to the next quote, escape or control character: all of these are ASCII, so the cut
    /// is between characters.
    fn plain_run(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn escape(&mut self) -> Result<char, NotJson> {
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'u') => return self.unicode(),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.wrong("there is no such escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// Reads `u` and four digits; two of them if the character needs a surrogate pair.
    fn unicode(&mut self) -> Result<char, NotJson> {
        let unit = self.unit()?;
        let code = match unit {
            0xd800..=0xdbff => {
                if !self.take(b'\\') {
                    return Err(self.wrong("half a character"));
                }
                match self.unit()? {
                    low @ 0xdc00..=0xdfff => 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                    _ => return Err(self.wrong("half a character")),
                }
            }
            unit => unit,
        };
        char::from_u32(code).ok_or_else(|| self.wrong("half a character"))
    }

    fn unit(&mut self) -> Result<u32, NotJson> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5).unwrap_or_default();
        let hex = self.peek() == Some(b'u') && digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        if !hex {
            return Err(self.wrong("expected `u` and four hex digits"));
        }
        let unit = digits.iter().fold(0, |unit, digit| unit * 16 + char::from(*digit).to_digit(16).unwrap_or_default());
        self.at += 5;
        Ok(unit)
    }
}

pub(crate) fn write(value: &Value) -> Result<Vec<u8>, NotPlain> {
    let mut writer = Writer { bytes: Vec::new(), path: Vec::new() };
    writer.value(value)?;
    Ok(writer.bytes)
}

struct Writer {
    bytes: Vec<u8>,
    path: Vec<Segment>,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), NotPlain> {
        match value {
            Value::Null => self.bytes.extend_from_slice(b"null"),
            Value::Bool(true) => self.bytes.extend_from_slice(b"true"),
            Value::Bool(false) => self.bytes.extend_from_slice(b"false"),
            Value::Num(num) => self.bytes.extend_from_slice(num.to_string().as_bytes()),
            Value::Str(text) => self.string(text),
            Value::Seq(items) => {
                self.bytes.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    self.separate(index);
                    self.below(Segment::Index(index), item)?;
                }
                self.bytes.push(b']');
            }
            Value::Map(fields) => {
                self.bytes.push(b'{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    self.separate(index);
                    self.string(name);
                    self.bytes.push(b':');
                    self.below(Segment::Field(Arc::clone(name)), value)?;
                }
                self.bytes.push(b'}');
            }
            Value::Secret(_) => return Err(self.not_plain("a sealed secret")),
            Value::Deferred(_) => return Err(self.not_plain("a value that another resource will have")),
        }
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.bytes.push(b',');
        }
    }

    fn below(&mut self, segment: Segment, value: &Value) -> Result<(), NotPlain> {
        self.path.push(segment);
        self.value(value)?;
        self.path.pop();
        Ok(())
    }

    fn string(&mut self, text: &str) {
        serde_json::to_writer(&mut self.bytes, text).expect("text is written to memory");
    }

    fn not_plain(&self, what: &'static str) -> NotPlain {
        NotPlain { path: Path(self.path.clone()), what }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use setpoint_core::digest::DigestKey;
    use setpoint_core::secret::SecretRef;

    use super::*;
    use crate::samples::any_plain;

    fn text_of(value: &Value) -> String {
        String::from_utf8(write(value).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn values_survive_plain_json(value in any_plain()) {
            prop_assert_eq!(read(&write(&value).unwrap()), Ok(value));
        }

        #[test]
        fn spaces_and_line_breaks_change_nothing(value in any_plain()) {
            let theirs = serde_json::from_slice::<serde_json::Value>(&write(&value).unwrap()).unwrap();
            let pretty = serde_json::to_vec_pretty(&theirs).unwrap();
            prop_assert_eq!(read(&pretty), read(theirs.to_string().as_bytes()));
        }

        #[test]
        fn bytes_never_panic(bytes in "[\\[\\]{}:,\"\\\\u0-9a-f.eE+\\- tn]{0,24}") {
            let ours = read(bytes.as_bytes());
            if let Ok(value) = ours {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&bytes).is_ok(), "{:?}", value);
            }
        }
    }

    #[test]
    fn class_22_large_and_fractional_numbers_stay_exact() {
        for text in ["9007199254740993", "18446744073709551615", "0.1", "-12.5", "1e-7", "1.5e40"] {
            assert_eq!(text_of(&read(text.as_bytes()).unwrap()), text);
        }
    }

    #[test]
    fn our_tagged_forms_are_data_in_a_live_object() {
        let text = r#"{"data":{"$num":"0.5","$secret":{"name":"db"}}}"#;
        let value = read(text.as_bytes()).unwrap();
        assert!(matches!(value.get("data").and_then(|data| data.get("$secret")), Some(Value::Map(_))));
        assert_eq!(text_of(&value), text);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "+1",
            "nul",
            "\"a",
            "\"\u{1}\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\u12g4\"",
            "{\"a\":1,\"a\":2}",
            "{a:1}",
            "1 2",
            "'a'",
            "NaN",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(b"\xff").is_err());
        assert!(read("[".repeat(200).as_bytes()).is_err());
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        assert!(read(deep.as_bytes()).is_ok(), "as deep as is allowed");
        let deeper = format!("{}{}", "[".repeat(130), "]".repeat(130));
        assert!(read(deeper.as_bytes()).unwrap_err().problem.contains("128"));
    }

    #[test]
    fn pairs_and_escapes_are_characters() {
        assert_eq!(read(r#""\ud83d\ude00\u003c\n\/é""#.as_bytes()), Ok(Value::str("😀<\n/é")));
    }

    #[test]
    fn a_sealed_secret_is_not_written_and_its_place_is_named() {
        let secret = SecretRef { name: "db".into(), digest: DigestKey::new([1; 32]).digest(b"x") };
        let value = Value::map([("data", Value::Seq(vec![Value::Secret(secret)]))]);
        assert_eq!(write(&value).unwrap_err().path.to_string(), "data[0]");
    }
}
