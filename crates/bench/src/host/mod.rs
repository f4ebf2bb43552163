//! The suite `host`: files of this machine, held by the shipped binary, against Puppet and Ansible
//! on the same files.
//!
//! The files are in the system's directory for temporary files: point `TMPDIR` at the disk to be
//! measured.

mod drift;
mod first;
mod fleet;
mod lab;
mod pass;
mod peers;
mod workload;

use crate::Measurement;

/// All measurements of the suite, in the order of the table. Those that create files come before
/// those that remove many, because after removals ext4 finds new places slowly.
pub const MEASUREMENTS: &[Measurement] = &[
    ("drift", drift::edit_and_heal),
    ("first", first::converge),
    ("pass", pass::look_at_all),
    ("fleet", fleet::follow_and_rest),
];
