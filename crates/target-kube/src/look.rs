//! Observes objects: returns the live state under each key.
//!
//! An object that is in place by its record, and about which a caught-up stream has reported
//! nothing since, needs no request. Everything else is read from the server by a quorum read:
//! absence is never believed from anything less.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::mutant::Mutant;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::{Asker, Wanted};

use crate::absent::Sought;
use crate::cluster::{Cluster, Unplaced};
use crate::compared::in_place;
use crate::discovery::Unserved;
use crate::origins::not_known_to_be_gone;
use crate::records::Record;
use crate::requests::{Behalf, Form, Urgency};
use crate::wire::within;

/// The number of objects of one observation that are read at the same time, if the flow of the
/// cluster allows as many.
const AT_ONCE: usize = 64;
/// How long an observation waits for streams to report the current state before it reads each
/// object. It is less than the caller of an observation waits.
const BEGINNING: Span = Span::seconds(20);

impl Cluster {
    pub(crate) async fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Observation {
        wanted.keys().for_each(|key| self.watches.want(key));
        let (mut states, unseen) = match asker.afresh {
            true => (BTreeMap::new(), wanted.into_iter().collect()),
            false => {
                self.doubt_autoscaled(&wanted, asker.priority).await;
                self.split_remembered(wanted, now)
            }
        };
        if unseen.is_empty() {
            return Observation { at: now, states };
        }
        if let Err(reason) = self.visit().await {
            // Remembered state is not believed either while another system may be responding.
            let keys = states.into_keys().chain(unseen.into_iter().map(|(key, _)| key));
            return blind(keys, &reason, now);
        }
        let unseen = match asker.afresh {
            true => unseen,
            false => {
                self.hear_streams_out(&unseen).await;
                let (remembered, unseen) = self.split_remembered(unseen, now);
                states.extend(remembered);
                unseen
            }
        };
        let absent = self.absent_by_lists(&unseen).await;
        let (on, afresh) = (Behalf::of(&asker, Urgency::from(asker.priority)), asker.afresh);
        let looks = unseen.into_iter().map(|(key, declared)| {
            let is_absent = absent.contains(&key);
            async move {
                if is_absent {
                    return (key.clone(), Observed::known(self.saw_nothing(&key, declared.is_some()), now));
                }
                let seen = self.look_at(&key, declared.as_ref(), on).await;
                // No stream reported the difference, so an event may have been lost: the record is
                // not believed before the object was read in place.
                let is_doubtful = match (&seen, &declared) {
                    (Ok(Presence::Present(live)), Some(resource)) => live.value != resource.body,
                    (Ok(_), _) => false,
                    // This observation was the safety net for lost events.
                    (Err(_), _) => afresh,
                };
                if is_doubtful {
                    self.records.doubt(&key);
                }
                (key, seen.map_or_else(Observed::unknown, |presence| Observed::known(presence, now)))
            }
        });
        let seen: Vec<_> = stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
        states.extend(seen);
        // An observation may take a while, and a connection that was made meanwhile may lead to
        // another cluster.
        match self.visit().await {
            Ok(_) => Observation { at: now, states },
            Err(reason) => blind(states.into_keys(), &reason, now),
        }
    }

    /// Splits the keys into states that are known without a request, and the rest.
    fn split_remembered(
        &self,
        wanted: impl IntoIterator<Item = Sought>,
        now: Timestamp,
    ) -> (BTreeMap<Key, Observed<Presence>>, Vec<Sought>) {
        let mut states = BTreeMap::new();
        let mut unseen = Vec::new();
        for (key, declared) in wanted {
            match self.remembered(&key, declared.as_ref()) {
                Some(live) => drop(states.insert(key, Observed::known(Presence::Present(live), now))),
                None => unseen.push((key, declared)),
            }
        }
        (states, unseen)
    }

    /// Waits for streams that are about to report whether the records still hold.
    async fn hear_streams_out(&self, unseen: &[Sought]) {
        let is_remembered = |(key, declared): &&Sought| self.records.trusted(key, declared.as_ref()).is_some();
        let awaited = unseen.iter().filter(|(key, _)| self.trust_streams && self.watches.begins(key));
        let awaited: Vec<&Key> = awaited.filter(is_remembered).map(|(key, _)| key).collect();
        if !awaited.is_empty() {
            within(&*self.api.sender.wire, BEGINNING, self.watches.heard_out(awaited.into_iter())).await;
        }
    }

    /// Returns the remembered state of an object that is in place by its record, if the record is
    /// trusted.
    fn remembered(&self, key: &Key, declared: Option<&Arc<Resource>>) -> Option<Live> {
        if !self.trust_streams || !self.watches.covers(key) {
            return None;
        }
        let record = self.records.trusted(key, declared)?;
        if record.standing.deleting {
            // The record does not hold the finalizers that the object waits for.
            return None;
        }
        Some(match declared {
            // Only a read can find the managers of an object that we have not applied.
            Some(_) if !record.owned => return None,
            Some(resource) => in_place(resource, &record),
            None => nameable(key, &record),
        })
    }

    /// Reads the live object under a key.
    pub(crate) async fn look_at(
        &self,
        key: &Key,
        declared: Option<&Arc<Resource>>,
        on: Behalf<'_>,
    ) -> Result<Presence, UnknownReason> {
        let place = match self.place(key, declared.map(|resource| &**resource)).await {
            Ok(place) => place,
            // One API server of several may not serve yet a kind whose objects another has long
            // stored. Absence makes us create, and a create that is refused gives the claim up. So
            // absence is believed only where no object can exist.
            Err(Unplaced::Unserved(error @ Unserved::NoSuchKind { .. })) => {
                // Without a declaration there is a claim, so the object existed.
                return match Mutant::PathIsAbsence.is_on()
                    || self.is_gone_with_its_kind(key, declared.is_none()).await?
                {
                    true => Ok(Presence::Absent),
                    false => Err(UnknownReason::Partial { detail: not_known_to_be_gone(&error) }),
                };
            }
            Err(Unplaced::Unserved(Unserved::Unknown(reason))) => return Err(reason),
            Err(error @ Unplaced::Unserved(Unserved::Silent { .. })) => {
                return Err(UnknownReason::Partial { detail: error.to_string() });
            }
            Err(error) => return Err(UnknownReason::Malformed { detail: error.to_string() }),
        };
        let look = self.records.begin_look(key);
        let form = if declared.is_some() { Form::Whole } else { Form::Metadata };
        match self.api.get(&place, form, on.looking()).await {
            Ok(object) => {
                let live = self.compared(&look, declared, &place, &object, on).await?;
                self.records.note_leaving(key, live.deleting.clone());
                if live.deleting.is_some() && self.records.has_news(&look, &live.version) {
                    // The object may have gone before the wait for that began.
                    self.watches.tell(key.clone());
                }
                self.watches.saw(key, Some(&live.version), self.is_covered(&object));
                Ok(Presence::Present(live))
            }
            Err(failure) if failure.is_absence_of(key.name()) => Ok(self.saw_nothing(key, declared.is_some())),
            Err(failure) => {
                if failure.code() == Some(404) {
                    // The path does not exist, so the set of served kinds has changed.
                    self.discovery.forget();
                }
                Err(failure.blindness())
            }
        }
    }

    fn saw_nothing(&self, key: &Key, declared: bool) -> Presence {
        self.file_gone(key, self.records.get(key).as_ref());
        self.records.forget(key);
        self.records.note_leaving(key, None);
        // An object that its app no longer declares is not followed: it does not matter whether it
        // comes back.
        if declared {
            self.watches.saw(key, None, false);
        }
        Presence::Absent
    }
}

/// Builds an observation in which these keys are unknown.
fn blind(keys: impl Iterator<Item = Key>, reason: &UnknownReason, now: Timestamp) -> Observation {
    Observation { at: now, states: keys.map(|key| (key, Observed::unknown(reason.clone()))).collect() }
}

/// Builds the state of an object of which only its existence matters.
fn nameable(key: &Key, record: &Record) -> Live {
    let value = identifying(key);
    Live {
        controlled: record.standing.controlled,
        health: record.standing.health,
        ended: record.standing.ended,
        ..Live::new(record.uid.clone(), record.version.clone(), value)
    }
}

/// Builds the value of an undeclared object: its identity without its content.
pub(crate) fn identifying(key: &Key) -> Value {
    let (_, kind) = setpoint_kube::key::group_and_kind(key.class());
    let mut metadata = vec![("name", Value::str(key.name()))];
    if !key.namespace().is_empty() {
        metadata.push(("namespace", Value::str(key.namespace())));
    }
    Value::map([("kind", Value::str(kind)), ("metadata", Value::map(metadata))])
}
