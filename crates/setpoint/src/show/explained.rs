//! The page of `setpoint explain`.

use setpoint_api::answer::{Explained, ExplainedField};

use super::Screen;
use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;

/// The longest value that is shown, in characters. `setpoint kustomize build` shows it whole.
const LONGEST: usize = 60;

pub(crate) fn explained(answer: &Explained, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    page.field("resource", Painted::new(&answer.resource, Paint::Strong));
    if !answer.namespace.is_empty() {
        page.field("namespace", answer.namespace.as_str());
    }
    if let Some(revision) = &answer.revision {
        page.field("version", revision.to_string());
    }
    page.heading("Fields");
    let mut table = Table::new(["FIELD", "VALUE", "SET IN", "BY"]).whole(&["FIELD", "SET IN"]);
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
