//! Measurements against their bars and against peers, as suites that fill one table.
//!
//! A measurement calls the product as its user would, and its peer on the same input right after
//! it, so that the ratio holds on any machine. This crate is built only for benches: the product
//! and its tests never depend on it.

mod agent;
pub mod core;
pub mod host;
pub mod kube;
pub mod machine;
mod percentile;
pub mod render;
pub mod server;
pub mod stopwatch;
pub mod table;

use anyhow::{Context, bail, ensure};

use crate::table::Table;

/// A named measurement; it adds one or more rows.
pub type Measurement = (&'static str, fn(&mut Table) -> anyhow::Result<()>);

/// A measurement with a size: its name, its default size, and the measurement.
pub type SizedMeasurement = (&'static str, usize, fn(usize, &mut Table) -> anyhow::Result<()>);

type Taking = Box<dyn Fn(&mut Table) -> anyhow::Result<()>>;

/// Runs the measurements of a suite in order: all of them, or only the named one. With a `size`,
/// they are smaller or larger than the size that their bars are for.
pub fn measure(suite: &str, only: Option<&str>, size: Option<usize>) -> anyhow::Result<Table> {
    let mut measurements = measurements(suite, size)?;
    let names: Vec<&str> = measurements.iter().map(|(name, _)| *name).collect();
    measurements.retain(|(name, _)| only.is_none_or(|only| only == *name));
    if let (Some(only), true) = (only, measurements.is_empty()) {
        bail!("the suite `{suite}` has no measurement `{only}`; it has {}", names.join(", "));
    }
    take(suite, &measurements)
}

fn measurements(suite: &str, size: Option<usize>) -> anyhow::Result<Vec<(&'static str, Taking)>> {
    let fixed = |(name, taking): &Measurement| {
        let taking = *taking;
        (*name, Box::new(move |table: &mut Table| taking(table)) as Taking)
    };
    let sized = |(name, usual, taking): &SizedMeasurement| {
        let (taking, size) = (*taking, size.unwrap_or(*usual));
        (*name, Box::new(move |table: &mut Table| taking(size, table)) as Taking)
    };
    ensure!(size.is_none() || matches!(suite, "kube" | "server"), "the suite `{suite}` has one size; leave it out");
    Ok(match suite {
        "core" => core::MEASUREMENTS.iter().map(fixed).collect(),
        "host" => host::MEASUREMENTS.iter().map(fixed).collect(),
        "kube" => kube::MEASUREMENTS.iter().map(sized).collect(),
        "render" => render::MEASUREMENTS.iter().map(fixed).collect(),
        "server" => server::MEASUREMENTS.iter().map(sized).collect(),
        other => bail!("there is no suite `{other}`; there are `core`, `host`, `kube`, `render` and `server`"),
    })
}

fn take(suite: &str, measurements: &[(&str, Taking)]) -> anyhow::Result<Table> {
    ensure!(
        !measurements.is_empty(),
        "the suite `{suite}` measures nothing yet; add a measurement to its MEASUREMENTS in crates/bench"
    );
    let mut table = Table::default();
    for (name, measurement) in measurements {
        measurement(&mut table).with_context(|| format!("measuring {name}"))?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_without_measurements_is_an_error_and_not_a_success() {
        let error = take("core", &[]).unwrap_err().to_string();
        assert!(error.contains("measures nothing yet"), "{error}");
    }

    #[test]
    fn a_measurement_that_is_not_there_is_told_with_those_that_are() {
        let error = measure("core", Some("toml"), None).unwrap_err().to_string();
        assert_eq!(error, "the suite `core` has no measurement `toml`; it has decide, ledger, yaml, simulator");
    }

    #[test]
    fn a_measurement_that_fails_is_named() {
        let error = take("core", &[("yaml", Box::new(|_| bail!("no input")))]).unwrap_err();
        assert_eq!(format!("{error:#}"), "measuring yaml: no input");
    }

    #[test]
    fn a_size_is_only_for_suites_that_have_several() {
        let error = measure("core", None, Some(7)).unwrap_err().to_string();
        assert_eq!(error, "the suite `core` has one size; leave it out");
    }
}
