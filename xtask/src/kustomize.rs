//! kustomize itself, built with Go: the command, and its library in a process of ours that stays (crates/kustomize/record/peer).
//!
//! The command is kept in `~/.cache/setpoint/kustomize-<version>`. The other one is built each time: it is ours and changes, and Go keeps what it needs.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use crate::{go, kubernetes, process};

const VERSION: &str = "5.8.1";
const MODULE: &str = "sigs.k8s.io/kustomize/kustomize/v5";
const PEER: &str = "crates/kustomize/record/peer";

/// Finds the command, or builds it.
pub(crate) fn command() -> anyhow::Result<PathBuf> {
    let file = kubernetes::cache()?.join(format!("kustomize-{VERSION}"));
    if file.exists() {
        println!("kustomize {VERSION}: hit ({})", file.display());
        return Ok(file);
    }
    let go = go::found().map_err(anyhow::Error::msg)?;
    println!("kustomize {VERSION}: miss; building {MODULE} with `{go}`");
    // Another run may build it at the same time: each has a folder of its own until it is whole.
    let folder = file.with_extension(std::process::id().to_string());
    let module = format!("{MODULE}@v{VERSION}");
    let mut install = process::program("go", &["install", "-trimpath", "-ldflags", "-s -w", &module]);
    install.env("GOBIN", &folder).env("CGO_ENABLED", "0").env("GOWORK", "off");
    ensure!(process::succeeds(install)?, "`go install {module}` failed; see above");
    fs::rename(folder.join("kustomize"), &file).with_context(|| format!("cannot make {}", file.display()))?;
    fs::remove_dir(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(file)
}

/// Builds the process that answers for the library.
pub(crate) fn peer() -> anyhow::Result<PathBuf> {
    go::found().map_err(anyhow::Error::msg)?;
    let file = kubernetes::cache()?.join(format!("kustomize-peer-{VERSION}-bench"));
    let mut build = process::program("go", &["build", "-trimpath", "-o", &file.to_string_lossy(), "."]);
    build.current_dir(process::root().join(PEER)).env("CGO_ENABLED", "0").env("GOWORK", "off");
    ensure!(process::succeeds(build)?, "`go build` of {PEER} failed; see above");
    Ok(file)
}
