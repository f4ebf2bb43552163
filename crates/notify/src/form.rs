//! Formats messages for each kind of webhook: one body for several messages of one kind.

use serde::Serialize;
use setpoint_core::time::Timestamp;
use setpoint_documents::NotifierFormat;

use crate::message::Message;

/// The number of messages that are written in full; the others are counted.
const LINES: usize = 20;

/// The length at which a text is cut. Twenty such texts stay below the limits of chat services.
const LONGEST_TEXT: usize = 1_000;

/// JSON for programs, with every field of the event.
#[derive(Serialize)]
struct Generic<'a> {
    installation: &'a str,
    kind: &'a str,
    /// The whole message for people.
    text: String,
    notes: Vec<GenericNote<'a>>,
    /// The number of messages of this kind that are not listed.
    more: usize,
}

#[derive(Serialize)]
struct GenericNote<'a> {
    subject: &'a str,
    text: String,
    at: String,
}

/// The body for incoming webhooks of Slack, and of services that copy them.
#[derive(Serialize)]
struct Slack {
    text: String,
}

/// Returns the body for messages of one kind, of which there is at least one.
pub(crate) fn body(format: NotifierFormat, messages: &[&Message]) -> Vec<u8> {
    let written = match format {
        NotifierFormat::Generic => serde_json::to_vec(&generic(messages)),
        NotifierFormat::Slack => serde_json::to_vec(&Slack { text: slack(messages) }),
    };
    written.expect("texts and numbers can be written as JSON")
}

fn generic<'a>(messages: &[&'a Message]) -> Generic<'a> {
    let first = messages[0];
    let notes = messages.iter().take(LINES);
    Generic {
        installation: &first.installation,
        kind: &first.kind,
        text: plain(messages),
        notes: notes
            .map(|message| GenericNote { subject: &message.subject, text: cut(&message.text), at: instant(message.at) })
            .collect(),
        more: messages.len().saturating_sub(LINES),
    }
}

fn plain(messages: &[&Message]) -> String {
    told(messages, |text| text, str::to_owned)
}

/// Escapes the three characters that are special in Slack's markup.
fn slack(messages: &[&Message]) -> String {
    let escape = |text: String| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    told(messages, escape, |subject| format!("*{subject}*"))
}

/// Returns a headline, a line for each message, and the number of messages that are left out.
fn told(messages: &[&Message], escape: impl Fn(String) -> String, strong: impl Fn(&str) -> String) -> String {
    let first = messages[0];
    let (installation, kind) = (escape(first.installation.clone()), escape(first.kind.clone()));
    let line = |message: &Message| {
        let subject = strong(&escape(message.subject.clone()));
        format!("{subject}: {}", escape(cut(&message.text)))
    };
    if let [only] = messages {
        return format!("[{installation}] {kind}: {}", line(only));
    }
    let mut text = format!("[{installation}] {kind}: {} messages", messages.len());
    for message in messages.iter().take(LINES) {
        text.push_str("\n• ");
        text.push_str(&line(message));
    }
    if messages.len() > LINES {
        text.push_str(&format!("\nand {} more", messages.len() - LINES));
    }
    text
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats a time as RFC 3339, in UTC.
fn instant(at: Timestamp) -> String {
    let instant = i64::try_from(at.as_millis()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    // Beyond the year 9999, the number is printed instead.
    instant.map_or_else(|| at.as_millis().to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(subject: &str, text: &str) -> Message {
        Message {
            kind: "not-converged".to_owned(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            at: Timestamp::from_millis(1_794_744_000_000),
            installation: "prod-1".to_owned(),
        }
    }

    fn read(format: NotifierFormat, messages: &[Message]) -> Value {
        let messages: Vec<&Message> = messages.iter().collect();
        serde_json::from_slice(&body(format, &messages)).expect("JSON")
    }

    #[test]
    fn slack_gets_one_text_with_its_three_characters_escaped() {
        let told = read(NotifierFormat::Slack, &[message("web/shop", "file </etc/a> & more")]);
        let text = "[prod-1] not-converged: *web/shop*: file &lt;/etc/a&gt; &amp; more";
        assert_eq!(told, json!({ "text": text }));
    }

    #[test]
    fn programs_get_every_field() {
        let told = read(NotifierFormat::Generic, &[message("web/shop", "it failed")]);
        let notes = json!([{ "subject": "web/shop", "text": "it failed", "at": "2026-11-15T12:00:00Z" }]);
        let text = "[prod-1] not-converged: web/shop: it failed";
        assert_eq!(
            told,
            json!({ "installation": "prod-1", "kind": "not-converged", "text": text, "notes": notes, "more": 0 })
        );
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let messages: Vec<_> = (0..23).map(|n| message(&format!("web/app-{n}"), "it failed")).collect();
        let told = read(NotifierFormat::Slack, &messages);
        let text = told["text"].as_str().expect("a text");
        assert!(text.starts_with("[prod-1] not-converged: 23 messages\n• *web/app-0*: it failed\n"), "{text}");
        assert!(text.ends_with("*web/app-19*: it failed\nand 3 more"), "{text}");
        assert_eq!(read(NotifierFormat::Generic, &messages)["more"], 3);
    }
}
