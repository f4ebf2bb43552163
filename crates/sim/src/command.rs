//! The commands of the simulator, `run`, `systematic` and `replay`, and their output.
#![expect(clippy::print_stdout, reason = "this is a command line tool")]

mod refused;
mod seeds;
mod systematic;

use std::process::ExitCode;
use std::sync::Mutex;

use setpoint_sim::fault::{Fault, Injected};
use setpoint_sim::run::{Outcome, run_seed_on, run_tape};
#[cfg(feature = "mutants")]
use setpoint_sim::scenario::variation::Variation;
use setpoint_sim::tape;
use setpoint_sim::universe::Ground;

use self::refused::Refused;
use self::seeds::{Asked, Seeds};

const HELP: &str = "Drives the shipped engine through seeded worlds with faults.

  setpoint-sim run [--seeds N] [--from S]     N seeds (2000), from seed S (0), of plain worlds and as many of clusters; then the
                                              scenarios; then the mutants, if compiled in
  setpoint-sim run --only GROUND …            the seeds of one ground alone: `plain` or `clusters`
  setpoint-sim systematic [--only NAME]       the scenarios (whose name contains NAME), with a fault at every place
  setpoint-sim systematic --only NAME --crash K
                                              one of them with one fault (--crash, --pause, --stale, --drop, --older; at
                                              place K from 1, or 0 for none), with its timeline
  setpoint-sim mutants NAME                   the mutants whose name contains NAME, if compiled in
  setpoint-sim replay FILE                    runs a recorded tape and prints its timeline; `run --replay FILE` too

Ends with `seeds N ok`, `scenarios N, runs M ok` and `mutants M/M caught`; exit code 1 otherwise.";

/// With fewer seeds than this it is no surprise that some fault or refusal never occurred.
const ENOUGH_SEEDS: u64 = 2_000;

pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run", options @ ..] => match Asked::read(options) {
            Ok(Asked::Seeds(seeds)) => run(&seeds),
            Ok(Asked::Tape(file)) => replay(&file),
            Err(problem) => usage(&problem),
        },
        ["systematic", options @ ..] => match systematic::Request::read(options) {
            Ok(request) => exit_code(systematic::answer(&request)),
            Err(problem) => usage(&problem),
        },
        ["mutants", name] => exit_code(mutants(name)),
        ["replay", file] => replay(file),
        _ => usage(HELP),
    }
}

fn usage(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::FAILURE
}

fn exit_code(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The results of all seeds together.
#[derive(Default)]
struct Total {
    injected: Injected,
    refused: Refused,
    steps: u64,
    writes: u64,
    failure: Option<((u64, Ground), Outcome)>,
    nondeterministic: Option<(u64, Ground)>,
}

fn run(seeds: &Seeds) -> ExitCode {
    let total = run_seeds(seeds);
    print_faults(&total);
    total.refused.print(&seeds.grounds);
    let mut good = report_failure(&total);
    let whole = seeds.grounds.len() == Ground::ALL.len();
    if seeds.number >= ENOUGH_SEEDS {
        good &= report_unseen(&total, &seeds.grounds);
    }
    println!("{} steps of the engine, {} creates and updates landed", total.steps, total.writes);
    if good {
        let grounds: Vec<String> = seeds.grounds.iter().map(Ground::to_string).collect();
        println!("each on: {}", grounds.join(", "));
        println!("seeds {} ok", seeds.number);
    }
    if !whole {
        return exit_code(good);
    }
    exit_code(good && systematic::answer(&systematic::Request::default()) && mutants(""))
}

/// Runs the seeds on both cores. The total does not depend on which core runs which seed.
fn run_seeds(seeds: &Seeds) -> Total {
    let next = Mutex::new(seeds.all());
    let total = Mutex::new(Total::default());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().expect("no run panics").next();
                    let Some((ground, seed)) = taken.filter(|_| total.lock().expect("no run panics").failure.is_none())
                    else {
                        return;
                    };
                    let outcome = run_seed_on(ground, seed);
                    let again = seed.is_multiple_of(100).then(|| run_seed_on(ground, seed).trace);
                    note(&mut total.lock().expect("no run panics"), (seed, ground), outcome, again);
                }
            });
        }
    });
    total.into_inner().expect("no run panics")
}

fn note(total: &mut Total, seed: (u64, Ground), outcome: Outcome, again: Option<u64>) {
    total.injected.add(&outcome.injected);
    total.refused.note(seed.1, &outcome.seen);
    total.steps += outcome.steps;
    total.writes += outcome.writes;
    if again.is_some_and(|trace| trace != outcome.trace) {
        total.nondeterministic = Some(seed);
    }
    if outcome.violation.is_some() && total.failure.as_ref().is_none_or(|(first, _)| seed < *first) {
        total.failure = Some((seed, outcome));
    }
}

fn print_faults(total: &Total) {
    for fault in Fault::ALL {
        println!("{:>10} × {fault}", total.injected.times(*fault));
    }
}

/// Prints the first failure with its shrunk tape, and saves the tape.
fn report_failure(total: &Total) -> bool {
    if let Some((seed, ground)) = total.nondeterministic {
        println!("seed {seed} on {ground} differs from itself: something in it is not deterministic");
        return false;
    }
    let Some(((seed, ground), outcome)) = &total.failure else { return true };
    let violation = outcome.violation.as_ref().expect("it failed");
    println!("seed {seed} on {ground} violates {}: {}", violation.property, violation.detail);
    let fails = |choices: &[tape::Choice]| {
        let found = run_tape(choices.to_vec(), false).0.violation;
        found.is_some_and(|found| found.property == violation.property)
    };
    let shrunk = tape::shrink(outcome.tape.clone(), 400, fails);
    let file = format!("seed-{ground}-{seed}.tape");
    let text = format!("# {}: {}\n{}", violation.property, violation.detail.replace('\n', " "), tape::to_text(&shrunk));
    match std::fs::write(&file, text) {
        Ok(()) => println!(
            "its tape, shrunk from {} to {} choices, is in {file}: setpoint-sim replay {file}",
            outcome.tape.len(),
            shrunk.len()
        ),
        Err(error) => println!("its tape could not be written to {file}: {error}"),
    }
    false
}

fn report_unseen(total: &Total, grounds: &[Ground]) -> bool {
    let never: Vec<_> = Fault::ALL.iter().filter(|fault| total.injected.times(**fault) == 0).collect();
    // Some faults strike on one ground only.
    let never = if grounds.len() == Ground::ALL.len() { never } else { Vec::new() };
    for fault in &never {
        println!("never injected: {fault}");
    }
    never.is_empty() & total.refused.all_seen(grounds)
}

fn replay(file: &str) -> ExitCode {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return usage(&format!("{file} cannot be read: {error}")),
    };
    let choices = match tape::from_text(&text) {
        Ok(choices) => choices,
        Err(problem) => return usage(&format!("{file}: {problem}")),
    };
    let (outcome, timeline) = run_tape(choices, true);
    for line in timeline {
        println!("{line}");
    }
    match outcome.violation {
        None => {
            println!("no property is violated");
            ExitCode::SUCCESS
        }
        Some(violation) => {
            println!("violates {}: {}", violation.property, violation.detail);
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(feature = "mutants"))]
fn mutants(_: &str) -> bool {
    println!("mutants are not compiled in (feature `mutants`)");
    true
}

/// Switches on one mutant after the other; the property it is named for must catch each.
#[cfg(feature = "mutants")]
fn mutants(name: &str) -> bool {
    use setpoint_core::mutant::Mutant;
    let chosen: Vec<_> = Mutant::ALL.iter().filter(|mutant| format!("{mutant:?}").contains(name)).collect();
    let mut caught = 0;
    for mutant in &chosen {
        match catch(**mutant) {
            Ok((place, detail)) => {
                caught += 1;
                println!("caught {mutant:?} by {} in {place}: {detail}", mutant.property());
            }
            Err(problem) => println!("NOT caught: {mutant:?}, {problem}"),
        }
    }
    println!("mutants {caught}/{} caught", chosen.len());
    if chosen.is_empty() {
        println!("no mutant has `{name}` in its name");
    }
    caught == chosen.len() && !chosen.is_empty()
}

/// Returns how and by which property a mutant is caught: by a plain run of its scenario, if it has
/// one, and otherwise by a seed.
#[cfg(feature = "mutants")]
fn catch(mutant: setpoint_core::mutant::Mutant) -> Result<(String, String), String> {
    match mutant.scenario() {
        Some(scenario) => catch_in(mutant, scenario),
        None => catch_by_seeds(mutant),
    }
}

#[cfg(feature = "mutants")]
fn catch_in(mutant: setpoint_core::mutant::Mutant, name: &str) -> Result<(String, String), String> {
    let scenarios = setpoint_sim::scenario::all();
    let scenario = scenarios.iter().find(|scenario| scenario.name == name);
    let scenario = scenario.ok_or_else(|| format!("there is no scenario `{name}`"))?;
    setpoint_core::mutant::switch(Some(mutant));
    let violation = scenario.run(Variation::Plain, false).violation;
    setpoint_core::mutant::switch(None);
    match violation {
        Some(violation) if violation.property == mutant.property() => {
            Ok((format!("scenario `{name}`"), violation.detail))
        }
        other => Err(format!("in scenario `{name}`; what broke: {other:?}")),
    }
}

#[cfg(feature = "mutants")]
fn catch_by_seeds(mutant: setpoint_core::mutant::Mutant) -> Result<(String, String), String> {
    let seeds = Seeds::enough();
    let next = Mutex::new(seeds.all());
    let found = Mutex::new(None::<(String, String)>);
    let others = Mutex::new(std::collections::BTreeSet::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                setpoint_core::mutant::switch(Some(mutant));
                loop {
                    let taken = next.lock().expect("no run panics").next();
                    let Some((ground, seed)) = taken.filter(|_| found.lock().expect("no run panics").is_none()) else {
                        return;
                    };
                    match run_seed_on(ground, seed).violation {
                        Some(violation) if violation.property == mutant.property() => {
                            let found = &mut found.lock().expect("no run panics");
                            found.get_or_insert((format!("seed {seed} on {ground}"), violation.detail));
                        }
                        Some(violation) => drop(others.lock().expect("no run panics").insert(violation.property)),
                        None => {}
                    }
                }
            });
        }
    });
    let others = others.into_inner().expect("no run panics");
    found
        .into_inner()
        .expect("no run panics")
        .ok_or_else(|| format!("in {ENOUGH_SEEDS} seeds; others that broke: {others:?}"))
}
