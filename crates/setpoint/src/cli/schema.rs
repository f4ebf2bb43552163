//! `setpoint schema`: explains every field of every document, with its meaning and default.

use std::io::Write;

use clap::Args;
use setpoint_documents::{KindPage, kind_pages, reference_markdown, schema};
use setpoint_target::Family;

use super::Failure;
use crate::exit::Exit;
use crate::families::families;

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
    let families = families(None);
    let mut pages: Vec<KindPage> = kind_pages(families.kinds());
    pages.extend(families.iter().flat_map(Family::resource_pages));
    let text = if arguments.markdown {
        reference_markdown(&pages)
    } else {
        let unknown = |unknown: setpoint_documents::UnknownKind| Failure::Told(Exit::CouldNotRun, unknown.to_string());
        schema(&pages, arguments.kind.as_deref()).map_err(unknown)?
    };
    Ok(output.write_all(text.as_bytes())?)
}
