//! The content of a run: apps, stores, targets and their kinds, drawn once at its beginning.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_engine::{AppControl, Controls, Mode, OnFailure, Settings, TargetControl};
use setpoint_target::memory::MemoryOptions;
use setpoint_target::{Families, Family, Granularity, MemoryFamily};
use setpoint_target_kube::Kubernetes;

use crate::cluster::objects;
use crate::instance::EPOCH;
use crate::repository::{self, AppDocument, Documents};
use crate::store::{self, Contents, Declared, Folder};
use crate::tape::Tape;

/// Returns the families of the simulated targets.
pub fn families() -> Families {
    let all: [Arc<dyn Family>; 2] = [Arc::new(MemoryFamily::default()), Arc::new(Kubernetes::default())];
    Families::new(all)
}

/// Returns the settings of the simulated engine: those of production with shorter waits.
pub fn settings() -> Settings {
    Settings {
        lease: Span::seconds(60),
        quarantine: Span::minutes(4),
        sweep: Span::minutes(10),
        patience: Span::seconds(20),
        most_busy: 2,
        most_renders: 2,
        breaker_calls: 6,
        effects: families().effects(),
        ..Settings::default()
    }
}

/// The time for which the engine may believe a store before it must notice that the store does not
/// respond.
pub const POLL: Span = Span::minutes(3);

#[derive(Clone, Debug)]
pub struct Universe {
    pub apps: Vec<AppId>,
    pub stores: Vec<StoreName>,
    pub targets: Vec<SimTargetKind>,
    pub controls: Controls,
    /// The keys that each app may declare; some belong to more than one app.
    pub keys: Vec<Vec<Key>>,
    pub instances: usize,
    /// Set if a root app holds control documents in the first store; otherwise the controls simply
    /// exist. A rooted world has one more app at the end, which the first may be renamed to, and
    /// one more target, which no scope may use.
    pub rooted: bool,
    /// The number of targets that apps may use.
    pub grounds: usize,
}

#[derive(Clone, Debug)]
pub struct SimTargetKind {
    pub identity: TargetIdentity,
    pub options: MemoryOptions,
    pub fresh_reads: bool,
    /// The UID of the cluster, if it is one.
    pub cluster: Option<String>,
}

/// The kind of a world's targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ground {
    /// Plain tables of things, with every fault of targets.
    Plain,
    /// Kubernetes clusters behind the shipped target. Such a world costs several times as much as a
    /// plain one.
    Clusters,
}

impl Ground {
    pub const ALL: [Self; 2] = [Self::Plain, Self::Clusters];
}

impl std::fmt::Display for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Plain { "plain" } else { "clusters" })
    }
}

impl Universe {
    pub fn is_manual(&self, app: &AppId) -> bool {
        self.controls.apps.get(app).is_some_and(|control| control.mode == Mode::Manual)
    }

    /// Returns the bundle that an app with these facts is held at: in manual mode the one that a
    /// person released last.
    pub fn held_at(&self, app: &AppId, facts: &AppFacts) -> Option<Digest> {
        let moves_by_hand = self.is_manual(app) && facts.hold.is_none();
        facts.let_through.filter(|_| moves_by_hand).or_else(|| facts.held_at())
    }

    /// Draws a world; on any ground, or on this one.
    pub fn draw(tape: &mut Tape, ground: Option<Ground>) -> Self {
        let apps: Vec<AppId> = (0..2 + tape.pick("apps", 2)).map(app).collect();
        let stores: Vec<_> = (0..1 + tape.pick("stores", 2)).map(store).collect();
        let targets: Vec<_> = (0..1 + tape.pick("targets", 2)).map(|n| target(tape, n)).collect();
        let target_of = |n: usize| &targets[n % targets.len()];
        let keys = (0..apps.len()).map(|n| keys(n, n % targets.len())).collect();
        let mut controls = Controls::default();
        for store in &stores {
            controls.stores.insert(store.clone(), repository::polled(store));
        }
        for kind in &targets {
            let control = TargetControl {
                granularity: kind.options.granularity,
                fresh_reads: kind.fresh_reads,
                attributes: false,
            };
            controls.targets.insert(kind.identity.clone(), control);
        }
        for (n, app) in apps.iter().enumerate() {
            let store = stores[n % stores.len()].clone();
            let mut control = control(tape, store, target_of(n).identity.clone());
            // No app can wait for one that is only observed.
            let first_acts =
                controls.apps.get(&apps[0]).is_some_and(|first: &Arc<AppControl>| first.mode != Mode::Observe);
            if n == 1 && first_acts && tape.happens("depends", 200) {
                control.depends_on.insert(apps[0].clone());
            }
            controls.apps.insert(app.clone(), Arc::new(control));
        }
        let instances = 1 + tape.pick("instances", 2) as usize;
        let grounds = targets.len();
        let mut universe = Self { apps, stores, targets, controls, keys, instances, rooted: false, grounds };
        let rooted = match ground {
            Some(Ground::Clusters) => tape.settle("control documents", false),
            _ => tape.happens("control documents", 500),
        };
        if rooted {
            universe.root();
            return universe;
        }
        let clusters = match ground {
            Some(ground) => tape.settle("clusters", ground == Ground::Clusters),
            None => tape.happens("clusters", 500),
        };
        if clusters {
            universe.settle_on_clusters();
        }
        universe
    }

    /// Turns every target into a Kubernetes cluster.
    pub fn settle_on_clusters(&mut self) {
        self.controls.targets.clear();
        for (n, kind) in self.targets.iter_mut().enumerate() {
            let uid = format!("cluster-{n}");
            kind.identity = TargetIdentity::new(&format!("kube-{uid}")).expect("a valid identity");
            kind.options = MemoryOptions { checks_epochs: false, ..MemoryOptions::default() };
            kind.fresh_reads = true;
            kind.cluster = Some(uid);
            let control = TargetControl { granularity: kind.options.granularity, fresh_reads: true, attributes: false };
            self.controls.targets.insert(kind.identity.clone(), control);
        }
        for (n, app) in self.apps.iter().enumerate() {
            let target = n % self.targets.len();
            if let Some(control) = self.controls.apps.get_mut(app) {
                Arc::make_mut(control).target = self.targets[target].identity.clone();
            }
            let own = (0..10).map(|key| objects::key(&format!("app-{n}-{key}"), key));
            let shared = (0..2).map(|key| objects::key(&format!("shared-{target}-{key}"), 10 + key));
            self.keys[n] = own.chain(shared).collect();
        }
    }

    /// Moves the controls into control documents in the first store.
    pub fn root(&mut self) {
        self.rooted = true;
        let first = std::mem::replace(&mut self.stores[0], repository::bootstrap_store());
        for control in self.controls.apps.values_mut().map(Arc::make_mut) {
            if control.stores.remove(&first) {
                control.stores.insert(self.stores[0].clone());
            }
            // Documents name apps of their own scope only, and neighbours are of different ones
            // here.
            control.depends_on.clear();
        }
        let renamed: AppId = "web/renamed".parse().expect("a valid name");
        self.controls.apps.insert(renamed.clone(), self.controls.apps[&self.apps[0]].clone());
        self.apps.push(renamed);
        self.keys.push(self.keys[0].clone());
        let vault = TargetIdentity::new("vault").expect("a valid identity");
        self.targets.push(SimTargetKind {
            identity: vault,
            options: MemoryOptions::default(),
            fresh_reads: true,
            cluster: None,
        });
    }

    /// Returns the number of apps with their own directory; they come first.
    pub fn folders(&self) -> usize {
        self.apps.len() - usize::from(self.rooted)
    }

    /// Returns the app whose directory, store and target this one has. It is another app only for
    /// the new name of the first one.
    pub fn owner_of(&self, app: usize) -> usize {
        if app < self.folders() { app } else { 0 }
    }

    pub fn store_of(&self, app: usize) -> usize {
        self.owner_of(app) % self.stores.len()
    }

    pub fn target_of(&self, app: usize) -> usize {
        self.owner_of(app) % self.grounds
    }

    /// Returns a declared object.
    pub fn body(&self, key: &Key, content: u32) -> Value {
        match self.rooted {
            true => repository::body(key, content),
            false => store::body(key, content),
        }
    }

    /// Returns the bundle that an app's directory gives.
    pub fn bundle(&self, app: usize, declared: &Declared) -> Bundle {
        let target = &self.targets[self.target_of(app)].identity;
        let make = if self.rooted { repository::bundle } else { store::bundle };
        make(&self.apps[app], target, declared)
    }

    /// Returns the control documents as honest authors write them.
    pub fn documents(&self, places: &Contents) -> Documents {
        let document = |app: &AppId| {
            let folder = places.home_of(app).clone();
            AppDocument { place: places.place_of(&folder), folder, retire: false }
        };
        let apps = self.apps[..self.folders()].iter().map(|app| (app.clone(), document(app))).collect();
        Documents { apps, flaw: None, windows: true }
    }

    /// Returns the content of a store at the beginning.
    pub fn first_contents(&self, tape: &mut Tape, store: usize) -> Contents {
        let mut contents = Contents::default();
        let folders = self.apps[..self.folders()].iter().enumerate();
        for (n, app) in folders.filter(|(n, _)| self.store_of(*n) == store) {
            // Shared keys come last in the list and are not declared at first: they would collide.
            let own = &self.keys[n][..self.keys[n].len() - 2];
            let count = 3 + tape.pick("first keys", own.len() as u32 - 3) as usize;
            let declared: Declared = own[..count].iter().map(|key| (key.clone(), 1)).collect();
            contents.folders.insert(app.clone(), Folder::Declares(declared));
        }
        contents.documents = (self.rooted && store == 0).then(|| self.documents(&contents));
        contents
    }
}

fn app(n: u32) -> AppId {
    let scope = ["web", "data"][n as usize % 2];
    format!("{scope}/app-{n}").parse().expect("a valid name")
}

fn store(n: u32) -> StoreName {
    StoreName::new(&format!("store-{n}")).expect("a valid name")
}

fn target(tape: &mut Tape, n: u32) -> SimTargetKind {
    let idempotent_create = !tape.happens("create makes one more", 300);
    let options = MemoryOptions {
        granularity: if tape.happens("unit target", 150) { Granularity::Unit } else { Granularity::Resource },
        checks_epochs: !tape.happens("ignores epochs", 600),
        idempotent_create,
        marks: !tape.happens("no marks", 150),
        first_health: Health::Healthy,
    };
    let fresh_reads = !tape.happens("lags", 300);
    let first_health = if tape.happens("slow controllers", 200) { Health::Unknown } else { Health::Healthy };
    let options = MemoryOptions { first_health, ..options };
    let identity = TargetIdentity::new(&format!("target-{n}")).expect("a valid identity");
    SimTargetKind { identity, options, fresh_reads, cluster: None }
}

/// Returns an app's own keys, and two that the apps of the same target share.
fn keys(app: usize, target: usize) -> Vec<Key> {
    let key = |name: String| Key::new("thing", "", &name).expect("a valid key");
    let own = (0..10).map(|n| key(format!("app-{app}-{n}")));
    own.chain((0..2).map(|n| key(format!("shared-{target}-{n}")))).collect()
}

fn control(tape: &mut Tape, store: StoreName, target: TargetIdentity) -> AppControl {
    let mode = match tape.pick("mode", 12) {
        11 => Mode::Manual,
        10 => Mode::Observe,
        _ => Mode::Auto,
    };
    AppControl {
        document: Digest::of(b""),
        target,
        stores: BTreeSet::from([store]),
        rules: Rules { adopt: !tape.happens("no adoption", 150), ..Rules::default() },
        acting_as: None,
        mode,
        retire: false,
        depends_on: BTreeSet::new(),
        deadline: Span::minutes(6),
        on_failure: [OnFailure::Rollback, OnFailure::Hold, OnFailure::Alert][tape.pick("on failure", 3) as usize],
        renders_apart: tape.happens("renders apart", 300),
        closed: closed_window(tape),
    }
}

/// Draws a window in which changes of an app must wait, if any. It starts at a whole minute,
/// because documents have no finer times.
fn closed_window(tape: &mut Tape) -> Vec<(Timestamp, Timestamp)> {
    if !tape.happens("window", 250) {
        return Vec::new();
    }
    let first = EPOCH / 60_000 + 1 + u64::from(tape.pick("window closes", 35));
    let minutes = u64::from(3 + tape.pick("window minutes", 20));
    let from = Timestamp::from_millis(first * 60_000);
    vec![(from, from + Span::minutes(minutes))]
}
