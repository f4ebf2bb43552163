//! Runs one suite of measurements and judges it: `cargo xtask bench core`, `cargo xtask bench host`. Whoever works on one thing
//! runs its measurement alone: `cargo run --release -p setpoint-bench -- core ledger`.
//!
//! Exit code 0 means that every bar was met; 1 that one was missed, that a peer is missing, or that nothing was measured.

#![expect(clippy::print_stdout, reason = "the table is what whoever runs a bench wants to see")]

use std::process::ExitCode;

use anyhow::{Context, bail};
use setpoint_bench::machine;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(arguments.first().map(String::as_str), arguments.get(1).map(String::as_str)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(suite: Option<&str>, only: Option<&str>) -> anyhow::Result<bool> {
    if cfg!(debug_assertions) {
        bail!("this is a debug build, whose figures mean nothing; run `cargo xtask bench core` or `host`");
    }
    let suite = suite.context("name a suite: `core` or `host`")?;
    let before = machine::describe();
    let table = setpoint_bench::measure(suite, only)?;
    println!("{before} at the start\n\n{table}");
    Ok(table.is_met())
}
