//! A machine on a stage: it holds the log, and a test answers its requests when the test wants to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::intent::Verb;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Presence};
use setpoint_core::name::{Actor, AppId, StoreName, VersionId};
use setpoint_core::observed::Observed;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_engine::machine::AppStatus;
use setpoint_engine::{
    AppControl, BundleCache, Command, Controls, Declined, Effect, Event, Machine, Mode, Note, Order, OrderId,
    RenderOutcome, Settings, StoreControl, Ticket,
};
use setpoint_ledger::{Class, Entry};
use setpoint_target::{Hint, Outcome, Work};

use crate::holding::{claim, control, key, reach, resource, stands, target};

/// More than a day after the installation.
pub(crate) const START: u64 = 1_000_000;

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(0) + Span::seconds(seconds)
}

pub(crate) fn app(name: &str) -> AppId {
    format!("web/{name}").parse().expect("a valid app")
}

pub(crate) fn store() -> StoreName {
    StoreName::new("platform").expect("a valid name")
}

pub(crate) fn version(name: &str) -> VersionId {
    VersionId::new(name).expect("a valid version")
}

pub(crate) fn revision(name: &str) -> Revision {
    Revision::of(&store(), &version(name))
}

pub(crate) fn bundle(app: &AppId, names: &[&str]) -> Arc<Bundle> {
    let resources = names.iter().map(|name| resource(name)).collect();
    Arc::new(Bundle::new(app.clone(), target(), resources).expect("a valid bundle"))
}

/// The durable facts before the machine begins, and the content of the documents.
pub(crate) struct Before {
    pub(crate) settings: Settings,
    pub(crate) controls: Controls,
    pub(crate) facts: Facts,
    pub(crate) bundles: BundleCache,
}

impl Before {
    pub(crate) fn new() -> Self {
        let mut facts = Facts::default();
        facts.apply(&Change::Installed { at: at(0) }).expect("it fits");
        let repository = Digest::of(b"platform");
        let stores = BTreeMap::from([(store(), StoreControl { interval: Span::seconds(30), repository })]);
        let targets = [(target(), reach(false))].into();
        let controls = Controls { stores, targets, ..Controls::default() };
        let settings = Settings { quarantine: Span::ZERO, ..Settings::default() };
        Self { settings, controls, facts, bundles: BundleCache::default() }
    }

    /// A version of the app that is in the ledger.
    pub(crate) fn version(&self, app: &AppId, sequence: u64, names: &[&str]) -> Accepted {
        let bundle = bundle(app, names);
        let digest = bundle.digest();
        self.bundles.put(bundle);
        Accepted { bundle: digest, sequence, revision: revision(&format!("v{sequence}")), at: at(0) }
    }

    /// An app that is held at these objects and owns them.
    pub(crate) fn held(&mut self, name: &str, names: &[&str]) -> AppFacts {
        let app = app(name);
        let accepted = self.version(&app, 1, names);
        self.owns(&app, names);
        AppFacts { accepted: Some(accepted.clone()), last_good: Some(accepted), ..AppFacts::new(target()) }
    }

    pub(crate) fn owns(&mut self, app: &AppId, names: &[&str]) {
        for name in names {
            self.apply(&Change::PutClaim { claim: Arc::new(claim(app, name)), from: None });
        }
    }

    /// Adds the facts of an app and its document, if there is one.
    pub(crate) fn app(&mut self, name: &str, facts: AppFacts, control: Option<AppControl>) {
        self.apply(&Change::PutApp { app: app(name), facts: Arc::new(facts) });
        self.controls.apps.extend(control.map(|control| (app(name), Arc::new(control))));
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        self.facts.apply(change).expect("the changes fit each other");
    }

    pub(crate) fn begin(self) -> Stage {
        let Self { settings, controls, facts, bundles } = self;
        let machine = Machine::new(settings);
        let known = controls.clone();
        let mut stage = Stage { machine, now: at(START), out: Vec::new(), recorded: Vec::new(), controls: known };
        for event in [
            Event::Started,
            Event::Controls(controls),
            Event::LeaseGranted { epoch: 3, expires: at(1_000_000_000) },
            Event::Loaded { epoch: 3, facts: Box::new(facts), bundles },
            Event::Woke,
        ] {
            stage.step(event);
        }
        stage
    }
}

/// The document of an app that is rendered from the store.
pub(crate) fn document(mode: Mode) -> AppControl {
    AppControl { stores: BTreeSet::from([store()]), ..AppControl::clone(&control(mode, false)) }
}

pub(crate) struct Stage {
    pub(crate) machine: Machine,
    pub(crate) now: Timestamp,
    /// Requests that are not answered yet.
    out: Vec<Effect>,
    /// The durable entries.
    pub(crate) recorded: Vec<Entry>,
    controls: Controls,
}

impl Stage {
    pub(crate) fn step(&mut self, event: Event) {
        let effects = self.machine.step(self.now, event);
        self.out.extend(effects.into_iter().filter(|effect| !matches!(effect, Effect::WakeAt { .. })));
    }

    /// Lets time pass, a second at a time. Nothing is answered meanwhile.
    pub(crate) fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now = self.now + Span::seconds(1);
            self.step(Event::Woke);
        }
    }

    /// Takes every effect for which `wanted` returns a value.
    pub(crate) fn take<T>(&mut self, wanted: impl Fn(&Effect) -> Option<T>) -> Vec<T> {
        let mut taken = Vec::new();
        self.out.retain(|effect| match wanted(effect) {
            Some(found) => {
                taken.push(found);
                false
            }
            None => true,
        });
        taken
    }

    /// Takes the appends that are under way, in order.
    pub(crate) fn appends(&mut self) -> Vec<(Ticket, Vec<Entry>)> {
        self.take(|effect| match effect {
            Effect::Append { ticket, entries, .. } => Some((*ticket, entries.clone())),
            _ => None,
        })
    }

    pub(crate) fn durable(&mut self, (ticket, entries): (Ticket, Vec<Entry>)) {
        self.recorded.extend(entries);
        self.step(Event::Appended { ticket });
    }

    pub(crate) fn refused(&mut self, (ticket, _): (Ticket, Vec<Entry>), class: Class) {
        self.step(Event::AppendFailed { ticket, class, detail: String::new() });
    }

    /// Makes everything durable that is to be recorded.
    pub(crate) fn record(&mut self) {
        loop {
            let appends = self.appends();
            if appends.is_empty() {
                return;
            }
            appends.into_iter().for_each(|append| self.durable(append));
        }
    }

    /// Takes the observations that are under way, each with its app and the requested names.
    pub(crate) fn looks(&mut self) -> Vec<(Ticket, AppId, BTreeSet<String>)> {
        self.take(|effect| match effect {
            Effect::Observe { ticket, wanted, asker, .. } => {
                let names = wanted.keys().map(|key| key.name().to_owned()).collect();
                Some((*ticket, asker.app.clone().expect("an app asks"), names))
            }
            _ => None,
        })
    }

    pub(crate) fn see(&mut self, ticket: Ticket, states: impl IntoIterator<Item = (Key, Observed<Presence>)>) {
        let observation = Observation { at: self.now, states: states.into_iter().collect() };
        self.step(Event::Observed { ticket, observation });
    }

    /// Answers every observation with the result of `there` for each name, and records the
    /// consequences, until no observation is left.
    pub(crate) fn look(&mut self, there: impl Fn(&str) -> Observed<Presence>) {
        self.record();
        while let looks = self.looks()
            && !looks.is_empty()
        {
            for (ticket, _, names) in looks {
                let states: Vec<_> = names.iter().map(|name| (key(name), there(name))).collect();
                self.see(ticket, states);
                self.record();
            }
        }
    }

    /// Does the same with every object as declared.
    pub(crate) fn look_at_all(&mut self) {
        let now = self.now;
        self.look(|name| stands(name, now));
    }

    /// Hints at a change of the target; every object is then observed as declared.
    pub(crate) fn look_again(&mut self) {
        self.hint();
        self.look_at_all();
    }

    pub(crate) fn hint(&mut self) {
        self.step(Event::Hinted { target: target(), hint: Hint::Lost });
    }

    /// Brings other documents into force.
    pub(crate) fn control(&mut self, change: impl FnOnce(&mut Controls)) {
        self.control_unrecorded(change);
        self.record();
    }

    /// Other documents come into force, and the ledger has not recorded them yet.
    pub(crate) fn control_unrecorded(&mut self, change: impl FnOnce(&mut Controls)) {
        change(&mut self.controls);
        self.step(Event::Controls(self.controls.clone()));
    }

    /// Takes the steps that were sent.
    pub(crate) fn executed(&mut self) -> Vec<(Ticket, Vec<(Verb, String)>)> {
        self.take(|effect| match effect {
            Effect::Execute { ticket, work, .. } => {
                let step = |work: &Work| (work.step.verb, work.step.key.name().to_owned());
                Some((*ticket, work.iter().map(step).collect()))
            }
            _ => None,
        })
    }

    pub(crate) fn succeed(&mut self, ticket: Ticket, lives: impl IntoIterator<Item = Option<&'static str>>) {
        let now = self.now;
        let live = |name: &str| match stands(name, now) {
            Observed::Known { value: Presence::Present(live), .. } => live,
            _ => unreachable!("it stands there"),
        };
        let outcomes = lives.into_iter().map(|name| Outcome::Done { live: name.map(live) }).collect();
        self.step(Event::Executed { ticket, outcomes });
    }

    /// Takes the requested renders, with the revision that each must descend from.
    pub(crate) fn renders(&mut self) -> Vec<(Ticket, AppId, Option<Revision>)> {
        self.take(|effect| match effect {
            Effect::Render { ticket, app, descends_from, .. } => Some((*ticket, app.clone(), descends_from.clone())),
            _ => None,
        })
    }

    /// Answers the only requested render.
    pub(crate) fn rendered(&mut self, outcome: RenderOutcome) {
        let renders = self.renders();
        let [(ticket, ..)] = renders.as_slice() else { panic!("one render, not {renders:?}") };
        self.step(Event::Rendered { ticket: *ticket, outcome });
    }

    /// The store offers the accepted version, and every app has considered it.
    pub(crate) fn offer_known(&mut self, name: &str) {
        self.offer(name);
        for (ticket, ..) in self.renders() {
            self.step(Event::Rendered { ticket, outcome: RenderOutcome::Unchanged });
        }
        self.record();
    }

    /// Answers fresh renders with this bundle.
    pub(crate) fn render_afresh(&mut self, bundle: Digest) {
        let asked = self.take(|effect| match effect {
            Effect::RenderAfresh { ticket, .. } => Some(*ticket),
            _ => None,
        });
        assert!(!asked.is_empty(), "a fresh render is asked for");
        asked.into_iter().for_each(|ticket| self.step(Event::RenderedAfresh { ticket, bundle: Ok(bundle) }));
    }

    /// The store offers a version.
    pub(crate) fn offer(&mut self, name: &str) {
        self.step(Event::StoreHinted { store: store() });
        let polls = self.take(|effect| match effect {
            Effect::Poll { ticket, .. } => Some(*ticket),
            _ => None,
        });
        for ticket in polls {
            self.step(Event::Polled { ticket, head: Observed::known(version(name), self.now) });
        }
    }

    pub(crate) fn order(&mut self, id: u64, name: &str, reason: &str, order: Order) {
        let by = Actor::new("ada").expect("a plain name");
        let (id, app, via, reason) = (OrderId(id), app(name), "password".to_owned(), reason.to_owned());
        self.step(Event::Command(Command { id, app, by, via, reason, order }));
    }

    /// Takes the answered orders.
    pub(crate) fn answered(&mut self) -> Vec<(u64, Result<(), Declined>)> {
        self.take(|effect| match effect {
            Effect::Ordered { id, outcome } => Some((id.0, *outcome)),
            _ => None,
        })
    }

    /// Takes the notes to deliver, and delivers all of them.
    pub(crate) fn notes(&mut self) -> Vec<Note> {
        let notes = self.take(|effect| match effect {
            Effect::Notify { ticket, note } => Some((*ticket, note.clone())),
            _ => None,
        });
        for (ticket, _) in &notes {
            self.step(Event::Notified { ticket: *ticket, delivered: true });
        }
        notes.into_iter().map(|(_, note)| note).collect()
    }

    pub(crate) fn status(&self, name: &str) -> AppStatus {
        self.machine.status(&app(name)).expect("the app is known")
    }

    /// Returns the facts of an app that were recorded last.
    pub(crate) fn last_facts(&self, name: &str) -> Option<Arc<AppFacts>> {
        facts_in(&self.recorded, name)
    }

    /// Returns the intents so far, in order.
    pub(crate) fn intents(&self) -> Vec<(Verb, String)> {
        let changes = self.recorded.iter().flat_map(|entry| &entry.changes);
        let intents = changes.filter_map(|change| match change {
            Change::OpenIntent { intent } => Some((intent.verb, intent.key.name().to_owned())),
            _ => None,
        });
        intents.collect()
    }
}

/// Returns the last facts of an app in some entries.
pub(crate) fn facts_in(entries: &[Entry], name: &str) -> Option<Arc<AppFacts>> {
    let changes = entries.iter().rev().flat_map(|entry| entry.changes.iter().rev());
    let mut facts = changes.filter_map(|change| match change {
        Change::PutApp { app: of, facts } if *of == app(name) => Some(Arc::clone(facts)),
        _ => None,
    });
    facts.next()
}
