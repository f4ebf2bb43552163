//! Attributes changes to writers: the audit events that arrived, and the changes that were observed
//! before they did.
//!
//! A read that finds an object changed or gone files the object's own metadata about it, because a
//! heal removes that. Events arrive when the server sends them, often later. Only a caller that
//! asks for the writer waits for them.
#![cfg_attr(
    not(any(feature = "http", test)),
    expect(dead_code, reason = "without HTTP there is no source of audit events")
)]

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use setpoint_core::key::Key;
use setpoint_core::live::Writer;
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::attribute::holders;
use setpoint_kube::audit::explain::Known;
use setpoint_kube::audit::{AuditEvent, Change, Explanation, ObjectName, Read, Sighting, Signature, explain};
use setpoint_kube::managed::{ManagedFields, applied_by};
use setpoint_kube::path::FieldPath;
use setpoint_target::Sightings;

use crate::cluster::{Cluster, Named};
use crate::records::Record;
use crate::requests::Place;
use crate::wire::within;

/// The most events that are kept, of all objects and of each.
const MOST_EVENTS: usize = 20_000;
const MOST_OF_ONE: usize = 64;
/// The most changes that are filed without an explanation.
const MOST_CASES: usize = 10_000;
/// Servers send events in batches, half a minute apart. An event that has not arrived by then will
/// not arrive.
const PATIENCE: Span = Span::minutes(2);

/// The beginning of a source that is silent.
const SILENT: u64 = u64::MAX;

/// A source of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source(usize);

/// How much of a cluster's audit trail is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The number of events of completed writes since the start.
    pub events: u64,
    /// The number of events that could not be read.
    pub malformed: u64,
}

/// The audit trail of one cluster.
#[derive(Debug)]
pub(crate) struct Audit {
    signature: Signature,
    /// How late an event may arrive, compared with a later event.
    settles: Span,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<ObjectName, RetainedEvents>,
    /// The objects of all events, the oldest first.
    order: VecDeque<ObjectName>,
    /// The instant from which on each source has sent every event, in microseconds since 1970;
    /// [`SILENT`] while it sends none.
    sources: Vec<u64>,
    /// The instant before which events have been forgotten.
    kept_from: u64,
    cases: BTreeMap<CaseName, Case>,
    filed: VecDeque<CaseName>,
    trail: Trail,
    waiting: Vec<Waker>,
}

type CaseName = (Key, Option<LiveVersion>);

/// The events about one object.
#[derive(Debug, Default)]
struct RetainedEvents {
    events: VecDeque<Heard>,
    complete_from: u64,
}

#[derive(Clone, Debug)]
struct Heard {
    event: AuditEvent,
    /// The time at which we sent the request; `None` if it was not ours.
    sent: Option<Timestamp>,
}

/// An observed change, to be explained.
#[derive(Clone, Debug)]
struct Case {
    uid: Option<Uid>,
    at: Timestamp,
    change: Change,
}

impl Audit {
    pub(crate) fn new(signature: Signature, settles: Span) -> Self {
        let state = State {
            objects: BTreeMap::new(),
            order: VecDeque::new(),
            sources: Vec::new(),
            kept_from: 0,
            cases: BTreeMap::new(),
            filed: VecDeque::new(),
            trail: Trail::default(),
            waiting: Vec::new(),
        };
        Self { signature, settles, state: Mutex::new(state) }
    }

    /// Adds a source of events. An edit is explained only while all sources send.
    pub(crate) fn add_source(&self) -> Source {
        let mut state = self.state();
        state.sources.push(SILENT);
        Source(state.sources.len() - 1)
    }

    /// Notes that a source sends every event from this instant on, in the server's time. Known
    /// events prove nothing about the time before.
    pub(crate) fn begins(&self, source: Source, micros: u64) {
        let since = &mut self.state().sources[source.0];
        *since = if *since == SILENT { micros } else { micros.max(*since) };
    }

    /// Notes that a source sends nothing for now.
    pub(crate) fn falls_silent(&self, source: Source) {
        self.state().sources[source.0] = SILENT;
    }

    pub(crate) fn hear(&self, read: Read) {
        let waiting = {
            let mut state = self.state();
            state.trail.malformed += read.malformed as u64;
            for event in read.events {
                let sent = self.signature.sent(&event);
                state.keep(event, sent);
            }
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn trail(&self) -> Trail {
        self.state().trail
    }

    /// Waits until more events have arrived.
    fn more_than(&self, heard: Trail) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(move |context| {
            let mut state = self.state();
            if state.trail != heard {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
    }

    fn file(&self, name: CaseName, case: Case) {
        let mut state = self.state();
        if state.cases.insert(name.clone(), case).is_none() {
            state.filed.push_back(name);
        }
        while state.filed.len() > MOST_CASES {
            let Some(oldest) = state.filed.pop_front() else { break };
            state.cases.remove(&oldest);
        }
    }

    fn case(&self, name: &CaseName) -> Option<Case> {
        self.state().cases.get(name).cloned()
    }

    fn explain(&self, sighting: &Sighting) -> Option<Explanation> {
        let state = self.state();
        let of = |name: &ObjectName| state.objects.get(name);
        let (itself, all) = (of(&sighting.object), of(&sighting.object.collection()));
        let kept = itself.into_iter().chain(all);
        let complete_from = kept.clone().map(|kept| kept.complete_from).fold(state.complete_from(), u64::max);
        let events: Vec<Known<'_>> =
            kept.flat_map(|kept| &kept.events).map(|heard| Known { event: &heard.event, sent: heard.sent }).collect();
        explain(sighting, &events, complete_from)
    }

    #[cfg(test)]
    pub(crate) fn complete_from(&self) -> u64 {
        self.state().complete_from()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before the next begins, and all of the state may be lost.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the instant from which on every event is known.
    fn complete_from(&self) -> u64 {
        self.sources.iter().copied().max().unwrap_or(SILENT).max(self.kept_from)
    }

    fn keep(&mut self, event: AuditEvent, sent: Option<Timestamp>) {
        let kept = self.objects.entry(event.object.clone()).or_default();
        let again = kept.events.iter_mut().find(|heard| heard.event.id == event.id);
        // Servers send unacknowledged events again, and may log events that they also send. A later
        // request with an id of ours comes from someone who has read that id; the order in which
        // the two arrive does not matter.
        let sent = match again {
            Some(heard) if heard.event.received == event.received => return,
            Some(heard) if heard.event.received > event.received => {
                heard.sent = None;
                sent
            }
            Some(_) => None,
            None => sent,
        };
        if kept.events.len() == MOST_OF_ONE
            && let Some(oldest) = kept.events.pop_front()
        {
            kept.complete_from = kept.complete_from.max(oldest.event.answered);
        }
        self.trail.events += 1;
        self.order.push_back(event.object.clone());
        kept.events.push_back(Heard { event, sent });
        if self.order.len() > MOST_EVENTS {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(name) = self.order.pop_front() else { return };
        let Some(kept) = self.objects.get_mut(&name) else { return };
        if let Some(oldest) = kept.events.pop_front() {
            self.kept_from = self.kept_from.max(oldest.event.answered);
        }
        if kept.events.is_empty() {
            self.kept_from = self.kept_from.max(kept.complete_from);
            self.objects.remove(&name);
        }
    }
}

impl Cluster {
    /// Files an object's own metadata about an observed change.
    pub(crate) fn file_edit(&self, key: &Key, named: &Named, entries: &[ManagedFields], paths: &[FieldPath]) {
        let Some(audit) = &self.audit else { return };
        let ours = &self.api.manager;
        let change = Change::Edited {
            version: named.version.as_str().parse().ok(),
            holder: holders(entries, paths, ours).into_iter().next(),
            applied: applied_by(entries, ours).and_then(|entry| entry.time.clone()),
        };
        let case = Case { uid: Some(named.uid.clone()), at: self.now(), change };
        audit.file((key.clone(), Some(named.version.clone())), case);
    }

    /// Files the last known state of an object that is gone. A second observation that it is gone
    /// adds nothing.
    pub(crate) fn file_gone(&self, key: &Key, record: Option<&Record>) {
        let Some(audit) = &self.audit else { return };
        let name = (key.clone(), None);
        if record.is_none() && audit.case(&name).is_some() {
            return;
        }
        let change = Change::Gone { made: record.and_then(|record| record.standing.made).map(Into::into) };
        audit.file(name, Case { uid: record.map(|record| record.uid.clone()), at: self.now(), change });
    }

    /// Returns the writers of observed changes, as soon as one of them is known.
    pub(crate) async fn attribute(&self, seen: Sightings) -> BTreeMap<Key, Writer> {
        let Some(audit) = &self.audit else { return BTreeMap::new() };
        let (mut open, mut until) = (BTreeMap::new(), Timestamp::default());
        for name in seen {
            let Some(case) = audit.case(&name) else { continue };
            let Ok(place) = self.place(&name.0, None).await else { continue };
            until = until.max(case.at + PATIENCE);
            open.insert(name.0, sighting(case, &place));
        }
        // The explanation of each change, and since when it is unchanged.
        let mut told: BTreeMap<Key, (Explanation, Timestamp)> = BTreeMap::new();
        loop {
            let (heard, now) = (audit.trail(), self.now());
            for (key, sighting) in &open {
                match audit.explain(sighting) {
                    Some(explanation) if told.get(key).is_some_and(|(known, _)| *known == explanation) => {}
                    Some(explanation) => drop(told.insert(key.clone(), (explanation, now))),
                    None => drop(told.remove(key)),
                }
            }
            let is_sure = |explanation: &Explanation, since: Timestamp| {
                explanation.is_final || now.since(since) >= audit.settles || now >= until
            };
            let sure = told.iter().filter(|(_, (explanation, since))| is_sure(explanation, *since));
            let sure: BTreeMap<Key, Writer> =
                sure.map(|(key, (explanation, _))| (key.clone(), explanation.writer.clone())).collect();
            if !sure.is_empty() || open.is_empty() || now >= until {
                return sure;
            }
            let settled = told.values().map(|(_, since)| *since + audit.settles);
            let next = settled.chain([until]).min().unwrap_or(until);
            within(&*self.api.sender.wire, next.since(now).max(Span::millis(1)), audit.more_than(heard)).await;
        }
    }
}

fn sighting(case: Case, place: &Place) -> Sighting {
    let Case { uid, at, change } = case;
    Sighting { object: place.audited(), uid: uid.map(|uid| uid.as_str().into()), at, change }
}

#[cfg(test)]
mod tests {
    use setpoint_core::digest::DigestKey;
    use setpoint_kube::audit::Verb;
    use setpoint_kube::audit::event::micros;

    use super::*;

    fn audit() -> Audit {
        Audit::new(Signature::derived(&DigestKey::new([1; 32])), Span::ZERO)
    }

    fn event(id: &str, second: u64) -> AuditEvent {
        let received = micros("2026-11-16T10:00:00Z").unwrap() + second * 1_000_000;
        AuditEvent {
            id: id.into(),
            verb: Verb::Patch,
            user: "jane".into(),
            acting_as: None,
            address: Some("10.0.0.7".into()),
            manager: "kubectl-edit".into(),
            object: ObjectName { resource: "configmaps".into(), name: "a".into(), ..ObjectName::default() },
            subresource: "".into(),
            uid: None,
            version: None,
            received,
            answered: received + 1_000,
        }
    }

    fn hear(audit: &Audit, events: &[AuditEvent]) {
        audit.hear(Read { events: events.to_vec(), malformed: 0 });
    }

    /// The removal of a field that no manager holds.
    fn sighting() -> Sighting {
        let change = Change::Edited { version: None, holder: None, applied: Some("2026-11-16T10:00:00Z".into()) };
        let at = Timestamp::from_millis(micros("2026-11-16T10:00:30Z").unwrap() / 1_000);
        Sighting { object: event("", 0).object, uid: None, at, change }
    }

    #[test]
    fn an_edit_is_explained_only_while_every_server_tells() {
        let (audit, began) = (audit(), event("", 0).received);
        let (first, second) = (audit.add_source(), audit.add_source());
        hear(&audit, &[event("one", 1)]);
        audit.begins(first, began);
        assert_eq!(audit.explain(&sighting()), None, "the other server may name another writer");
        audit.begins(second, began);
        assert!(audit.explain(&sighting()).is_some());
        audit.begins(first, began + 1);
        assert_eq!(audit.explain(&sighting()), None, "something before that was lost");
        audit.falls_silent(first);
        audit.begins(first, began);
        assert!(audit.explain(&sighting()).is_some());
        audit.falls_silent(second);
        assert_eq!(audit.explain(&sighting()), None);
    }

    #[test]
    fn the_same_request_is_one_piece_of_evidence_however_often_and_by_whom_it_is_told() {
        let audit = audit();
        audit.begins(audit.add_source(), event("", 0).received);
        hear(&audit, &[event("one", 1)]);
        hear(&audit, &[event("one", 1), event("one", 1)]);
        assert_eq!(audit.trail().events, 1);
        let Some(Explanation { writer: Writer::Proven(proof), .. }) = audit.explain(&sighting()) else {
            panic!("no writer is proven");
        };
        assert_eq!(proof.audit_id.as_deref(), Some("one"), "it is one request that did it");
    }

    #[test]
    fn an_id_of_ours_on_a_later_request_is_not_ours_in_whatever_order_they_come() {
        let signature = Signature::derived(&DigestKey::new([1; 32]));
        let ours = event("", 1);
        let at = Timestamp::from_millis(ours.received / 1_000);
        let id = signature.sign(at, 7, ours.verb, &ours.object);
        let (ours, copied) = (AuditEvent { id: id.as_str().into(), ..ours }, event(&id, 2));
        for order in [[&ours, &copied], [&copied, &ours]] {
            let audit = audit();
            audit.begins(audit.add_source(), event("", 0).received);
            order.into_iter().for_each(|event| hear(&audit, std::slice::from_ref(event)));
            let explained = audit.explain(&sighting());
            assert!(matches!(explained, Some(Explanation { writer: Writer::Proven(_), .. })), "{explained:?}");
            let state = audit.state();
            let sent: Vec<_> = state.objects[&ours.object].events.iter().map(|heard| heard.sent.is_some()).collect();
            assert_eq!(sent.iter().filter(|sent| **sent).count(), 1);
        }
    }
}
