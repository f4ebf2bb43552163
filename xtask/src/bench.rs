//! `cargo xtask bench <suite>`: builds crates/bench in release and runs one of its suites.
//!
//! The measurements and their table live there, in a crate that may link anything; xtask only starts it and hands on whether
//! every bar was met.

use crate::process;

pub(crate) fn run(suite: &str) -> anyhow::Result<bool> {
    let arguments = ["run", "--release", "--locked", "--package", "setpoint-bench", "--", suite];
    process::succeeds(process::program("cargo", &arguments))
}
