//! Every overlay of the corpus, rendered in process, by the library and by the CLI; all of them
//! together, and the ten that take the library longest.

use std::time::Duration;

use anyhow::ensure;

use super::clock::{children, median, time};
use super::library::Library;
use super::overlays::{Disk, Overlay, corpus, rendered};
use super::tools::{COMMAND, path};
use crate::agent::program::{output_of, program};
use crate::table::{Bar, Peer, Row, Table, Unit};

const RUNS: usize = 11;
const LIBRARY_RUNS: usize = 7;
/// The runs of the CLI, whose time is known to a hundredth of a second in sum.
const CLI_RUNS: u32 = 5;
const SLOWEST: usize = 10;
const TIMES_CLI: f64 = 20.0;
const TIMES_LIBRARY: f64 = 5.0;

/// The milliseconds of processor time for one overlay.
struct Measured {
    name: String,
    ours: f64,
    library: f64,
    cli: f64,
}

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    let overlays = corpus()?;
    let mut library = Library::start()?;
    let measure = |overlay: &Overlay| {
        Ok(Measured {
            name: overlay.name.clone(),
            ours: ours(overlay)?,
            library: by_library(&mut library, overlay)?,
            cli: by_cli(overlay)?,
        })
    };
    let mut taken: Vec<Measured> = overlays.iter().map(measure).collect::<anyhow::Result<_>>()?;
    let sum = |of: fn(&Measured) -> f64| taken.iter().map(of).sum::<f64>();
    let all = Measured {
        name: format!("{} overlays", taken.len()),
        ours: sum(|taken| taken.ours),
        library: sum(|taken| taken.library),
        cli: sum(|taken| taken.cli),
    };
    taken.sort_by(|one, other| other.library.total_cmp(&one.library));
    taken.truncate(SLOWEST);
    for taken in [all].iter().chain(&taken) {
        let row = |name, figure, bar| Row {
            what: format!("{}, rendered in process", taken.name),
            unit: Unit::Cost("ms"),
            ours: taken.ours,
            peer: Peer::Measured { name, figure },
            bar: Bar::TimesPeer(bar),
        };
        table.add(row("kustomize CLI", taken.cli, TIMES_CLI));
        table.add(row("its library, warm", taken.library, TIMES_LIBRARY));
    }
    Ok(())
}

fn ours(overlay: &Overlay) -> anyhow::Result<f64> {
    let files = Disk(overlay.root.clone());
    let mut taken = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let (output, run) = time(|| rendered(&files, &overlay.target));
        ensure!(output? == overlay.expected, "{} is rendered otherwise than by kustomize", overlay.name);
        taken.push(run);
    }
    Ok(median(taken))
}

fn by_library(library: &mut Library, overlay: &Overlay) -> anyhow::Result<f64> {
    // One run to warm up.
    library.render(overlay)?;
    let runs = (0..LIBRARY_RUNS).map(|_| Ok(library.render(overlay)?.1));
    Ok(median(runs.collect::<anyhow::Result<Vec<Duration>>>()?))
}

fn by_cli(overlay: &Overlay) -> anyhow::Result<f64> {
    let cli = path(COMMAND)?;
    let before = children()?;
    for _ in 0..CLI_RUNS {
        let mut command = program(&cli);
        command.arg("build").arg(overlay.folder());
        let output = output_of(command)?;
        ensure!(output.stdout == overlay.expected.as_bytes(), "{}: kustomize is another version", overlay.name);
    }
    Ok((children()? - before).as_secs_f64() * 1e3 / f64::from(CLI_RUNS))
}
