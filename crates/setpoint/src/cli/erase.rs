//! `setpoint ledger erase`: erases the body of a record, and records the erasure.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;

use super::run::{LogArguments, could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::erasing::{Wish, erase};
use crate::complaint::told;
use crate::exit::Exit;

/// Erase the body of a record for good: the values that drifted, and who changed them
///
/// The record itself stays, and all proofs stay valid, because the record holds only a salted hash
/// of the body. A new record holds who erased it, and why. Copies of the data directory are not
/// touched. Stop the agent first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint ledger erase --record 311 --reason \"held a customer's address, PRIV-7\"

Exit codes:
  0  erased
  1  could not run, or nothing to erase; nothing was changed")]
pub(super) struct Arguments {
    /// Path of the bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Number of the record, as shown by `setpoint history`
    #[arg(long, value_name = "NUMBER")]
    record: u64,
    /// Reason for the erasure; recorded in the ledger
    #[arg(long)]
    reason: String,
}

pub(super) fn run(arguments: &Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { config, record, reason } = arguments;
    if reason.trim().is_empty() {
        return Err(could_not("a reason is required: `--reason \"…\"` is recorded with the erasure"));
    }
    let actor = user(rustix::process::geteuid().as_raw());
    let wish = Wish { seq: *record, actor, reason: reason.clone() };
    let erased = runtime()?.block_on(erase(options(config, LogArguments::DEFAULT, context)?, wish));
    let by = erased.map_err(|error| could_not(told(&error)))?;
    match context.form {
        Form::Json => writeln!(output, "{:#}", json!({ "erased": record, "recorded": by }))?,
        Form::Text => writeln!(output, "the body of record {record} is erased; the erasure is record {by}")?,
    }
    Ok(Exit::Done)
}
