//! `setpoint ledger`: prints the keys of a ledger, verifies it, proves a record and exports a log,
//! with the verifier that shares no code with the writer. These commands only read, and an agent
//! may write the ledger at the same time. The commands that record something are in [`super::gap`]
//! and [`super::erase`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use setpoint_ledger_verify::{Finding, Key, LogReport, Report, VerifyError, export, prove, verify};
use tokio::runtime::Builder;

use super::{Context, Failure, Form, erase, gap};
use crate::complaint::told;
use crate::exit::Exit;

/// Verify, prove and export ledgers, record lost records, and erase record bodies
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the public keys that sign a ledger, one per line, the current one first
    ///
    /// Anyone who can change the ledger can change the key file, too. Print the key once, while the
    /// ledger is new, store the copy elsewhere, and verify with that copy.
    Key {
        /// Data directory of the agent [default: that of `--data`]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Recompute every hash and signature, and report whether the ledger is sound
    ///
    /// Changes to records are detected for the records that an anchor covers: pass every anchor you
    /// have. Print the key with `setpoint ledger key data` once, while the ledger is new, and store
    /// it elsewhere.
    Verify {
        #[command(flatten)]
        ledger: Ledger,
        /// File with a checkpoint that was stored elsewhere; can be repeated
        #[arg(long = "anchor", value_name = "FILE")]
        anchors: Vec<PathBuf>,
    },
    /// Prove that the newest checkpoint covers a record, in steps that a person can recompute
    Prove {
        #[command(flatten)]
        ledger: Ledger,
        /// Log that holds the record
        #[arg(long, value_name = "ORIGIN")]
        log: String,
        /// Number of the record, counted from 0
        #[arg(long, value_name = "NUMBER")]
        record: u64,
    },
    Gap(gap::Arguments),
    Erase(erase::Arguments),
    /// Print every record of a log as one line of JSON, exactly as stored
    Export {
        /// Database file [default: `ledger.db` in the directory of `--data`]
        ledger: Option<PathBuf>,
        /// Log to export
        #[arg(long, value_name = "ORIGIN")]
        log: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct Ledger {
    /// Database file [default: `ledger.db` in the directory of `--data`]
    #[arg(value_name = "LEDGER")]
    path: Option<PathBuf>,
    /// Key that may sign checkpoints, as `name+id+base64`; can be repeated, for example after a
    /// rotation
    #[arg(long = "key", value_name = "KEY", required = true)]
    keys: Vec<Key>,
}

pub(super) fn run(command: &Command, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let form = context.form;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| could_not_run(&error))?;
    match command {
        Command::Key { folder: Some(folder) } => write_keys(folder, output),
        Command::Key { folder: None } => write_keys(context.data()?, output),
        Command::Gap(arguments) => gap::run(arguments, context, output),
        Command::Erase(arguments) => erase::run(arguments, context, output),
        Command::Verify { ledger: Ledger { path, keys }, anchors } => {
            let anchors = anchors.iter().map(|file| read_anchor(file)).collect::<Result<Vec<_>, _>>()?;
            let path = readable(path.as_deref(), context)?;
            let report = runtime.block_on(verify(&path, &anchors, keys)).map_err(failure)?;
            match form {
                Form::Text => write_report(&report, output)?,
                Form::Json => writeln!(output, "{:#}", report_json(&report))?,
            }
            Ok(if report.is_sound() { Exit::Done } else { Exit::Failed })
        }
        Command::Prove { ledger: Ledger { path, keys }, log, record } => {
            let path = readable(path.as_deref(), context)?;
            let proof = runtime.block_on(prove(&path, log, *record, keys)).map_err(failure)?;
            match form {
                Form::Text => output.write_all(proof.as_bytes())?,
                Form::Json => writeln!(output, "{:#}", json!({ "log": log, "record": record, "proof": proof }))?,
            }
            Ok(Exit::Done)
        }
        Command::Export { ledger, log } => {
            let ledger = readable(ledger.as_deref(), context)?;
            runtime.block_on(export(&ledger, log, output)).map_err(failure)?;
            Ok(Exit::Done)
        }
    }
}

/// Parses each line as a key before printing any: half a file is no result.
fn write_keys(folder: &Path, output: &mut impl Write) -> Result<Exit, Failure> {
    let path = folder.join("ledger.keys");
    let unreadable = |error: io::Error| {
        let path = path.display();
        let next = "pass the data directory of an agent, and check its permissions";
        Failure::Told(Exit::CouldNotRun, format!("cannot read the keys in {path}: {error}; {next}"))
    };
    let text = fs::read_to_string(&path).map_err(unreadable)?;
    for line in text.lines() {
        line.parse::<Key>().map_err(failure)?;
    }
    if text.is_empty() {
        return Err(unreadable(io::ErrorKind::UnexpectedEof.into()));
    }
    output.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn read_anchor(file: &Path) -> Result<String, Failure> {
    let unreadable = |error: io::Error| {
        let file = file.display();
        Failure::Told(
            Exit::CouldNotRun,
            format!("cannot read the anchor {file}: {error}; check the path and its permissions"),
        )
    };
    fs::read_to_string(file).map_err(unreadable)
}

/// Returns the path of the database: the given one, or the one in the data directory. An unreadable
/// path proves nothing about the ledger. A file that can be read but not parsed does.
fn readable(path: Option<&Path>, context: &Context) -> Result<PathBuf, Failure> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => context.data()?.join("ledger.db"),
    };
    match File::open(&path) {
        Ok(_) => Ok(path),
        Err(error) => {
            let path = path.display();
            let text = format!("cannot read the ledger {path}: {error}; check the path and its permissions");
            Err(Failure::Told(Exit::CouldNotRun, text))
        }
    }
}

fn failure(error: VerifyError) -> Failure {
    match error {
        VerifyError::Output { source } => Failure::Output(source),
        VerifyError::BadKey { .. } | VerifyError::NoSuchLog { .. } => could_not_run(&error),
        VerifyError::Unreadable { .. } | VerifyError::NotALedger { .. } | VerifyError::NotProvable { .. } => {
            Failure::Told(Exit::Failed, told(&error))
        }
    }
}

fn could_not_run(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Told(Exit::CouldNotRun, told(error))
}

fn write_report(report: &Report, output: &mut impl Write) -> io::Result<()> {
    for log in &report.logs {
        let LogReport { origin, records, root, checkpoints, signed, anchored, bodies, erased, gaps } = log;
        writeln!(output, "log {origin}: records {records}, signed {signed}, anchored {anchored}")?;
        writeln!(output, "  checkpoints {checkpoints}, bodies {bodies}, erased {erased}, recorded gaps {gaps}")?;
        writeln!(output, "  root {root}")?;
    }
    if report.is_sound() {
        return writeln!(output, "sound");
    }
    writeln!(output, "NOT SOUND:")?;
    for finding in &report.findings {
        writeln!(output, "  {finding}")?;
    }
    if report.more > 0 {
        writeln!(output, "  and {} more", report.more)?;
    }
    Ok(())
}

fn report_json(report: &Report) -> serde_json::Value {
    let log = |log: &LogReport| {
        let LogReport { origin, records, root, checkpoints, signed, anchored, bodies, erased, gaps } = log;
        json!({
            "origin": origin, "records": records, "root": root, "checkpoints": checkpoints, "signed": signed,
            "anchored": anchored, "bodies": bodies, "erased": erased, "gaps": gaps,
        })
    };
    let finding = |finding: &Finding| json!({ "origin": finding.origin, "record": finding.seq, "what": finding.what });
    json!({
        "sound": report.is_sound(),
        "logs": report.logs.iter().map(log).collect::<Vec<_>>(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "more": report.more,
    })
}
