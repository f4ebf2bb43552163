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

/// A kind and its fields, as they are explained to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPage {
    pub api_version: String,
    pub name: String,
    pub doc: String,
    pub fields: Vec<FieldLine>,
}

/// A field in full, with its path from the top of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLine {
    pub path: String,
    /// The word for what it holds.
    pub holds: String,
    /// What it is when left out; `None` where it must be given, empty where nothing stands for it.
    pub default: Option<String>,
    pub doc: String,
}

/// The kinds of this crate.
pub fn kind_pages() -> Vec<KindPage> {
    let page = |kind: &DocumentKind| KindPage {
        api_version: API_VERSION.to_owned(),
        name: kind.name.to_owned(),
        doc: plain((kind.spec)().doc),
        fields: lines_of(*kind),
    };
    KINDS.iter().map(page).collect()
}

/// The fields of one kind, or of all, as text. The kind may be written in any case.
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
                None => format!("the kinds are {}", list_of(known(), "and")),
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

/// The reference page: what `docs/reference.md` must be.
pub fn reference_markdown(pages: &[KindPage]) -> String {
    let mut text = "# Reference\n\n\
         <!-- Generated from the declarations by `setpoint schema --markdown`. Do not edit. -->\n\n\
         An unknown field is an error, and a file with an error is refused as a whole.\n"
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

fn lines_of(kind: DocumentKind) -> Vec<FieldLine> {
    let mut lines = Vec::new();
    add_lines(&kind.declaration(), "", &mut lines);
    // `metadata` and `spec` themselves say nothing that their fields do not.
    lines.retain(|line| line.path != "metadata" && line.path != "spec");
    lines
}

fn add_lines(declaration: &Declaration, path: &str, lines: &mut Vec<FieldLine>) {
    for field in &declaration.fields {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name);
        let doc = format!("{}{}", plain(field.doc), words_of(&field.shape));
        let default = match (&field.presence, &field.shape) {
            (Presence::Required, _) => None,
            // The default of an object is told by its fields.
            (Presence::Optional(_), Shape::Object(_)) => Some(String::new()),
            (Presence::Optional(default), _) => Some(default.clone()),
        };
        lines.push(FieldLine { path: path.clone(), holds: word_of(&field.shape), default, doc });
        match &field.shape {
            Shape::Object(inner) | Shape::OneOf(inner) => add_lines(&inner(), &path, lines),
            Shape::List(item) => {
                if let Shape::Object(inner) | Shape::OneOf(inner) = item.as_ref() {
                    add_lines(&inner(), &format!("{path}[]"), lines);
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
