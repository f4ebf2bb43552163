//! Scenarios: incidents and the turns of an app's life as scripts. Each is run plainly, and then
//! once for every place where a fault can strike: where the seeds search at random, these leave no
//! gap.
//!
//! | file | what it is |
//! | --- | --- |
//! | `acts` | what a script does to the world and asks of it |
//! | `clusters` | the same engine on a Kubernetes cluster |
//! | `deletion` | what must not be deleted, and what must |
//! | `gates` | windows, orders, deadlines and budgets |
//! | `operators` | what operators do, and two things that happen at once |
//! | `outage` | stores, targets, disks and instances that fail |
//! | `life` | the turns of an app's life: hand-over, rollback, suspension, freeze, retirement |
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

/// A script with what must be so along the way.
#[derive(Debug)]
pub struct Scenario {
    /// A sentence: what the engine does.
    pub name: &'static str,
    /// The incident of the field it answers, by the number the research gave it.
    pub incident: Option<u32>,
    universe: Universe,
    steps: Vec<Step>,
    /// It rests on exact instants, so it is run plainly alone.
    exact: bool,
}

/// One line of a script, at an instant of the world.
#[derive(Debug)]
struct Step {
    at: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Act(fn(&mut World)),
    /// Must be so now, in the world as it truly is.
    Expect(&'static str, fn(&World) -> bool),
}

/// All of them.
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
    /// Two apps of one store on one plain target, held by one instance.
    fn new(name: &'static str) -> Self {
        let universe = Universe::draw(&mut Tape::replay(Vec::new()), None);
        Self { name, incident: None, universe, steps: Vec::new(), exact: false }
    }

    /// It is run plainly alone: a fault would move the instants that it rests on.
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

    /// What is so before the engine starts.
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

    /// The world before the script begins; `lags`: its targets may show an older state.
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

    /// Plays the script, then lets the world come to rest without any more faults. Gives how many
    /// places there were for them.
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
