//! `setpoint ledger gap`: compares a ledger with its anchor to show lost records, and records that
//! a person acknowledges the loss.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;
use setpoint_ledger::Standing;

use super::run::{LogArguments, could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::gap::{Loss, Shown, gap};
use crate::complaint::told;
use crate::exit::Exit;

/// Show which records a ledger has lost, and let the agent continue without them
///
/// Two files outside of the ledger hold its newest checkpoint: the anchor that the bootstrap
/// document names, and `newest.checkpoint` in the data directory. A ledger that has fewer records
/// than one of them covers, or different ones, is read-only: an older copy was restored, or someone
/// truncated it. The agent changes nothing until the newer copy is restored, or a person records
/// the loss. Stop the agent first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint ledger gap              show lost records, and record nothing
  setpoint ledger gap --lost 19 --reason \"restored Sunday's backup, OPS-115\"
                                   continue without these 19 records

Exit codes:
  0  there is no gap, or it was recorded
  1  could not run
  4  there is a gap, and it was not recorded")]
pub(super) struct Arguments {
    /// Path of the bootstrap document, which names the anchor
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Record the loss of this many records, as shown without this option; with any other number,
    /// nothing is recorded
    #[arg(long, value_name = "N", requires = "reason")]
    lost: Option<u64>,
    /// Reason for continuing; recorded in the ledger
    #[arg(long, requires = "lost")]
    reason: Option<String>,
}

pub(super) fn run(arguments: &Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { config, lost, reason } = arguments;
    let reason = reason.clone().unwrap_or_default();
    if lost.is_some() && reason.trim().is_empty() {
        return Err(could_not("a reason is required: `--reason \"…\"` is recorded with the gap"));
    }
    let actor = user(rustix::process::geteuid().as_raw());
    let loss = lost.map(|lost| Loss { lost, actor, reason });
    let shown = runtime()?
        .block_on(gap(options(config, LogArguments::DEFAULT, context)?, loss))
        .map_err(|error| could_not(told(&error)))?;
    match context.form {
        Form::Json => writeln!(output, "{:#}", as_json(&shown))?,
        Form::Text => write!(output, "{}", as_text(&shown))?,
    }
    let open = shown.standing != Standing::Sound && !shown.recorded;
    Ok(if open { Exit::Failed } else { Exit::Done })
}

fn as_text(shown: &Shown) -> String {
    let Shown { origin, witness, present, standing, recorded, former } = shown;
    let Some(witness) = witness.as_ref().map(|witness| witness.display()) else {
        return format!("there is no checkpoint outside of log {origin} yet: lost records cannot be detected\n");
    };
    if *standing == Standing::Sound {
        return format!(
            "there is no gap: log {origin} has {present} records and agrees with the checkpoint in {witness}\n"
        );
    }
    let lost = standing.lost();
    let (count, first, last) = (lost.end - lost.start, lost.start, lost.end - 1);
    let what = match standing {
        Standing::Forked { .. } => "differ from the signed ones, or are lost",
        _ => "are lost",
    };
    let mut text = format!(
        "log {origin} has {present} records\nthe checkpoint in {witness} proves {}: {count} records, {first} to {last}, {what}\n",
        lost.end
    );
    text += &match (recorded, former) {
        (true, Some(former)) => {
            let former = former.display();
            format!("the loss is recorded; the former anchor is now {former}; start the agent\n")
        }
        (true, None) => "the loss is recorded; start the agent\n".to_owned(),
        (false, _) => {
            format!(
                "nothing was recorded: {}\nto record the loss, add `--lost {count} --reason \"…\"`\n",
                standing.remedy()
            )
        }
    };
    text
}

fn as_json(shown: &Shown) -> serde_json::Value {
    let Shown { origin, witness, present, standing, recorded, former } = shown;
    let lost = standing.lost();
    let standing = match standing {
        Standing::Sound => "sound",
        Standing::Behind { .. } => "behind",
        Standing::Forked { .. } => "forked",
    };
    json!({
        "log": origin, "checkpoint": witness, "standing": standing, "present": present, "lost": lost.end - lost.start,
        "lostFrom": lost.start, "lostTo": lost.end, "recorded": recorded, "formerAnchor": former,
    })
}
