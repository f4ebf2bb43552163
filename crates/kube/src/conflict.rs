//! Conflicts of an apply: the owners of the fields that we would change. They decide whether an
//! apply may be forced.

use std::fmt;

use setpoint_core::value::Value;

use crate::field_set::FieldSet;
use crate::managed::Operation;
use crate::path::{Element, FieldPath};
use crate::project::mark_paths;
use crate::status::Status;

/// A field that another writer owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub manager: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    pub operation: Operation,
    /// The field in the server's notation, in which a `.` within a name is the same as one between
    /// names.
    pub field: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.strip_prefix('.').unwrap_or(&self.field);
        write!(f, "{field} is held by {} ({}", self.manager, self.operation)?;
        if !self.subresource.is_empty() {
            write!(f, " of {}", self.subresource)?;
        }
        f.write_str(")")
    }
}

/// Returns the fields that a 409 is about; none if it is about something else (the version, the
/// UID).
pub fn conflicts(status: &Status) -> Vec<Conflict> {
    let of_fields = status.causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
    of_fields
        .map(|cause| {
            let (manager, subresource, operation) = holder(&cause.message);
            Conflict { manager, subresource, operation, field: cause.field.clone() }
        })
        .collect()
}

/// Reads `conflict with "NAME" with subresource "scale" using apps/v1 at 2026-…`: only updates have
/// the version.
fn holder(message: &str) -> (String, String, Operation) {
    let after = |start: &str| {
        let rest = message.split_once(start)?.1;
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        texts.next()?.ok()
    };
    let manager = after("conflict with ").unwrap_or_else(|| message.to_owned());
    let subresource = after(" with subresource ").unwrap_or_default();
    let operation = if message.contains(" using ") { Operation::Update } else { Operation::Apply };
    (manager, subresource, operation)
}

/// The fields that an apply may take back from others.
#[derive(Clone, Copy, Debug)]
pub enum Ground<'a> {
    /// The fields that were ours after the last apply of this declaration.
    Fields(&'a FieldSet),
    /// The declared fields, for a changed declaration or an adopted object.
    Declared(&'a Value),
}

/// Returns the conflicts about fields that an apply may not take back. Our own marks are always ours,
/// and the maps that contain them belong to no one.
///
/// If there are conflicts and none of them is returned, the apply may be forced. Fields that others
/// may set cause no conflict: they are not sent while others own them.
pub fn outside<'c>(conflicts: &'c [Conflict], ground: &Ground<'_>) -> Vec<&'c Conflict> {
    let marks = mark_paths().into_iter().flat_map(with_its_map);
    let marks: Vec<String> = marks.map(|path| path.to_server_text()).collect();
    let is_ours = |conflict: &&Conflict| match ground {
        _ if marks.contains(&conflict.field) => true,
        Ground::Fields(ours) => ours.find(&conflict.field).is_some(),
        Ground::Declared(declared) => find_declared(declared, &conflict.field).is_some(),
    };
    conflicts.iter().filter(|conflict| !is_ours(conflict)).collect()
}

/// Returns a mark and the map that contains it. An object may have no annotations left while a
/// manager is still recorded as the owner of the map. Our apply would conflict on it, although the
/// map contains nothing of theirs.
fn with_its_map(mark: FieldPath) -> [FieldPath; 2] {
    let map = FieldPath(mark.0[..mark.0.len() - 1].to_vec());
    [mark, map]
}

/// Returns the path for the server's notation, if a declared object has it. Data of a Secret may be
/// declared as text.
fn find_declared(declared: &Value, server_text: &str) -> Option<FieldPath> {
    let mut path = Vec::new();
    if search(declared, server_text, &mut path) {
        return Some(FieldPath(path));
    }
    let name = server_text.strip_prefix(".data.")?;
    declared.get("stringData")?.get(name)?;
    Some(FieldPath::fields(&["data", name]))
}

fn search(declared: &Value, text: &str, path: &mut Vec<Element>) -> bool {
    if text.is_empty() {
        return true;
    }
    let mut try_below = |element: Element, below: &Value, rest: &str| {
        path.push(element);
        let found = search(below, rest, path);
        if !found {
            path.pop();
        }
        found
    };
    match declared {
        Value::Map(fields) => fields.iter().any(|(name, below)| {
            let rest = text.strip_prefix('.').and_then(|text| text.strip_prefix(&**name));
            rest.is_some_and(|rest| try_below(Element::Field(name.clone()), below, rest))
        }),
        Value::Seq(items) => {
            let Some((element, rest)) = bracket(text) else { return false };
            let at = element.declared_position(items);
            at.is_some_and(|at| try_below(element, &items[at], rest))
        }
        _ => false,
    }
}

/// Returns the first step of a text, if it is in brackets, and the rest.
fn bracket(text: &str) -> Option<(Element, &str)> {
    let ends = text.char_indices().filter(|(_, c)| *c == ']').map(|(at, _)| at + 1);
    ends.filter_map(|end| {
        let path: FieldPath = text[..end].parse().ok()?;
        let [element] = <[Element; 1]>::try_from(path.0).ok()?;
        Some((element, &text[end..]))
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    fn status(fields: &[(&str, &str)]) -> Status {
        let cause = |(field, message): &(&str, &str)| {
            format!(
                r#"{{"reason":"FieldManagerConflict","field":{},"message":{}}}"#,
                serde_json::Value::from(*field),
                serde_json::Value::from(*message)
            )
        };
        let causes = fields.iter().map(cause).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"kind":"Status","code":409,"reason":"Conflict","message":"Apply failed","details":{{"causes":[{causes}]}}}}"#
        );
        Status::read(409, body.as_bytes())
    }

    fn texts(conflicts: &[&Conflict]) -> Vec<String> {
        conflicts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn owners_are_read_from_the_servers_words() {
        let found = conflicts(&status(&[
            (".spec.replicas", r#"conflict with "hpa" with subresource "scale" using apps/v1 at 2026-11-15T10:00:00Z"#),
            (".spec.template.spec.containers[name=\"app\"].image", r#"conflict with "flux \"2\"""#),
        ]));
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "spec.replicas is held by hpa (update of scale)",
                r#"spec.template.spec.containers[name="app"].image is held by flux "2" (apply)"#,
            ]
        );
    }

    #[test]
    fn a_conflict_of_versions_is_no_conflict_of_fields() {
        let status = Status::read(
            409,
            br#"{"kind":"Status","code":409,"reason":"Conflict","message":"the object has been modified"}"#,
        );
        assert_eq!(conflicts(&status), []);
    }

    #[test]
    fn only_what_was_ours_may_be_taken_back() {
        let ours = FieldSet::from_bytes(
            br#"{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}}},"f:spec":{"f:replicas":{}}}"#,
        )
        .unwrap();
        let found = conflicts(&status(&[
            (".metadata.labels.app.kubernetes.io/name", r#"conflict with "a" using v1"#),
            (".spec.replicas", r#"conflict with "hpa" using v1"#),
            (".spec.paused", r#"conflict with "b" using v1"#),
        ]));
        assert_eq!(texts(&outside(&found, &Ground::Fields(&ours))), ["spec.paused is held by b (update)"]);
        assert_eq!(outside(&found[..2], &Ground::Fields(&ours)), [] as [&Conflict; 0]);
    }

    #[test]
    fn our_own_marks_are_taken_back_from_whoever_the_server_gave_them_to() {
        let found = conflicts(&status(&[
            (".metadata.annotations.setpoint.dev/intent", r#"conflict with "before-first-apply" using v1"#),
            (".metadata.labels.setpoint.dev/installation", r#"conflict with "before-first-apply" using v1"#),
            (".metadata.annotations", r#"conflict with "before-first-apply" using v1"#),
            (".metadata.labels.other", r#"conflict with "a" using v1"#),
        ]));
        let outside = outside(&found, &Ground::Fields(&FieldSet::empty()));
        assert_eq!(texts(&outside), ["metadata.labels.other is held by a (update)"]);
    }

    #[test]
    fn what_is_declared_is_found_by_the_servers_text() {
        let declared = object::read(
            br#"{"metadata":{"annotations":{"a.b/c":"x"}},"stringData":{"k":"v"},
            "spec":{"ports":[{"port":80},{"port":81,"protocol":"UDP"}],"c":[{"name":"a]b","image":"i"}]}}"#,
        )
        .unwrap();
        let paths = [
            ".metadata.annotations.a.b/c",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
            ".spec.c[name=\"a]b\"].image",
            ".data.k",
            ".spec.ports[port=80,protocol=\"TCP\"].name",
            ".metadata.annotations.a",
        ];
        let found = conflicts(&status(&paths.map(|path| (path, r#"conflict with "x" using v1"#))));
        let outside = outside(&found, &Ground::Declared(&declared));
        assert_eq!(outside.iter().map(|conflict| conflict.field.as_str()).collect::<Vec<_>>(), paths[4..]);
    }
}
