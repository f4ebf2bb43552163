//! `setpoint ledger`: shows who signs a ledger, checks it, proves a record and exports a log, with
//! the verifier that shares no code with the writer. All of that reads only; an engine may be
//! writing the ledger at the same time. What records something is in [`super::gap`] and
//! [`super::erase`].

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

/// Shows who signs a ledger, checks it, proves a record, exports a log, records what was lost,
/// erases a body
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Prints the public keys that sign the ledger of a data folder, one to a line, the current one
    /// first
    ///
    /// Whoever can change the ledger can change this file too. Print the key once, when the ledger
    /// is new, keep it elsewhere, and verify with that copy.
    Key {
        /// The data folder of the engine, for example `data`
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Recomputes every hash and signature and says whether the ledger is sound
    ///
    /// Records are safe from unseen change as far as an anchor covers them: give every anchor there
    /// is. The key comes from `setpoint ledger key data`, printed once when the ledger was new and
    /// kept elsewhere.
    Verify {
        #[command(flatten)]
        ledger: Ledger,
        /// A file with a checkpoint that was kept elsewhere; may be given several times
        #[arg(long = "anchor", value_name = "FILE")]
        anchors: Vec<PathBuf>,
    },
    /// Proves that a record is what the newest checkpoint signed, in steps a person can recompute
    Prove {
        #[command(flatten)]
        ledger: Ledger,
        /// The log the record is in
        #[arg(long, value_name = "ORIGIN")]
        log: String,
        /// Its number, counted from 0
        #[arg(long, value_name = "NUMBER")]
        record: u64,
    },
    Gap(gap::Arguments),
    Erase(erase::Arguments),
    /// Writes every record of a log as one line of JSON, exactly as stored
    Export {
        /// The database file, for example `data/ledger.db`
        ledger: PathBuf,
        /// The log to export
        #[arg(long, value_name = "ORIGIN")]
        log: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct Ledger {
    /// The database file, for example `data/ledger.db`
    #[arg(value_name = "LEDGER")]
    path: PathBuf,
    /// A key that may sign checkpoints, as `name+id+base64`; may be given several times, after a
    /// rotation for example
    #[arg(long = "key", value_name = "KEY", required = true)]
    keys: Vec<Key>,
}

pub(super) fn run(command: &Command, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let form = context.form;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| could_not_run(&error))?;
    match command {
        Command::Key { folder } => write_keys(folder, output),
        Command::Gap(arguments) => gap::run(arguments, context, output),
        Command::Erase(arguments) => erase::run(arguments, context, output),
        Command::Verify { ledger: Ledger { path, keys }, anchors } => {
            let anchors = anchors.iter().map(|file| read_anchor(file)).collect::<Result<Vec<_>, _>>()?;
            check_readable(path)?;
            let report = runtime.block_on(verify(path, &anchors, keys)).map_err(failure)?;
            match form {
                Form::Text => write_report(&report, output)?,
                Form::Json => writeln!(output, "{:#}", report_json(&report))?,
            }
            Ok(if report.is_sound() { Exit::Done } else { Exit::Failed })
        }
        Command::Prove { ledger: Ledger { path, keys }, log, record } => {
            check_readable(path)?;
            let proof = runtime.block_on(prove(path, log, *record, keys)).map_err(failure)?;
            match form {
                Form::Text => output.write_all(proof.as_bytes())?,
                Form::Json => writeln!(output, "{:#}", json!({ "log": log, "record": record, "proof": proof }))?,
            }
            Ok(Exit::Done)
        }
        Command::Export { ledger, log } => {
            check_readable(ledger)?;
            runtime.block_on(export(ledger, log, output)).map_err(failure)?;
            Ok(Exit::Done)
        }
    }
}

/// Each line is read as the key it is said to be before it is passed on: half a file is no answer.
fn write_keys(folder: &Path, output: &mut impl Write) -> Result<Exit, Failure> {
    let path = folder.join("ledger.keys");
    let unreadable = |error: io::Error| {
        let path = path.display();
        let next = "give the data folder that an engine has opened, and check its rights";
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
            format!("cannot read the anchor {file}: {error}; check the path and its rights"),
        )
    };
    fs::read_to_string(file).map_err(unreadable)
}

/// A wrong path says nothing about a ledger. A file that is there and cannot be understood does.
fn check_readable(path: &Path) -> Result<(), Failure> {
    let unreadable = |error: io::Error| {
        let path = path.display();
        Failure::Told(
            Exit::CouldNotRun,
            format!("cannot read the ledger {path}: {error}; check the path and its rights"),
        )
    };
    File::open(path).map(drop).map_err(unreadable)
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
