//! Turns events into lines: text for people, or JSON for programs.

use std::fmt::{self, Write as _};

use setpoint_core::time::Timestamp;
use setpoint_yaml::visible_text;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::Style;
use crate::show::Paint;

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text { colour: bool },
    Json,
}

/// Writes the events of one log as lines.
pub(super) struct Lines {
    pub(super) style: Style,
    pub(super) now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    pub(super) write: Box<dyn Fn(&str) + Send + Sync>,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.style.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.style.level.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        (self.write)(&match self.style.form {
            Form::Text { colour } => fields.text((self.now)(), level, colour),
            Form::Json => fields.json((self.now)(), level),
        });
    }

    // Nothing opens a span: an event names its subject in its own fields.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The content of one event.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, FieldValue)>,
}

enum FieldValue {
    Text(String),
    Number(u64),
    Switch(bool),
}

impl Fields {
    fn add(&mut self, field: &Field, value: FieldValue) {
        match (field.name(), value) {
            ("message", FieldValue::Text(text)) => self.message = text,
            (name, value) => self.others.push((name, value)),
        }
    }

    /// Returns `2026-11-19T14:05:56.123Z WARN  cannot read the store store=platform reason="…"`.
    fn text(&self, at: Timestamp, level: Level, colour: bool) -> String {
        let mut line = format!("{} {} ", instant(at), paint(level).on(&format!("{level:<5}"), colour));
        line.push_str(&on_one_line(&self.message));
        for (name, value) in &self.others {
            let name = Paint::Faint.on(&format!("{name}="), colour);
            // Writing to a string cannot fail.
            let _ = match value {
                FieldValue::Text(text) => write!(line, " {name}{}", quoted(text)),
                FieldValue::Number(number) => write!(line, " {name}{number}"),
                FieldValue::Switch(switch) => write!(line, " {name}{switch}"),
            };
        }
        line
    }

    fn json(&self, at: Timestamp, level: Level) -> String {
        let level = level.as_str().to_ascii_lowercase();
        let mut line =
            format!("{{\"time\":\"{}\",\"level\":\"{level}\",\"message\":{}", instant(at), json_text(&self.message));
        for (name, value) in &self.others {
            let name = json_text(name);
            let _ = match value {
                FieldValue::Text(text) => write!(line, ",{name}:{}", json_text(text)),
                FieldValue::Number(number) => write!(line, ",{name}:{number}"),
                FieldValue::Switch(switch) => write!(line, ",{name}:{switch}"),
            };
        }
        line + "}"
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, FieldValue::Text(format!("{value:?}")));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, FieldValue::Text(value.to_owned()));
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, FieldValue::Number(value));
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, FieldValue::Switch(value));
    }
}

/// Returns the instant in the form of RFC 3339, in UTC and with milliseconds.
fn instant(at: Timestamp) -> String {
    let instant = i64::try_from(at.as_millis()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    // RFC 3339 has no times after the year 9999.
    instant.unwrap_or(jiff::Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

fn paint(level: Level) -> Paint {
    match level {
        Level::ERROR => Paint::Bad,
        Level::WARN => Paint::Warn,
        Level::INFO => Paint::Good,
        Level::DEBUG | Level::TRACE => Paint::Faint,
    }
}

/// Escapes everything that could end the line or steer a terminal.
fn on_one_line(text: &str) -> String {
    text.trim_end().lines().map(visible_text).collect::<Vec<_>>().join("\\n")
}

/// Returns a value as it is, or in quotes if it could be mistaken for something else.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@+,%~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", on_one_line(&text))
}

/// Returns a text as JSON. JSON permits some control characters that a terminal obeys: they are
/// escaped, too.
fn json_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        if c.is_control() {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{debug, error, info, warn};

    use super::*;
    use crate::log::Log;

    /// 2026-11-15 12:00:00.123 UTC.
    const NOON: Timestamp = Timestamp::from_millis(1_794_744_000_123);

    fn lines(level: Level, form: Form, report: impl FnOnce()) -> Vec<String> {
        let written = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&written);
        let write = move |line: &str| lines.lock().unwrap().push(line.to_owned());
        Log::new(Style { level, form }, || NOON, write).with(report);
        std::mem::take(&mut *written.lock().unwrap())
    }

    const PLAIN: Form = Form::Text { colour: false };

    #[test]
    fn a_line_has_the_time_in_utc_the_level_the_message_and_its_fields() {
        let written = lines(Level::INFO, PLAIN, || {
            let nothing: Option<&str> = None;
            info!(app = %"web/shop", target = nothing, created = 3_u64, "changes were made");
            warn!(store = "platform", reason = "HTTP 401; check it", "cannot read the store");
        });
        assert_eq!(
            written,
            [
                "2026-11-15T12:00:00.123Z INFO  changes were made app=web/shop created=3",
                "2026-11-15T12:00:00.123Z WARN  cannot read the store store=platform reason=\"HTTP 401; check it\"",
            ]
        );
    }

    #[test]
    fn events_below_the_level_are_not_written() {
        let report = || {
            error!("one");
            warn!("two");
            debug!("three");
        };
        assert_eq!(lines(Level::WARN, PLAIN, report).len(), 2);
        assert_eq!(lines(Level::ERROR, PLAIN, report).len(), 1);
        assert_eq!(lines(Level::DEBUG, PLAIN, report).len(), 3);
    }

    #[test]
    fn text_of_others_cannot_end_a_line_steer_a_terminal_or_forge_a_field() {
        let hostile = "a\n2026-01-01T00:00:00.000Z ERROR forged\u{1b}[2J\u{9b}2J\" app=\"b\r";
        for form in [PLAIN, Form::Text { colour: true }, Form::Json] {
            let written = lines(Level::INFO, form, || info!(reason = hostile, "{hostile}"));
            let [line] = &written[..] else { panic!("{written:?}") };
            assert!(!line.contains(['\n', '\r', '\u{9b}']) && !line.contains("\u{1b}[2J"), "{line}");
        }
        let written = lines(Level::INFO, PLAIN, || info!(reason = "a\" app=\"b", "x"));
        assert_eq!(written, ["2026-11-15T12:00:00.123Z INFO  x reason=\"a\\\" app=\\\"b\""]);
    }

    #[test]
    fn a_line_for_programs_is_one_json_value() {
        let written =
            lines(Level::INFO, Form::Json, || info!(app = "web/shop", failed = 2_u64, again = true, "a \"b\""));
        let value: serde_json::Value = serde_json::from_str(&written[0]).unwrap();
        let expected = serde_json::json!({
            "time": "2026-11-15T12:00:00.123Z", "level": "info", "message": "a \"b\"",
            "app": "web/shop", "failed": 2, "again": true,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn levels_have_colours_on_a_terminal() {
        let written = lines(Level::INFO, Form::Text { colour: true }, || warn!("careful"));
        assert_eq!(written, ["2026-11-15T12:00:00.123Z \u{1b}[33mWARN \u{1b}[0m careful"]);
    }
}
