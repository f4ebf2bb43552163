//! `setpoint schema`: every field of every document, with its meaning and default.

use std::io::Write;

use clap::Args;
use setpoint_documents::{reference_markdown, schema};

use super::Failure;
use crate::exit::Exit;

/// Explains every field of the documents
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only this kind, for example `app`; all of them if unsaid
    kind: Option<String>,
    /// Write the reference page of all kinds, as in docs/reference.md
    #[arg(long, conflicts_with = "kind")]
    markdown: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let text = if arguments.markdown {
        reference_markdown()
    } else {
        schema(arguments.kind.as_deref()).map_err(|unknown| Failure::Told(Exit::CouldNotRun, unknown.to_string()))?
    };
    Ok(output.write_all(text.as_bytes())?)
}
