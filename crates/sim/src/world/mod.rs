//! The world: a queue of happenings in simulated time, the systems around the engine, and the
//! instances of the engine.
//!
//! It contains no reconcile logic. The world carries out the effects of the shipped
//! [`Machine`](setpoint_engine::Machine), honestly or with faults, and returns the results as
//! events.

mod life;
mod operators;
mod strangers;
mod telling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::name::AppId;
use setpoint_engine::{Command, Effect, Event};
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{MemoryLog, Origin};
use setpoint_target::memory::MemoryWorld;
use setpoint_target::{Fence, Hint, Work};

use crate::cluster::{Cluster, Reply, Sent};
use crate::fault::{Fault, Injected, Swarm};
use crate::instance::Instance;
use crate::monitor::{Bundles, Monitor};
use crate::recall::Recall;
use crate::repository::Template;
use crate::store::SimStore;
use crate::tape::Tape;
use crate::universe::{Universe, settings};

use operators::{Backup, Operator};
pub use telling::reason_name;

/// How far a target without fresh reads lags behind at most, in milliseconds. The engine reckons with
/// more.
const LONGEST_LAG: u64 = 45_000;
/// The number of states of such a target from which reads are answered.
const MOST_PAST: usize = 6;

/// A scheduled happening.
#[derive(Debug)]
pub(crate) enum Happening {
    /// An instance receives an event.
    Deliver {
        to: Recipient,
        event: Box<Event>,
    },
    /// An instance wakes up, as it requested.
    Wake {
        to: Recipient,
    },
    /// An effect reaches its system.
    Arrive {
        from: Recipient,
        effect: Box<Effect>,
    },
    /// Steps are about to leave an instance.
    Leave {
        from: Recipient,
        effect: Box<Effect>,
    },
    /// Steps land on a target.
    Land {
        from: Recipient,
        landing: Box<Landing>,
    },
    Start {
        instance: usize,
    },
    /// An actor other than the engine acts.
    Act,
    /// A person gives an order.
    Order {
        command: Box<Command>,
    },
    /// A stranger touches the objects that an instance was changing when it died.
    Touch,
    /// An operator continues an action.
    Operate {
        step: Operator,
    },
    /// The controller of an object reports it as healthy for the first time.
    Speak {
        target: usize,
        key: Key,
    },
    /// A request reaches a cluster.
    Reach {
        from: Recipient,
        target: usize,
        sent: Box<Sent>,
    },
    /// A response of a cluster reaches the client.
    Respond {
        to: Recipient,
        target: usize,
        number: u64,
        reply: Box<Reply>,
    },
    /// A wait of a cluster's target is over.
    Ring {
        to: Recipient,
        target: usize,
        number: u64,
    },
    /// A stream delivers events, or a bookmark.
    Tell {
        to: Recipient,
        target: usize,
        number: u64,
    },
    Mark {
        to: Recipient,
        target: usize,
        number: u64,
    },
    /// The controllers of a cluster run.
    Tidy {
        target: usize,
    },
}

/// An instance in one of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) instance: usize,
    pub(crate) life: u32,
}

/// Steps on their way to a target.
#[derive(Debug)]
pub(crate) struct Landing {
    pub(crate) ticket: setpoint_engine::Ticket,
    pub(crate) target: usize,
    pub(crate) work: Vec<Work>,
    pub(crate) fence: Fence,
    /// Set if the caller still waits for the response.
    pub(crate) answer: bool,
}

/// The parts and the findings of one run.
#[derive(Debug)]
pub struct World {
    pub(crate) now: u64,
    order: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    pub(crate) tape: Tape,
    pub(crate) swarm: Swarm,
    pub(crate) injected: Injected,
    pub(crate) universe: Universe,
    pub(crate) stores: Vec<SimStore>,
    pub(crate) store_down_until: Vec<u64>,
    pub(crate) targets: Vec<MemoryWorld>,
    /// The clusters, if the targets are clusters: then the targets above are their images.
    pub(crate) clusters: Vec<Cluster>,
    /// The outage of each target, and its end.
    pub(crate) outages: Vec<Option<(Fault, u64)>>,
    /// Earlier states of each target, newest last: a lagging target may show these.
    pub(crate) past: Vec<VecDeque<(u64, MemoryWorld)>>,
    pub(crate) ledger: MemoryLog,
    /// A copy of the ledger that an operator made.
    pub(crate) backup: Option<Box<Backup>>,
    /// Set if records were lost, because an old copy was restored.
    pub(crate) records_lost: bool,
    /// Set if the ledger must be opened again before it records anything.
    pub(crate) disk_broken: bool,
    pub(crate) origin: Origin,
    pub(crate) bundles: Bundles,
    pub(crate) instances: Vec<Instance>,
    pub(crate) monitor: Monitor,
    /// Set if the status of everything is compared after every step (R1).
    pub(crate) compares_status: bool,
    pub(crate) recall: Recall,
    /// The reasons for which the engine withheld something.
    pub(crate) seen: BTreeSet<&'static str>,
    /// The keys that strangers fight us over, and the end of each fight.
    pub(crate) fights: Vec<(usize, Key, u64)>,
    /// Set if there are no more faults and no more trouble from outside.
    pub(crate) calm: bool,
    pub(crate) steps: u64,
    /// Intents that a person has already found open once.
    pub(crate) seen_open: BTreeSet<IntentId>,
    /// The number of orders so far.
    pub(crate) orders: u64,
    trace: u64,
    /// For scripted runs: actions at the k-th of something.
    pub(crate) script: Script,
    pub(crate) timeline: Option<Vec<String>>,
}

/// Faults at exact places, for the systematic runs.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Crash the acting instance after its k-th effect.
    pub crash_after_effect: Option<u64>,
    /// Pause the acting instance, for longer than its lease, after its k-th effect.
    pub pause_after_effect: Option<u64>,
    /// Serve the k-th observation from before the last change.
    pub stale_look: Option<u64>,
    /// Drop the k-th hint, or cut the stream that was about to deliver events.
    pub drop_hint: Option<u64>,
    /// Serve an older head at the k-th poll of a store.
    pub older_head: Option<u64>,
    /// Render only so many of the directory's resources, without an error.
    pub render_keeps: Option<usize>,
    /// Delay responses to reads for this app by ten seconds.
    pub(crate) slow_reads_of: Option<AppId>,
    /// Delay responses to records by so many milliseconds.
    pub(crate) slow_records: u64,
    /// Fail renders of this app.
    pub(crate) renders_fail_of: Option<AppId>,
    /// Touch objects whenever an instance dies, before it starts again.
    pub(crate) touch_while_down: bool,
    /// The objects that no observation contains.
    pub(crate) hidden: BTreeSet<Key>,
    pub effects: u64,
    pub looks: u64,
    pub hints: u64,
    pub polls: u64,
}

impl Script {
    /// Counts a hint or delivery; reports whether it gets lost.
    pub(crate) fn drops_next(&mut self) -> bool {
        self.hints += 1;
        self.drop_hint == Some(self.hints)
    }
}

impl World {
    pub fn new(mut tape: Tape, swarm: Option<Swarm>, universe: Option<Universe>) -> Self {
        let swarm = swarm.unwrap_or_else(|| Swarm::draw(&mut tape));
        let universe = universe.unwrap_or_else(|| Universe::draw(&mut tape, None));
        let template = universe.rooted.then(|| Arc::new(Template::of(&universe)));
        let stores: Vec<_> = (0..universe.stores.len())
            .map(|n| SimStore::new(universe.first_contents(&mut tape, n), template.clone()))
            .collect();
        let targets: Vec<_> =
            universe.targets.iter().map(|kind| MemoryWorld::new(kind.identity.clone(), kind.options)).collect();
        let clusters = universe.targets.iter().filter_map(|kind| kind.cluster.as_deref()).map(Cluster::new).collect();
        let instances = (0..universe.instances).map(|n| Instance::new(n, settings())).collect::<Vec<_>>();
        let mut world = Self {
            now: 0,
            order: 0,
            queue: BTreeMap::new(),
            tape,
            swarm,
            injected: Injected::default(),
            store_down_until: vec![0; stores.len()],
            outages: vec![None; targets.len()],
            stores,
            past: targets.iter().map(|_| VecDeque::new()).collect(),
            targets,
            clusters,
            ledger: MemoryLog::new(Signer::new(Origin::new("sim").expect("a valid name"), &[7; 32])),
            origin: Origin::new("sim").expect("a valid name"),
            backup: None,
            records_lost: false,
            disk_broken: false,
            bundles: BTreeMap::new(),
            instances,
            monitor: Monitor::default(),
            compares_status: false,
            recall: Recall::default(),
            seen: BTreeSet::new(),
            fights: Vec::new(),
            calm: false,
            steps: 0,
            seen_open: BTreeSet::new(),
            orders: 0,
            trace: 0,
            script: Script::default(),
            timeline: None,
            universe,
        };
        for instance in 0..world.instances.len() {
            world.at(instance as u64 * 5_000, Happening::Start { instance });
        }
        world
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.order += 1;
        self.queue.insert((at.max(self.now), self.order), happening);
    }

    pub(crate) fn after(&mut self, delay: u64, happening: Happening) {
        self.at(self.now + delay, happening);
    }

    /// Runs until `end`, until a property is violated, or until `stop` returns true.
    pub(crate) fn run_until(&mut self, end: u64, mut stop: impl FnMut(&mut Self) -> bool) {
        const MOST_STEPS: u64 = 60_000;
        while let Some((at, _)) = self.queue.first_key_value().map(|(at, _)| *at) {
            if at > end || self.monitor.violation.is_some() {
                break;
            }
            if self.steps > MOST_STEPS {
                self.monitor.not_live(format!("no rest after {MOST_STEPS} steps"));
                break;
            }
            let (_, happening) = self.queue.pop_first().expect("it has a first");
            self.now = at;
            self.monitor.now = at;
            self.happen(happening);
            if stop(self) {
                return;
            }
        }
        self.now = self.now.max(end);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Start { instance } => self.start(instance),
            Happening::Deliver { to, event } => self.deliver(to, event),
            Happening::Wake { to } => self.wake(to),
            Happening::Arrive { from, effect } => self.arrive(from, *effect),
            Happening::Leave { from, effect } => self.leave(from, *effect),
            Happening::Land { from, landing } => {
                self.land(from, *landing);
                self.fight_back();
            }
            Happening::Act => self.act(),
            Happening::Touch => self.touch_objects(),
            Happening::Operate { step } => self.operate(step),
            // In peace, people choose their orders themselves.
            Happening::Order { command } if !self.calm => self.order(&command),
            Happening::Order { .. } => {}
            Happening::Speak { target, key } => self.speak(target, &key),
            Happening::Reach { from, target, sent } => self.attend(from, target, &sent),
            Happening::Respond { to, target, number, reply } => self.come_back(to, target, number, Some(reply)),
            Happening::Ring { to, target, number } => self.come_back(to, target, number, None),
            Happening::Tell { to, target, number } => self.tell(to, target, number),
            Happening::Mark { to, target, number } => self.mark(to, target, number),
            Happening::Tidy { target } => self.tidy(target),
        }
    }

    /// Undoes changes that have just landed, for strangers who fight us.
    pub(crate) fn fight_back(&mut self) {
        let now = self.now;
        self.fights.retain(|(_, _, until)| *until > now);
        for (target, key, _) in self.fights.clone() {
            if self.edit(target, &key, 666, "rival") {
                self.hint(target);
            }
        }
    }

    /// Reports whether a fault strikes, and counts it then.
    pub(crate) fn strikes(&mut self, fault: Fault, label: &'static str) -> bool {
        let strikes = !self.calm && self.tape.happens(label, self.swarm.rate(fault));
        if strikes {
            self.injected.note(fault);
        }
        strikes
    }

    pub(crate) fn is_current(&self, who: Recipient) -> bool {
        let instance = &self.instances[who.instance];
        instance.up && instance.life == who.life
    }

    /// Forgets the states of a target that were replaced too long ago for any read to return them.
    pub(crate) fn forget_past(&mut self, target: usize) {
        let past = &mut self.past[target];
        while past.get(1).is_some_and(|(replaced, _)| self.now - replaced > LONGEST_LAG) {
            past.pop_front();
        }
    }

    /// Sends a hint to every instance, or loses, duplicates or delays it.
    pub(crate) fn hint(&mut self, target: usize) {
        if self.is_cluster(target) {
            // Its streams deliver the events.
            return;
        }
        let keys = self.targets[target].take_changed();
        if keys.is_empty() {
            return;
        }
        self.controllers_begin(target, &keys);
        let past = &mut self.past[target];
        if !self.universe.targets[target].fresh_reads {
            past.push_back((self.now, self.targets[target].clone()));
        }
        if past.len() > MOST_PAST {
            past.pop_front();
        }
        let identity = self.targets[target].identity().clone();
        for instance in 0..self.instances.len() {
            if self.script.drops_next() || self.strikes(Fault::DroppedEvent, "hint dropped") {
                continue;
            }
            let lost = self.strikes(Fault::EventsLost, "events lost");
            let hint = if lost { Hint::Lost } else { Hint::Changed { keys: keys.clone() } };
            let times = if self.strikes(Fault::DuplicatedEvent, "hint doubled") { 2 } else { 1 };
            for _ in 0..times {
                let late = self.strikes(Fault::ReorderedEvent, "hint late");
                let delay = if late { 2_000 + u64::from(self.tape.pick("late", 10_000)) } else { 20 };
                let to = Recipient { instance, life: self.instances[instance].life };
                let event = Event::Hinted { target: identity.clone(), hint: hint.clone() };
                self.after(delay, Happening::Deliver { to, event: Box::new(event) });
            }
        }
    }

    /// Sends a person's order to every instance; the writer carries it out.
    pub(crate) fn order(&mut self, command: &Command) {
        if self.timeline.is_some() {
            self.remark(&format!("person: {:?} for {}, order {}", command.order, command.app, command.id.0));
        }
        self.monitor.order_given(command);
        for instance in 0..self.instances.len() {
            let to = Recipient { instance, life: self.instances[instance].life };
            self.after(10, Happening::Deliver { to, event: Box::new(Event::Command(command.clone())) });
        }
    }

    pub(crate) fn target_index(&self, identity: &setpoint_core::name::TargetIdentity) -> usize {
        let found = self.targets.iter().position(|target| target.identity() == identity);
        found.expect("the engine talks only to targets of the universe")
    }

    pub(crate) fn app_index(&self, app: &AppId) -> usize {
        self.universe.apps.iter().position(|known| known == app).expect("the engine talks only of apps of the universe")
    }

    pub(crate) fn keep_bundle(&mut self, bundle: Arc<Bundle>) {
        self.bundles.insert(bundle.digest(), bundle);
    }

    pub fn injected(&self) -> &Injected {
        &self.injected
    }

    pub fn seen(&self) -> &BTreeSet<&'static str> {
        &self.seen
    }
}
