//! The world: a queue of happenings in simulated time, the systems the engine talks to, and the
//! instances of the engine.
//!
//! No reconcile logic lives here. The world carries out the effects of the shipped
//! [`Machine`](setpoint_engine::Machine), honestly or with faults, and tells it what happened.

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

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum Happening {
    /// An instance hears of something.
    Deliver {
        to: Recipient,
        event: Box<Event>,
    },
    /// A wake-up an instance asked for.
    Wake {
        to: Recipient,
    },
    /// An effect reaches the system it is for.
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
    /// Someone who is not the engine does something.
    Act,
    /// A person gives an order.
    Order {
        command: Box<Command>,
    },
    /// Somebody touches what an instance was changing when it died.
    Touch,
    /// An operator goes on with what they began.
    Operate {
        step: Operator,
    },
    /// The controller of an object says for the first time that it is healthy.
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
    /// An answer of a cluster reaches who asked.
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
    /// A stream tells what happened, or how far it is.
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
    /// The controllers of a cluster do what they do.
    Tidy {
        target: usize,
    },
}

/// An instance in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) instance: usize,
    pub(crate) life: u32,
}

/// Steps under way to a target.
#[derive(Debug)]
pub(crate) struct Landing {
    pub(crate) ticket: setpoint_engine::Ticket,
    pub(crate) target: usize,
    pub(crate) work: Vec<Work>,
    pub(crate) fence: Fence,
    /// Whether anyone still waits for the answer.
    pub(crate) answer: bool,
}

/// What one run is made of and what it found.
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
    /// What the targets truly are, where they are clusters: then the above are their images.
    pub(crate) clusters: Vec<Cluster>,
    /// What keeps each target from answering, and until when.
    pub(crate) outages: Vec<Option<(Fault, u64)>>,
    /// Earlier states of each target, newest last: what a lagging target may show.
    pub(crate) past: Vec<VecDeque<(u64, MemoryWorld)>>,
    pub(crate) ledger: MemoryLog,
    /// A copy of the ledger that an operator made.
    pub(crate) backup: Option<Box<Backup>>,
    /// Records were lost with an old copy that was brought back.
    pub(crate) records_lost: bool,
    /// The ledger must be opened again before it records anything.
    pub(crate) disk_broken: bool,
    pub(crate) origin: Origin,
    pub(crate) bundles: Bundles,
    pub(crate) instances: Vec<Instance>,
    pub(crate) monitor: Monitor,
    pub(crate) recall: Recall,
    /// Reasons for which the engine was seen to withhold something.
    pub(crate) seen: BTreeSet<&'static str>,
    /// Keys someone fights us over, and until when.
    pub(crate) fights: Vec<(usize, Key, u64)>,
    /// No more faults and no more trouble from outside.
    pub(crate) calm: bool,
    pub(crate) steps: u64,
    /// Intents that a person has already found open once.
    pub(crate) seen_open: BTreeSet<IntentId>,
    /// Orders people gave so far.
    pub(crate) orders: u64,
    trace: u64,
    /// For scripted runs: what to do at the k-th of something.
    pub(crate) script: Script,
    pub(crate) timeline: Option<Vec<String>>,
}

/// Faults at exact places, for the systematic runs.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Crash the acting instance after its k-th effect.
    pub crash_after_effect: Option<u64>,
    /// Let the acting instance stand still, for longer than its lease, after its k-th effect.
    pub pause_after_effect: Option<u64>,
    /// Serve the k-th look from before the last change.
    pub stale_look: Option<u64>,
    /// Drop the k-th hint, or cut the stream that was about to tell of something.
    pub drop_hint: Option<u64>,
    /// Answer the k-th poll of a store with an older head.
    pub older_head: Option<u64>,
    /// A render gives only so many of the resources the folder declares, and says nothing of it.
    pub render_keeps: Option<usize>,
    /// Answers to reads for this app take ten seconds.
    pub(crate) slow_reads_of: Option<AppId>,
    /// Answers to records take so many milliseconds more.
    pub(crate) slow_records: u64,
    /// Renders of this app fail.
    pub(crate) renders_fail_of: Option<AppId>,
    /// Whenever an instance dies, objects are touched before it starts again.
    pub(crate) touch_while_down: bool,
    /// What no look shows.
    pub(crate) hidden: BTreeSet<Key>,
    pub effects: u64,
    pub looks: u64,
    pub hints: u64,
    pub polls: u64,
}

impl Script {
    /// Something is about to be told. Whether it gets lost.
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

    /// Runs until `end`, or until a property is violated or `stop` says so.
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
            // In peace people order what they then think of.
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

    /// Those who fight us undo what has just landed.
    pub(crate) fn fight_back(&mut self) {
        let now = self.now;
        self.fights.retain(|(_, _, until)| *until > now);
        for (target, key, _) in self.fights.clone() {
            if self.edit(target, &key, 666, "rival") {
                self.hint(target);
            }
        }
    }

    /// Whether a fault strikes; counted when it does.
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

    /// A hint travels to every instance, or gets lost, doubled or late.
    pub(crate) fn hint(&mut self, target: usize) {
        if self.is_cluster(target) {
            // Its streams tell of it.
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
        while past.len() > 6 || past.front().is_some_and(|(at, _)| self.now - at > 45_000) && past.len() > 1 {
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

    /// A person orders something; every instance hears it, the writer acts.
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
