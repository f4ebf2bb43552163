//! The peers: Puppet and Ansible, as packaged by Debian, on the same files. Each runs once per
//! suite, however many measurements use it.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::ensure;

use super::lab::is_in_place;
use super::workload::Workload;
use crate::agent::program::{NotRun, output_of, program};
use crate::stopwatch::time;
use crate::table::Peer;

/// The number of files for Puppet.
pub(super) const PUPPET_FILES: usize = 1_000;
/// The number of files for Ansible: it takes a third of a second for each.
const ANSIBLE_FILES: usize = 100;
/// The runs with nothing to do, of which the shortest counts: the first may read from disk what the
/// others find in memory.
const QUIET_RUNS: u32 = 2;

/// The times of a peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) first: Duration,
    pub(super) quiet: Duration,
    /// The part of `quiet` without the start of a process and the collection of facts, if the peer
    /// reports it.
    alone: Option<Duration>,
}

/// The times of a peer, or the reason why they are missing.
type Figures = OnceLock<Result<Measured, String>>;

/// Measures Puppet on 1,000 files, in milliseconds: `puppet apply`, with the start of its process.
pub(super) fn puppet(of: fn(&Measured) -> Duration) -> Peer {
    as_peer("Puppet", measured_puppet(), |taken| of(taken).as_secs_f64() * 1e3)
}

/// Returns Puppet's own report: the application of its catalog alone, with nothing to do.
pub(super) fn puppet_catalog() -> Peer {
    // Without a report there is no number, and that meets no bar.
    as_peer("Puppet, its catalog alone", measured_puppet(), |taken| {
        taken.alone.map_or(f64::NAN, |alone| alone.as_secs_f64() * 1e3)
    })
}

fn measured_puppet() -> &'static Result<Measured, String> {
    static FIGURES: Figures = OnceLock::new();
    let missing = "install it with `apt-get install --no-install-recommends puppet-agent`";
    FIGURES.get_or_init(|| measure(missing, run_puppet))
}

/// Measures Ansible on 100 files, scaled to the number of files for Puppet, in milliseconds.
pub(super) fn ansible(of: fn(&Measured) -> Duration) -> Peer {
    static FIGURES: Figures = OnceLock::new();
    let missing = "install it with `apt-get install --no-install-recommends ansible-core`";
    let taken = FIGURES.get_or_init(|| measure(missing, run_ansible));
    let scale = PUPPET_FILES as f64 / ANSIBLE_FILES as f64;
    as_peer("Ansible, 10 × 100", taken, |taken| of(taken).as_secs_f64() * 1e3 * scale)
}

fn as_peer(name: &'static str, taken: &Result<Measured, String>, figure: impl Fn(&Measured) -> f64) -> Peer {
    match taken {
        Ok(taken) => Peer::Measured { name, figure: figure(taken) },
        Err(reason) => Peer::Missing { name, reason: reason.clone() },
    }
}

fn measure(missing: &str, run: fn() -> anyhow::Result<Measured>) -> Result<Measured, String> {
    run().map_err(|error| match error.downcast_ref::<NotRun>() {
        Some(NotRun::Missing) => missing.to_owned(),
        _ => format!("{error:#}"),
    })
}

fn run_puppet() -> anyhow::Result<Measured> {
    let apply = |folder: &Path, manifest: &Path| {
        let mut puppet = program("puppet");
        puppet.args(["apply", "--detailed-exitcodes"]).arg("--confdir").arg(folder.join("conf"));
        puppet.arg("--vardir").arg(folder.join("var")).arg("--rundir").arg(folder.join("run")).arg(manifest);
        puppet
    };
    // Its exit code reports whether there was something to do.
    let changed = |code: Option<i32>, _: &str| match code {
        Some(0) => Some(false),
        Some(2) => Some(true),
        _ => None,
    };
    run(Workload { files: PUPPET_FILES }, "files.pp", Workload::manifest, &apply, &changed)
}

fn run_ansible() -> anyhow::Result<Measured> {
    let play = |folder: &Path, playbook: &Path| {
        let mut ansible = program("ansible-playbook");
        ansible.args(["--inventory", "localhost,", "--connection", "local"]).arg(playbook);
        ansible.env("HOME", folder).env("ANSIBLE_LOCAL_TEMP", folder.join("tmp")).env("ANSIBLE_NOCOWS", "1");
        ansible.env("LC_ALL", "C.UTF-8");
        ansible
    };
    // Its last lines report the number of changes.
    let changed = |code: Option<i32>, said: &str| match code {
        Some(0) => Some(!said.contains("changed=0 ")),
        _ => None,
    };
    run(Workload { files: ANSIBLE_FILES }, "files.yml", Workload::playbook, &play, &changed)
}

/// Runs a peer on an empty directory, and again with nothing left to do.
fn run(
    workload: Workload,
    name: &str,
    text: fn(Workload, &Path) -> String,
    command: &impl Fn(&Path, &Path) -> Command,
    changed: &impl Fn(Option<i32>, &str) -> Option<bool>,
) -> anyhow::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let (root, told) = (folder.path().join("managed"), folder.path().join(name));
    workload.make_folders(&root)?;
    std::fs::write(&told, text(workload, &root))?;
    let once = |expected: bool| {
        let (output, taken) = time(|| output_of(command(folder.path(), &told)));
        let output = output?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            changed(output.status.code(), &said) == Some(expected),
            "it ended with {} where changes were {}: {}",
            output.status,
            if expected { "wanted" } else { "not wanted" },
            String::from_utf8_lossy(&output.stderr).trim()
        );
        anyhow::Ok((taken, catalog_time(&said)))
    };
    let (first, _) = once(true)?;
    let (mut quiet, mut alone) = once(false)?;
    for _ in 1..QUIET_RUNS {
        let again = once(false)?;
        (quiet, alone) = (quiet.min(again.0), alone.min(again.1));
    }
    ensure!(is_in_place(&root, workload)?, "it left files that are not as declared");
    Ok(Measured { first, quiet, alone })
}

/// Reads Puppet's report: `Applied catalog in 2.34 seconds`.
fn catalog_time(said: &str) -> Option<Duration> {
    let (_, rest) = said.split_once("Applied catalog in ")?;
    let seconds: f64 = rest.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_puppet_says_about_its_catalog_is_read_and_silence_is_no_time() {
        let said = "Notice: Compiled catalog for vm in environment production in 0.05 seconds\nNotice: Applied catalog in 2.50 seconds\n";
        assert_eq!(catalog_time(said), Some(Duration::from_millis(2_500)));
        assert_eq!(catalog_time("localhost : ok=2 changed=0"), None);
    }

    #[test]
    fn a_peer_that_is_not_installed_is_told_with_its_package() {
        let told = measure("install it", || {
            output_of(program("/nonexistent/puppet"))?;
            unreachable!("nothing is there to run")
        });
        assert_eq!(told.unwrap_err(), "install it");
    }
}
