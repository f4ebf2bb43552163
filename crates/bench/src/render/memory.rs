//! The memory of a render: the resident set of a separate process that does nothing else, at its
//! peak, less the one before.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use super::growth::resources;
use super::overlays::{Disk, corpus, rendered};
use crate::agent::program::{output_of, program};
use crate::table::{Bar, Peer, Row, Table, Unit};

pub(super) const MIB: f64 = 1024.0 * 1024.0;
/// The most that a render may take: a fixed part, and a multiple of its output.
const FREE: f64 = 5e6;
const TIMES_OUTPUT: f64 = 10.0;
const MANY: usize = 10_000;

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    let overlays = corpus()?;
    let mut worst = (0.0, String::new());
    for overlay in &overlays {
        let share = taken(&overlay.root, &overlay.target)? / allowed(overlay.expected.len());
        if share > worst.0 {
            worst = (share, overlay.name.clone());
        }
    }
    table.add(Row {
        what: format!("memory of one render, of 10 × output + 5 MB, the most of {}: {}", overlays.len(), worst.1),
        unit: Unit::Cost("%"),
        ours: worst.0 * 100.0,
        peer: Peer::None,
        bar: Bar::Figure(100.0),
    });
    let folder = tempfile::tempdir()?;
    let files = resources(MANY);
    for (path, text) in &files.0 {
        fs::write(folder.path().join(path), text)?;
    }
    let output = rendered(&files, "")?.len();
    table.add(Row {
        what: format!("memory of one render, {MANY} resources in one file, {:.1} MB of output", output as f64 / 1e6),
        unit: Unit::Cost("MiB"),
        ours: taken(folder.path(), "")? / MIB,
        peer: Peer::None,
        bar: Bar::Figure((allowed(output) / MIB * 10.0).floor() / 10.0),
    });
    Ok(())
}

fn allowed(output: usize) -> f64 {
    output as f64 * TIMES_OUTPUT + FREE
}

/// Returns the bytes that a render takes, as reported by a process that is started for it.
fn taken(root: &Path, target: &str) -> anyhow::Result<f64> {
    let said = said_alone(&["once", &root.to_string_lossy(), target])?;
    said.trim().parse().with_context(|| format!("`{said}` is no number of bytes"))
}

/// Runs this program for a part of the suite and returns its output.
pub(super) fn said_alone(words: &[&str]) -> anyhow::Result<String> {
    let mut command = program(std::env::current_exe().context("this program is not to be found")?);
    command.arg("render").args(words);
    let output = output_of(command)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{} alone: {said}", words.join(" "));
    Ok(said)
}

/// Renders one directory and returns how many more bytes were resident at the peak than before.
pub fn render_once(root: &str, target: &str) -> anyhow::Result<u64> {
    let files = Disk(root.into());
    let before = kibibytes("VmRSS:")?;
    rendered(&files, target)?;
    Ok(kibibytes("VmHWM:")?.saturating_sub(before) * 1024)
}

pub(super) fn kibibytes(field: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix("kB")?.trim().parse().ok());
    size.with_context(|| format!("the kernel says nothing of {field}"))
}
