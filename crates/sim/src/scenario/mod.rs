//! Scenarios: incidents and the stages of an app's life as scripts. Each is run plainly, and then
//! once for every place where a fault can strike. The seeds search at random; these leave no gap.
//!
//! | file | content |
//! | --- | --- |
//! | `acts` | the acts and the queries of scripts |
//! | `clusters` | the same engine on a Kubernetes cluster |
//! | `deletion` | objects that must not be deleted, and objects that must |
//! | `gates` | windows, orders, deadlines and budgets |
//! | `operators` | acts of operators, and two events at once |
//! | `outage` | stores, targets, disks and instances that fail |
//! | `life` | the stages of an app's life: hand-over, rollback, suspension, freeze, retirement |
//! | [`variation`] | one fault at one place |

mod acts;
mod clusters;
mod deletion;
mod documents;
mod gates;
mod life;
mod operators;
mod outage;
pub mod variation;

use crate::fault::Swarm;
use crate::monitor::Violation;
use crate::tape::Tape;
use crate::universe::Universe;
use crate::world::{Script, World};

const MINUTE: u64 = 60_000;

/// A script, with conditions that must be true along the way.
#[derive(Debug)]
pub struct Scenario {
    /// A sentence about the behaviour of the engine.
    pub name: &'static str,
    /// The real incident that it covers, by the number in the research.
    pub incident: Option<u32>,
    universe: Universe,
    steps: Vec<Step>,
    /// Set if it depends on exact times: then only the plain run is done.
    exact: bool,
}

/// One line of a script, at a time in the world.
#[derive(Debug)]
struct Step {
    at: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Act(fn(&mut World)),
    /// A condition that must be true now, in the true world.
    Expect(&'static str, fn(&World) -> bool),
}

/// Returns all scenarios.
pub fn all() -> Vec<Scenario> {
    let lists = [
        deletion::all(),
        outage::all(),
        life::all(),
        gates::all(),
        operators::all(),
        documents::all(),
        clusters::all(),
    ];
    lists.into_iter().flatten().collect()
}

impl Scenario {
    /// Creates a scenario with two apps of one store on one plain target, held by one instance.
    fn new(name: &'static str) -> Self {
        let universe = Universe::draw(&mut Tape::replay(Vec::new()), None);
        Self { name, incident: None, universe, steps: Vec::new(), exact: false }
    }

    /// Restricts the scenario to the plain run: a fault would move the times that it depends on.
    fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    fn answers(mut self, incident: u32) -> Self {
        self.incident = Some(incident);
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Universe)) -> Self {
        change(&mut self.universe);
        self
    }

    /// Sets up the world before the engine starts.
    fn given(self, act: fn(&mut World)) -> Self {
        self.at(0, act)
    }

    fn at(self, minute: u64, act: fn(&mut World)) -> Self {
        self.at_millis(minute * MINUTE, act)
    }

    fn at_millis(mut self, at: u64, act: fn(&mut World)) -> Self {
        self.steps.push(Step { at, what: What::Act(act) });
        self
    }

    fn expect(mut self, minute: u64, what: &'static str, holds: fn(&World) -> bool) -> Self {
        self.steps.push(Step { at: minute * MINUTE, what: What::Expect(what, holds) });
        self
    }

    /// Returns the world before the script begins. With `lags`, its targets may show an older
    /// state.
    fn world(&self, lags: bool) -> World {
        let mut universe = self.universe.clone();
        if lags {
            for target in &mut universe.targets {
                target.fresh_reads = false;
            }
            for control in universe.controls.targets.values_mut() {
                control.fresh_reads = false;
            }
        }
        World::new(Tape::replay(Vec::new()), Some(Swarm::none()), Some(universe))
    }

    /// Plays the script, then lets the world come to rest without further faults. Returns the
    /// number of places for faults.
    fn play(&self, world: &mut World) -> Script {
        for step in &self.steps {
            if step.at > world.now {
                world.run_until(step.at, |_| false);
            }
            if world.monitor.violation.is_some() {
                break;
            }
            match step.what {
                What::Act(act) => act(world),
                What::Expect(what, holds) if !holds(world) => {
                    let reports = world.reports_of_all();
                    let detail = format!("at minute {} it is not so that {what}; {reports}", step.at / MINUTE);
                    world.monitor.violation = Some(Violation { property: "script", detail });
                }
                What::Expect(..) => {}
            }
        }
        let places = std::mem::take(&mut world.script);
        world.come_to_rest();
        places
    }
}
