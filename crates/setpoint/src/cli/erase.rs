//! `setpoint ledger erase`: takes away what a record says in its body, and records that.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;

use super::run::{could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::erasing::{Wish, erase};
use crate::complaint::told;
use crate::exit::Exit;

/// Erases the body of a record for good: the values that drifted, and who did it
///
/// The record itself stays, and so do all proofs: only a salted hash of the body is in it. Another
/// record says who erased it, and why. Copies of the data folder are not touched. No agent may be
/// running.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint ledger erase --record 311 --reason \"held a customer's address, PRIV-7\"

Exit codes:
  0  erased
  1  could not run, or there is nothing to erase; nothing was changed")]
pub(super) struct Arguments {
    /// The bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// The record's number, as `setpoint history` shows it
    #[arg(long, value_name = "NUMBER")]
    record: u64,
    /// Why; kept in the ledger
    #[arg(long)]
    reason: String,
}

pub(super) fn run(arguments: &Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { config, record, reason } = arguments;
    if reason.trim().is_empty() {
        return Err(could_not("say why: `--reason \"…\"` is recorded with the erasure"));
    }
    let actor = user(rustix::process::geteuid().as_raw());
    let wish = Wish { seq: *record, actor, reason: reason.clone() };
    let erased = runtime()?.block_on(erase(options(config, context)?, wish));
    let by = erased.map_err(|error| could_not(told(&error)))?;
    match context.form {
        Form::Json => writeln!(output, "{:#}", json!({ "erased": record, "recorded": by }))?,
        Form::Text => writeln!(output, "the body of record {record} is erased; record {by} says so")?,
    }
    Ok(Exit::Done)
}
