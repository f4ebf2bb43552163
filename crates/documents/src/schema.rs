//! Every field with its meaning and default, as text for a terminal and as the reference page: from the declarations.

use std::fmt::Write as _;

use crate::declaration::{Declaration, Presence, Shape};
use crate::document::{API_VERSION, DocumentKind, KINDS};
use crate::reader::list_of;
use crate::suggest::nearest;

/// There is no document of that kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind `{kind}`; {hint}")]
pub struct UnknownKind {
    pub kind: String,
    /// What to do next.
    pub hint: String,
}

/// A field in full, with its path from the top of the document.
struct Row {
    path: String,
    word: String,
    presence: Presence,
    doc: String,
}

/// The fields of one kind, or of all, as text. The kind may be written in any case.
pub fn schema(kind: Option<&str>) -> Result<String, UnknownKind> {
    let Some(wanted) = kind else {
        return Ok(KINDS.iter().map(|kind| schema_of(*kind)).collect::<Vec<_>>().join("\n"));
    };
    match KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(wanted)) {
        Some(kind) => Ok(schema_of(*kind)),
        None => {
            let known = || KINDS.iter().map(|kind| kind.name);
            let hint = match nearest(wanted, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the kinds are {}", list_of(known(), "and")),
            };
            Err(UnknownKind { kind: setpoint_yaml::visible_text(wanted), hint })
        }
    }
}

fn schema_of(kind: DocumentKind) -> String {
    let mut text = format!("{} ({API_VERSION})\n  {}\n", kind.name, plain((kind.spec)().doc));
    for row in rows_of(kind) {
        let presence = match &row.presence {
            Presence::Required => "required".to_owned(),
            Presence::Optional(default) if default.is_empty() => "optional".to_owned(),
            Presence::Optional(default) => format!("default {default}"),
        };
        writeln!(text, "\n  {}: {} ({presence})\n      {}", row.path, row.word, row.doc)
            .expect("writing to a String cannot fail");
    }
    text
}

/// The reference page of every document: what `docs/reference.md` must be.
pub fn reference_markdown() -> String {
    let mut text = format!(
        "# Reference\n\n\
         <!-- Generated from the declarations in crates/documents by `setpoint schema --markdown`. Do not edit. -->\n\n\
         Every document has `apiVersion: {API_VERSION}` and a `kind`. An unknown field is an error, and a file with an error\n\
         is refused as a whole.\n"
    );
    for kind in KINDS {
        write!(text, "\n## {}\n\n{}\n\n", kind.name, plain((kind.spec)().doc))
            .expect("writing to a String cannot fail");
        text.push_str("| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |\n");
        for row in rows_of(*kind) {
            let default = match &row.presence {
                Presence::Required => "required".to_owned(),
                Presence::Optional(default) if default.is_empty() => "–".to_owned(),
                Presence::Optional(default) => format!("`{default}`"),
            };
            writeln!(text, "| `{}` | {} | {default} | {} |", row.path, row.word, row.doc)
                .expect("writing to a String cannot fail");
        }
    }
    text
}

fn rows_of(kind: DocumentKind) -> Vec<Row> {
    let mut rows = Vec::new();
    add_rows(&kind.declaration(), "", &mut rows);
    // `metadata` and `spec` themselves say nothing that their fields do not.
    rows.retain(|row| row.path != "metadata" && row.path != "spec");
    rows
}

fn add_rows(declaration: &Declaration, path: &str, rows: &mut Vec<Row>) {
    for field in &declaration.fields {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name);
        let doc = format!("{}{}", plain(field.doc), words_of(&field.shape));
        let presence = match (&field.presence, &field.shape) {
            // The default of an object is told by its fields.
            (Presence::Optional(_), Shape::Object(_)) => Presence::Optional(String::new()),
            (presence, _) => presence.clone(),
        };
        rows.push(Row { path: path.clone(), word: word_of(&field.shape), presence, doc });
        match &field.shape {
            Shape::Object(inner) | Shape::OneOf(inner) => add_rows(&inner(), &path, rows),
            Shape::List(item) => {
                if let Shape::Object(inner) | Shape::OneOf(inner) = item.as_ref() {
                    add_rows(&inner(), &format!("{path}[]"), rows);
                }
            }
            _ => {}
        }
    }
}

fn word_of(shape: &Shape) -> String {
    match shape {
        Shape::Scalar(word) => word.clone(),
        Shape::Words(_) => "word".to_owned(),
        Shape::List(item) => format!("list of {}", word_of(item)),
        Shape::Any => "mapping of any values".to_owned(),
        Shape::Object(_) => "object".to_owned(),
        Shape::OneOf(_) => "object with one field".to_owned(),
    }
}

/// The meaning of each word of a choice.
fn words_of(shape: &Shape) -> String {
    let Shape::Words(words) = shape else { return String::new() };
    words.iter().map(|(word, meaning)| format!(" `{word}`: {}", plain(meaning))).collect()
}

/// A doc comment as one line.
fn plain(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
