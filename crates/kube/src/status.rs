//! `Status`: the server's error responses.

use std::fmt;

use setpoint_core::value::Value;

use crate::{json, object};

/// The server's response to a request that it did not carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: u16,
    /// One word: `Conflict`, `Invalid`, `NotFound`; empty if the response had none.
    pub reason: String,
    pub message: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: Option<u32>,
    /// The request was about a Secret: what people read must not quote its values.
    pub is_of_secret: bool,
}

/// One cause of the refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldManagerConflict`, `FieldValueInvalid`…
    pub reason: String,
    /// The field in the server's notation: `.spec.replicas` in conflicts, `spec.replicas`
    /// elsewhere.
    pub field: String,
    pub message: String,
}

/// The maximum number of characters shown of a response that is no Status: a proxy's page, a stack
/// trace.
const MOST_TEXT: usize = 300;

impl Status {
    /// Reads the body of an error response. A body that is no Status becomes the message.
    pub fn read(http: u16, body: &[u8]) -> Self {
        match json::read(body) {
            Ok(status) if object::kind(&status) == Some("Status") => Self::of(http, &status),
            _ => {
                let text = String::from_utf8_lossy(body);
                let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
                let message = visible.take(MOST_TEXT).collect::<String>().trim().to_owned();
                let (reason, causes, retry_after_seconds) = (String::new(), Vec::new(), None);
                Self { code: http, reason, message, causes, retry_after_seconds, is_of_secret: false }
            }
        }
    }

    /// Reads a Status that came as an object, as in the `ERROR` event of a watch.
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
            is_of_secret: false,
        }
    }

    /// Reports whether the message may quote values of a Secret: those of validation, of admission
    /// and of conversion do, and those of permissions, quotas, conflicts and absence name objects and
    /// fields.
    fn may_quote_secret(&self) -> bool {
        let names_only = matches!(self.code, 401 | 403 | 404 | 409 | 410 | 429 | 503 | 504);
        let is_of_admission = ["denied the request", "denied request"].iter().any(|said| self.message.contains(said));
        self.is_of_secret && (!names_only || is_of_admission)
    }

    /// Writes the refusal without its message: with the reason, and the fields it is about.
    fn fmt_without_values(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = if self.reason.is_empty() { "refused" } else { &self.reason };
        write!(f, "{reason} ({})", self.code)?;
        let fields = self.causes.iter().map(|cause| cause.field.as_str()).chain(self.field_of_type_error());
        let fields: Vec<&str> = fields.filter(|field| is_field(field)).collect();
        if !fields.is_empty() {
            write!(f, " at {}", fields.join(", "))?;
        }
        f.write_str("; the message of the server is left out, because it may quote the Secret")
    }

    /// Returns the field of a message such as `failed to create typed patch object (…): .data.a:
    /// expected string, got …`.
    fn field_of_type_error(&self) -> Option<&str> {
        self.message.strip_prefix("failed to create typed patch object (")?.split_once("): ")?.1.split(": ").next()
    }

    /// Reports whether the refusal is only about immutable fields: then only a new object could be
    /// as declared. A refusal by admission does not count, as it is not about the object.
    pub fn is_immutable(&self) -> bool {
        self.code == 422
            && self.reason == "Invalid"
            && !self.message.contains("denied the request")
            && !self.causes.is_empty()
            && self.causes.iter().all(Cause::is_immutable)
    }
}

impl Cause {
    fn of(cause: &Value) -> Self {
        Self { reason: text(cause, "reason"), field: text(cause, "field"), message: text(cause, "message") }
    }

    /// Reports whether this cause is about an immutable field. The server has no reason of its own
    /// for that: these are the wordings of its validation.
    fn is_immutable(&self) -> bool {
        let said = match self.reason.as_str() {
            "FieldValueForbidden" => self.message.strip_prefix("Forbidden: "),
            // The value comes before the problem, and may contain anything.
            "FieldValueInvalid" => self.message.rsplit_once(": ").map(|(_, said)| said),
            _ => None,
        };
        said.is_some_and(says_immutable)
    }
}

/// Reports whether a text is the name of a field, and nothing else.
fn is_field(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_/[]".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(is_part)
}

fn says_immutable(said: &str) -> bool {
    let said = said.to_lowercase();
    let wordings = [
        "is immutable",
        "are immutable",
        "self == oldself",
        "may not change once set",
        "may not be changed",
        "cannot change roleref",
        "pod updates may not change fields other than",
    ];
    wordings.iter().any(|wording| said.contains(wording))
        || said.starts_with("updates to ") && said.contains("forbidden")
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

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.may_quote_secret() {
            return self.fmt_without_values(f);
        }
        // Some refusals show a difference over many lines.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match (self.message.is_empty(), self.reason.is_empty()) {
            (false, _) => f.write_str(&line(&self.message))?,
            (true, false) => f.write_str(&self.reason)?,
            (true, true) => write!(f, "the server responded {}", self.code)?,
        }
        // The message of most refusals already contains its causes.
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
    fn a_refusal_of_a_secret_quotes_nothing_of_it() {
        let of = |code, reason: &str, message: &str| Status {
            is_of_secret: true,
            ..Status::read(
                code,
                format!(
                    r#"{{"kind":"Status","apiVersion":"v1","message":"{message}","reason":"{reason}","code":{code}}}"#
                )
                .as_bytes(),
            )
        };
        let wrong = of(
            500,
            "",
            "failed to create typed patch object (a/b; /v1, Kind=Secret): .data.a: expected string, got hunter2",
        );
        let expected =
            "refused (500) at .data.a; the message of the server is left out, because it may quote the Secret";
        assert_eq!(wrong.to_string(), expected);
        for (code, message) in [
            (400, "illegal base64 in hunter2"),
            (422, "data: Invalid value: hunter2"),
            (403, "x denied the request: hunter2 cannot be"),
            (500, "hunter2"),
        ] {
            let shown = of(code, "Invalid", message).to_string();
            assert!(!shown.contains("hunter2") && shown.contains(&format!("({code})")), "{shown}");
        }
        let forbidden = "secrets is forbidden: User ada cannot patch resource secrets";
        assert_eq!(of(403, "Forbidden", forbidden).to_string(), forbidden);
        let quota = "secrets b is forbidden: exceeded quota: few, requested: count/secrets=1";
        assert_eq!(of(403, "Forbidden", quota).to_string(), quota);
        assert_eq!(of(404, "NotFound", "secrets a not found").to_string(), "secrets a not found");
    }

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
        assert!(!status.is_immutable());
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

    fn refusal(message: &str, causes: &[(&str, &str)]) -> Status {
        let cause = |(reason, message): &(&str, &str)| Cause {
            reason: (*reason).to_owned(),
            field: "spec".to_owned(),
            message: (*message).to_owned(),
        };
        Status {
            code: 422,
            reason: "Invalid".to_owned(),
            message: message.to_owned(),
            causes: causes.iter().map(cause).collect(),
            retry_after_seconds: None,
            is_of_secret: false,
        }
    }

    #[test]
    fn what_cannot_be_changed_is_recognised_by_its_causes() {
        for cause in [
            ("FieldValueInvalid", r#"Invalid value: {"matchLabels":{"app":"a"}}: field is immutable"#),
            ("FieldValueInvalid", r#"Invalid value: ["10.0.0.9"]: may not change once set"#),
            ("FieldValueInvalid", r#"Invalid value: {"name":"a"}: cannot change roleRef"#),
            ("FieldValueInvalid", r#"Invalid value: "string": failed rule: self == oldSelf"#),
            ("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"),
            (
                "FieldValueForbidden",
                "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
            ),
            ("FieldValueForbidden", "Forbidden: spec is immutable after creation except resources.requests\n@@ -1 @@"),
        ] {
            assert!(refusal("x", &[cause]).is_immutable(), "{cause:?}");
        }
    }

    #[test]
    fn anything_else_that_is_wrong_is_not_taken_for_a_field_that_cannot_be_changed() {
        let immutable = ("FieldValueInvalid", "Invalid value: 1: field is immutable");
        let others: [&[(&str, &str)]; 5] = [
            &[],
            &[immutable, ("FieldValueInvalid", "Invalid value: -1: must be greater than or equal to 0")],
            &[("FieldValueInvalid", "Invalid value: \"this is immutable: \": must not be empty")],
            &[("FieldValueRequired", "Required value: it is immutable")],
            &[("FieldManagerConflict", "conflict with \"x\": it is immutable")],
        ];
        for causes in others {
            assert!(!refusal("field is immutable", causes).is_immutable(), "{causes:?}");
        }
        assert!(!refusal("admission webhook \"a\" denied the request: no", &[immutable]).is_immutable());
        assert!(!Status { code: 409, ..refusal("x", &[immutable]) }.is_immutable());
    }

    #[test]
    fn what_is_no_status_is_kept_as_short_visible_text() {
        let page = format!("<html>\n\u{1b}[31m{}</html>", "x".repeat(1000));
        let status = Status::read(502, page.as_bytes());
        assert_eq!((status.code, status.message.chars().count()), (502, MOST_TEXT));
        assert!(!status.message.chars().any(char::is_control));
        assert_eq!(Status::read(500, b"").to_string(), "the server responded 500");
    }
}
