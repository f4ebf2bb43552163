//! `setpoint kustomize build` over the corpus, with the start of its process, against `kustomize
//! build`.

use std::path::Path;

use anyhow::ensure;

use super::clock::children;
use super::overlays::{Overlay, corpus};
use super::tools::{COMMAND, path};
use crate::agent::program::{output_of, program, shipped};
use crate::table::{Bar, Peer, Row, Table, Unit};

const RUNS: u32 = 3;
const TIMES_CLI: f64 = 10.0;

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    let overlays = corpus()?;
    let ours = taken(&overlays, shipped()?, &["kustomize", "build"])?;
    let figure = taken(&overlays, &path(COMMAND)?, &["build"])?;
    table.add(Row {
        what: format!("{} overlays, each by `setpoint kustomize build`", overlays.len()),
        unit: Unit::Cost("ms"),
        ours,
        peer: Peer::Measured { name: "kustomize CLI", figure },
        bar: Bar::TimesPeer(TIMES_CLI),
    });
    Ok(())
}

/// Returns the milliseconds of processor time for all overlays.
fn taken(overlays: &[Overlay], binary: &Path, words: &[&str]) -> anyhow::Result<f64> {
    let before = children()?;
    for overlay in (0..RUNS).flat_map(|_| overlays) {
        let mut command = program(binary);
        command.args(words).arg(overlay.folder());
        let output = output_of(command)?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        let is_equal = output.stdout == overlay.expected.as_bytes();
        ensure!(is_equal, "`{} {}` of {}: {complaint}", binary.display(), words.join(" "), overlay.name);
    }
    Ok((children()? - before).as_secs_f64() * 1e3 / f64::from(RUNS))
}
