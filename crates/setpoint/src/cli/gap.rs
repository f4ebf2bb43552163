//! `setpoint ledger gap`: shows what a ledger has lost by its anchor, and records that a person
//! knows.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::server::user;
use setpoint_ledger::Standing;

use super::run::{could_not, options, runtime};
use super::{Context, Failure, Form};
use crate::agent::gap::{Loss, Shown, gap};
use crate::complaint::told;
use crate::exit::Exit;

/// Shows which records a ledger has lost, and lets the agent go on without them
///
/// Two files outside of the ledger hold its newest checkpoint: the anchor that the bootstrap
/// document names, and `newest.checkpoint` in the data folder. A ledger with fewer records than one
/// of them covers, or with others, is read-only: an older copy was restored, or someone cut it. The
/// agent changes nothing until the newer copy is back, or a person records what is lost. No agent
/// may be running.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint ledger gap              what is lost, if anything is; records nothing
  setpoint ledger gap --lost 19 --reason \"restored Sunday's backup, OPS-115\"
                                   go on without these 19 records

Exit codes:
  0  there is no gap, or it is recorded now
  1  could not run
  4  there is a gap, and it was not recorded")]
pub(super) struct Arguments {
    /// The bootstrap document, which names the anchor
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Record that so many records are lost, as told without this; nothing is recorded if it is
    /// another number
    #[arg(long, value_name = "N", requires = "reason")]
    lost: Option<u64>,
    /// Why; kept in the ledger
    #[arg(long, requires = "lost")]
    reason: Option<String>,
}

pub(super) fn run(arguments: &Arguments, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Arguments { config, lost, reason } = arguments;
    let reason = reason.clone().unwrap_or_default();
    if lost.is_some() && reason.trim().is_empty() {
        return Err(could_not("say why: `--reason \"…\"` is recorded with the gap"));
    }
    let actor = user(rustix::process::geteuid().as_raw());
    let loss = lost.map(|lost| Loss { lost, actor, reason });
    let shown = runtime()?.block_on(gap(options(config, context)?, loss)).map_err(|error| could_not(told(&error)))?;
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
        return format!(
            "no checkpoint is kept outside of log {origin} yet: nothing can show whether it has lost records\n"
        );
    };
    if *standing == Standing::Sound {
        return format!(
            "there is no gap: log {origin} has {present} records and agrees with the checkpoint in {witness}\n"
        );
    }
    let lost = standing.lost();
    let (count, first, last) = (lost.end - lost.start, lost.start, lost.end - 1);
    let what = match standing {
        Standing::Forked { .. } => "are others than it was signed for, or lost",
        _ => "are lost",
    };
    let mut text = format!(
        "log {origin} has {present} records\nthe checkpoint in {witness} proves {}: {count} records, {first} to {last}, {what}\n",
        lost.end
    );
    text += &match (recorded, former) {
        (true, Some(former)) => {
            let former = former.display();
            format!("that is recorded now; the former anchor is kept as {former}; start the agent\n")
        }
        (true, None) => "that is recorded now; start the agent\n".to_owned(),
        (false, _) => {
            format!("nothing was recorded: {}\nto record it, add `--lost {count} --reason \"…\"`\n", standing.remedy())
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
