//! The chores of the workspace behind one entry point: `cargo xtask <chore>`.
//!
//! It stays tiny (anyhow, no argument parser) because it is compiled before anything else is known
//! to work: `setup` must finish in seconds on a bare machine. Heavy code belongs to the crate it
//! exercises and is started from here.

#![expect(clippy::print_stdout, reason = "a chore reports to the person or the CI log that started it")]

mod bench;
mod docs;
mod go;
mod kill;
mod kubernetes;
mod mutants;
mod node;
mod peer;
mod process;
mod python;
mod recording;
mod replays;
mod setup;
mod sim;
mod stopwatch;
mod structure;
mod suite;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <chore>

  setup [--allow-missing]          check what the tests need and install what is missing (Debian, root)
  test [--allow-missing] [FILTER]  every test, doc test, structural check and simulator run
  envtest [--path]                 build the Kubernetes API server, etcd and kubectl for tests, once per version
  structure [FILTER]               only the structural checks: licences, dependency arrows, files, links, language
  sim [--seeds N] [--from SEED]    run the simulator, with its mutants; other arguments are passed through
  sim replay FILE                  replay a failure the simulator has written
  kill [--runs N]                  kill an agent in the middle of changes (default: 1000 times)
  mutants [--list] [--continue] [CRATE]...
                                   test 300 changed expressions with cargo-mutants, which takes hours
  bench core                       measure the core against its bars, in release
  bench host                       measure how files are held, against Puppet and Ansible
  bench kube [MEASUREMENT [SIZE]]  measure how a cluster is held, against a bare client and kubectl
  bench render                     measure how kustomizations are rendered, against kustomize and its library
  bench server [fleet [SIZE]]      measure how the API serves fleets of up to SIZE apps (50,000)
  fuzz kustomize [--cases N] [--seed S]
                                   compare generated kustomizations with kustomize (default: 10,000)
  baseline kustomize               record what kustomize makes of the fixtures of crates/kustomize
  docs                             build the book of docs/ with mdBook, installed once, in target/book
  openapi                          write docs/openapi.json, the OpenAPI document of the API
  recording                        play `setpoint demo` and draw it as docs/demo.svg

Examples:
  cargo xtask setup
  cargo xtask test
  cargo xtask test prune           only tests whose name contains `prune`
  cargo xtask sim --seeds 100 --from 4711
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one chore. `Ok(false)` means that it ran and found a problem, which it has already
/// reported.
fn run(arguments: &[String]) -> anyhow::Result<bool> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup", options @ ..] => setup::run(options),
        ["test", options @ ..] => test::run(&test::Options::read(options)?),
        ["envtest", options @ ..] => kubernetes::run(options),
        ["structure"] => Ok(structure::run(None).told()),
        ["structure", filter] => Ok(structure::run(Some(filter)).told()),
        ["sim", options @ ..] => sim::run(options),
        ["kill", options @ ..] => kill::run(options),
        ["mutants", options @ ..] => mutants::run(options),
        ["bench", suite, which @ ..] => bench::run(suite, which),
        ["fuzz", "kustomize", options @ ..] => peer::fuzz(options),
        ["baseline", "kustomize"] => peer::baseline(),
        ["docs"] => docs::run(),
        ["openapi"] => docs::openapi(),
        ["recording"] => recording::run(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(true)
        }
        other => {
            print!("{USAGE}");
            anyhow::bail!("`{}` is not a chore; choose one from the list above", other.join(" "))
        }
    }
}
