//! The server at the size of fleets: an agent that holds 100 to 50,000 apps on a target in memory. Its
//! API is read by one reader, and its pages over HTTP.

mod connection;
mod fleet;
mod web;

pub use fleet::rows_of;

use crate::SizedMeasurement;

/// All measurements of the suite. The size is that of the largest fleet.
pub const MEASUREMENTS: &[SizedMeasurement] = &[("fleet", 50_000, fleet::read_fleets)];
