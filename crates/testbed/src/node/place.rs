//! The npm packages of the tests and the directory that they are installed in: xtask installs them,
//! the tests find them, and both include this file.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The packages, one `name version` per line.
const LIST: &str = include_str!("packages.txt");

/// Returns the name of the directory in `~/.cache/setpoint`. It changes with the list, so that no
/// test uses outdated packages.
pub(crate) fn directory_name() -> String {
    let mut digest = DefaultHasher::new();
    LIST.hash(&mut digest);
    format!("node-{:016x}", digest.finish())
}
