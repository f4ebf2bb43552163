//! The logs of the pods of an app.

use setpoint_api::answer::LogPart;

use super::super::words;
use super::AppView;
use crate::pages::address;

/// Kinds whose objects have pods.
const WITH_PODS: [&str; 7] = ["CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

/// One line of a log, or a remark about the logs.
pub(super) struct LogLine {
    /// The container that wrote it; empty for a remark.
    pub(super) source: String,
    pub(super) text: String,
}

/// Reports whether an app declares objects that have pods.
pub(super) fn has_pods(view: &AppView) -> bool {
    view.detail.resources.iter().any(|resource| WITH_PODS.contains(&words::kind(&resource.key)))
}

/// Returns the lines to show. Control characters, which could hide or move text, become visible.
pub(super) fn lines(parts: &[LogPart]) -> Vec<LogLine> {
    let line = |part: &LogPart| match part {
        LogPart::Sources { .. } => None,
        LogPart::Line { source, text } => Some(LogLine { source: source.clone(), text: visible(text) }),
        LogPart::Note { text } => Some(LogLine { source: String::new(), text: visible(text) }),
    };
    parts.iter().filter_map(line).collect()
}

/// Returns a text without the escape sequences that colour a terminal, and with other control
/// characters as symbols.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter == '\u{1b}' && rest.peek() == Some(&'[') {
            // A sequence ends with a letter.
            while rest.next().is_some_and(|letter| !letter.is_ascii_alphabetic()) {}
        } else if letter == '\t' || !letter.is_control() {
            shown.push(letter);
        } else {
            shown.push('\u{fffd}');
        }
    }
    shown
}

/// Returns the address of the lines that are written from now on.
pub(super) fn follow(view: &AppView) -> String {
    let app = view.detail.summary.app.to_string();
    format!("/api/v1/logs{}", address::query([("app", app.as_str()), ("follow", "true"), ("tail", "0")]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_cannot_move_the_text_around_it() {
        assert_eq!(visible("\u{1b}[31mGET /favicon\u{1b}[0m\t404"), "GET /favicon\t404");
        assert_eq!(visible("a\rb\u{1b}]0;title\u{7}"), "a\u{fffd}b\u{fffd}]0;title\u{fffd}");
        assert_eq!(visible("cut \u{1b}["), "cut ");
    }
}
