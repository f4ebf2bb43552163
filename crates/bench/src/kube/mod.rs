//! The suite `kube`: a real Kubernetes API server with its etcd, held by the shipped binary,
//! against a bare client that sends the same requests and against kubectl, on the same server in
//! the same run.
//!
//! The server and its clients share this machine. etcd does not sync to disk, which is the same for
//! all.

mod bare;
mod drift;
mod flux;
mod lab;
mod one;
mod progress;
mod records;
mod rest;
mod restart;
mod server;
mod workload;

use crate::SizedMeasurement;

/// All measurements of the suite, in the order of the table, with the size that their bars are for.
pub const MEASUREMENTS: &[SizedMeasurement] = &[
    ("flux", 1_000, flux::install_and_upgrade),
    ("healthy", 1_000, flux::install_to_healthy),
    ("one", 1_000, one::apply_and_look),
    ("restart", 1_000, restart::start_again),
    ("drift", 1_000, drift::edit_and_heal),
    ("rest", 10_000, rest::stand_still),
];
