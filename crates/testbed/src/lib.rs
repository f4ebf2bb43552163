//! Real parts for tests: repositories made by `git` itself, `git http-backend` behind TLS, the
//! system's `sshd`, and a Kubernetes API server.
//!
//! Dev only. Reading order: [`repository`], [`https`], [`ssh`], [`kube`]. Everything listens on
//! loopback, lives in a temporary folder and ends with the value that holds it; it works as root
//! and as an ordinary user. What is missing on the machine is a panic that names it: `cargo xtask
//! setup` installs it, `cargo xtask envtest` builds what [`kube`] starts.

pub mod https;
pub mod kube;
pub mod repository;
pub mod ssh;
pub mod tls;

pub use https::{Fault, GitServer, On, Request};
pub use repository::{GitRepository, Item};
pub use ssh::SshServer;

use std::io::Write as _;
use std::process::{Command, Stdio};

/// A program that inherits nothing but a plain path: tests must not depend on who runs them.
#[expect(clippy::disallowed_methods, reason = "the door through which tests start the reference tools")]
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", "/nonexistent").env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Reports that the calling test returns without checking anything, because the machine lacks
/// something. `reason` says what it lacks and what to do. `cargo xtask test` counts these lines,
/// and fails unless `--allow-missing` is given.
///
/// A test that runs elsewhere in the same run (as another user, say) is not skipped, and does not
/// call this.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    // libtest gives the thread of a test its name. It captures what a test prints, but not what it
    // writes.
    let test = thread.name().unwrap_or("a test");
    writeln!(std::io::stdout(), "\nskipped test: {test}: {reason}").expect("standard output can be written to");
}
