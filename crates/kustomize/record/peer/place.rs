//! What the built peer is called in `~/.cache/setpoint`: xtask builds it, the tests ask it, and
//! both read this file.

use std::hash::{DefaultHasher, Hash, Hasher};

const SOURCE: [&str; 3] = [include_str!("main.go"), include_str!("go.mod"), include_str!("go.sum")];

/// Another source is another file, so that nobody asks a peer of yesterday.
pub(crate) fn file_name() -> String {
    let mut digest = DefaultHasher::new();
    SOURCE.hash(&mut digest);
    format!("kustomize-peer-5.8.1-{:016x}", digest.finish())
}
