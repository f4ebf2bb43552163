//! `cargo xtask bench <suite> [measurement] [size]`: builds crates/bench as it is packaged,
//! and runs one of its suites.
//!
//! The measurements and their table are in that crate, which may link anything. xtask only prepares
//! the tools, starts it and passes on whether every bar was met.

use crate::{kubernetes, peer, process};

pub(crate) fn run(suite: &str, which: &[&str]) -> anyhow::Result<bool> {
    if suite == "kube" {
        kubernetes::prepare()?;
    }
    let mut arguments = vec!["run", "--profile", "dist", "--locked", "--package", "setpoint-bench", "--", suite];
    arguments.extend(which);
    let mut bench = process::program("cargo", &arguments);
    if suite == "render" {
        bench.env("SETPOINT_KUSTOMIZE", kubernetes::kustomize()?).env("SETPOINT_KUSTOMIZE_PEER", peer::prepare()?);
    }
    process::succeeds(bench)
}
