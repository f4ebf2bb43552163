//! The suite `host`: files of this machine, held by the shipped binary, against Puppet and Ansible
//! on the same files.
//!
//! Everything is done in a folder of the system's folder for temporary files: point `TMPDIR` at the
//! disk to be measured.

mod drift;
mod first;
mod fleet;
mod lab;
mod pass;
mod peers;
mod workload;

use crate::Measurement;

/// Every measurement of the suite, in the order of the table. What makes files comes before what
/// leaves many removed ones behind, among which ext4 finds new places slowly.
pub const MEASUREMENTS: &[Measurement] = &[
    ("drift", drift::edit_and_heal),
    ("first", first::converge),
    ("pass", pass::look_at_all),
    ("fleet", fleet::follow_and_rest),
];
