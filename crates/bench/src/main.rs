//! Runs one suite of measurements and judges it: `cargo xtask bench core`, `host`, `kube`, `render`
//! or `server`. To run one measurement alone, use `cargo xtask bench core ledger`; to run one of
//! `kube` or `server` in another size than that of its bars, `cargo xtask bench kube rest 100`.
//!
//! Exit code 0 means that every bar was met; 1 that one was missed, that a peer is missing, or that
//! nothing was measured.

#![expect(clippy::print_stdout, reason = "the table is the output of a bench")]

use std::process::ExitCode;

use anyhow::{Context, bail};
use setpoint_bench::machine;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> anyhow::Result<bool> {
    if cfg!(debug_assertions) {
        bail!(
            "this is a debug build, whose figures mean nothing; run `cargo xtask bench core`, `host`, `kube`, `render` or `server`"
        );
    }
    // Memory is measured in a separate process: this one, started by the suite.
    if let ["render", "once", root, target] = words {
        println!("{}", setpoint_bench::render::render_once(root, target)?);
        return Ok(true);
    }
    if let ["render", "exhaust", what] = words {
        let (seconds, bytes) = setpoint_bench::render::exhaust(what)?;
        println!("{seconds} {bytes}");
        return Ok(true);
    }
    if let ["server", "rows", apps] = words {
        println!("{}", setpoint_bench::server::rows_of(apps.parse()?)?);
        return Ok(true);
    }
    let (suite, only, size) = match words {
        [suite] => (suite, None, None),
        [suite, only] => (suite, Some(*only), None),
        [suite, only, size] => (suite, Some(*only), Some(size.parse().context("the size is a number")?)),
        _ => bail!(
            "name a suite, `core`, `host`, `kube`, `render` or `server`, and perhaps one of its measurements and a size"
        ),
    };
    let before = machine::describe();
    let table = setpoint_bench::measure(suite, only, size)?;
    println!("{before} at the start\n\n{table}");
    Ok(table.is_met())
}
