//! Schemathesis, which sends any requests that an OpenAPI document permits and forbids, and compares
//! the responses with the document.

use std::path::Path;
use std::process::Command;

use crate::program;

/// The packages of Python, one `name==version` per line; xtask installs them from the same file.
const PACKAGES: &str = include_str!("schemathesis.txt");

/// Returns the program that `cargo xtask setup` installs; `None` if it is missing, or another user's.
#[expect(clippy::disallowed_methods, reason = "the tools are kept in the home of whoever runs the tests")]
pub fn schemathesis(directory: &Path) -> Option<Command> {
    let environment = std::env::home_dir()?.join(".cache/setpoint/schemathesis");
    // Written last.
    let installed = std::fs::read_to_string(environment.join("installed.txt")).ok()?;
    if installed != PACKAGES {
        return None;
    }
    let mut command = program(&environment.join("bin/schemathesis").to_string_lossy());
    // It keeps what it has found in its directory.
    command.current_dir(directory);
    Some(command)
}
