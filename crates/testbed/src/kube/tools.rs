//! The tools: in the directory that `KUBEBUILDER_ASSETS` names, or else where `cargo xtask envtest`
//! keeps its builds.

use std::path::PathBuf;

use super::variable;

/// The versions to build, one `name version` per line; xtask reads the same file.
const VERSIONS: &str = include_str!("versions.txt");

/// Returns the version of Kubernetes that the tests are written for.
pub fn kubernetes_version() -> &'static str {
    version("kubernetes")
}

fn version(of: &str) -> &'static str {
    let line = VERSIONS.lines().find_map(|line| line.strip_prefix(of)?.strip_prefix(' '));
    line.expect("versions.txt has a line for each release")
}

/// Returns a real kustomize, of the version whose output we match.
pub fn kustomize() -> PathBuf {
    tool("kustomize")
}

/// Returns the file of a tool.
#[expect(clippy::disallowed_methods, reason = "the tools are kept in the home of whoever runs the tests")]
pub(super) fn tool(name: &str) -> PathBuf {
    let of_assets = variable("KUBEBUILDER_ASSETS").map(|folder| folder.join(name));
    let release = if matches!(name, "etcd" | "kustomize") { name } else { "kubernetes" };
    let kept = std::env::home_dir().map(|home| home.join(format!(".cache/setpoint/{name}-{}", version(release))));
    let found = [of_assets, kept].into_iter().flatten().find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: run `cargo xtask envtest`"))
}
