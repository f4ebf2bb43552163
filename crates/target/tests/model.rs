//! Tests random sequences of steps and foreign changes against a small model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use setpoint_core::intent::Verb;
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::Observed;
use setpoint_core::time::Span;
use setpoint_target::conformance::Steps;
use setpoint_target::{MemoryOptions, MemoryWorld, Outcome, RefusalClass, Settlement, Work};

use crate::scene::{at, fence, identity, resource, value, world};

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Observes everything: later steps expect the observed state.
    Look,
    Create(i64),
    Update(i64),
    Delete,
    Edit(i64),
    Remove,
    Recreate(i64),
}

fn events() -> impl Strategy<Value = Vec<(usize, Event)>> {
    let event = prop_oneof![
        3 => Just(Event::Look),
        3 => (0..3i64).prop_map(Event::Create),
        3 => (0..3i64).prop_map(Event::Update),
        3 => Just(Event::Delete),
        1 => (0..3i64).prop_map(Event::Edit),
        1 => Just(Event::Remove),
        1 => (0..3i64).prop_map(Event::Recreate),
    ];
    prop::collection::vec((0..NAMES.len(), event), 1..60)
}

/// The model's state of an object: its incarnation, the number of its writes, its content.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Modelled {
    incarnation: u64,
    written: u64,
    content: i64,
}

struct Run {
    world: MemoryWorld,
    steps: Steps,
    model: BTreeMap<&'static str, Modelled>,
    /// The last observation, in both worlds.
    seen: BTreeMap<&'static str, (Live, Modelled)>,
    ticks: u64,
}

impl Run {
    fn new(options: MemoryOptions) -> Self {
        let (model, seen) = (BTreeMap::new(), BTreeMap::new());
        Self { world: world(options), steps: Steps::new(identity()), model, seen, ticks: 0 }
    }

    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    fn put(&mut self, name: &'static str, content: i64) {
        let incarnation = self.tick();
        self.model.insert(name, Modelled { incarnation, written: 0, content });
    }

    fn write(&mut self, name: &'static str, content: i64) {
        let written = self.tick();
        if let Some(object) = self.model.get_mut(name) {
            *object = Modelled { written, content, ..*object };
        }
    }

    fn happen(&mut self, name: &'static str, event: Event) -> Result<(), TestCaseError> {
        let key = resource(name, 0).key;
        match event {
            Event::Look => self.look(),
            Event::Edit(content) => {
                let there = self.world.edit(&key, &value(name, content), "someone");
                prop_assert_eq!(there, self.model.contains_key(name));
                self.write(name, content);
            }
            Event::Remove => prop_assert_eq!(self.world.remove(&key), self.model.remove(name).is_some()),
            Event::Recreate(content) => {
                self.world.recreate(&key, value(name, content), "someone");
                self.put(name, content);
            }
            Event::Create(content) => self.act(name, &self.steps.create(&resource(name, content)), content)?,
            Event::Update(content) => {
                if let Some((live, _)) = self.seen.get(name) {
                    self.act(name, &self.steps.update(&resource(name, content), live), content)?;
                }
            }
            Event::Delete => {
                if let Some((live, _)) = self.seen.get(name) {
                    self.act(name, &self.steps.delete(&key, live), 0)?;
                }
            }
        }
        Ok(())
    }

    /// Reports whether the model would let the step happen.
    fn allows(&self, name: &str, verb: Verb) -> bool {
        let (standing, seen) = (self.model.get(name), self.seen.get(name).map(|(_, modelled)| modelled));
        match verb {
            Verb::Create => standing.is_none(),
            Verb::Update => standing.is_some() && standing == seen,
            Verb::Delete => standing.is_none() || standing == seen,
        }
    }

    fn act(&mut self, name: &'static str, work: &Work, content: i64) -> Result<(), TestCaseError> {
        let allowed = self.allows(name, work.step.verb);
        let before = self.world.change_count();
        let outcome = self.world.execute_one(work, fence(), at(0));
        let intent = self.steps.intent(work, fence().land_by);
        let settled = self.world.settle(&intent, work.step.resource.as_deref(), fence().land_by + Span::millis(1));
        match outcome {
            Outcome::Done { live } => {
                prop_assert!(allowed, "{name} was changed against its preconditions");
                prop_assert_eq!(settled, Settlement::Done { live });
                match work.step.verb {
                    Verb::Create => self.put(name, content),
                    Verb::Update => self.write(name, content),
                    Verb::Delete => drop(self.model.remove(name)),
                }
            }
            Outcome::Refused { refusal } => {
                prop_assert!(!allowed, "{name} was refused: {refusal}");
                prop_assert_eq!(refusal.class, RefusalClass::Conflict);
                prop_assert_eq!(self.world.change_count(), before);
                prop_assert!(work.step.verb == Verb::Delete || settled == Settlement::NotDone, "{:?}", settled);
            }
            Outcome::Unknown { detail } => prop_assert!(false, "{detail}"),
        }
        Ok(())
    }

    fn look(&mut self) {
        let modelled = self.model.iter().map(|(name, modelled)| (*name, *modelled));
        let objects: BTreeMap<_, _> = self.world.objects().map(|(key, object)| (key.name(), &object.live)).collect();
        self.seen = modelled
            .filter_map(|(name, modelled)| objects.get(name).map(|live| (name, ((*live).clone(), modelled))))
            .collect();
    }

    fn agree(&self) -> Result<(), TestCaseError> {
        let keys: BTreeSet<_> = NAMES.iter().map(|name| resource(name, 0).key).collect();
        let observation = self.world.observe(&keys, at(0));
        for name in NAMES {
            let observed = match &observation.states[&resource(name, 0).key] {
                Observed::Known { value: Presence::Present(live), .. } => Some(live.value.clone()),
                Observed::Known { value: Presence::Absent, .. } => None,
                Observed::Unknown { reason } => return Err(TestCaseError::fail(reason.to_string())),
            };
            prop_assert_eq!(observed, self.model.get(name).map(|object| value(name, object.content)));
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_world_does_what_the_model_does(events in events()) {
        let mut run = Run::new(MemoryOptions::default());
        for (name, event) in events {
            run.happen(NAMES[name], event)?;
            run.agree()?;
        }
    }

    #[test]
    fn equal_events_make_equal_worlds(events in events()) {
        let (mut one, mut two) = (Run::new(MemoryOptions::default()), Run::new(MemoryOptions::default()));
        for (name, event) in events {
            one.happen(NAMES[name], event)?;
            two.happen(NAMES[name], event)?;
        }
        prop_assert!(one.world.objects().eq(two.world.objects()));
        prop_assert_eq!(one.world.change_count(), two.world.change_count());
    }
}
