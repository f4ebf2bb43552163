//! The environment of the interpreter's tests: sources, a messenger, a ledger and a target in
//! memory, and a clock that all runs of a test share.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use setpoint::doors::Clock;
use setpoint::interpreter::{
    Environment, Governed, Handle, Limits, Messenger, OpenLedger, Opening, Rendering, Sources, start,
};
use setpoint::log::Log;
use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_core::version::{Ancestry, Revision};
use setpoint_engine::machine::AppStatus;
use setpoint_engine::{
    AppControl, Controls, Mode, Note, OnFailure, RenderOutcome, Settings, StoreControl, TargetControl,
};
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{Ledger, MemoryLedger, MemoryLog, Origin};
use setpoint_target::{Answer, Granularity, MemoryOptions, MemoryTarget, MemoryWorld, Target};

/// The declaration of one app at its store's version.
#[derive(Debug)]
struct StoredBundle {
    version: u32,
    resources: Vec<Resource>,
    hangs: bool,
}

/// Stores in memory: each app reads the store of its own name.
#[derive(Debug, Default)]
pub(crate) struct MemoryBundles(Mutex<BTreeMap<String, StoredBundle>>);

impl MemoryBundles {
    /// Publishes a new version of the app's store with these resources.
    pub(crate) fn publish(&self, app: &AppId, resources: Vec<Resource>) {
        let mut shelf = self.0.lock().expect("no test panics in here");
        let version = shelf.get(app.name.as_str()).map_or(1, |shelved| shelved.version + 1);
        shelf.insert(app.name.to_string(), StoredBundle { version, resources, hangs: false });
    }

    /// Makes the app's store hang from now on.
    pub(crate) fn hang(&self, app: &AppId) {
        self.0.lock().expect("no test panics in here").get_mut(app.name.as_str()).expect("published").hangs = true;
    }

    fn read<'a, T: Send + 'a>(&'a self, name: &str, read: impl FnOnce(&StoredBundle) -> T) -> Answer<'a, T> {
        let shelf = self.0.lock().expect("no test panics in here");
        match shelf.get(name).expect("tests ask for published stores only") {
            shelved if shelved.hangs => Box::pin(pending()),
            shelved => Box::pin(ready(read(shelved))),
        }
    }
}

impl Sources for MemoryBundles {
    fn poll<'a>(&'a self, store: &'a StoreName, now: Timestamp) -> Answer<'a, Observed<VersionId>> {
        let head = |shelved: &StoredBundle| VersionId::new(&format!("v{}", shelved.version)).expect("a valid version");
        self.read(store.as_str(), |shelved| Observed::known(head(shelved), now))
    }

    fn render<'a>(&'a self, wanted: &'a Rendering) -> Answer<'a, RenderOutcome> {
        let ancestry = if wanted.accepted.is_some() { Ancestry::Descendant } else { Ancestry::First };
        self.read(wanted.app.name.as_str(), |shelved| RenderOutcome::Rendered {
            resources: shelved.resources.clone(),
            ancestry,
        })
    }

    fn govern<'a>(&'a self, _: &'a Bundle, _: &'a BTreeMap<AppId, TargetIdentity>) -> Answer<'a, Option<Governed>> {
        unreachable!("the controls of these tests have no root app")
    }

    fn stores_of(&self, app: &AppId) -> BTreeSet<StoreName> {
        [store_of(app)].into()
    }

    fn render_afresh<'a>(
        &'a self,
        app: &'a AppId,
        _: &'a Revision,
        _: Option<Digest>,
    ) -> Answer<'a, Result<Digest, UnknownReason>> {
        self.read(app.name.as_str(), |shelved| Ok(bundle(app, shelved.resources.clone()).digest()))
    }
}

/// The notes that were delivered to people.
#[derive(Debug, Default)]
pub(crate) struct Mailbox(Mutex<Vec<Note>>);

impl Messenger for Mailbox {
    fn deliver<'a>(&'a self, note: &'a Note) -> Answer<'a, bool> {
        self.0.lock().expect("no test panics in here").push(note.clone());
        Box::pin(ready(true))
    }
}

/// A small world in memory that outlives the interpreters a test runs in it.
pub(crate) struct Scene {
    pub(crate) clock: Clock,
    pub(crate) ledger: MemoryLedger,
    pub(crate) target: MemoryTarget,
    pub(crate) shelf: Arc<MemoryBundles>,
    pub(crate) limits: Limits,
    /// The number of times that the ledger was opened.
    pub(crate) openings: Arc<AtomicUsize>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let signer = Signer::new(origin(), &[7; 32]);
        Self {
            clock: Clock::start(),
            ledger: MemoryLedger::new(MemoryLog::new(signer)),
            target: MemoryTarget::new(MemoryWorld::new(identity(), MemoryOptions::default())),
            shelf: Arc::default(),
            limits: Limits::default(),
            openings: Arc::default(),
        }
    }

    /// Starts an interpreter that manages these apps.
    pub(crate) async fn start(&self, apps: &[&AppId]) -> Handle {
        self.start_on(Arc::new(self.target.clone()), apps).await
    }

    /// Starts an interpreter with this target in place of the scene's own.
    pub(crate) async fn start_on(&self, target: Arc<dyn Target>, apps: &[&AppId]) -> Handle {
        let (ledger, openings) = (self.ledger.clone(), Arc::clone(&self.openings));
        let open_ledger = move || -> Opening {
            openings.fetch_add(1, Ordering::Relaxed);
            let anchors = ledger.log().anchors().clone();
            ledger.log().reopen(&anchors);
            let opened: Arc<dyn Ledger> = Arc::new(ledger.clone());
            Box::pin(ready(Ok(opened)))
        };
        self.start_with(Box::new(open_ledger), target, apps).await
    }

    /// Starts an interpreter with this ledger in place of the scene's own.
    pub(crate) async fn start_with(&self, open_ledger: OpenLedger, target: Arc<dyn Target>, apps: &[&AppId]) -> Handle {
        let surroundings = Environment {
            clock: self.clock,
            origin: origin(),
            holder: "test".to_owned(),
            open_ledger,
            targets: BTreeMap::from([(identity(), target)]),
            sources: Arc::<MemoryBundles>::clone(&self.shelf),
            messenger: Arc::new(Mailbox::default()),
            log: Log::silent(),
            meters: Arc::default(),
        };
        let handle = start(surroundings, Settings::default(), self.limits);
        handle.control(controls(apps)).await.expect("it runs");
        handle
    }

    pub(crate) fn facts(&self) -> Facts {
        self.ledger.log().load(&origin()).facts
    }

    /// Returns all records as text.
    pub(crate) fn records(&self) -> String {
        let log = self.ledger.log();
        let records = log.records(&origin(), 0..log.head(&origin()).size).expect("within the log");
        records.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned() + "\n").collect()
    }

    /// Returns the objects on the target, by name.
    pub(crate) fn standing(&self) -> BTreeMap<String, Value> {
        self.target.with_world(|world| {
            world.objects().map(|(key, object)| (key.to_string(), Value::clone(&object.live.value))).collect()
        })
    }
}

/// Waits until `wanted` holds for the app's status; fails after a day of the test's time.
pub(crate) async fn until(handle: &mut Handle, app: &AppId, wanted: impl Fn(&AppStatus) -> bool) -> AppStatus {
    let waiting = async {
        loop {
            if let Some(status) = handle.status(app).await.expect("it runs")
                && wanted(&status)
            {
                return status;
            }
            handle.stepped().await.expect("it runs");
        }
    };
    tokio::time::timeout(Duration::from_secs(86_400), waiting).await.expect("it happens within a day")
}

pub(crate) async fn until_converged(handle: &mut Handle, app: &AppId) -> AppStatus {
    until(handle, app, |status| status.converged).await
}

pub(crate) fn origin() -> Origin {
    Origin::new("setpoint.test").expect("a valid origin")
}

pub(crate) fn identity() -> TargetIdentity {
    TargetIdentity::new("machine-1").expect("a valid identity")
}

pub(crate) fn app(name: &str) -> AppId {
    format!("web/{name}").parse().expect("a valid app")
}

pub(crate) fn bundle(app: &AppId, resources: Vec<Resource>) -> Bundle {
    Bundle::new(app.clone(), identity(), resources).expect("a valid bundle")
}

/// Returns `count` objects of an app, all with this content; each after the first depends on it.
pub(crate) fn resources(app: &AppId, count: u32, content: i64) -> Vec<Resource> {
    let after_first = |n: u32| if n == 0 { BTreeSet::new() } else { BTreeSet::from([key(app, 0)]) };
    let resource = |n: u32| Resource {
        after: after_first(n),
        ..Resource::new(key(app, n), "test/v1", "Thing", body(app, n, content))
    };
    (0..count).map(resource).collect()
}

pub(crate) fn key(app: &AppId, n: u32) -> Key {
    Key::new("test/Thing", "lab", &format!("{}-{n}", app.name)).expect("a valid key")
}

pub(crate) fn body(app: &AppId, n: u32, content: i64) -> Value {
    let metadata = [("name", Value::str(&format!("{}-{n}", app.name))), ("namespace", Value::str("lab"))];
    Value::map([("metadata", Value::map(metadata)), ("content", Value::int(content))])
}

fn store_of(app: &AppId) -> StoreName {
    StoreName::new(app.name.as_str()).expect("a valid store")
}

fn polled(store: &StoreName) -> StoreControl {
    StoreControl { interval: Span::seconds(30), repository: Digest::of(store.as_str().as_bytes()) }
}

pub(crate) fn controls(apps: &[&AppId]) -> Controls {
    let control = |app: &AppId| AppControl {
        document: Digest::of(app.to_string().as_bytes()),
        target: identity(),
        stores: BTreeSet::from([store_of(app)]),
        rules: Rules::default(),
        acting_as: None,
        mode: Mode::Auto,
        retire: false,
        depends_on: BTreeSet::new(),
        closed: Vec::new(),
        deadline: Span::minutes(10),
        on_failure: OnFailure::Alert,
        renders_apart: false,
    };
    Controls {
        root: None,
        of: None,
        valid_until: None,
        apps: apps.iter().map(|app| ((*app).clone(), Arc::new(control(app)))).collect(),
        unreached: BTreeMap::new(),
        stores: apps.iter().map(|app| (store_of(app), polled(&store_of(app)))).collect(),
        targets: BTreeMap::from([(
            identity(),
            TargetControl { granularity: Granularity::Resource, fresh_reads: true, attributes: false },
        )]),
    }
}
