//! `setpoint recover`: starts a new ledger for an installation whose data directory was lost.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;

use super::run::{LogArguments, could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::recovering::recover_lost;
use crate::complaint::told;
use crate::exit::Exit;
use crate::recover::Recovered;

/// Take ownership of declared objects again, after the data directory was lost
///
/// Renders the current declarations of the stores, finds the declared objects on the targets, and
/// records those that exist as owned, all or nothing, in a data directory that owns nothing yet.
/// Stop the agent first. Recovered objects are held at their declaration, and never deleted until a
/// person releases their app. The anchor of the lost ledger is kept next to the new one, and
/// recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint recover --config /etc/setpoint/bootstrap.yaml --reason \"the disk is gone, OPS-114\"
  setpoint release web/shop --reason \"I checked all of it\"
                                   once an agent runs again: permit it to delete what is not declared")]
pub(super) struct Recover {
    /// Path of the bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Reason for the recovery; recorded in the ledger
    #[arg(long)]
    reason: String,
}

pub(super) fn run(arguments: Recover, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Recover { config, reason } = arguments;
    if reason.trim().is_empty() {
        return Err(could_not("a reason is required: `--reason \"…\"` is recorded with the recovery"));
    }
    let options = options(&config, LogArguments::DEFAULT, context)?;
    let recovered = runtime()?.block_on(recover_lost(options, user(rustix::process::geteuid().as_raw()), reason));
    let (Recovered { claims, former }, apps) = recovered.map_err(|error| could_not(told(&error)))?;
    match context.form {
        Form::Json => writeln!(output, "{:#}", json!({ "claims": claims, "apps": apps, "formerAnchor": former }))?,
        Form::Text => {
            writeln!(output, "{claims} objects of {} apps are owned again", apps.len())?;
            if let Some(former) = former {
                writeln!(output, "the anchor of the lost ledger is now {}", former.display())?;
            }
            writeln!(output, "none of them is deleted until `setpoint release APP --reason …`; start the agent now")?;
        }
    }
    Ok(Exit::Done)
}
