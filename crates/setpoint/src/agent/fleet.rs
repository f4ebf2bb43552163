//! The summaries of all apps, stores and targets, for readers. The engine reports what may have
//! become different, and only that is read again: a request costs the engine no more than the
//! changes since the last one.
//!
//! The summaries are read with the first request, and forgotten when none came for a while. So they
//! need no memory without readers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use setpoint_api::Problem;
use setpoint_api::answer::{AppSummary, Change, StoreStanding, TargetStanding};
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName};
use setpoint_core::time::Timestamp;
use setpoint_documents::AppSpec;
use setpoint_engine::accept::{ControlDocument, ControlDocuments};
use setpoint_engine::machine::{AppStatus, StoreStatus};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::answers::{Answers, ended};
use super::sources::{Connection, Provider};
use super::summary::summary;
use crate::interpreter::{PORTION, Renewed};

/// The summaries are forgotten when there was no request for this long.
const UNREAD: Duration = Duration::from_secs(600);

/// All summaries, sorted by app. Shared with the requests that read them.
pub(super) type Summaries = Arc<Vec<Arc<AppSummary>>>;

/// The properties of an app that its document declares.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) component: String,
    pub(super) environment: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// The documents and connections that a summary takes names from.
#[derive(Clone, Debug)]
pub(super) struct Places {
    documents: Arc<ControlDocuments>,
    /// The names of the connected targets.
    connected: BTreeMap<TargetIdentity, TargetName>,
    names: BTreeSet<TargetName>,
}

impl Places {
    pub(super) fn new(provider: &Provider, connections: &[Connection]) -> Self {
        let mut connected = BTreeMap::new();
        for connection in connections {
            connected.entry(connection.identity.clone()).or_insert_with(|| connection.name.clone());
        }
        let names = connections.iter().map(|connection| connection.name.clone()).collect();
        Self { documents: provider.documents(), connected, names }
    }

    /// Returns the name of an app's target. A target that is not connected has the name in the
    /// document of the app.
    pub(super) fn name_of(&self, app: &AppId, target: &TargetIdentity) -> Option<TargetName> {
        let declared = || self.documents.apps().get(app).map(|document| document.spec.target.clone());
        self.connected.get(target).cloned().or_else(|| declared().filter(|name| !self.names.contains(name)))
    }

    /// Returns the place of an app; an empty one if it has no document.
    pub(super) fn place_of(&self, app: &AppId) -> Place {
        let place = |document: &ControlDocument<Box<AppSpec>>| Place {
            component: document.spec.component.to_string(),
            environment: document.spec.environment.to_string(),
            labels: document.labels.clone(),
        };
        self.documents.apps().get(app).map(place).unwrap_or_default()
    }

    fn are_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.documents, &other.documents) && self.connected == other.connected && self.names == other.names
    }

    /// Returns the summary with the names that apply now, if it has others.
    fn renamed(&self, earlier: &AppSummary) -> Option<AppSummary> {
        let Place { component, environment, labels } = self.place_of(&earlier.app);
        let target_name = self.name_of(&earlier.app, &earlier.target);
        let is_same = (&component, &environment, &labels, &target_name)
            == (&earlier.component, &earlier.environment, &earlier.labels, &earlier.target_name);
        (!is_same).then(|| AppSummary { component, environment, labels, target_name, ..earlier.clone() })
    }
}

/// The summaries at one moment.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) apps: Summaries,
    pub(super) stores: BTreeMap<StoreName, StoreStanding>,
    /// The connected targets, without the requests to them.
    pub(super) targets: BTreeMap<TargetName, TargetStanding>,
    pub(super) holding: bool,
}

/// The summaries of one process.
#[derive(Debug, Default)]
pub(super) struct FleetCache {
    cached: Mutex<Option<Cached>>,
    /// Notified by every request.
    reads: watch::Sender<()>,
}

/// The summaries, and what has to be read before they are current. A request that is dropped while
/// it waits for the engine leaves the rest to the next one.
#[derive(Debug)]
struct Cached {
    apps: Summaries,
    /// The number of apps on each target.
    on_targets: BTreeMap<TargetIdentity, usize>,
    stores: BTreeMap<StoreName, StoreStanding>,
    targets: BTreeMap<TargetName, TargetStanding>,
    left_alone: BTreeMap<TargetIdentity, Timestamp>,
    holding: bool,
    places: Places,
    /// Set while the engine's changes are on their way: they are lost if nothing awaits them.
    taking: bool,
    /// The apps to read again.
    stale: BTreeSet<AppId>,
    /// The summaries read so far, while all of them are read again.
    rebuilt: Option<Vec<Arc<AppSummary>>>,
    /// The differences since the change feed took them; `None` while it has no readers.
    differences: Option<BTreeSet<Change>>,
}

impl Cached {
    fn new(places: Places) -> Self {
        Self {
            apps: Arc::default(),
            on_targets: BTreeMap::new(),
            stores: BTreeMap::new(),
            targets: BTreeMap::new(),
            left_alone: BTreeMap::new(),
            holding: false,
            places,
            taking: false,
            stale: BTreeSet::new(),
            rebuilt: None,
            differences: None,
        }
    }

    fn differs(&mut self, change: impl FnOnce() -> Change) {
        if let Some(differences) = &mut self.differences {
            differences.insert(change());
        }
    }

    /// Notes what the engine reports as changed, with the first portion of it.
    fn note(&mut self, renewed: Renewed) {
        let Renewed { changes, holding, left_alone, stores, apps } = renewed;
        (self.holding, self.left_alone) = (holding, left_alone);
        if changes.all {
            let gone: Vec<_> = self.stores.keys().filter(|store| !stores.contains_key(store)).cloned().collect();
            gone.into_iter().for_each(|store| self.put_store(store, None));
            self.rebuilt = Some(Vec::new());
            self.stale.clear();
        }
        stores.into_iter().for_each(|(store, status)| self.put_store(store, status));
        // The summary of an app may be the same before and after a change, such as healed drift.
        changes.recorded.into_iter().for_each(|app| self.differs(|| Change::App { app }));
        self.stale.extend(changes.apps);
        // While all are read again, only the first portion of all continues that.
        if changes.all || self.rebuilt.is_none() {
            self.put(apps);
        }
    }

    fn put_store(&mut self, name: StoreName, status: Option<StoreStatus>) {
        let standing = status.map(|status| standing_of(&name, status));
        let shown = |standing: &StoreStanding| StoreStanding { answered: None, ..standing.clone() };
        if self.stores.get(&name).map(shown) != standing.as_ref().map(shown) {
            self.differs(|| Change::Store { store: name.clone() });
        }
        match standing {
            Some(standing) => drop(self.stores.insert(name, standing)),
            None => drop(self.stores.remove(&name)),
        }
    }

    /// Takes a portion of apps that were read. While all are read again, it continues after those
    /// read before, and an empty portion is the last.
    fn put(&mut self, portion: Vec<(AppId, Option<AppStatus>)>) {
        let places = &self.places;
        let read = portion.into_iter().map(|(app, status)| {
            let summary = status.map(|status| Arc::new(summary(&app, &status, places)));
            (app, summary)
        });
        let Some(rebuilt) = &mut self.rebuilt else {
            let read: Vec<_> = read.collect();
            for (app, _) in &read {
                self.stale.remove(app);
            }
            return self.replace(read);
        };
        let before = rebuilt.len();
        rebuilt.extend(read.filter_map(|(_, summary)| summary));
        if rebuilt.len() == before {
            let rebuilt = std::mem::take(rebuilt);
            self.rebuilt = None;
            self.replace_all(rebuilt);
        }
    }

    fn replace_all(&mut self, apps: Vec<Arc<AppSummary>>) {
        let earlier = std::mem::replace(&mut self.apps, Arc::new(apps));
        self.on_targets.clear();
        for app in self.apps.iter() {
            *self.on_targets.entry(app.target.clone()).or_default() += 1;
        }
        if let Some(differences) = &mut self.differences {
            differences.extend(different(&earlier, &self.apps).map(|app| Change::App { app: app.clone() }));
        }
    }

    /// Replaces the summaries of some apps; `None` for an app that is gone.
    fn replace(&mut self, read: Vec<(AppId, Option<Arc<AppSummary>>)>) {
        let mut others = Vec::new();
        for (app, summary) in read {
            let place = self.apps.binary_search_by(|known| known.app.cmp(&app));
            let earlier = place.ok().map(|place| Arc::clone(&self.apps[place]));
            if earlier == summary {
                continue;
            }
            self.differs(|| Change::App { app: app.clone() });
            if let Some(earlier) = &earlier
                && let Some(count) = self.on_targets.get_mut(&earlier.target)
            {
                *count -= 1;
            }
            if let Some(summary) = &summary {
                *self.on_targets.entry(summary.target.clone()).or_default() += 1;
            }
            match (place, summary) {
                (Ok(place), Some(summary)) => Arc::make_mut(&mut self.apps)[place] = summary,
                (_, summary) => others.push((app, summary)),
            }
        }
        if others.is_empty() {
            return;
        }
        // Apps that are new or gone: all of them are merged in one pass.
        let others: BTreeMap<_, _> = others.into_iter().collect();
        let mut apps = Arc::unwrap_or_clone(std::mem::take(&mut self.apps));
        apps.retain(|known| !others.contains_key(&known.app));
        apps.extend(others.into_values().flatten());
        apps.sort_by(|one, other| one.app.cmp(&other.app));
        self.apps = Arc::new(apps);
    }

    /// Returns the apps of the next portion to read; `None` if everything is current.
    fn next(&self) -> Option<Portion> {
        match &self.rebuilt {
            Some(rebuilt) => Some(Portion::After(rebuilt.last().map(|last| last.app.clone()))),
            None if self.stale.is_empty() => None,
            None => Some(Portion::Of(self.stale.iter().take(PORTION).cloned().collect())),
        }
    }

    /// Applies other documents and connections.
    fn rename(&mut self, places: Places) {
        if self.places.are_same(&places) {
            return;
        }
        self.places = places;
        self.rebuilt = self.rebuilt.take().map(|_| Vec::new());
        let renamed = self.apps.iter().filter_map(|app| Some((app.app.clone(), self.places.renamed(app)?)));
        let renamed: Vec<_> = renamed.map(|(app, summary)| (app, Some(Arc::new(summary)))).collect();
        self.replace(renamed);
    }

    fn put_targets(&mut self, connections: Vec<Connection>) {
        let standing = |Connection { name, kind, identity, target }| {
            let (apps, until) = (self.on_targets.get(&identity), self.left_alone.get(&identity));
            let (apps, left_alone_until) = (apps.copied().unwrap_or_default(), until.copied());
            let (requests, degraded) = (BTreeMap::new(), target.degraded());
            (
                TargetName::clone(&name),
                TargetStanding { target: name, kind, identity, apps, requests, degraded, left_alone_until },
            )
        };
        let targets: BTreeMap<_, _> = connections.into_iter().map(standing).collect();
        let earlier = std::mem::replace(&mut self.targets, targets);
        if let Some(differences) = &mut self.differences {
            let names = earlier.keys().chain(self.targets.keys());
            let changed = names.filter(|name| earlier.get(*name) != self.targets.get(*name));
            differences.extend(changed.map(|name| Change::Target { target: name.clone() }));
        }
    }
}

/// The apps to read in one visit to the engine.
enum Portion {
    After(Option<AppId>),
    Of(Vec<AppId>),
}

fn standing_of(name: &StoreName, status: StoreStatus) -> StoreStanding {
    let StoreStatus { head, answered, stale, failures, problem } = status;
    StoreStanding { store: name.clone(), head, answered, stale, failures, problem }
}

/// Returns the apps whose summaries are not equal in both lists, which are sorted.
fn different<'a>(earlier: &'a [Arc<AppSummary>], later: &'a [Arc<AppSummary>]) -> impl Iterator<Item = &'a AppId> {
    let find = |all: &'a [Arc<AppSummary>], app: &AppId| {
        all.binary_search_by(|known| known.app.cmp(app)).ok().map(|place| &all[place])
    };
    let changed = later.iter().filter(move |app| find(earlier, &app.app) != Some(app));
    let gone = earlier.iter().filter(move |app| find(later, &app.app).is_none());
    changed.chain(gone).map(|app| &app.app)
}

impl Answers {
    /// Returns the summaries as they are now: no part of them is older than the call.
    pub(super) async fn fleet(&self) -> Result<Fleet, Problem> {
        let mut cached = self.fleet.cached.lock().await;
        let cached = self.renew(&mut cached).await?;
        let (apps, stores, targets) = (Arc::clone(&cached.apps), cached.stores.clone(), cached.targets.clone());
        Ok(Fleet { apps, stores, targets, holding: cached.holding })
    }

    /// Returns what has changed since the last call. `None` if that is not known: there was no call
    /// before.
    pub(super) async fn differences(&self) -> Result<Option<BTreeSet<Change>>, Problem> {
        let mut cached = self.fleet.cached.lock().await;
        let cached = self.renew(&mut cached).await?;
        Ok(cached.differences.replace(BTreeSet::new()))
    }

    /// Ends the collection of differences.
    pub(super) async fn forget_differences(&self) {
        if let Some(cached) = &mut *self.fleet.cached.lock().await {
            cached.differences = None;
        }
    }

    /// Reads what has changed since the last request.
    async fn renew<'a>(&self, cached: &'a mut Option<Cached>) -> Result<&'a mut Cached, Problem> {
        self.fleet.reads.send_replace(());
        let connections = self.provider.connections();
        let places = Places::new(&self.provider, &connections);
        let is_first = cached.is_none();
        let cached = cached.get_or_insert_with(|| Cached::new(places.clone()));
        cached.rename(places);
        let all = is_first || std::mem::replace(&mut cached.taking, true);
        cached.taking = true;
        let renewed = self.handle.take_changes(all).await.map_err(ended)?;
        cached.taking = false;
        cached.note(renewed);
        while let Some(portion) = cached.next() {
            let read = match portion {
                Portion::After(after) => self.handle.statuses_after(after).await,
                Portion::Of(apps) => self.handle.statuses(apps).await,
            };
            cached.put(read.map_err(ended)?);
        }
        cached.put_targets(connections);
        Ok(cached)
    }

    /// Forgets the summaries whenever there was no request for a while. Ends with the agent.
    pub(super) async fn forget_unread(&self) {
        let mut reads = self.fleet.reads.subscribe();
        while reads.changed().await.is_ok() {
            loop {
                match timeout(UNREAD, reads.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return,
                    Err(_) if self.feed.has_readers() => {}
                    Err(_) => break,
                }
            }
            let mut cached = self.fleet.cached.lock().await;
            *cached = None;
            if self.handle.forget_changes().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::CannedAgent;

    use super::*;

    fn app(name: &str, resources: usize) -> Arc<AppSummary> {
        let summary = CannedAgent::example().overview.apps[0].clone();
        Arc::new(AppSummary { app: name.parse().expect("a valid app"), resources, ..summary })
    }

    fn cached(apps: &[Arc<AppSummary>]) -> Cached {
        let places = Places { documents: Arc::default(), connected: BTreeMap::new(), names: BTreeSet::new() };
        let mut cached = Cached::new(places);
        cached.replace_all(apps.to_vec());
        cached.differences = Some(BTreeSet::new());
        cached
    }

    fn change(name: &str) -> Change {
        Change::App { app: name.parse().expect("a valid app") }
    }

    fn names(cached: &Cached) -> Vec<String> {
        cached.apps.iter().map(|app| format!("{} {}", app.app, app.resources)).collect()
    }

    #[test]
    fn only_summaries_that_differ_are_replaced_and_reported() {
        let mut cached = cached(&[app("a/one", 1), app("a/two", 1), app("b/gone", 1)]);
        let read = |summary: Arc<AppSummary>| (summary.app.clone(), Some(summary));
        let gone = "b/gone".parse().expect("a valid app");
        cached.replace(vec![read(app("a/one", 1)), read(app("a/two", 2)), read(app("a/new", 1)), (gone, None)]);
        assert_eq!(names(&cached), ["a/new 1", "a/one 1", "a/two 2"]);
        let expected = ["a/new", "a/two", "b/gone"].map(change);
        assert_eq!(cached.differences, Some(expected.into()));
        assert_eq!(cached.on_targets.values().sum::<usize>(), 3);
    }

    #[test]
    fn a_reader_keeps_the_summaries_that_it_began_with() {
        let mut cached = cached(&[app("a/one", 1)]);
        let read = Arc::clone(&cached.apps);
        let later = app("a/one", 2);
        cached.replace(vec![(later.app.clone(), Some(later))]);
        assert_eq!((read[0].resources, cached.apps[0].resources), (1, 2));
    }

    #[test]
    fn all_summaries_read_again_are_compared_with_those_before() {
        let mut cached = cached(&[app("a/one", 1), app("a/two", 1), app("b/gone", 1)]);
        cached.replace_all(vec![app("a/new", 1), app("a/one", 1), app("a/two", 2)]);
        let expected = ["a/new", "a/two", "b/gone"].map(change);
        assert_eq!(cached.differences, Some(expected.into()));
    }
}
