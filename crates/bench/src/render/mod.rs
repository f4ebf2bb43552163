//! The suite `render`: kustomizations, rendered in process and by the shipped command, against the
//! kustomize CLI and against its library, warm in one process.
//!
//! The figures are processor time, because the machine may be busy: that of the thread that
//! renders, of child processes once they have ended, and of the library's process by its own
//! report. The overlays are those of a directory that is no part of the project (`SETPOINT_CORPUS`,
//! or `../shared/corpus`).

mod apps;
mod clock;
mod command;
mod corpus;
mod fleet;
mod growth;
mod library;
mod limits;
mod memory;
mod overlays;
mod tools;

pub use limits::exhaust;
pub use memory::render_once;

use crate::Measurement;

/// All measurements of the suite, in the order of the table.
pub const MEASUREMENTS: &[Measurement] = &[
    ("corpus", corpus::render),
    ("command", command::render),
    ("memory", memory::render),
    ("fleet", fleet::render),
    ("apps", apps::render),
    ("growth", growth::render),
    ("limits", limits::render),
];
