//! Polls of stores, and renders of their versions. In worlds with control documents the shipped
//! accept plane reads real files; in the simple world a directory is a list of keys.

use std::collections::BTreeMap;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_engine::accept::ReachedTarget;
use setpoint_engine::{Event, RenderOutcome};

use crate::accept_plane::Candidate;
use crate::fault::Fault;
use crate::repository::{bootstrap, root};
use crate::store::{self, Folder};
use crate::world::{Recipient, World};

/// The parameters of a render.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    pub(super) app: &'a AppId,
    pub(super) revision: &'a Revision,
    pub(super) accepted: Option<&'a setpoint_core::facts::Accepted>,
    pub(super) descends_from: Option<&'a Revision>,
    pub(super) documents: Option<Digest>,
}

impl World {
    pub(super) fn poll(&mut self, store: &StoreName) -> Observed<VersionId> {
        let n = self.store_index(store);
        if let Err(reason) = self.reach(n) {
            return Observed::unknown(reason);
        }
        let stale = self.strikes(Fault::StoreStale, "older head");
        let mut head = if stale { self.stores[n].older_head() } else { self.stores[n].head() };
        if let Some(before) = self.stores[n].head_before() {
            self.script.polls += 1;
            if self.script.older_head == Some(self.script.polls) {
                head = before;
            }
        }
        Observed::known(head, setpoint_core::time::Timestamp::from_millis(self.now))
    }

    fn store_index(&self, store: &StoreName) -> usize {
        let found = self.universe.stores.iter().position(|known| known == store);
        found.expect("the engine talks only to stores of the universe")
    }

    fn reach(&mut self, store: usize) -> Result<(), UnknownReason> {
        if self.strikes(Fault::StoreUnreachable, "store down") {
            let minutes = u64::from(1 + self.tape.pick("store down minutes", 15));
            self.store_down_until[store] = self.now + minutes * 60_000;
        }
        if self.store_down_until[store] > self.now {
            return Err(UnknownReason::Unreachable { detail: "the store is down".into() });
        }
        Ok(())
    }

    pub(super) fn render(&mut self, from: Recipient, wish: &Wish<'_>) -> RenderOutcome {
        let (name, offered) = wish.revision.iter().next().expect("every app reads a store");
        let n = self.store_index(name);
        if let Err(reason) = self.reach(n) {
            return RenderOutcome::Failed { reason };
        }
        if self.script.renders_fail_of.as_ref() == Some(wish.app) {
            let reason = UnknownReason::Unreachable { detail: "the store answers too slowly".into() };
            return RenderOutcome::Failed { reason };
        }
        let outcome =
            if self.universe.rooted { self.considered(from, wish, n, offered) } else { self.listed(wish, n, offered) };
        match outcome {
            Candidate::Unchanged { .. } => RenderOutcome::Unchanged,
            Candidate::Refused(problems) => RenderOutcome::Refused { problems },
            Candidate::Failed(reason) => RenderOutcome::Failed { reason },
            Candidate::Rendered(mut resources) => {
                if let Some(keeps) = self.script.render_keeps.filter(|_| *wish.app != root()) {
                    resources.sort_by(|a, b| a.key.cmp(&b.key));
                    resources.truncate(keeps);
                }
                RenderOutcome::Rendered { resources, ancestry: self.ancestry(from, wish, n, offered) }
            }
        }
    }

    /// Returns the relation of a version to the one it must descend from, as far as the store knows
    /// it: a shallow clone does not know the whole history.
    fn ancestry(&mut self, from: Recipient, wish: &Wish<'_>, store: usize, offered: &VersionId) -> Ancestry {
        let name = &self.universe.stores[store];
        let base = wish.descends_from.and_then(|revision| revision.get(name));
        let ancestry = self.stores[store].ancestry(base, offered);
        let certain = matches!(ancestry, Ancestry::First | Ancestry::Same);
        let known = certain || !self.strikes(Fault::UnknownHistory, "history not known");
        self.monitor.history_told(from.instance, wish.app, offered, known);
        if known { ancestry } else { Ancestry::Unknown }
    }

    /// Renders in the simple world, where a directory is a list of keys.
    fn listed(&self, wish: &Wish<'_>, store: usize, offered: &VersionId) -> Candidate {
        let (name, store) = (&self.universe.stores[store], &self.stores[store]);
        let before = wish.accepted.and_then(|accepted| accepted.revision.get(name));
        let folder = store.folder(offered, wish.app);
        if before.is_some_and(|before| store.folder(before, wish.app) == folder)
            && matches!(folder, Some(Folder::Declares(_)))
        {
            return Candidate::Unchanged { afresh: None };
        }
        match folder {
            Some(Folder::Declares(declared)) => Candidate::Rendered(store::resources(declared)),
            Some(Folder::Broken) => Candidate::Refused(vec!["app.yaml:3:5: unknown field".into()]),
            // A missing directory is an error, never an empty app.
            None => Candidate::Refused(vec!["its directory does not exist".into()]),
        }
    }

    /// Renders with the accept plane, which reads files. A full render must give the same for each
    /// skipped one.
    fn considered(&mut self, from: Recipient, wish: &Wish<'_>, store: usize, offered: &VersionId) -> Candidate {
        let (name, tree) = (&self.universe.stores[store], self.stores[store].tree(offered));
        let Some(tree) = tree else { return Candidate::Failed(UnknownReason::NotLooked) };
        let accepted = wish.accepted.map(|accepted| accepted.bundle);
        let desk = &mut self.instances[from.instance].desk;
        if !desk.is_to_render(wish.app, wish.documents) {
            return Candidate::Failed(UnknownReason::OtherDocuments);
        }
        let candidate = desk.candidate(wish.app, name, tree, accepted, &mut self.recall);
        if let Candidate::Unchanged { afresh } = &candidate {
            self.monitor.skipped(wish.app, offered, accepted, *afresh);
        }
        candidate
    }

    pub(super) fn render_afresh(
        &mut self,
        from: Recipient,
        app: &AppId,
        documents: Option<Digest>,
    ) -> Result<Digest, UnknownReason> {
        if !self.universe.rooted {
            let n = self.app_index(app);
            let store = self.universe.store_of(n);
            self.reach(store)?;
            return match self.stores[store].head_folder(app) {
                Some(Folder::Declares(declared)) => Ok(self.universe.bundle(n, declared).digest()),
                _ => Err(UnknownReason::Malformed { detail: "the directory cannot be rendered".into() }),
            };
        }
        let desk = &self.instances[from.instance].desk;
        if !desk.is_to_render(app, documents) {
            return Err(UnknownReason::OtherDocuments);
        }
        let (Some(name), Some(target)) = (desk.store_of(app), desk.target_of(app).cloned()) else {
            return Err(UnknownReason::NotLooked);
        };
        let store = self.store_index(&name);
        self.reach(store)?;
        let tree = self.stores[store].tree(&self.stores[store].head()).ok_or(UnknownReason::NotLooked)?;
        match self.instances[from.instance].desk.candidate(app, &name, tree, None, &mut self.recall) {
            Candidate::Rendered(resources) => Bundle::new(app.clone(), target, resources)
                .map(|bundle| bundle.digest())
                .map_err(|bad| UnknownReason::Malformed { detail: bad.to_string() }),
            Candidate::Failed(reason) => Err(reason),
            Candidate::Refused(problems) => Err(UnknownReason::Malformed { detail: problems.join("; ") }),
            Candidate::Unchanged { .. } => unreachable!("nothing was given that it could be unchanged from"),
        }
    }

    /// Computes the controls of accepted documents. They are in force for the instance's renders
    /// before it receives them.
    pub(super) fn govern(&mut self, from: Recipient, bundle: &Bundle, known: &BTreeMap<AppId, TargetIdentity>) {
        if !self.is_current(from) {
            return;
        }
        let documents = match self.recall.documents(bundle) {
            Ok(documents) => documents,
            Err(problems) => return self.monitor.unreadable(&problems),
        };
        let mut reached = BTreeMap::new();
        for name in documents.targets().keys() {
            if let Some(target) = self.introduce(name) {
                reached.insert(name.clone(), target);
            }
        }
        let clock = self.instances[from.instance].clock(self.now);
        let worked_out = documents.controls(clock, &reached, known);
        let mut controls = worked_out.controls;
        controls.valid_until = worked_out.valid_until;
        bootstrap(&mut controls, Some(bundle.digest()));
        self.instances[from.instance].desk.govern(documents, bundle.digest(), &reached);
        if !self.strikes(Fault::LostAnswer, "controls lost") {
            self.reply(from, Event::Controls(controls));
        }
    }

    /// Returns the identity of a target, if it is reachable.
    fn introduce(&mut self, name: &TargetName) -> Option<ReachedTarget> {
        let n = self.universe.targets.iter().position(|kind| kind.identity.as_str() == name.as_str())?;
        if self.outage(n).is_some() || self.strikes(Fault::TargetUnreachable, "target silent") {
            return None;
        }
        let kind = &self.universe.targets[n];
        let (granularity, fresh_reads) = (kind.options.granularity, kind.fresh_reads);
        Some(ReachedTarget { identity: kind.identity.clone(), granularity, fresh_reads, attributes: false })
    }
}
