//! The reference of all fields, generated from the declarations: text for `setpoint schema`, and
//! the page `docs/reference.md`.

use std::fmt::Write as _;

use crate::declaration::{Declaration, Presence, Shape};
use crate::document::{API_VERSION, DocumentKind, KINDS};
use crate::reader::list_of;
use crate::suggest::nearest;
use crate::target_kind::TargetKinds;

/// The error for a kind that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{kind}`; {hint}")]
pub struct UnknownKind {
    pub kind: String,
    /// The remedy.
    pub hint: String,
}

/// The documentation of a kind and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPage {
    pub api_version: String,
    pub name: String,
    pub doc: String,
    pub fields: Vec<FieldLine>,
}

/// The documentation of a field, with its path from the top of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLine {
    pub path: String,
    /// The name of its type.
    pub holds: String,
    /// The default: `None` for a required field, empty for an optional field without a default.
    pub default: Option<String>,
    pub doc: String,
}

/// Returns the documentation of the kinds of this crate, with the fields of these kinds of targets.
pub fn kind_pages(targets: &TargetKinds) -> Vec<KindPage> {
    let page = |kind: &DocumentKind| KindPage {
        api_version: API_VERSION.to_owned(),
        name: kind.name.to_owned(),
        doc: one_line((kind.spec)(targets).doc),
        fields: field_lines(*kind, targets),
    };
    KINDS.iter().map(page).collect()
}

/// Returns the fields of one kind, or of all, as text. The case of `kind` is ignored.
pub fn schema(pages: &[KindPage], kind: Option<&str>) -> Result<String, UnknownKind> {
    let Some(wanted) = kind else {
        return Ok(pages.iter().map(schema_of).collect::<Vec<_>>().join("\n"));
    };
    match pages.iter().find(|page| page.name.eq_ignore_ascii_case(wanted)) {
        Some(page) => Ok(schema_of(page)),
        None => {
            let known = || pages.iter().map(|page| page.name.as_str());
            let hint = match nearest(wanted, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("expected {}", list_of(known(), "or")),
            };
            Err(UnknownKind { kind: setpoint_yaml::visible_text(wanted), hint })
        }
    }
}

fn schema_of(page: &KindPage) -> String {
    let mut text = format!("{} ({})\n  {}\n", page.name, page.api_version, page.doc);
    for line in &page.fields {
        let presence = match line.default.as_deref() {
            None => "required".to_owned(),
            Some("") => "optional".to_owned(),
            Some(default) => format!("default {default}"),
        };
        writeln!(text, "\n  {}: {} ({presence})\n      {}", line.path, line.holds, line.doc)
            .expect("writing to a String cannot fail");
    }
    text
}

/// Returns the reference page, the content of `docs/reference.md`.
pub fn reference_markdown(pages: &[KindPage]) -> String {
    let mut text = "# Reference\n\n\
         <!-- Generated from the declarations by `setpoint schema --markdown`. Do not edit. -->\n\n\
         Every field of every document. Setpoint refuses a file with an unknown field or another error as a whole: \
         none of its documents is used.\n"
        .to_owned();
    let mut api_version = "";
    for page in pages {
        if page.api_version != api_version {
            api_version = &page.api_version;
            write!(text, "\n## `apiVersion: {api_version}`\n").expect("writing to a String cannot fail");
        }
        write!(text, "\n### {}\n\n{}\n\n", page.name, page.doc).expect("writing to a String cannot fail");
        text.push_str("| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |\n");
        for line in &page.fields {
            let default = match line.default.as_deref() {
                None => "required".to_owned(),
                Some("") => "–".to_owned(),
                Some(default) => format!("`{default}`"),
            };
            writeln!(text, "| `{}` | {} | {default} | {} |", line.path, line.holds, line.doc)
                .expect("writing to a String cannot fail");
        }
    }
    text
}

fn field_lines(kind: DocumentKind, targets: &TargetKinds) -> Vec<FieldLine> {
    let mut lines = Vec::new();
    add_lines(&kind.declaration(targets), "", &mut lines);
    // The fields of `metadata` and `spec` document everything.
    lines.retain(|line| line.path != "metadata" && line.path != "spec");
    lines
}

fn add_lines(declaration: &Declaration, path: &str, lines: &mut Vec<FieldLine>) {
    for field in &declaration.fields {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name);
        let doc = format!("{}{}", one_line(field.doc), enum_meanings(&field.shape));
        let default = match (&field.presence, &field.shape) {
            (Presence::Required, _) => None,
            // The fields of an object document its default.
            (Presence::Optional(_), Shape::Object(_) | Shape::Spec(_)) => Some(String::new()),
            (Presence::Optional(default), _) => Some(default.clone()),
        };
        lines.push(FieldLine { path: path.clone(), holds: type_name(&field.shape), default, doc });
        let (shape, path) = match &field.shape {
            Shape::List(item) => (item.as_ref(), format!("{path}[]")),
            shape => (shape, path),
        };
        if let Some(inner) = shape.fields() {
            add_lines(&inner, &path, lines);
        }
    }
}

fn type_name(shape: &Shape) -> String {
    match shape {
        Shape::Scalar(name) => name.clone(),
        Shape::Enum(_) => "enum".to_owned(),
        Shape::List(item) => format!("list of {}", type_name(item)),
        Shape::Any => "mapping of any values".to_owned(),
        Shape::Object(_) | Shape::Spec(_) => "object".to_owned(),
        Shape::OneOf(_) => "object with one field".to_owned(),
    }
}

/// Returns the meaning of each value of an enum, or of the items of a list.
fn enum_meanings(shape: &Shape) -> String {
    let values = match shape {
        Shape::Enum(values) => values,
        Shape::List(item) => return enum_meanings(item),
        _ => return String::new(),
    };
    values.iter().map(|(value, meaning)| format!(" `{value}`: {}", one_line(meaning))).collect()
}

/// Joins the lines of a doc comment.
fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
