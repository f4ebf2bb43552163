//! Measurements against their bars and against peers, as suites that fill one table.
//!
//! A measurement calls the product as its user would, and its peer on the same input right beside it, so that the ratio holds on
//! any machine. It is built only for benches: the product and its tests never depend on it.

pub mod core;
pub mod host;
pub mod machine;
pub mod stopwatch;
pub mod table;

use anyhow::{Context, bail, ensure};

use crate::table::Table;

/// A named measurement; it adds one or more rows.
pub type Measurement = (&'static str, fn(&mut Table) -> anyhow::Result<()>);

/// Takes the measurements of a suite in order: all of them, or the one that is named.
pub fn measure(suite: &str, only: Option<&str>) -> anyhow::Result<Table> {
    let measurements = match suite {
        "core" => core::MEASUREMENTS,
        "host" => host::MEASUREMENTS,
        other => bail!("there is no suite `{other}`; there are `core` and `host`"),
    };
    let wanted = |(name, _): &&Measurement| only.is_none_or(|only| only == *name);
    let wanted: Vec<Measurement> = measurements.iter().filter(wanted).copied().collect();
    if let (Some(only), true) = (only, wanted.is_empty()) {
        let names: Vec<&str> = measurements.iter().map(|(name, _)| *name).collect();
        bail!("the suite `{suite}` has no measurement `{only}`; it has {}", names.join(", "));
    }
    take(suite, &wanted)
}

fn take(suite: &str, measurements: &[Measurement]) -> anyhow::Result<Table> {
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
        let error = measure("core", Some("toml")).unwrap_err().to_string();
        assert_eq!(error, "the suite `core` has no measurement `toml`; it has decide, ledger, yaml, simulator");
    }

    #[test]
    fn a_measurement_that_fails_is_named() {
        let error = take("core", &[("yaml", |_| bail!("no input"))]).unwrap_err();
        assert_eq!(format!("{error:#}"), "measuring yaml: no input");
    }
}
