//! An agent is killed again and again in the middle of a change. Nothing may be lost, partially
//! done or left over.
//!
//! - [`machine`]: while it changes files of this machine.
//! - [`envtest`]: while it changes objects of a Kubernetes cluster.
//! - [`guests`]: while it adopts and deletes objects of others.

mod envtest;
mod guests;
mod machine;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::process::{Child, Stdio};

use setpoint_api::answer::{AppDetail, AppState};
use setpoint_api::question::OrderKind;
use setpoint_core::facts::Facts;
use tokio::runtime::Runtime;

use super::lab::{Lab, app, is_at};
use crate::setpoint::command;

/// The app whose agent is killed.
const APP: &str = "many";
/// The number of things it declares: changing them takes longer than a signal.
const THINGS: u64 = 100;

/// The system that an agent changes while it is killed.
trait World {
    /// Declares everything as of this generation.
    fn declare(&self, lab: &mut Lab, generation: u64);

    /// Returns the generations of all things, 0 for a missing one. Checks that none is torn.
    fn generations(&self, lab: &Lab) -> BTreeSet<u64>;

    /// Starts the agent, and waits for some moment of the change to this generation that follows.
    fn await_moment(&mut self, lab: &Lab, generation: u64, dice: &mut Dice, start: &mut dyn FnMut());

    /// Reports whether a kill at this moment counts.
    fn counts(&self, _: Moment) -> bool {
        true
    }

    /// Returns the number of deletes that a person permits at the end.
    fn leave(&self) -> u32 {
        0
    }

    /// Checks that only declared objects exist.
    fn nothing_is_left_over(&self, lab: &Lab, facts: &Facts);
}

/// Returns the number of kills: the default for CI, or the number given by `cargo xtask kill`.
#[expect(clippy::disallowed_methods, reason = "the one door through which `cargo xtask kill` says how often")]
fn kills() -> u64 {
    std::env::var("SETPOINT_KILLS").map_or(60, |runs| runs.parse().expect("`cargo xtask kill` gives a number"))
}

/// The state of the change at a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Planned,
    Intended,
    Writing,
    Written,
    BetweenBatches,
}

impl Moment {
    fn is_open(self) -> bool {
        matches!(self, Self::Intended | Self::Writing | Self::Written)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planned => "version accepted, no intent recorded yet",
            Self::Intended => "intents open, nothing written yet",
            Self::Writing => "intents open, some written",
            Self::Written => "intents open, all written, their end not recorded",
            Self::BetweenBatches => "some written and recorded, others to come",
        })
    }
}

/// An agent's environment, and the facts known of it from the outside.
struct Scene<W> {
    lab: Lab,
    world: W,
    /// Counts the versions, and is part of all declared content.
    generation: u64,
    head: String,
    dice: Dice,
    seen: BTreeMap<Moment, u64>,
}

impl<W: World> Scene<W> {
    fn new(mut lab: Lab, world: W) -> Self {
        lab.app(APP);
        fs::create_dir_all(lab.data()).expect("the folder is ours");
        let (head, seen) = (String::new(), BTreeMap::new());
        let mut scene = Self { lab, world, generation: 0, head, dice: Dice::new(), seen };
        scene.declare_the_next();
        scene
    }

    /// Declares a new version that changes everything.
    fn declare_the_next(&mut self) {
        self.generation += 1;
        self.world.declare(&mut self.lab, self.generation);
        self.head = self.lab.commit();
    }

    /// Kills the agent until this many kills came in the middle of a change, at moments that count.
    #[expect(clippy::print_stdout, reason = "`cargo xtask kill` shows it")]
    fn kill(&mut self, wanted: u64) {
        self.seen.clear();
        let mut tries = 0;
        let counted = |scene: &Self| -> u64 {
            scene.seen.iter().filter(|(moment, _)| scene.world.counts(**moment)).map(|(_, count)| count).sum()
        };
        while counted(self) < wanted {
            tries += 1;
            assert!(tries <= 4 * wanted, "too few of the kills come in the middle of a change: {:?}", self.seen);
            if self.is_finished() {
                self.declare_the_next();
            }
            self.run_and_kill();
            if let Some(moment) = self.moment() {
                *self.seen.entry(moment).or_default() += 1;
            }
        }
        println!("{wanted} kills that count, {tries} in all; what they found:");
        for (moment, count) in &self.seen {
            println!("{count:>6}  {moment}");
        }
        let open: u64 = self.seen.iter().filter(|(moment, _)| moment.is_open()).map(|(_, count)| count).sum();
        assert!(open * 10 >= wanted * 3, "only {open} of {wanted} kills left an intent open");
    }

    /// Kills the agent until it leaves intents open.
    fn kill_with_open_intents(&mut self) {
        for _ in 0..100 {
            if self.is_finished() {
                self.declare_the_next();
            }
            self.run_and_kill();
            if self.lab.facts().is_some_and(|facts| !facts.intents.is_empty()) {
                return;
            }
        }
        panic!("no kill leaves an intent open");
    }

    /// Checks that the agent converges on its own.
    fn heals(&self) {
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut agent = self.lab.start().await;
            let detail = agent.until_converged(APP, &self.head).await;
            assert_eq!((detail.unsettled, detail.report), (Vec::new(), Vec::new()));
            agent.stop().await;
        });
        assert_eq!(self.generations(), [self.generation].into());
        assert_eq!(self.lab.facts().expect("it is installed").intents, BTreeMap::new());
    }

    fn run_and_kill(&mut self) {
        let mut child: Option<Child> = None;
        let lab = &self.lab;
        self.world.await_moment(lab, self.generation, &mut self.dice, &mut || child = Some(spawn(lab)));
        let mut child = child.expect("it was started");
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }

    fn is_accepted(&self, facts: &Facts) -> bool {
        let accepted = facts.apps.get(&app(APP)).and_then(|facts| facts.accepted.as_ref());
        accepted.is_some_and(|accepted| accepted.revision.versions().any(|version| version.as_str() == self.head))
    }

    fn generations(&self) -> BTreeSet<u64> {
        let generations = self.world.generations(&self.lab);
        assert!(generations.iter().all(|found| *found <= self.generation), "nobody declared {generations:?}");
        generations
    }

    /// Returns the state of the change at the kill; `None` if it had not begun or was over.
    fn moment(&self) -> Option<Moment> {
        let facts = self.lab.facts()?;
        let generations = self.generations();
        let (some, all) = (generations.contains(&self.generation), generations == [self.generation].into());
        match (facts.intents.is_empty(), some, all) {
            _ if !self.is_accepted(&facts) => None,
            (true, false, _) => Some(Moment::Planned),
            (true, true, false) => Some(Moment::BetweenBatches),
            (true, true, true) => None,
            (false, false, _) => Some(Moment::Intended),
            (false, true, false) => Some(Moment::Writing),
            (false, true, true) => Some(Moment::Written),
        }
    }

    fn is_finished(&self) -> bool {
        self.generations() == [self.generation].into() && self.lab.facts().is_some_and(|facts| facts.intents.is_empty())
    }

    /// Checks that the agent converges on its own, or with a person's permission where deletes need
    /// one, and that its ledger is sound.
    fn ends_well(&mut self) {
        self.declare_the_next();
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut agent = self.lab.start().await;
            let detail = match self.world.leave() {
                0 => agent.until_converged(APP, &self.head).await,
                leave => {
                    agent.until_app(APP, "has accepted the version", |detail| is_at(detail, &self.head)).await;
                    agent.order(APP, OrderKind::Sync { allow_prune: leave }).await;
                    let rests =
                        |detail: &AppDetail| detail.summary.state == AppState::Converged && detail.report.is_empty();
                    agent.until_app(APP, "has deleted what it may", rests).await
                }
            };
            assert_eq!((detail.unsettled, detail.report), (Vec::new(), Vec::new()));
            agent.stop().await;
        });
        assert_eq!(self.generations(), [self.generation].into());
        let facts = self.lab.facts().expect("it is installed");
        assert_eq!(facts.intents, BTreeMap::new(), "an intent is lost");
        self.world.nothing_is_left_over(&self.lab, &facts);
        let data = self.lab.data().display().to_string();
        let key = crate::setpoint::run(&["ledger", "key", &data]).output;
        let verified =
            crate::setpoint::run(&["ledger", "verify", &format!("{data}/ledger.db"), "--key", key.trim_end()]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.output, verified.complaints);
    }
}

fn spawn(lab: &Lab) -> Child {
    let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
    let mut agent = command(&["run", "--config", &config, "--data", &data]);
    agent.stdout(Stdio::null()).spawn().expect("the binary was built with these tests")
}

/// Random numbers, by Marsaglia's xorshift.
struct Dice(u64);

impl Dice {
    #[expect(clippy::disallowed_methods, reason = "each run kills at other moments")]
    fn new() -> Self {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the system has random numbers");
        Self(u64::from_le_bytes(seed) | 1)
    }

    /// Returns a number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
