//! Tests of the simulator itself: runs repeat exactly, and faults it once found stay fixed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use setpoint_core::mutant::Mutant;
use setpoint_sim::fault::Fault;
use setpoint_sim::run::{run_seed_on, run_tape};
use setpoint_sim::scenario;
use setpoint_sim::scenario::variation::Variation;
use setpoint_sim::tape;
use setpoint_sim::universe::Ground;

fn regressions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let entries = std::fs::read_dir(&folder).expect("the directory of regressions exists");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    files
}

/// Returns each seed on every ground.
fn everywhere(seeds: impl IntoIterator<Item = u64>) -> impl Iterator<Item = (Ground, u64)> {
    seeds.into_iter().flat_map(|seed| Ground::ALL.map(|ground| (ground, seed)))
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for (ground, seed) in everywhere([0, 7, 4_257]) {
        let (first, second) = (run_seed_on(ground, seed), run_seed_on(ground, seed));
        assert_eq!((first.trace, first.steps, &first.tape), (second.trace, second.steps, &second.tape), "seed {seed}");
    }
}

#[test]
fn different_seeds_give_different_traces() {
    let traces: BTreeSet<u64> = everywhere(0..20).map(|(ground, seed)| run_seed_on(ground, seed).trace).collect();
    assert_eq!(traces.len(), 40);
}

#[test]
fn a_tape_replays_to_the_trace_of_its_seed() {
    for (ground, seed) in everywhere([3, 16, 1_675]) {
        let drawn = run_seed_on(ground, seed);
        let read = tape::from_text(&tape::to_text(&drawn.tape)).expect("what is written can be read");
        let (replayed, timeline) = run_tape(read, true);
        assert_eq!((replayed.trace, replayed.steps), (drawn.trace, drawn.steps), "seed {seed}");
        assert!(!timeline.is_empty());
    }
}

#[test]
fn the_properties_hold_for_fifty_seeds_on_every_ground() {
    for (ground, seed) in everywhere(0..50) {
        assert_eq!(run_seed_on(ground, seed).violation, None, "seed {seed} on {ground}");
    }
}

#[test]
fn what_was_once_found_stays_fixed() {
    let files = regressions();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a tape is text");
        assert!(text.starts_with("# "), "{} does not begin with what it once violated", file.display());
        let choices = tape::from_text(&text).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
        assert_eq!(run_tape(choices, false).0.violation, None, "{}", file.display());
    }
}

#[test]
fn every_scenario_holds_without_faults() {
    for scenario in scenario::all() {
        assert_eq!(scenario.run(Variation::Plain, false).violation, None, "{}", scenario.name);
    }
}

#[test]
fn the_incidents_of_the_field_have_scenarios_with_names_of_their_own() {
    let scenarios = scenario::all();
    let answered: BTreeSet<u32> = scenarios.iter().filter_map(|scenario| scenario.incident).collect();
    assert!(
        answered.is_superset(&BTreeSet::from([2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 22, 24, 26, 28, 29, 32])),
        "{answered:?}"
    );
    let names: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), scenarios.len());
}

/// Returns the rows of the table under a heading of docs/simulator.md, as cells.
fn documented(heading: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator.md");
    let text = std::fs::read_to_string(path).expect("the document can be read");
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).expect("the heading is there");
    let rows = section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    // The first two lines are the header and its rule.
    rows.skip(2).map(cells).collect()
}

#[test]
fn the_document_names_every_scenario_with_its_incident() {
    let rows = documented("Scenarios");
    let written: BTreeMap<_, _> = rows.iter().map(|row| (row[0].trim_matches('`'), row[1].clone())).collect();
    let scenarios = scenario::all();
    let incident = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let there: BTreeMap<_, _> = scenarios.iter().map(|scenario| (scenario.name, incident(scenario.incident))).collect();
    assert_eq!(written, there);
    assert_eq!(rows.len(), scenarios.len(), "a row exists twice");
}

fn caught_by(mutant: Mutant) -> String {
    match mutant.scenario() {
        Some(scenario) => format!("{} in \"{scenario}\"", mutant.property()),
        None => mutant.property().to_owned(),
    }
}

#[test]
fn every_mutant_that_a_scenario_catches_names_one_that_is_there() {
    let scenarios = scenario::all();
    let named = Mutant::ALL.iter().filter_map(|mutant| mutant.scenario());
    let missing: Vec<_> = named.filter(|name| scenarios.iter().all(|scenario| scenario.name != *name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_document_names_every_mutant_with_its_property() {
    let rows = documented("Mutants");
    let written: Vec<_> = rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), row[2].clone())).collect();
    let there: Vec<_> = Mutant::ALL.iter().map(|mutant| (format!("{mutant:?}"), caught_by(*mutant))).collect();
    assert_eq!(written, there);
}

#[test]
fn the_document_names_every_fault() {
    let written: BTreeSet<_> = documented("Faults").into_iter().map(|row| row[0].clone()).collect();
    let there: BTreeSet<_> = Fault::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(written, there);
}
