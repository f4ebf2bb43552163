//! `setpoint recover`: begins an installation anew whose data folder was lost.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;

use super::run::{could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::recovering::recover_lost;
use crate::complaint::told;
use crate::exit::Exit;
use crate::recover::Recovered;

/// Own again what is declared and there, after the data folder was lost
///
/// Works out what the stores declare now, looks for it on the targets, and records what is there as
/// owned, all or nothing, into a data folder that owns nothing yet. No agent may be running on it.
/// What is recovered is held at its declaration and never deleted until a person releases its app.
/// The anchor of the ledger that was lost is kept beside the new one, and recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint recover --config /etc/setpoint/bootstrap.yaml --reason \"the disk is gone, OPS-114\"
  setpoint release web/shop --reason \"I looked at all of it\"
                                   once an agent runs again: from now on it may delete what is not declared")]
pub(super) struct Recover {
    /// The bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Why; kept in the ledger
    #[arg(long)]
    reason: String,
}

pub(super) fn run(arguments: Recover, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Recover { config, reason } = arguments;
    if reason.trim().is_empty() {
        return Err(could_not("say why: `--reason \"…\"` is recorded with the recovery"));
    }
    let options = options(&config, context)?;
    let recovered = runtime()?.block_on(recover_lost(options, user(rustix::process::geteuid().as_raw()), reason));
    let (Recovered { claims, former }, apps) = recovered.map_err(|error| could_not(told(&error)))?;
    match context.form {
        Form::Json => writeln!(output, "{:#}", json!({ "claims": claims, "apps": apps, "formerAnchor": former }))?,
        Form::Text => {
            writeln!(output, "{claims} objects of {} apps are owned again", apps.len())?;
            if let Some(former) = former {
                writeln!(output, "the anchor of the ledger that was lost is kept as {}", former.display())?;
            }
            writeln!(
                output,
                "nothing of them is deleted until `setpoint release APP --reason …`; start the agent now"
            )?;
        }
    }
    Ok(Exit::Done)
}
