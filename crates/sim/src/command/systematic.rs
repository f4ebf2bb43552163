//! `systematic`: the scenarios, each with one fault at every place where one can strike.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use setpoint_sim::monitor::Violation;
use setpoint_sim::scenario::variation::{Kind, Variation};
use setpoint_sim::scenario::{self, Scenario};

/// The arguments.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// Runs only scenarios whose name contains this.
    only: String,
    /// Runs only this variation, and prints its timeline.
    alone: Option<Variation>,
}

impl Request {
    pub(super) fn read(options: &[&str]) -> Result<Self, String> {
        let mut request = Self::default();
        for option in options.chunks(2) {
            let [name, value] = option else { return Err(format!("{} needs a value\n\n{}", option[0], super::HELP)) };
            if *name == "--only" {
                request.only = (*value).to_owned();
                continue;
            }
            let kind = Kind::ALL.into_iter().find(|kind| *name == format!("--{kind}"));
            let kind = kind.ok_or(format!("there is no option `{name}`\n\n{}", super::HELP))?;
            let place = value.parse().map_err(|_| format!("{name}: `{value}` is not a number"))?;
            request.alone = Some(if place == 0 { Variation::Plain } else { Variation::At(kind, place) });
        }
        Ok(request)
    }
}

/// Runs the selected scenarios; returns whether all passed.
pub(super) fn answer(request: &Request) -> bool {
    let mut scenarios = scenario::all();
    scenarios.retain(|scenario| scenario.name.contains(&request.only));
    if scenarios.is_empty() {
        println!("no scenario has `{}` in its name; there are:", request.only);
        for scenario in scenario::all() {
            println!("  {}", scenario.name);
        }
        return false;
    }
    match request.alone {
        Some(variation) => scenarios.iter().all(|scenario| tell(scenario, variation)),
        None => run_all(&scenarios),
    }
}

/// Runs one variation and prints its timeline.
fn tell(scenario: &Scenario, variation: Variation) -> bool {
    let played = scenario.run(variation, true);
    println!("{}", scenario.name);
    for line in played.timeline {
        println!("{line}");
    }
    match &played.violation {
        None => println!("no property is violated"),
        Some(violation) => println!("violates {}: {}", violation.property, violation.detail),
    }
    played.violation.is_none()
}

type Failure = (usize, Variation, Violation);

/// Runs every variation of every scenario. Each core takes the next free variation. The first
/// failure does not depend on the cores, because all variations before it are run too.
fn run_all(scenarios: &[Scenario]) -> bool {
    let runs: Vec<(usize, Variation)> = scenarios
        .iter()
        .enumerate()
        .flat_map(|(n, scenario)| scenario.variations().into_iter().map(move |variation| (n, variation)))
        .collect();
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None::<Failure>);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((n, variation)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failure.lock().expect("no run panics").is_some() {
                        return;
                    }
                    if let Some(violation) = scenarios[*n].run(*variation, false).violation {
                        note(&mut failure.lock().expect("no run panics"), (*n, *variation, violation));
                    }
                }
            });
        }
    });
    match failure.into_inner().expect("no run panics") {
        None => println!("scenarios {}, runs {} ok", scenarios.len(), runs.len()),
        Some(failure) => {
            print_failure(scenarios, &failure);
            return false;
        }
    }
    true
}

fn note(first: &mut Option<Failure>, found: Failure) {
    if first.as_ref().is_none_or(|first| (found.0, found.1) < (first.0, first.1)) {
        *first = Some(found);
    }
}

fn print_failure(scenarios: &[Scenario], (n, variation, violation): &Failure) {
    let name = scenarios[*n].name;
    let (what, again) = match variation {
        Variation::Plain => ("no fault".to_owned(), "--crash 0".to_owned()),
        Variation::At(kind, place) => (format!("{kind} at {place}"), format!("--{kind} {place}")),
    };
    println!("scenario `{name}`, {what}, violates {}: {}", violation.property, violation.detail);
    println!("to repeat it: setpoint-sim systematic --only '{name}' {again}");
}
