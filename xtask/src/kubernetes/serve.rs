//! The API server that the test binaries of one run share, run by a process of crates/testbed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::Context;

use super::ASSETS;
use crate::process;

/// The variable that passes the shared server's directory to test binaries.
pub(crate) const SHARED: &str = "SETPOINT_ENVTEST_SERVER";

/// The shared server; it ends with this value. The keeper ends when its input does, so it cannot
/// outlive this process however that ends.
pub(crate) struct SharedServer {
    keeper: Child,
    folder: String,
}

impl SharedServer {
    /// Starts it from the binary that `cargo test` has built next to this one.
    pub(crate) fn start(assets: &Path) -> anyhow::Result<Self> {
        let binary =
            std::env::current_exe().context("cannot find the path of xtask")?.with_file_name("setpoint-testbed");
        let mut command = process::program::<&str>(&binary.to_string_lossy(), &[]);
        command.env(ASSETS, assets).env_remove(SHARED).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        let mut folder = String::new();
        let output = keeper.stdout.take().expect("stdout was piped above");
        BufReader::new(output).read_line(&mut folder).context("the shared API server wrote nothing")?;
        let server = Self { keeper, folder: folder.trim().to_owned() };
        anyhow::ensure!(!server.folder.is_empty(), "the shared API server did not start; see above");
        Ok(server)
    }

    /// Returns the directory with the server's description.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }
}

impl Drop for SharedServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Its own output already contains all of its messages.
        let _ = self.keeper.wait();
    }
}
