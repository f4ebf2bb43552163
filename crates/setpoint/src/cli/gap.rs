//! `setpoint ledger gap`: shows what a ledger has lost by its anchor, and records that a person knows.

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

/// Shows which records a ledger has lost by what its anchor proves, and lets the agent go on without them
///
/// A ledger with fewer records than its anchor has seen, or with others, is read-only: an older copy was restored, or somebody cut it. The
/// agent changes nothing until the newer copy is back, or a person records what is lost. No agent may be running.
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
    /// Record that so many records are lost, as told without this; nothing is recorded if it is another number
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
    let open = shown.standing != Standing::Sound && shown.recorded.is_none();
    Ok(if open { Exit::Failed } else { Exit::Done })
}

fn as_text(shown: &Shown) -> String {
    let Shown { origin, anchor, present, standing, recorded } = shown;
    let Some(anchor) = anchor.as_ref().map(|anchor| anchor.display()) else {
        return format!(
            "the bootstrap document names no anchor: nothing can show whether log {origin} has lost records\n"
        );
    };
    if *standing == Standing::Sound {
        return format!("there is no gap: log {origin} has {present} records and agrees with its anchor {anchor}\n");
    }
    let lost = standing.lost();
    let (count, first, last) = (lost.end - lost.start, lost.start, lost.end - 1);
    let what = match standing {
        Standing::Forked { .. } => "are other ones than it saw, or lost",
        _ => "are lost",
    };
    let mut text = format!(
        "log {origin} has {present} records\nits anchor {anchor} proves {}: {count} records, {first} to {last}, {what}\n",
        lost.end
    );
    text += &match recorded {
        Some(former) => {
            let former = former.display();
            format!("that is recorded now; the former anchor is kept as {former}; start the agent\n")
        }
        None => {
            format!("nothing was recorded: {}\nto record it, add `--lost {count} --reason \"…\"`\n", standing.remedy())
        }
    };
    text
}

fn as_json(shown: &Shown) -> serde_json::Value {
    let Shown { origin, anchor, present, standing, recorded } = shown;
    let lost = standing.lost();
    let standing = match standing {
        Standing::Sound => "sound",
        Standing::Behind { .. } => "behind",
        Standing::Forked { .. } => "forked",
    };
    json!({
        "log": origin, "anchor": anchor, "standing": standing, "present": present, "lost": lost.end - lost.start,
        "lostFrom": lost.start, "lostTo": lost.end, "recorded": recorded.is_some(), "formerAnchor": recorded,
    })
}
