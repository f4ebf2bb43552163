//! Schemathesis, which tests the API against its OpenAPI document: installed once for each list of
//! packages, into an environment of Python in the cache.

use std::fs;

use anyhow::Context;

use crate::kubernetes;
use crate::process;

/// The packages, all of them pinned. The tests read the same file.
const PACKAGES: &str = include_str!("../../crates/testbed/src/schemathesis.txt");
const FILE: &str = "crates/testbed/src/schemathesis.txt";

/// Installs Schemathesis if it is missing; reports whether it is there.
pub(crate) fn has_schemathesis() -> anyhow::Result<bool> {
    let environment = kubernetes::cache()?.join("schemathesis");
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|packages| packages == PACKAGES) {
        println!("schemathesis: found ({})", environment.display());
        return Ok(true);
    }
    println!("schemathesis: missing (tests the API against its document); installing {FILE} with pip");
    let place = environment.to_string_lossy();
    let pip = environment.join("bin/pip");
    let commands = [
        process::program("python3", &["-m", "venv", "--clear", &*place]),
        process::program(&pip.to_string_lossy(), &["install", "--quiet", "--no-deps", "--requirement", FILE]),
    ];
    for command in commands {
        if !process::succeeds(command).unwrap_or(false) {
            println!("schemathesis: cannot be installed; see above. Its test is left out with --allow-missing");
            return Ok(false);
        }
    }
    fs::write(&installed, PACKAGES).with_context(|| format!("cannot write {}", installed.display()))?;
    println!("schemathesis: installed ({})", environment.display());
    Ok(true)
}
