//! The suite `core`: the bars of the crates without I/O and of the ledger.

mod decide;
mod fleet;
mod ledger;
mod simulator;
mod yaml;

use crate::Measurement;

/// All measurements of the suite, in the order of the table.
pub const MEASUREMENTS: &[Measurement] = &[
    ("decide", decide::decide_all),
    ("ledger", ledger::append_open_verify),
    ("yaml", yaml::parse),
    ("simulator", simulator::run_seeds),
];
