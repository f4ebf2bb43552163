//! The npm packages of the tests, installed once per list into `~/.cache/setpoint`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use crate::kubernetes;
use crate::process;

#[path = "../../crates/testbed/src/node/place.rs"]
mod place;

/// The packages, one `name version` per line.
const PACKAGES: &str = include_str!("../../crates/testbed/src/node/packages.txt");

/// The major version that the packages need.
const NEEDED: u32 = 20;

/// Returns the directory of the packages, if they are installed.
pub(crate) fn ready() -> anyhow::Result<Option<PathBuf>> {
    let directory = kubernetes::cache()?.join(place::directory_name());
    Ok(directory.exists().then_some(directory))
}

/// Returns the version of Node, or the reason why it cannot run the packages, with the remedy.
pub(crate) fn found() -> Result<String, String> {
    let remedy = format!("install Node {NEEDED} or newer with npm");
    let Ok(version) = process::output_of(process::program("node", &["--version"])) else {
        return Err(format!("Node is missing; {remedy}"));
    };
    let version = version.trim();
    match major(version) {
        Some(major) if major >= NEEDED => Ok(version.to_owned()),
        _ => Err(format!("Node {version} is too old; {remedy}")),
    }
}

/// Finds the packages, or installs them.
pub(crate) fn prepare() -> anyhow::Result<PathBuf> {
    if let Some(directory) = ready()? {
        return Ok(directory);
    }
    let directory = kubernetes::cache()?.join(place::directory_name());
    // Another run may install them at the same time: each has its own directory until that is
    // complete.
    let partial = directory.with_extension(std::process::id().to_string());
    let prefix = partial.to_string_lossy();
    let packages: Vec<String> = PACKAGES.lines().map(|line| line.replace(' ', "@")).collect();
    let options = ["install", "--prefix", &*prefix, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"];
    let arguments = options.into_iter().chain(packages.iter().map(String::as_str)).collect::<Vec<_>>();
    let installed = process::succeeds(process::program("npm", &arguments));
    if !matches!(installed, Ok(true)) {
        fs::remove_dir_all(&partial).ok();
    }
    ensure!(installed?, "`npm {}` failed; see above", arguments.join(" "));
    if fs::rename(&partial, &directory).is_err() && directory.exists() {
        fs::remove_dir_all(&partial).ok();
    }
    ready()?.with_context(|| format!("cannot move {} to {}", partial.display(), directory.display()))
}

/// Reads `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_node_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v18.0.0-nightly"), Some(18));
        assert_eq!(major("20"), None);
    }

    #[test]
    fn every_package_has_an_exact_version() {
        for line in PACKAGES.lines() {
            let (name, version) = line.split_once(' ').expect("a name and a version");
            assert!(!name.is_empty() && version.split('.').all(|part| part.parse::<u32>().is_ok()), "{line}");
        }
    }
}
