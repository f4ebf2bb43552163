//! `Status`: how the server says no.

use std::fmt;

use setpoint_core::value::Value;

use crate::{json, object};

/// The server's answer to a request it did not carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: u16,
    /// One word: `Conflict`, `Invalid`, `NotFound`; empty where the answer gave none.
    pub reason: String,
    pub message: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: Option<u32>,
}

/// One thing that was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldManagerConflict`, `FieldValueInvalid`…
    pub reason: String,
    /// In the server's writing: `.spec.replicas` in conflicts, `spec.replicas` elsewhere.
    pub field: String,
    pub message: String,
}

/// What is shown of an answer that is no Status: a proxy's page, a stack trace.
const MOST_TEXT: usize = 300;

impl Status {
    /// Reads the body of an answer with an error code. What is no Status is kept as text.
    pub fn read(http: u16, body: &[u8]) -> Self {
        match json::read(body) {
            Ok(status) if object::kind(&status) == Some("Status") => Self::of(http, &status),
            _ => {
                let text = String::from_utf8_lossy(body);
                let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
                let message = visible.take(MOST_TEXT).collect::<String>().trim().to_owned();
                Self { code: http, reason: String::new(), message, causes: Vec::new(), retry_after_seconds: None }
            }
        }
    }

    /// A Status that came as an object, as in the `ERROR` event of a watch.
    pub fn of(http: u16, status: &Value) -> Self {
        let details = status.get("details");
        let causes = match details.and_then(|details| details.get("causes")) {
            Some(Value::Seq(causes)) => causes.iter().map(Cause::of).collect(),
            _ => Vec::new(),
        };
        let retry = details.and_then(|details| number(details, "retryAfterSeconds"));
        Self {
            code: number(status, "code").and_then(|code| code.try_into().ok()).filter(|code| *code > 0).unwrap_or(http),
            reason: text(status, "reason"),
            message: text(status, "message"),
            causes,
            retry_after_seconds: retry.filter(|seconds| *seconds > 0),
        }
    }

    /// The object cannot be changed into what is declared: only a new one can be.
    pub fn is_immutable_field(&self) -> bool {
        self.code == 422
            && (self.causes.iter().any(|cause| says_immutable(&cause.message)) || says_immutable(&self.message))
    }
}

/// The server has no reason of its own for it: these are the wordings of its validation.
fn says_immutable(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "immutable",
        "updates to statefulset spec for fields other than",
        "cannot change roleref",
        "may not be changed",
        "may not change once set",
    ]
    .iter()
    .any(|wording| message.contains(wording))
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, field: &str) -> Option<u32> {
    match value.get(field)? {
        Value::Num(number) => number.as_i128()?.try_into().ok(),
        _ => None,
    }
}

impl Cause {
    fn of(cause: &Value) -> Self {
        Self { reason: text(cause, "reason"), field: text(cause, "field"), message: text(cause, "message") }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Some refusals show a difference over many lines.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match (self.message.is_empty(), self.reason.is_empty()) {
            (false, _) => f.write_str(&line(&self.message))?,
            (true, false) => f.write_str(&self.reason)?,
            (true, true) => write!(f, "the server answered {}", self.code)?,
        }
        // The message of most refusals already tells its causes.
        for cause in self.causes.iter().filter(|cause| !self.message.contains(&cause.message)) {
            write!(f, "; {}: {}", cause.field, line(&cause.message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_with_its_causes() {
        let status = Status::read(
            422,
            br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Deployment.apps \"a\" is invalid: spec.replicas: Invalid value: -1",
            "reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: -1","field":"spec.replicas"},
            {"reason":"FieldValueRequired","message":"Required value","field":"spec.selector"}]},"code":422}"#,
        );
        assert_eq!((status.code, status.reason.as_str(), status.causes.len()), (422, "Invalid", 2));
        assert_eq!(
            status.to_string(),
            r#"Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1; spec.selector: Required value"#
        );
        assert!(!status.is_immutable_field());
    }

    #[test]
    fn a_message_of_many_lines_is_shown_in_one() {
        let status =
            Status::read(422, br#"{"kind":"Status","code":422,"message":"spec is immutable\n@@ -1 @@\n  -a\n"}"#);
        assert_eq!(status.to_string(), "spec is immutable @@ -1 @@ -a");
    }

    #[test]
    fn a_busy_server_says_for_how_long() {
        let status = Status::read(
            429,
            br#"{"kind":"Status","message":"too many","details":{"retryAfterSeconds":7},"code":429}"#,
        );
        assert_eq!(status.retry_after_seconds, Some(7));
    }

    #[test]
    fn immutable_fields_are_recognised_by_cause_and_by_message() {
        for body in [
            r#"{"kind":"Status","code":422,"message":"x","details":{"causes":[{"message":"Invalid value: {}: field is immutable"}]}}"#,
            r#"{"kind":"Status","code":422,"message":"spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"}"#,
            r#"{"kind":"Status","code":422,"message":"roleRef: Invalid value: x: cannot change roleRef"}"#,
        ] {
            assert!(Status::read(422, body.as_bytes()).is_immutable_field(), "{body}");
        }
        assert!(
            !Status::read(403, br#"{"kind":"Status","code":403,"message":"immutable secrets are not for you"}"#)
                .is_immutable_field()
        );
    }

    #[test]
    fn what_is_no_status_is_kept_as_short_visible_text() {
        let page = format!("<html>\n\u{1b}[31m{}</html>", "x".repeat(1000));
        let status = Status::read(502, page.as_bytes());
        assert_eq!((status.code, status.message.chars().count()), (502, MOST_TEXT));
        assert!(!status.message.chars().any(char::is_control));
        assert_eq!(Status::read(500, b"").to_string(), "the server answered 500");
    }
}
