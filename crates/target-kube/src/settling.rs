//! Settles intents without a known result: finds out from the object how each ended.
//!
//! Every apply writes the number of its intent on the object, in the same write as everything else.
//! So the number on the object proves our write. A delete is done when that very object is gone or
//! being deleted. A fold is done when the former managers no longer hold the fields.
//!
//! An effect that has not happened may still be in flight. If it names the version it was decided
//! on, the object gets a mark that changes its version, so the server refuses the effect from then
//! on: this needs no clock and no waiting. If it names no version, settling waits for it.

use std::sync::Arc;

use setpoint_core::intent::{Expect, Intent, Verb};
use setpoint_core::live::{Holders, Live};
use setpoint_core::mutant::Mutant;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_kube::adopt::folded;
use setpoint_kube::key::group_and_kind;
use setpoint_kube::managed::{applied_by, managed_fields};
use setpoint_kube::object;
use setpoint_kube::request::{fence, fenced_on, intent_of};
use setpoint_target::{RefusalClass, Settlement};

use crate::cluster::{Cluster, Named, Unplaced};
use crate::discovery::Unserved;
use crate::origins::not_known_to_be_gone;
use crate::requests::{Behalf, Collection, Deadline, Form, Place, Urgency};

/// This long after its deadline, an effect cannot still be in flight, however wrong a clock is.
const LONG_OVER: Span = Span::minutes(10);
/// How long it may take to mark an object.
const FENCE_TIME: Span = Span::seconds(10);
/// How often an object may change between the read and the mark.
const MOST_LOOKS: u32 = 3;

impl Cluster {
    pub(crate) async fn settle(&self, intent: &Intent, declared: Option<&Resource>) -> Settlement {
        let settlement = self.find_end(intent, declared).await.unwrap_or_else(|detail| Settlement::Unknown { detail });
        // A connection that was made meanwhile may lead to another cluster.
        match self.visit().await {
            Ok(_) => settlement,
            Err(reason) => Settlement::Unknown { detail: reason.to_string() },
        }
    }

    async fn find_end(&self, intent: &Intent, declared: Option<&Resource>) -> Result<Settlement, String> {
        let identity = self.visit().await.map_err(|reason| reason.to_string())?;
        if intent.target != identity {
            return Err(format!("this cluster is `{identity}`, not `{}`: correct the address", intent.target));
        }
        let place = match self.place(&intent.key, declared).await {
            Ok(place) => place,
            Err(Unplaced::Unserved(error @ Unserved::NoSuchKind { .. })) => {
                let seen = intent.verb != Verb::Create;
                let gone = self.is_gone_with_its_kind(&intent.key, seen).await.map_err(|reason| reason.to_string())?;
                return if gone { self.end_of_absent(intent, declared) } else { Err(not_known_to_be_gone(&error)) };
            }
            Err(error) => return Err(error.to_string()),
        };
        for _ in 0..MOST_LOOKS {
            if let Some(settlement) = self.look_for_end(intent, declared, &place).await? {
                return Ok(settlement);
            }
        }
        Err(format!("{} changes faster than it can be read", intent.key))
    }

    /// Settles an intent by reading its object. Returns `None` if it has to be read again.
    async fn look_for_end(
        &self,
        intent: &Intent,
        declared: Option<&Resource>,
        place: &Place,
    ) -> Result<Option<Settlement>, String> {
        let look = self.records.begin_look(&intent.key);
        let object = match self.api.get(place, Form::Whole, behalf(intent).looking()).await {
            Ok(object) => object,
            Err(failure) if failure.is_absence_of(intent.key.name()) => {
                return self.end_of_absent(intent, declared).map(Some);
            }
            Err(failure) => return Err(failure.to_string()),
        };
        let named = Named::of(&object).map_err(|reason| reason.to_string())?;
        let end = match (intent.verb, &intent.expect) {
            (Verb::Create, _) => self.end_of_create(intent, &object),
            (Verb::Update, Some(expect)) => match &intent.folds {
                Some(folding) => self.end_of_fold(intent, (expect, folding, declared), &named, &object).await,
                None => end_of_update(intent, expect, &named, &object),
            },
            (Verb::Delete, Some(expect)) => Ok(end_of_delete(intent, expect, &named, &object)),
            _ => Err(format!("intent {} does not name the object that it was to {}", intent.id, intent.verb)),
        }?;
        let names_version = intent.expect.as_ref().is_some_and(|expect| expect.version.is_some());
        match end {
            End::NotDone | End::NotYet if !names_version => self.has_landed(intent).map(|()| Some(Settlement::NotDone)),
            End::Gone => Ok(Some(Settlement::Done { live: None })),
            End::NotDone => Ok(Some(Settlement::NotDone)),
            End::NotYet if self.now() > intent.land_by + LONG_OVER => Ok(Some(Settlement::NotDone)),
            End::NotYet => self.move_on(intent, place, named).await,
            End::Written => {
                let resource = declared.map(|resource| Arc::new(resource.clone()));
                let live: Result<Live, _> =
                    self.compared(&look, resource.as_ref(), place, &object, behalf(intent)).await;
                Ok(Some(Settlement::Done { live: Some(live.map_err(|reason| reason.to_string())?) }))
            }
        }
    }

    /// Makes sure that an effect which names the object's current version can no longer land.
    /// Returns `None` if the object has another version by now.
    async fn move_on(&self, intent: &Intent, place: &Place, named: Named) -> Result<Option<Settlement>, String> {
        let Collection { group, version, .. } = &place.collection;
        let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
        let (_, kind) = group_and_kind(intent.key.class());
        let expect = Expect { uid: named.uid, version: Some(named.version) };
        let mark = fence(&api_version, kind, &intent.key, &expect, intent.id);
        let by = self.now() + FENCE_TIME;
        match self.api.fence(place, &mark, Deadline { leave_by: by, land_by: by }, behalf(intent)).await {
            Ok(()) => Ok(Some(Settlement::NotDone)),
            Err(failure) => match failure.refusal() {
                // The effect or the mark came first; the next read finds out which.
                Some(refusal) if refusal.class == RefusalClass::Conflict => Ok(None),
                // The mark is not allowed, so settling waits for the deadline instead.
                Some(_) if self.now() > intent.land_by => Ok(Some(Settlement::NotDone)),
                _ => Err(format!("intent {} may still land: ask again later ({failure})", intent.id)),
            },
        }
    }

    /// Settles a fold, which leaves no mark of its own. It names a version: once the object has
    /// another one, the former managers have either lost the fields or will not lose them by this
    /// fold.
    async fn end_of_fold(
        &self,
        intent: &Intent,
        (expect, folding, declared): (&Expect, &Holders, Option<&Resource>),
        named: &Named,
        object: &Value,
    ) -> Result<End, String> {
        if named.uid != expect.uid || fenced_on(object) == Some(intent.id) {
            return Ok(End::NotDone);
        }
        if expect.version.as_ref() == Some(&named.version) {
            return Ok(End::NotYet);
        }
        let not_ours = match declared {
            Some(resource) => self.sharing(resource, object).await.map_err(|reason| reason.to_string())?.not_ours(),
            None => Vec::new(),
        };
        let left = folded(object, &folding.names(), &self.api.manager, &not_ours).map_err(|error| error.to_string())?;
        Ok(if left.is_none() { End::Written } else { End::NotDone })
    }

    fn end_of_create(&self, intent: &Intent, object: &Value) -> Result<End, String> {
        if intent_of(object) == Some(intent.id) || Mutant::SettleByPresence.is_on() {
            return Ok(End::Written);
        }
        // An object that we created names us among its managers, even if a client removed our mark.
        let entries = managed_fields(object).map_err(|error| error.to_string())?;
        let ours = applied_by(&entries, &self.api.manager).is_some() && intent_of(object).is_none();
        if ours && Mutant::NameIsProof.is_on() {
            Ok(End::Written)
        } else if ours {
            Err(format!("{} exists, and nothing on it shows which write created it", intent.key))
        } else {
            self.has_landed(intent).map(|()| End::NotDone)
        }
    }

    fn end_of_absent(&self, intent: &Intent, declared: Option<&Resource>) -> Result<Settlement, String> {
        match intent.verb {
            Verb::Delete => Ok(Settlement::Done { live: None }),
            // The object may have been created, have ended, and have been removed since. A
            // migration must not run twice without asking a person.
            Verb::Create if self.may_have_run(intent, declared) => Err(format!(
                "{} does not exist, but it has a time to live, so it may have run and been removed since: check whether it ran",
                intent.key
            )),
            Verb::Create => self.has_landed(intent).map(|()| Settlement::NotDone),
            // The effect names an object that is gone for good.
            Verb::Update => Ok(Settlement::NotDone),
        }
    }

    /// Reports whether there was enough time for the object to be created, to run, to end, and to
    /// be removed.
    fn may_have_run(&self, intent: &Intent, declared: Option<&Resource>) -> bool {
        let lives = declared.and_then(|resource| object::time_to_live(&resource.body));
        lives.is_some_and(|lives| self.now() >= intent.at + lives)
    }

    /// Fails while an effect that names no version may still land.
    fn has_landed(&self, intent: &Intent) -> Result<(), String> {
        let over = self.now() > intent.land_by;
        over.then_some(()).ok_or_else(|| format!("intent {} may still land: ask again later", intent.id))
    }
}

fn behalf(Intent { app, acting_as, .. }: &Intent) -> Behalf<'_> {
    Behalf { urgency: Urgency::Bundle, app: Some(app), acting_as: acting_as.as_ref() }
}

/// The result of an effect on an object that exists.
enum End {
    Written,
    Gone,
    NotDone,
    /// The object is in the state in which the effect was decided.
    NotYet,
}

fn end_of_update(intent: &Intent, expect: &Expect, named: &Named, object: &Value) -> Result<End, String> {
    if named.uid != expect.uid || fenced_on(object) == Some(intent.id) {
        return Ok(End::NotDone);
    }
    if intent_of(object) == Some(intent.id) {
        return Ok(End::Written);
    }
    if expect.version.as_ref() == Some(&named.version) {
        return Ok(End::NotYet);
    }
    match intent_of(object) {
        Some(_) => Ok(End::NotDone),
        None => Err(format!("{} was written, and nothing on it shows which write it was", intent.key)),
    }
}

fn end_of_delete(intent: &Intent, expect: &Expect, named: &Named, found: &Value) -> End {
    if named.uid != expect.uid || object::deletion_timestamp(found).is_some() {
        End::Gone
    } else if fenced_on(found) != Some(intent.id)
        && expect.version.as_ref().is_none_or(|version| *version == named.version)
    {
        End::NotYet
    } else {
        End::NotDone
    }
}
