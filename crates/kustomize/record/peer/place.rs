//! The name of the built peer in `~/.cache/setpoint`: xtask builds it, the tests run it, and both
//! include this file.

use std::hash::{DefaultHasher, Hash, Hasher};

const SOURCE: [&str; 3] = [include_str!("main.go"), include_str!("go.mod"), include_str!("go.sum")];

/// The name changes with the source, so that no test runs an outdated peer.
pub(crate) fn file_name() -> String {
    let mut digest = DefaultHasher::new();
    SOURCE.hash(&mut digest);
    format!("kustomize-peer-5.8.1-{:016x}", digest.finish())
}
