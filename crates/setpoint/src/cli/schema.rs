//! `setpoint schema`: explains every field of every document, with its meaning and default.

use std::io::Write;

use clap::Args;
use setpoint_documents::{FieldLine, KindPage, kind_pages, reference_markdown, schema};
use setpoint_target_host::{API_VERSION, FieldDoc, KindDoc};

use super::Failure;
use crate::exit::Exit;

/// Explain the fields of all documents
///
/// Covers the documents that control Setpoint (`setpoint.dev/v1`), and those that an app declares
/// for a host (`host.setpoint.dev/v1`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint schema app
  setpoint schema file")]
pub(super) struct Arguments {
    /// Kind to explain, for example `app` [default: all kinds]
    kind: Option<String>,
    /// Print the reference page of all kinds, as in docs/reference.md
    #[arg(long, conflicts_with = "kind")]
    markdown: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let pages: Vec<KindPage> = kind_pages().into_iter().chain(setpoint_target_host::KINDS.iter().map(page)).collect();
    let text = if arguments.markdown {
        reference_markdown(&pages)
    } else {
        let unknown = |unknown: setpoint_documents::UnknownKind| Failure::Told(Exit::CouldNotRun, unknown.to_string());
        schema(&pages, arguments.kind.as_deref()).map_err(unknown)?
    };
    Ok(output.write_all(text.as_bytes())?)
}

/// Returns the page of a kind of host objects.
fn page(kind: &KindDoc) -> KindPage {
    let mut fields = Vec::new();
    add_lines(setpoint_target_host::METADATA, "metadata", &mut fields);
    add_lines(kind.fields, "spec", &mut fields);
    KindPage { api_version: API_VERSION.to_owned(), name: kind.name.to_owned(), doc: kind.doc.to_owned(), fields }
}

fn add_lines(fields: &[FieldDoc], within: &str, lines: &mut Vec<FieldLine>) {
    for field in fields {
        let path = format!("{within}.{}", field.name);
        lines.push(FieldLine {
            path: path.clone(),
            holds: field.holds.to_owned(),
            default: field.default.map(ToOwned::to_owned),
            doc: field.doc.to_owned(),
        });
        let of_each = if field.holds.starts_with("list") { "[]" } else { "" };
        add_lines(field.fields, &format!("{path}{of_each}"), lines);
    }
}
