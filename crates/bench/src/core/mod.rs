//! The suite `core`: what the crates without I/O and the ledger must reach.

mod yaml;

use crate::Measurement;

/// Every measurement of the suite, in the order of the table.
pub const MEASUREMENTS: &[Measurement] = &[("yaml", yaml::parse)];
