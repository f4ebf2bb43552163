//! Computes the machine's controls from accepted control documents.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::boundary::Boundary;
use setpoint_core::canonical;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, TargetIdentity, TargetName};
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_documents::{
    AppSpec, Commit, Mode as DeclaredMode, OnFailure as DeclaredOnFailure, Reference, Window, WindowTime,
};
use setpoint_target::Granularity;

use super::documents::{ControlDocument, ControlDocuments};
use super::windows::{self, Interval};
use crate::controls::{AppControl, Controls, Mode, OnFailure, StoreControl, TargetControl};

/// The time after which targets that reported no identity, or the identity of another system, are
/// asked for it again.
const RETRY: Span = Span::seconds(30);

/// A target that reported its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedTarget {
    pub identity: TargetIdentity,
    pub granularity: Granularity,
    /// Set if reads include the target's own latest writes.
    pub fresh_reads: bool,
    pub attributes: bool,
}

/// Controls, and how long they are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkedOut {
    /// Without the root app, whose control comes from the bootstrap.
    pub controls: Controls,
    /// The time by which to compute them again; never, if no app has a window and every target was
    /// reached and is the one that its apps are held on.
    pub valid_until: Option<Timestamp>,
    /// Apps that are not among the controls because the identity of their target is still unknown.
    /// Their documents are not gone: compute the controls again once the target was reached.
    pub unreached: BTreeMap<AppId, TargetName>,
}

/// Returns the digest of the source of a store's head. It is the same for stores of one branch or
/// tag of one repository that connect in the same way and are not pinned to another commit.
pub fn repository(url: &str, of: &Reference, pin: Option<&Commit>, way_in: impl fmt::Debug) -> Digest {
    Digest::of(format!("{url}\n{of:?}\n{pin:?}\n{way_in:?}").as_bytes())
}

impl ControlDocuments {
    /// Computes the controls at an instant. `known` contains the targets on which apps are held,
    /// for targets that do not report their identity now.
    pub fn controls(
        &self,
        now: Timestamp,
        reached: &BTreeMap<TargetName, ReachedTarget>,
        known: &BTreeMap<AppId, TargetIdentity>,
    ) -> WorkedOut {
        let mut working = Working { now, reached, known, closed: BTreeMap::new(), controls: Controls::default() };
        let mut unreached = BTreeMap::new();
        let identities = self.identities();
        for (id, app) in &self.apps {
            let bounds = Bounds {
                boundary: self.boundary_of(id, &app.spec),
                acting_as: self.acting_as(&identities, id, &app.spec),
            };
            match working.target_of(id, &app.spec) {
                Some(target) => working.add(id, app, target, bounds),
                None => {
                    working.controls.unreached.insert(id.clone(), document_of(app, &bounds));
                    unreached.insert(id.clone(), app.spec.target.clone());
                }
            }
        }
        let mut controls = working.controls;
        for (name, store) in &self.stores {
            let spec = &store.spec;
            let way_in = (&spec.credentials_from, &spec.known_hosts, &spec.authorities, spec.shallow);
            let repository = repository(spec.url.as_str(), &spec.reference(), spec.commit.as_ref(), way_in);
            controls.stores.insert(name.clone(), StoreControl { interval: spec.interval.span(), repository });
        }
        let windows = self.apps.values().any(|app| !app.spec.sync.windows.is_empty());
        // A silent target may respond, and one that is another system than the one an app is held
        // on may be corrected.
        let is_awaited = |(id, app): (&AppId, &ControlDocument<Box<AppSpec>>)| {
            let found = reached.get(&app.spec.target).map(|target| &target.identity);
            found.is_none_or(|found| known.get(id).is_some_and(|known| known != found))
        };
        let awaited = self.apps.iter().any(is_awaited);
        let renewed = windows.then(|| windows::renewed_by(now));
        let valid_until = renewed.into_iter().chain(awaited.then(|| now + RETRY)).min();
        WorkedOut { controls, valid_until, unreached }
    }
}

/// A window as a map key: whether it allows, its times, length and zone.
type WindowKey<'a> = (bool, &'a str, u64, &'a str);

struct Working<'a> {
    now: Timestamp,
    reached: &'a BTreeMap<TargetName, ReachedTarget>,
    known: &'a BTreeMap<AppId, TargetIdentity>,
    /// A cache of closed intervals: many apps have the same windows.
    closed: BTreeMap<Vec<WindowKey<'a>>, Vec<Interval>>,
    controls: Controls,
}

impl<'a> Working<'a> {
    /// Returns the identity of an app's target: the reported one, or the one on which the app was
    /// last held. The latter does not count if another target of the documents has this identity:
    /// then the app was moved away from it.
    fn target_of(&mut self, id: &AppId, app: &AppSpec) -> Option<TargetIdentity> {
        if let Some(ReachedTarget { identity, granularity, fresh_reads, attributes }) = self.reached.get(&app.target) {
            let control =
                TargetControl { granularity: *granularity, fresh_reads: *fresh_reads, attributes: *attributes };
            self.controls.targets.insert(identity.clone(), control);
            return Some(identity.clone());
        }
        let identity = self.known.get(id)?;
        if self.reached.values().any(|target| target.identity == *identity) {
            return None;
        }
        // Assume the least capabilities until the target reports its own.
        let careful = TargetControl { granularity: Granularity::Resource, fresh_reads: false, attributes: false };
        self.controls.targets.entry(identity.clone()).or_insert(careful);
        Some(identity.clone())
    }

    fn add(&mut self, id: &AppId, app: &'a ControlDocument<Box<AppSpec>>, target: TargetIdentity, bounds: Bounds) {
        let spec = &app.spec;
        let sync = &spec.sync;
        let depends_on = sync.depends_on.iter().map(|name| AppId::new(id.scope.clone(), name.clone()));
        let control = AppControl {
            document: document_of(app, &bounds),
            target,
            stores: spec.inputs.iter().map(|input| &input.store).chain(&spec.kustomize.bases).cloned().collect(),
            rules: Rules { prune: sync.prune, adopt: sync.adopt, boundary: bounds.boundary },
            acting_as: bounds.acting_as,
            mode: match sync.mode {
                DeclaredMode::Auto => Mode::Auto,
                DeclaredMode::Manual => Mode::Manual,
                DeclaredMode::Observe => Mode::Observe,
            },
            retire: spec.retire,
            depends_on: depends_on.collect(),
            closed: self.closed(&sync.windows),
            deadline: sync.deadline.span(),
            on_failure: match spec.on_failure {
                DeclaredOnFailure::Rollback => OnFailure::Rollback,
                DeclaredOnFailure::Hold => OnFailure::Hold,
                DeclaredOnFailure::Alert => OnFailure::Alert,
            },
            renders_apart: spec.kustomize.external.is_some(),
        };
        self.controls.apps.insert(id.clone(), Arc::new(control));
    }

    fn closed(&mut self, windows: &'a [Window]) -> Vec<Interval> {
        let now = self.now;
        let key = windows.iter().map(key_of).collect();
        self.closed.entry(key).or_insert_with(|| windows::closed(windows, now)).clone()
    }
}

/// The bounds that another document sets for an app.
struct Bounds {
    boundary: Boundary,
    acting_as: Option<Arc<ActingAs>>,
}

/// Returns the digest of an app's document and of the bounds that another document sets for it.
fn document_of(app: &ControlDocument<Box<AppSpec>>, Bounds { boundary, acting_as }: &Bounds) -> Digest {
    canonical::digest_of(&(app.body.value(), boundary, acting_as))
}

fn key_of(window: &Window) -> WindowKey<'_> {
    let (allows, times) = match &window.time {
        WindowTime::Allow(times) => (true, times),
        WindowTime::Deny(times) => (false, times),
    };
    (allows, times.as_str(), window.length.span().as_millis(), window.zone.as_str())
}
