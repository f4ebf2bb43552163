//! `setpoint explain`.

use serde::Serialize;

use super::Screen;
use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;

/// Values are cut to so many characters: whoever wants all of it builds.
const LONGEST: usize = 60;

/// What is told of a resource.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// `Kind/name`.
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) namespace: String,
    pub(crate) fields: Vec<ExplainedField>,
}

/// A field, and who set it.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedField {
    pub(crate) field: String,
    /// Absent if it is secret.
    pub(crate) value: Option<String>,
    /// From the folder that the command was run in, where it is below; absent where no file set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    /// The field of a kustomization that set it; absent for what is written so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

pub(crate) fn explained(answer: &Explained, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    page.field("resource", Painted::new(&answer.resource, Paint::Strong));
    if !answer.namespace.is_empty() {
        page.field("namespace", answer.namespace.as_str());
    }
    page.heading("Fields");
    let mut table = Table::new(["FIELD", "VALUE", "SET IN", "BY"]);
    for field in &answer.fields {
        let by = field.by.as_deref().unwrap_or("-");
        table.row([
            field.field.as_str().into(),
            value(field),
            place(field).as_str().into(),
            Painted::new(by, Paint::Faint),
        ]);
    }
    page.table(0, &table);
    page.into_text()
}

fn value(field: &ExplainedField) -> Painted {
    let Some(value) = &field.value else { return Painted::new("(secret)", Paint::Faint) };
    let line = value.replace('\n', "↵");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => Painted::new(format!("{}…", &line[..end]), Paint::Plain),
        None => Painted::new(line, Paint::Plain),
    }
}

fn place(field: &ExplainedField) -> String {
    match (&field.file, field.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        _ => "-".to_owned(),
    }
}
