//! Real parts for tests: repositories made by `git` itself, `git http-backend` behind TLS, the
//! system's `sshd`, a Kubernetes API server, an OpenID Connect provider, a browser, and Schemathesis.
//!
//! Dev only. Reading order: [`repository`], [`https`], [`ssh`], [`kube`], [`node`] (programs of
//! Node, and the browser), [`identity_provider`]. All servers listen on
//! loopback, keep their files in a temporary directory and end when their value is dropped. They
//! work as root and as an ordinary user. A tool that the machine lacks causes a panic that names
//! it: `cargo xtask setup` installs it, `cargo xtask envtest` builds the tools for [`kube`].

pub mod https;
pub mod identity_provider;
pub mod kube;
pub mod node;
pub mod repository;
mod schemathesis;
pub mod ssh;
pub mod tls;

pub use https::{Fault, GitServer, On, Request};
pub use repository::{GitRepository, Item};
pub use schemathesis::schemathesis;
pub use ssh::SshServer;

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Builds a command that inherits nothing but a plain path: tests must not depend on the user who
/// runs them.
#[expect(clippy::disallowed_methods, reason = "the door through which tests start the reference tools")]
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", "/nonexistent").env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Reports that the calling test returns without checking anything, because the machine lacks
/// something. `reason` names what it lacks and the remedy. `cargo xtask test` counts these lines,
/// and fails unless `--allow-missing` is given.
///
/// A test that runs elsewhere in the same run (for example as another user) is not skipped, and
/// does not call this.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    // libtest names the thread after the test. It captures output of `print!`, but not direct
    // writes to standard output.
    let test = thread.name().unwrap_or("a test");
    writeln!(std::io::stdout(), "\nskipped test: {test}: {reason}").expect("standard output can be written to");
}
