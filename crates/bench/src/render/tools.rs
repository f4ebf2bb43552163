//! The paths of kustomize: xtask builds both of its forms with Go and passes their paths.

use std::path::PathBuf;

use anyhow::Context;

/// The command.
pub(super) const COMMAND: &str = "SETPOINT_KUSTOMIZE";
/// Its library in a process of ours that keeps running: crates/kustomize/record/peer.
pub(super) const LIBRARY: &str = "SETPOINT_KUSTOMIZE_PEER";

#[expect(clippy::disallowed_methods, reason = "xtask says here where the tools are that it has built")]
pub(super) fn path(variable: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.with_context(|| format!("{variable} is not set: run `cargo xtask bench render`, which builds kustomize"))
}
