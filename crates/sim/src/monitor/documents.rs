//! The properties of control documents and renders: only accepted documents count, a bundle is
//! accepted as the version declares it, and no app acts beyond the limits of its documents.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::digest::Digest;
use setpoint_core::facts::{Accepted, AppFacts};
use setpoint_core::intent::Intent;
use setpoint_core::name::{AppId, VersionId};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_render::Problem;
use setpoint_target::Work;

use super::{Ledgered, MINUTE, Monitor, Scene};
use crate::repository::{AppDocument, Documents, root};
use crate::store::Folder;
use crate::universe::Universe;

/// The time within which the running plans of an app end when it is frozen or suspended.
const UNDER_WAY: u64 = 3 * MINUTE;

fn has_window(documents: &Documents, app: &AppId) -> bool {
    documents.windows && documents.apps.contains_key(app)
}

fn is_window_closed(universe: &Universe, app: &AppId, at: Timestamp) -> bool {
    let control = universe.controls.apps.get(app);
    control.is_some_and(|control| control.closed.iter().any(|(from, until)| *from <= at && at < *until))
}

/// The monitor's memory of documents.
#[derive(Clone, Debug, Default)]
pub(super) struct Governed {
    /// The accepted control documents, with their versions, oldest first.
    accepted: Vec<(VersionId, Documents)>,
    /// Set if the root app is held: older documents than the accepted ones are in force.
    held: bool,
    /// The versions of the store of the control documents that apps took.
    taken: BTreeMap<VersionId, AppId>,
    /// The apps that an accepted document ever declared as retired.
    retired: BTreeSet<AppId>,
    /// The apps that accepted control documents declare, by the bundle of the documents.
    declared: BTreeMap<Digest, BTreeSet<AppId>>,
    /// The bundle of the documents in force: the one that the root app is held at.
    in_force: Option<Digest>,
    /// The apps that are recorded as frozen, and since when.
    frozen: BTreeMap<AppId, u64>,
    /// The apps that began something under a document that returned, before the record that they
    /// are no longer frozen, and since when.
    unrecorded: BTreeMap<AppId, u64>,
    suspended: BTreeMap<AppId, (u64, Timestamp)>,
}

impl Governed {
    /// Returns every place that an accepted document of the app ever named.
    pub(super) fn places(&self, app: &AppId) -> BTreeSet<(&AppId, u32)> {
        self.places_since(app, 0)
    }

    /// Does the same without the oldest documents.
    fn places_since(&self, app: &AppId, first: usize) -> BTreeSet<(&AppId, u32)> {
        let documents = self.accepted[first..].iter().filter_map(|(_, documents)| documents.apps.get(app));
        documents.map(|AppDocument { folder, place, .. }| (folder, *place)).collect()
    }

    /// Reports whether the documents in force declare the app.
    fn declares(&self, app: &AppId) -> bool {
        self.in_force.and_then(|bundle| self.declared.get(&bundle)).is_some_and(|apps| apps.contains(app))
    }

    /// Puts other documents into force. An app that they no longer declare begins to freeze,
    /// whether or not its return was ever recorded.
    fn come_into_force(&mut self, bundle: Option<Digest>, now: u64) {
        let declared: BTreeSet<AppId> = self.frozen.keys().filter(|app| self.declares(app)).cloned().collect();
        self.in_force = bundle;
        for app in declared.into_iter().filter(|app| !self.declares(app)).collect::<Vec<_>>() {
            self.unrecorded.remove(&app);
            self.frozen.insert(app, now);
        }
    }
}

impl Monitor {
    /// Checks a skipped render: a full one must give the accepted bundle.
    pub fn skipped(&mut self, app: &AppId, version: &VersionId, accepted: Option<Digest>, afresh: Option<Digest>) {
        self.holds("S12", accepted.is_some() && accepted == afresh, || {
            format!("{version} is skipped for {app}, but renders to {afresh:?} and not to {accepted:?}")
        });
    }

    /// Reports that equal content was read differently.
    pub fn read_differently(&mut self, detail: &str) {
        self.holds("S12", false, || detail.to_owned());
    }

    /// Reports accepted documents that cannot be read; they must be readable while they are in
    /// force.
    pub fn unreadable(&mut self, problems: &[Problem]) {
        self.holds("S10", false, || format!("accepted control documents cannot be read: {problems:?}"));
    }

    /// Checks that an effect lands only where the app's scope may act, and only for an app that
    /// accepted documents declare.
    pub(super) fn confined(&mut self, scene: &Scene<'_>, work: &Work) {
        if !scene.universe.rooted {
            return;
        }
        let (app, target) = (&work.step.claim.app, scene.target.identity());
        let usable = &scene.universe.targets[..scene.universe.grounds];
        self.holds("S11", usable.iter().any(|kind| kind.identity == *target), || {
            format!("{app} acts on {target}, which its scope may not use")
        });
        let declared = self.governed.accepted.iter().any(|(_, documents)| documents.apps.contains_key(app));
        self.holds("S11", declared, || format!("{app} acts, and no accepted document declares it"));
    }

    /// Reports whether changes of an app must wait at this instant of its writer's clock: its
    /// window is closed by both of the newest two documents, whichever is in force. An app that is
    /// retired without a document has no window.
    pub(super) fn is_closed(&self, universe: &Universe, app: &AppId, at: Timestamp) -> bool {
        let documented = !universe.rooted || self.newest_documents().all(|documents| has_window(documents, app));
        documented && is_window_closed(universe, app, at)
    }

    /// Reports whether changes of an app may have to wait at this instant: one of the newest two
    /// documents closes its window.
    pub(super) fn may_be_closed(&self, universe: &Universe, app: &AppId, at: Timestamp) -> bool {
        let documented = !universe.rooted || self.newest_documents().any(|documents| has_window(documents, app));
        documented && is_window_closed(universe, app, at)
    }

    /// Returns the documents accepted last and those before: either may be in force.
    fn newest_documents(&self) -> impl Iterator<Item = &Documents> {
        self.governed.accepted.iter().rev().take(2).map(|(_, documents)| documents)
    }

    /// Checks that nothing is begun for an app that is frozen or suspended. A returned document
    /// counts at once, but its record may wait behind another one about the app. The record has to
    /// follow within the time in which a running plan has to end.
    pub(super) fn intended(&mut self, now: u64, intent: &Intent) {
        let Intent { app, key, at, .. } = intent;
        self.opened.insert((intent.id, key.clone()));
        let mut frozen = self.governed.frozen.get(app).copied();
        if frozen.is_some() && self.governed.declares(app) {
            frozen = Some(*self.governed.unrecorded.entry(app.clone()).or_insert(now));
        }
        self.holds("S11", frozen.is_none_or(|since| now < since + UNDER_WAY), || {
            format!("{app} changes {key} without a document")
        });
        let suspended = self.governed.suspended.get(app).copied();
        let still = suspended.is_some_and(|(since, until)| *at < until && now >= since + UNDER_WAY);
        self.holds("S10", !still, || format!("{app} changes {key} while it is suspended"));
    }

    /// Checks new facts of an app against its documents.
    pub(super) fn document_followed(&mut self, scene: &Ledgered<'_>, app: &AppId, facts: &AppFacts) {
        let before = scene.facts.apps.get(app).map(AsRef::as_ref);
        match &facts.suspension {
            Some(suspension) => {
                let since = self.governed.suspended.get(app).map_or(scene.now, |(since, _)| *since);
                self.governed.suspended.insert(app.clone(), (since, suspension.until));
            }
            None => drop(self.governed.suspended.remove(app)),
        }
        if facts.frozen {
            self.governed.frozen.entry(app.clone()).or_insert(scene.now);
        } else {
            self.governed.frozen.remove(app);
            self.governed.unrecorded.remove(app);
        }
        if !scene.universe.rooted {
            return;
        }
        if *app == root() {
            self.governed.held = facts.hold.is_some();
        }
        let sequence = |facts: &AppFacts| facts.accepted.as_ref().map(|accepted| accepted.sequence);
        let moved = sequence(facts) != before.and_then(sequence);
        match facts.accepted.as_ref().filter(|_| moved) {
            Some(accepted) if *app == root() => self.documents_accepted(scene, accepted),
            Some(accepted) => self.version_accepted(scene, app, accepted),
            None => {}
        }
        if *app == root() {
            self.governed.come_into_force(facts.held_at(), scene.now);
        }
        self.document_heeded(app, facts, before);
    }

    /// Checks that an app freezes only if its document is gone, and is retired only if its document
    /// declares it.
    fn document_heeded(&mut self, app: &AppId, facts: &AppFacts, before: Option<&AppFacts>) {
        if *app == root() {
            return;
        }
        let freezes = facts.frozen && before.is_none_or(|before| !before.frozen);
        let gone = self.newest_documents().any(|documents| !documents.apps.contains_key(app));
        self.holds("S2", !freezes || gone, || format!("the document of {app} is treated as gone"));
        let told = self.governed.retired.contains(app);
        self.holds("S2", !facts.retiring || told, || format!("{app} is retired, and no document declares it"));
    }

    /// Notes that an app takes a version with other documents than those in force: these must have
    /// been refused, or held.
    fn version_taken(&mut self, scene: &Ledgered<'_>, app: &AppId, version: &VersionId) {
        let offered = scene.stores[0].contents(version).and_then(|contents| contents.documents.as_ref());
        if self.governed.accepted.last().map(|(_, documents)| documents) != offered {
            self.governed.taken.entry(version.clone()).or_insert_with(|| app.clone());
        }
    }

    fn documents_accepted(&mut self, scene: &Ledgered<'_>, accepted: &Accepted) {
        let version = accepted.revision.get(&scene.universe.stores[0]);
        let contents = version.and_then(|version| scene.stores[0].contents(version));
        let Some((version, documents)) = version.zip(contents.and_then(|contents| contents.documents.as_ref())) else {
            return self.holds("S10", false, || "control documents of no known version are accepted".to_owned());
        };
        if let Some(flaw) = documents.refusable() {
            self.holds(flaw.property(), false, || format!("control documents are accepted though: {flaw:?}"));
        }
        let blessed = self.documents_blessed();
        let first = self.governed.taken.get(version).filter(|_| !blessed);
        let hasty = first.cloned();
        self.holds("S10", hasty.is_none(), || format!("{hasty:?} took {version} before its documents were accepted"));
        let retired = documents.apps.iter().filter(|(_, document)| document.retire).map(|(app, _)| app.clone());
        self.governed.retired.extend(retired);
        self.governed.declared.insert(accepted.bundle, documents.apps.keys().cloned().collect());
        self.governed.accepted.push((version.clone(), documents.clone()));
    }

    /// Checks that an accepted bundle is what the version declares at a place that an accepted
    /// document names, and that the version has not left that place already.
    fn version_accepted(&mut self, scene: &Ledgered<'_>, app: &AppId, accepted: &Accepted) {
        let Some(n) = scene.universe.apps.iter().position(|known| known == app) else {
            return self.holds("S11", false, || format!("{app} is accepted, and no document declared it"));
        };
        let store = scene.universe.store_of(n);
        let Some(version) = accepted.revision.get(&scene.universe.stores[store]) else { return };
        let mut newest = 0;
        if store == 0 {
            self.version_taken(scene, app, version);
            let leads_here = |(with, _): &(VersionId, Documents)| {
                matches!(scene.stores[0].ancestry(Some(with), version), Ancestry::Same | Ancestry::Descendant)
            };
            let leading = self.governed.accepted.iter().rposition(leads_here);
            newest = leading.filter(|_| !self.governed.held).unwrap_or(0);
        }
        let Some(contents) = scene.stores[store].contents(version) else { return };
        let declares = |(folder, place): (&AppId, u32)| match contents.folders.get(folder) {
            Some(Folder::Declares(declared)) if contents.place_of(folder) == place => {
                scene.universe.bundle(n, declared).digest() == accepted.bundle
            }
            _ => false,
        };
        let sound = self.renders_lie || self.governed.places_since(app, newest).into_iter().any(declares);
        self.holds("S10", sound, || {
            format!("{app} accepts {} of {version}, which no accepted document makes of it", accepted.bundle)
        });
    }
}
