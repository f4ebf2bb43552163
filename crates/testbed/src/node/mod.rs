//! Programs of Node for tests, with the npm packages that `cargo xtask setup` installs, and
//! Debian's Chromium.

mod place;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

const CHROMIUM: &str = "/usr/bin/chromium";

/// The directory with the packages of the tests.
#[derive(Clone, Debug)]
pub struct Node {
    modules: PathBuf,
}

impl Node {
    /// Finds Node and the packages, or returns what is missing and the remedy.
    #[expect(clippy::disallowed_methods, reason = "the packages are kept in the home of whoever runs the tests")]
    pub fn find() -> Result<Self, String> {
        if program("node").arg("--version").output().is_err() {
            return Err("node is missing; run `cargo xtask setup`".to_owned());
        }
        let cache = std::env::home_dir().map(|home| home.join(".cache/setpoint"));
        let modules = cache.map(|cache| cache.join(place::directory_name()).join("node_modules"));
        let modules = modules.filter(|modules| modules.is_dir());
        let modules = modules.ok_or("the npm packages of the tests are missing; run `cargo xtask setup`")?;
        Ok(Self { modules })
    }

    /// Builds the command that runs a script. The script finds the packages in the directory that
    /// `NODE_PACKAGES` names, and writes other files to `scratch` only.
    pub fn script(&self, script: &Path, scratch: &Path) -> Command {
        let mut command = program("node");
        command.arg(script).env("NODE_PACKAGES", &self.modules).env("HOME", scratch).env("TMPDIR", scratch);
        command
    }
}

/// Returns the path of Debian's Chromium, or what is missing and the remedy.
pub fn chromium() -> Result<&'static Path, String> {
    let chromium = Path::new(CHROMIUM);
    if chromium.exists() { Ok(chromium) } else { Err(format!("{CHROMIUM} is missing; run `cargo xtask setup`")) }
}
