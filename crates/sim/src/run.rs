//! One run: trouble for a while, then peace, then rest. Safety is checked all the time, liveness at
//! the end.

use std::collections::BTreeSet;

use setpoint_core::claim::ClaimOrigin;
use setpoint_core::key::Key;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::AppId;
use setpoint_engine::Mode;
use setpoint_kube::request::INSTALLATION_LABEL;

use crate::cluster::objects::{self, CO_OWNED};
use crate::cluster::{MANAGER, TOOL};
use crate::fault::{Injected, Swarm};
use crate::monitor::Violation;
use crate::store::Folder;
use crate::tape::{Choice, Tape};
use crate::universe::{Ground, Universe, settings};
use crate::world::{Happening, World};

const MINUTE: u64 = 60_000;
/// The duration of the trouble.
const TROUBLE: u64 = 45 * MINUTE;
/// The maximum time in which the engine must come to rest: back-offs of an hour, a takeover, two
/// sweeps.
const REST: u64 = 100 * MINUTE;
/// The time after that in which nothing may be written.
const QUIET: u64 = 25 * MINUTE;

/// The share of the seeds in which the status of everything is compared after every step: one in so
/// many. Such a run takes up to 40 % longer.
const COMPARED: u64 = 10;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub violation: Option<Violation>,
    pub injected: Injected,
    pub seen: BTreeSet<&'static str>,
    pub trace: u64,
    pub steps: u64,
    pub writes: u64,
    pub tape: Vec<Choice>,
}

/// Runs one seed on this ground.
pub fn run_seed_on(ground: Ground, seed: u64) -> Outcome {
    let mut tape = Tape::from_seed(seed);
    let swarm = Swarm::draw(&mut tape);
    let universe = Universe::draw(&mut tape, Some(ground));
    let mut world = World::new(tape, Some(swarm), Some(universe));
    world.compares_status =
        seed.is_multiple_of(COMPARED) || Mutant::ALL.iter().any(|it| it.is_on() && is_of_status(*it));
    finish(&run(world))
}

/// Reports whether only a comparison of the status catches the mutant.
fn is_of_status(mutant: Mutant) -> bool {
    mutant.property() == "R1"
}

/// Runs a tape, and returns the timeline if requested.
pub fn run_tape(choices: Vec<Choice>, timeline: bool) -> (Outcome, Vec<String>) {
    let mut world = World::new(Tape::replay(choices), None, None);
    world.compares_status = true;
    world.timeline = timeline.then(Vec::new);
    let mut world = run(world);
    let timeline = world.timeline.take().unwrap_or_default();
    (finish(&world), timeline)
}

/// Runs trouble, peace and rest.
fn run(mut world: World) -> World {
    world.prepare();
    world.after(20_000, Happening::Act);
    world.run_until(TROUBLE, |_| false);
    world.come_to_rest();
    world
}

fn finish(world: &World) -> Outcome {
    Outcome {
        violation: world.monitor.violation.clone(),
        injected: world.injected().clone(),
        seen: world.seen().clone(),
        trace: world.trace(),
        steps: world.steps,
        writes: world.monitor.writes,
        tape: world.tape.choices(),
    }
}

impl World {
    /// Prepares targets with objects: the engine starts from any state of the world (L2), not only
    /// from an empty one.
    fn prepare(&mut self) {
        for app in 0..self.universe.folders() {
            let target = self.universe.target_of(app);
            for key in self.universe.keys[app].clone() {
                let idempotent = self.universe.targets[target].options.idempotent_create;
                if idempotent && self.tape.happens("stranger at first", 120) {
                    let content = if self.tape.happens("equal", 300) { 1 } else { 70 };
                    self.recreate(target, &key, content, "someone");
                }
            }
            self.targets[target].take_changed();
        }
    }

    /// Ends the faults; the engine must reach the declared state, and then stay.
    pub(crate) fn come_to_rest(&mut self) {
        if self.monitor.violation.is_some() {
            return;
        }
        self.swarm = Swarm::none();
        self.make_peace();
        let (mut next_help, end) = (self.now, self.now + REST);
        while self.now < end && self.monitor.violation.is_none() && self.unrest().is_some() {
            if self.now >= next_help {
                self.help_out();
                next_help = self.now + 10 * MINUTE;
            }
            self.remove_what_cannot_be_changed();
            self.remove_what_was_let_go();
            let until = self.now + MINUTE;
            self.run_until(until, |_| false);
            self.now = self.now.max(until);
        }
        if self.monitor.violation.is_some() {
            return;
        }
        if let Some(detail) = self.unrest() {
            return self.monitor.not_live(detail);
        }
        let writes = self.monitor.writes;
        let until = self.now + QUIET;
        self.run_until(until, |_| false);
        if self.monitor.writes != writes {
            let more = self.monitor.writes - writes;
            self.monitor.not_live(format!("{more} writes although everything was in place"));
        }
        if let Some(detail) = self.unrest() {
            self.monitor.not_live(format!("it did not stay: {detail}"));
        }
        self.probe();
        self.probe_unheard();
        // A replay reads every record; one run in eight is enough to find a table that differs.
        if self.steps.is_multiple_of(8) {
            self.check_ledger();
        }
    }

    /// Checks that without faults an edit is healed at once, whatever the engine is doing: the
    /// sweep is only the safety net.
    fn probe(&mut self) {
        const SOON: u64 = MINUTE;
        if self.monitor.violation.is_some() {
            return;
        }
        for _ in 0..4 {
            let Some((target, key)) = self.something_declared() else { return };
            if self.edit(target, &key, 99, "probe") {
                self.hint(target);
            }
            let until = self.now + u64::from(self.tape.pick("probe pause", 250));
            self.run_until(until, |_| false);
        }
        let until = self.now + SOON;
        self.run_until(until, |_| false);
        if let Some(detail) = self.unrest() {
            self.monitor.not_live(format!("an edit was not healed within {} s: {detail}", SOON / 1_000));
        }
    }

    /// Checks that the next sweep finds an edit of which no stream sends an event.
    fn probe_unheard(&mut self) {
        if self.monitor.violation.is_some() || self.clusters.is_empty() {
            return;
        }
        let Some((target, key)) = self.something_declared() else { return };
        if self.edit(target, &key, 97, "unheard") {
            self.lose_events(target);
        }
        let until = self.now + 2 * settings().sweep.as_millis() + MINUTE;
        self.run_until(until, |_| false);
        if let Some(detail) = self.unrest() {
            self.monitor.not_live(format!("an edit without an event was not healed by a sweep: {detail}"));
        }
    }

    /// Returns a key that some app declares, and its target.
    fn something_declared(&mut self) -> Option<(usize, Key)> {
        let app = self.tape.pick("probed app", self.universe.folders() as u32) as usize;
        let store = &self.stores[self.universe.store_of(app)];
        let Some(Folder::Declares(declared)) = store.head_folder(&self.universe.apps[app]) else { return None };
        let number = self.tape.pick("probed key", declared.len() as u32) as usize;
        Some((self.universe.target_of(app), declared.keys().nth(number)?.clone()))
    }

    /// Describes a difference from the desired state; `None` when the world is at rest.
    fn unrest(&self) -> Option<String> {
        if !self.instances.iter().any(|instance| instance.up) {
            return Some("no instance is up".into());
        }
        (0..self.universe.apps.len()).find_map(|app| self.unrest_of(app)).or_else(|| self.orphan())
    }

    /// Reports whether the last accepted bundle is not the one that a person released. Then the
    /// live state proves nothing: others may hold it so.
    fn waits_for_a_person(&self, app: &AppId) -> bool {
        let facts = self.ledger.facts(&self.origin).apps.get(app);
        facts.is_some_and(|facts| facts.accepted.as_ref().map(|accepted| accepted.bundle) != facts.let_through)
    }

    fn unrest_of(&self, n: usize) -> Option<String> {
        let app = &self.universe.apps[n];
        // Without its document an app is frozen, and a retired one declares nothing.
        let control = self.universe.controls.apps.get(app).filter(|control| !control.retire)?;
        if let Some(documents) = &self.stores[0].head_contents().documents {
            documents.apps.get(app).filter(|document| !document.retire)?;
        }
        let target = &self.targets[self.universe.target_of(n)];
        let store = &self.stores[self.universe.store_of(n)];
        let Some(Folder::Declares(declared)) = store.head_folder(app) else { return None };
        if control.mode == Mode::Observe {
            return None;
        }
        if control.mode == Mode::Manual && self.waits_for_a_person(app) {
            return Some(format!("what was accepted for {app} waits for a person"));
        }
        for (key, content) in declared {
            let live = target.objects().find(|(at, _)| *at == key).map(|(_, object)| &object.live);
            if live.is_none_or(|live| *live.value != self.universe.body(key, *content)) {
                let status = self.instances.iter().filter_map(|instance| instance.machine.status(app)).next();
                let why = status.map(|status| format!("{:?}, hold {:?}", status.report, status.facts.hold));
                return Some(format!("{key} of {app} is not as declared: {live:?}; report {why:?}"));
            }
            if let Some(held) = self.held_by_a_tool(n, key) {
                return Some(format!("{key} of {app} was adopted, and its previous tool still owns {held:?}"));
            }
        }
        None
    }

    /// Returns the fields of an adopted object that are ours and still also owned by the tool that
    /// created it.
    fn held_by_a_tool(&self, app: usize, key: &Key) -> Option<Vec<String>> {
        let target = self.universe.target_of(app);
        let cluster = self.clusters.get(target)?;
        let claim = self.ledger.facts(&self.origin).claims.get(self.targets[target].identity(), key)?;
        let stored = cluster.server.object(&objects::place(key))?;
        let adopted = claim.origin == ClaimOrigin::Adopted && claim.app == self.universe.apps[app];
        let mut held = stored.held_by_both(MANAGER, TOOL);
        // Our label is not part of the declaration.
        held.retain(|field| field != CO_OWNED && !field.ends_with(INSTALLATION_LABEL));
        let is_same = claim.uid.as_ref().is_some_and(|uid| uid.as_str() == stored.uid());
        let excused = cluster.posed.contains(stored.uid()) || cluster.put_back.contains(stored.uid());
        (adopted && is_same && !excused && !held.is_empty()).then_some(held)
    }

    /// Reports whether the object under the key is the claimed incarnation.
    pub(crate) fn is_ours(&self, app: usize, key: &Key) -> bool {
        let target = &self.targets[self.universe.target_of(app)];
        let claim = self.ledger.facts(&self.origin).claims.get(target.identity(), key);
        let mut standing = target.objects().filter(|(at, _)| *at == key);
        standing.all(|(_, object)| claim.is_some_and(|claim| claim.uid.as_ref() == Some(&object.live.uid)))
    }

    /// Describes an object that we created and that has no claim.
    fn orphan(&self) -> Option<String> {
        for target in &self.targets {
            for (key, object) in target.objects().filter(|(_, object)| object.created_by.is_some()) {
                let claim = self.ledger.facts(&self.origin).claims.get(target.identity(), key);
                let remembered =
                    claim.is_some_and(|claim| claim.uid.as_ref().is_none_or(|uid| *uid == object.live.uid));
                let let_go = self.monitor.let_go.contains(&(key.clone(), object.live.uid.clone()));
                if !remembered && !let_go {
                    return Some(format!(
                        "{key} was created by us and no claim has it: {claim:?}, it is {}",
                        object.live.uid
                    ));
                }
            }
        }
        None
    }

    /// Checks that the ledger's tables are equal to a replay of its records.
    fn check_ledger(&mut self) {
        match self.ledger.replay_check(&self.origin) {
            Ok(None) => {}
            Ok(Some(difference)) => {
                self.monitor.not_live(format!("the ledger's tables differ from its records: {difference}"));
            }
            Err(error) => self.monitor.not_live(format!("the ledger cannot be replayed: {error}")),
        }
    }
}
