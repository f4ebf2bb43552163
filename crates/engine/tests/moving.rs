//! A target that turns out to be another system than the one with the app's objects: no object is
//! touched or given away, and the app continues once the target is right again.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::modes::State;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::observed::Observed;
use setpoint_core::report::Why;
use setpoint_core::value::Value;
use setpoint_core::version::Revision;
use setpoint_engine::{AppControl, BundleCache, Controls, Effect, Event, Machine, Mode, NoteKind, Settings};

use crate::holding::{at, claim, control, key, reach, resource, stands, target};

fn app(name: &str) -> AppId {
    name.parse().expect("a valid app")
}

fn elsewhere() -> TargetIdentity {
    TargetIdentity::new("cluster-2").expect("a valid identity")
}

/// The documents of `web/shop`, which owns `a`, and of `web/other`, which declares it too and does
/// not own it.
fn controls(of_shop: &TargetIdentity) -> Controls {
    let shop = AppControl { target: of_shop.clone(), ..AppControl::clone(&control(Mode::Auto, false)) };
    Controls {
        apps: [(app("web/shop"), Arc::new(shop)), (app("web/other"), control(Mode::Auto, false))].into(),
        targets: [(target(), reach(false)), (elsewhere(), reach(false))].into(),
        ..Controls::default()
    }
}

fn facts(bundle: &Bundle) -> AppFacts {
    let accepted = Accepted { bundle: bundle.digest(), sequence: 1, revision: Revision::default(), at: at(0) };
    AppFacts { accepted: Some(accepted.clone()), last_good: Some(accepted), ..AppFacts::new(target()) }
}

/// A machine with both apps that has begun, with documents that name this target.
struct Scene {
    machine: Machine,
    /// Notes to people, each with its kind.
    notes: Vec<(NoteKind, String)>,
    /// Steps that were sent, by app.
    work: Vec<(AppId, String)>,
    seconds: u64,
}

impl Scene {
    fn new(of_shop: &TargetIdentity) -> Self {
        let bundle = |name| Bundle::new(app(name), target(), vec![resource("a")]).expect("a valid bundle");
        let mut known = Facts::default();
        let bundles = BundleCache::default();
        let mut changes = vec![Change::Installed { at: at(0) }];
        for name in ["web/shop", "web/other"] {
            changes.push(Change::PutApp { app: app(name), facts: Arc::new(facts(&bundle(name))) });
            bundles.put(bundle(name).into());
        }
        changes.push(Change::PutClaim { claim: Arc::new(claim(&app("web/shop"), "a")), from: None });
        for change in changes {
            known.apply(&change).expect("the changes fit each other");
        }
        let machine = Machine::new(Settings::default());
        let mut scene = Self { machine, notes: Vec::new(), work: Vec::new(), seconds: 100 };
        for event in [
            Event::Started,
            Event::Controls(controls(of_shop)),
            Event::LeaseGranted { epoch: 3, expires: at(1_000_000) },
            Event::Loaded { epoch: 3, facts: Box::new(known), bundles },
        ] {
            scene.step(event);
        }
        scene
    }

    /// Steps, makes all records durable, and answers every observation with an object that another
    /// writer has edited.
    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.machine.step(at(self.seconds), event) {
                match effect {
                    Effect::Append { ticket, .. } => events.push(Event::Appended { ticket }),
                    Effect::Observe { ticket, target: of, .. } if of == target() => {
                        events.push(Event::Observed { ticket, observation: edited(self.seconds) });
                    }
                    Effect::Observe { target, .. } => panic!("{target} is looked at"),
                    Effect::Notify { ticket, note } => {
                        self.notes.push((note.kind, note.text));
                        events.push(Event::Notified { ticket, delivered: true });
                    }
                    Effect::Execute { target: of, work, .. } => {
                        assert_eq!(of, target());
                        let steps = work.iter().map(|work| (work.step.claim.app.clone(), work.step.key.to_string()));
                        self.work.extend(steps);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Lets time pass, so that every waiting app is observed.
    fn wait(&mut self) {
        for _ in 0..120 {
            self.seconds += 5;
            self.step(Event::Woke);
        }
    }

    fn told(&self) -> Vec<&str> {
        let told = self.notes.iter().filter(|(kind, _)| *kind == NoteKind::TargetMoved);
        told.map(|(_, text)| text.as_str()).collect()
    }
}

fn edited(seconds: u64) -> Observation {
    let mut state = stands("a", at(seconds));
    let Observed::Known { value: Presence::Present(live), .. } = &mut state else { panic!("it is there") };
    live.value = Arc::new(Value::map([("data", Value::str("edited"))]));
    live.fingerprint = Live::fingerprint_of(&live.value);
    Observation { at: at(seconds), states: BTreeMap::from([(key("a"), state)]) }
}

#[test]
fn an_app_whose_target_is_another_system_says_so_and_goes_on_when_it_is_right_again() {
    let mut scene = Scene::new(&elsewhere());
    scene.wait();
    let status = scene.machine.status(&app("web/shop")).expect("it is known");
    assert_eq!((status.facts.frozen, status.moved_to), (true, Some(elsewhere())));
    assert!(status.report.iter().any(|withheld| withheld.why == Why::State { state: State::TargetMoved }));
    assert_eq!(scene.work, []);
    let told = scene.told();
    let names_both = |text: &&str| text.contains("is now cluster-2, but its objects are on cluster-1");
    assert!(!told.is_empty() && told.iter().all(names_both), "{told:?}");
    let before = told.len();

    scene.step(Event::Controls(controls(&target())));
    scene.wait();
    let status = scene.machine.status(&app("web/shop")).expect("it is known");
    assert_eq!((status.facts.frozen, status.moved_to), (false, None));
    assert_eq!(scene.work.first(), Some(&(app("web/shop"), key("a").to_string())), "the edit is healed");

    scene.step(Event::Controls(controls(&elsewhere())));
    assert_eq!(scene.told().len(), before + 1, "a second time is another matter");
}

#[test]
fn what_it_owns_is_not_taken_over_meanwhile() {
    let mut scene = Scene::new(&elsewhere());
    scene.wait();
    assert_eq!(scene.machine.owned(&app("web/shop")), [key("a")].into());
    let status = scene.machine.status(&app("web/other")).expect("it is known");
    let is_owned = |why: &Why| matches!(why, Why::OwnedByOther { .. });
    assert!(status.report.iter().any(|withheld| is_owned(&withheld.why)), "{:?}", status.report);
}
