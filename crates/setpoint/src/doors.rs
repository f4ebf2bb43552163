//! The doors: the one place where the process meets its surroundings.
//!
//! Arguments and standard streams now; the clock, the environment and the current folder enter here too once something needs
//! them. Everything else takes what it needs as a parameter, so that tests and the simulator can hand in their own.

use std::ffi::OsString;
use std::io::{self, Write};

/// The command line, the program's name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

/// Where results go.
pub(crate) fn output() -> impl Write {
    io::stdout().lock()
}

/// Where goes what a person must know and a pipe must not read.
pub(crate) fn complaints() -> impl Write {
    io::stderr().lock()
}
