//! Processes that cannot outlive the tests, however these end: dropped, panicking, killed or
//! interrupted.

use std::fs::{self, File};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::tools::tool;
use crate::{program, tls};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// A thread that lives as long as the servers it keeps.
///
/// The kernel kills each of them when the *thread* that started it ends, and the thread of a test
/// ends with the test.
#[derive(Debug)]
pub(super) struct Keeper(Option<Runtime>);

impl Keeper {
    pub(super) fn start() -> Self {
        Self(Some(tls::runtime()))
    }

    /// Runs the work on the keeper's thread and waits for it, even if the caller is in another
    /// runtime.
    #[expect(clippy::disallowed_methods, reason = "the keeper's runtime is its own")]
    pub(super) fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        let runtime = self.0.as_ref().expect("it is only taken when dropped");
        runtime.spawn(async move { done.send(work.await) });
        result.recv().expect("the work does not panic")
    }

    /// Waits a moment between two checks of a condition.
    pub(super) fn pause(&self) {
        self.run(async {
            let mut clock = tokio::time::interval(PAUSE);
            // The first tick comes at once.
            clock.tick().await;
            clock.tick().await;
        });
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A test may drop it where blocking is not allowed.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A running server.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a tool; its output goes to `log`.
    pub(super) fn start(keeper: &Keeper, name: &str, arguments: &[String], log: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).expect("the folder is ours");
        let errors = output.try_clone().expect("a file can be cloned");
        let mut command = program("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(tool(name)).args(arguments);
        command.stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        let child = keeper.run(async move { command.spawn() });
        Self { child: child.expect("setpriv is part of util-linux"), log: log.to_owned() }
    }

    /// Kills the process and waits until it is gone.
    pub(super) fn kill(&mut self) {
        // Fails only if the process has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is a child of ours").is_some()
    }

    /// Returns the end of the process's log.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(4000)..]).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Removes a directory when it is dropped, or when this process has ended without dropping it.
#[derive(Debug)]
pub(super) struct Janitor(Child);

/// Ctrl-C interrupts the whole process group of the tests; the cleaning process ignores it. Servers
/// may still be dying and writing when it begins.
const CLEANING: &str = r#"trap "" INT TERM HUP; cat >/dev/null; for pause in 0 1 5; do sleep "$pause"; rm -rf "$1" && exit 0; done; exit 1"#;

impl Janitor {
    pub(super) fn of(folder: &Path) -> Self {
        let mut command = program("sh");
        command.args(["-c", CLEANING, "sh"]).arg(folder);
        // It must not hold the output of the tests open: a reader of that output would wait for it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("every system has a shell"))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
