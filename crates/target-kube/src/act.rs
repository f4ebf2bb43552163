//! Executes steps. Each is one request that names the state it was decided on, so that the server
//! refuses it if that state no longer holds.
//!
//! A create names a version that no object ever has: the server creates the object if there is
//! none, and responds with Conflict if there is one. An update names the UID and the version, and
//! does not touch the fields of others. Only if every conflicting field is ours by the record, or
//! newly declared, is it sent again with force. Additions of strangers to lists that have to be
//! complete are removed after that.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use setpoint_core::intent::{Expect, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::mutant::Mutant;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::adopt::folded;
use setpoint_kube::compare::Additions;
use setpoint_kube::conflict::{Conflict, Ground, conflicts, outside};
use setpoint_kube::managed::{BadManagedFields, ManagedFields};
use setpoint_kube::path::{FieldPath, pointer};
use setpoint_kube::project;
use setpoint_kube::request::{Sending, for_request};
use setpoint_kube::shared::{SCALE, Sharing};
use setpoint_target::{Fence, Outcome, Priority, Refusal, RefusalClass, Work};

use crate::cluster::{Cluster, Named};
use crate::compared::{deleting, entries_of, in_place};
use crate::records::Record;
use crate::remarks::additions;
use crate::requests::{Applied, Behalf, Deadline, Failure, Form, Manner, Place, Urgency};
use crate::sharing::unreadable;

/// The number of steps of one rank that are sent at the same time, if the flow of the cluster
/// allows as many.
const AT_ONCE: usize = 64;

/// A version that no object has: the first write to a new store already makes a later one.
const NEVER: &str = "1";

impl Cluster {
    pub(crate) async fn execute(&self, work: Vec<Work>, fence: Fence) -> Vec<Outcome> {
        let steps = work.len();
        let now = self.now();
        if now > fence.leave_by || now > fence.land_by {
            let late = now.since(fence.leave_by.min(fence.land_by));
            return vec![
                refused(
                    RefusalClass::Fenced,
                    format!("the change is {late} late and was not sent: Setpoint reads the object again and retries")
                );
                steps
            ];
        }
        let identity = match self.visit().await {
            Ok(identity) => identity,
            Err(reason) => {
                let other = matches!(reason, UnknownReason::OtherIdentity { .. });
                let class = if other { RefusalClass::Conflict } else { RefusalClass::Unavailable };
                return vec![refused(class, reason.to_string()); steps];
            }
        };
        let mut ranks: BTreeMap<u32, Vec<(usize, Work)>> = BTreeMap::new();
        let mut outcomes = vec![None; steps];
        for (number, work) in work.into_iter().enumerate() {
            if work.step.claim.target == identity {
                ranks.entry(work.step.rank).or_default().push((number, work));
            } else {
                let detail =
                    format!("this cluster is `{identity}`, not `{}`: correct the address", work.step.claim.target);
                outcomes[number] = Some(refused(RefusalClass::Conflict, detail));
            }
        }
        for (_, rank) in ranks {
            let effects =
                rank.into_iter().map(|(number, work)| async move { (number, self.carry_out(&work, fence).await) });
            let mut ended = stream::iter(effects).buffer_unordered(AT_ONCE);
            while let Some((number, outcome)) = ended.next().await {
                outcomes[number] = Some(outcome);
            }
        }
        let lost = || Outcome::Unknown { detail: "the step was lost on the way".to_owned() };
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect()
    }

    async fn carry_out(&self, work: &Work, fence: Fence) -> Outcome {
        let step = &work.step;
        let place = match self.place(&step.key, step.resource.as_deref()).await {
            Ok(place) => place,
            Err(error) => return Outcome::Refused { refusal: error.refusal() },
        };
        let deadline = Deadline::from(fence);
        if let Some(resource) = &step.resource
            && self.schemas.known(&resource.api_version).is_none()
        {
            self.schemas.current(&self.api, &resource.api_version).await;
        }
        // A stream may report our own write before its response is here. That event must not be
        // taken for the write of another client.
        let _writing = self.writing(&step.key);
        match (step.verb, &step.resource, &step.expect) {
            (Verb::Create, Some(resource), _) => self.create(work, resource, &place, deadline).await,
            (Verb::Update, Some(resource), Some(expect)) if step.folds => {
                self.fold(work, resource, expect, &place, deadline).await.unwrap_or_else(|outcome| outcome)
            }
            (Verb::Update, Some(resource), Some(expect)) => self.update(work, resource, expect, &place, deadline).await,
            (Verb::Delete, _, Some(expect)) => self.delete(work, expect, &place, deadline).await,
            _ => {
                refused(RefusalClass::Invalid, format!("a step to {} {} lacks a mandatory field", step.verb, step.key))
            }
        }
    }

    async fn create(&self, work: &Work, resource: &Arc<Resource>, place: &Place, deadline: Deadline) -> Outcome {
        let sharing = match Sharing::of_new(resource) {
            Ok(sharing) => sharing,
            Err(error) => return refused(RefusalClass::Invalid, unreadable(&error).to_string()),
        };
        // All of it is sent, so that the fields that others may set have a value from the
        // beginning.
        let sending = Sending { installation: &self.installation, intent: Some(work.intent), expect: None };
        let body = never_there(for_request(resource, &sending));
        let manner = Manner { force: false, dry_run: false };
        match self.api.apply(place, &body, manner, deadline, behalf(work)).await {
            Ok(applied) if applied.created => self.applied(work, resource, place, applied, &sharing, deadline).await,
            Ok(_) => Outcome::Unknown {
                detail: format!("{} already existed, and the server changed it nevertheless", resource.key),
            },
            Err(failure) => failure.outcome(),
        }
    }

    async fn update(
        &self,
        work: &Work,
        resource: &Arc<Resource>,
        expect: &Expect,
        place: &Place,
        deadline: Deadline,
    ) -> Outcome {
        match self.try_update(work, resource, expect, place, deadline).await {
            Ok((applied, sharing)) => self.applied(work, resource, place, applied, &sharing, deadline).await,
            Err(outcome) => outcome,
        }
    }

    async fn try_update(
        &self,
        work: &Work,
        resource: &Arc<Resource>,
        expect: &Expect,
        place: &Place,
        deadline: Deadline,
    ) -> Result<(Applied, Sharing), Outcome> {
        let send = async |force: bool, shared: &Shared| {
            let sending =
                Sending { installation: &self.installation, intent: Some(work.intent), expect: Some(&shared.expect) };
            let body = for_request(resource, &sending);
            let body = match &shared.over {
                Some(object) => shared.sharing.fitted(body, object),
                None => body,
            };
            self.api.apply(place, &body, Manner { force, dry_run: false }, deadline, behalf(work)).await
        };
        let sharing = Sharing::of_new(resource);
        let sharing = sharing.map_err(|error| refused(RefusalClass::Invalid, unreadable(&error).to_string()))?;
        let mut shared = Shared { expect: expect.clone(), sharing, over: None };
        let may_be_shared = !resource.shared.is_empty() || self.autoscalers.is_unheld(&resource.key);
        if may_be_shared && !Mutant::ForceEverything.is_on() {
            shared = self.shared_now(work, resource, expect, place).await?;
        }
        let mut answer = send(false, &shared).await;
        let scaled = |answer: &Result<Applied, Failure>| {
            conflicts_of(answer).iter().any(|conflict| conflict.subresource == SCALE)
        };
        if shared.over.is_none() && scaled(&answer) {
            shared = self.shared_now(work, resource, expect, place).await?;
            if !shared.sharing.lent().is_empty() {
                answer = send(false, &shared).await;
            }
        }
        let found = conflicts_of(&answer);
        if !found.is_empty() {
            self.may_take_over(resource, expect, &found).map_err(|refusal| Outcome::Refused { refusal })?;
            answer = send(true, &shared).await;
        }
        answer.map(|applied| (applied, shared.sharing)).map_err(|failure| failure.outcome())
    }

    /// Reads the object that is to be updated, and returns the fields that others may set. Fails if
    /// the object has changed since the decision; then nothing is sent.
    async fn shared_now(
        &self,
        work: &Work,
        resource: &Resource,
        expect: &Expect,
        place: &Place,
    ) -> Result<Shared, Outcome> {
        let moved_on = || {
            let detail = format!("{} has changed since it was read: Setpoint reads it again and retries", resource.key);
            refused(RefusalClass::Conflict, detail)
        };
        let object = match self.api.get(place, Form::Whole, behalf(work)).await {
            Ok(object) => object,
            Err(failure) if failure.is_absence_of(resource.key.name()) => return Err(moved_on()),
            Err(failure) => return Err(Outcome::Refused { refusal: refusal_of(&failure, &resource.key) }),
        };
        let blind = |reason: UnknownReason| refused(RefusalClass::Unavailable, reason.to_string());
        let named = Named::of(&object).map_err(blind)?;
        if named.uid != expect.uid || expect.version.as_ref().is_some_and(|version| *version != named.version) {
            return Err(moved_on());
        }
        let sharing = self.sharing(resource, &object).await.map_err(blind)?;
        let expect = Expect { uid: named.uid, version: Some(named.version) };
        Ok(Shared { expect, sharing, over: Some(object) })
    }

    /// Reports whether every conflicting field is ours to set.
    fn may_take_over(&self, resource: &Arc<Resource>, expect: &Expect, found: &[Conflict]) -> Result<(), Refusal> {
        let record = self.records.get(&resource.key);
        let record = record.filter(|record| record.uid == expect.uid && record.is_of(resource));
        let ground = match &record {
            Some(record) => Ground::Fields(&record.ours),
            None => Ground::Declared(&resource.body),
        };
        let theirs = outside(found, &ground);
        if theirs.is_empty() || Mutant::ForceEverything.is_on() {
            return Ok(());
        }
        let owners: Vec<String> =
            theirs.iter().map(|conflict| format!("{} of `{}`", conflict.field, conflict.manager)).collect();
        let detail =
            format!("{} would be taken from others: {}: remove them from one side", resource.key, owners.join(", "));
        Err(Refusal { class: RefusalClass::Contested, detail, retry_after: None })
    }

    /// Records the result of an apply, and returns the outcome.
    async fn applied(
        &self,
        work: &Work,
        resource: &Arc<Resource>,
        place: &Place,
        applied: Applied,
        sharing: &Sharing,
        deadline: Deadline,
    ) -> Outcome {
        let object = applied.object;
        let named = match Named::of(&object) {
            Ok(named) => named,
            Err(reason) => return Outcome::Unknown { detail: reason.to_string() },
        };
        let Some((mut record, entries)) = self.recorded(resource, &named, &object, sharing) else {
            // The server dropped the field owners: the next read asks for them again.
            self.records.forget(&resource.key);
            return Outcome::Done { live: Some(self.as_declared(resource, named, &object)) };
        };
        let Additions { complete: added, beside } = additions(&object, &record, &entries, sharing);
        record.set_remarks(self.remarks(&object, &record, &entries, &beside));
        let live = in_place(resource, &record);
        self.watches.let_go(&resource.key);
        self.records.put(&resource.key, record);
        if added.is_empty() {
            // The record was taken from this very object, so the two cannot differ.
            return Outcome::Done { live: Some(live) };
        }
        // If the removal failed, the additions are still in the response: the next decision covers
        // them.
        let without = self.take_out(work, place, (&object, &named), &added, deadline).await;
        match self.after_write(resource, &without.ok().flatten().unwrap_or(object), sharing) {
            Ok(live) => Outcome::Done { live: Some(live) },
            Err(reason) => Outcome::Unknown { detail: reason.to_string() },
        }
    }

    /// Takes the declared fields from the tools that the object was adopted from. No declared value
    /// changes.
    async fn fold(
        &self,
        work: &Work,
        resource: &Arc<Resource>,
        expect: &Expect,
        place: &Place,
        deadline: Deadline,
    ) -> Result<Outcome, Outcome> {
        let Shared { expect, sharing, over: Some(object) } = self.shared_now(work, resource, expect, place).await?
        else {
            return Err(refused(
                RefusalClass::Unavailable,
                format!("{} was not read: Setpoint reads it again and retries", resource.key),
            ));
        };
        let tools: Vec<Arc<str>> = work.step.claim.folding.iter().flat_map(|folding| folding.names()).collect();
        let unreadable = |error: BadManagedFields| refused(RefusalClass::Unavailable, error.to_string());
        let folded = folded(&object, &tools, &self.api.manager, &sharing.not_ours()).map_err(unreadable)?;
        let object = match (folded, &expect.version) {
            (Some(folded), Some(version)) => {
                let sent = self.api.fold(place, version.as_str(), folded, deadline, behalf(work)).await;
                sent.map_err(|failure| failure.outcome())?
            }
            _ => object,
        };
        let live = self.after_write(resource, &object, &sharing);
        Ok(live.map_or_else(
            |reason| Outcome::Unknown { detail: reason.to_string() },
            |live| Outcome::Done { live: Some(live) },
        ))
    }

    /// Returns the record of an applied object, and the managers by the server's response; `None`
    /// if the response does not name them.
    fn recorded(
        &self,
        resource: &Arc<Resource>,
        named: &Named,
        object: &Value,
        sharing: &Sharing,
    ) -> Option<(Record, Vec<ManagedFields>)> {
        let entries = entries_of(object).ok()?;
        let (manager, not_ours) = (&self.api.manager, sharing.not_ours());
        let taken = project::take_among(object, &entries, manager, &resource.body, &not_ours, &self.hash_key).ok()?;
        let (name, standing) = ((named.uid.clone(), named.version.clone()), self.standing(object));
        let mut record = Record::new(resource, name, taken, standing);
        record.owned = true;
        record.share(resource, sharing);
        record.schema = self.schemas.known(&resource.api_version);
        let before = self.records.get(&resource.key).filter(|before| before.uid == record.uid);
        self.go_on_from(before.as_ref(), &mut record, &entries, sharing);
        Some((record, entries))
    }

    fn as_declared(&self, resource: &Resource, named: Named, object: &Value) -> Live {
        self.live_of(named, object, Arc::clone(&resource.body), Writer::Unknown)
    }

    /// Compares an object after our own write with its record.
    fn after_write(&self, resource: &Arc<Resource>, object: &Value, sharing: &Sharing) -> Result<Live, UnknownReason> {
        let named = Named::of(object)?;
        let Some(record) = self.records.get(&resource.key).filter(|record| record.uid == named.uid) else {
            return Ok(self.as_declared(resource, named, object));
        };
        let entries = entries_of(object)?;
        match self.difference(resource, object, &record, &entries, sharing) {
            Ok(remarks) => {
                let mut record = record.at(named.version, self.standing(object));
                record.set_remarks(remarks);
                let live = in_place(resource, &record);
                self.records.put(&resource.key, record);
                Ok(live)
            }
            Err((value, _)) => {
                self.records.suspect(&resource.key);
                Ok(self.live_of(named, object, Arc::new(value), Writer::Unknown))
            }
        }
    }

    /// Removes the additions of strangers from lists that have to be complete; returns `None` if
    /// none of them is found.
    async fn take_out(
        &self,
        work: &Work,
        place: &Place,
        (object, named): (&Value, &Named),
        added: &[FieldPath],
        deadline: Deadline,
    ) -> Result<Option<Value>, Failure> {
        let mut pointers: Vec<String> = added.iter().filter_map(|path| pointer(object, path)).collect();
        if pointers.is_empty() {
            return Ok(None);
        }
        // Starts from the back, so that the remaining items of a list keep their positions.
        pointers.sort_by(|one, other| by_place(other, one));
        self.api.take_out(place, named.version.as_str(), &pointers, deadline, behalf(work)).await.map(Some)
    }

    async fn delete(&self, work: &Work, expect: &Expect, place: &Place, deadline: Deadline) -> Outcome {
        let left = match self.api.delete(place, expect, deadline, behalf(work)).await {
            Ok(left) => deleting(&left),
            Err(failure) if failure.is_absence_of(work.step.key.name()) => None,
            Err(failure) => return failure.outcome(),
        };
        self.records.forget(&work.step.key);
        self.records.note_leaving(&work.step.key, left);
        Outcome::Done { live: None }
    }
}

/// The fields that an update leaves to others.
struct Shared {
    expect: Expect,
    sharing: Sharing,
    /// The object as read now, if it was read.
    over: Option<Value>,
}

fn conflicts_of(answer: &Result<Applied, Failure>) -> Vec<Conflict> {
    match answer {
        Err(Failure::Refused { status, .. }) => conflicts(status),
        _ => Vec::new(),
    }
}

/// Adds the precondition that no object exists under the name.
pub(crate) fn never_there(mut body: Value) -> Value {
    if let Value::Map(fields) = &mut body
        && let Some(Value::Map(metadata)) = fields.get_mut("metadata")
    {
        metadata.insert("resourceVersion".into(), Value::str(NEVER));
    }
    body
}

/// Compares JSON pointers in document order: indexes of lists as numbers.
fn by_place(one: &str, other: &str) -> Ordering {
    let mut pairs = one.split('/').zip(other.split('/'));
    let parts = pairs.find(|(one, other)| one != other);
    match parts {
        None => one.len().cmp(&other.len()),
        Some((one, other)) => match (one.parse::<u64>(), other.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            _ => one.cmp(other),
        },
    }
}

fn behalf(Work { step, acting_as, priority, .. }: &Work) -> Behalf<'_> {
    let urgency = urgency(step.cause, *priority);
    Behalf { urgency, app: Some(&step.claim.app), acting_as: acting_as.as_ref() }
}

fn urgency(cause: Cause, priority: Priority) -> Urgency {
    match cause {
        // Whatever the step is, a person ordered it and waits for it.
        _ if priority == Priority::Person => Urgency::People,
        Cause::Drift | Cause::Addition => Urgency::Drift,
        Cause::Prune | Cause::Retire => Urgency::Prune,
        _ => Urgency::Bundle,
    }
}

fn refused(class: RefusalClass, detail: String) -> Outcome {
    Outcome::Refused { refusal: Refusal { class, detail, retry_after: None } }
}

/// Converts a failure to a refusal. The caller knows the object already, so only the words of the
/// failure are kept.
pub(crate) fn refusal_of(failure: &Failure, key: &Key) -> Refusal {
    failure.refusal().unwrap_or_else(|| Refusal {
        class: RefusalClass::Unavailable,
        detail: format!("{key}: {failure}"),
        retry_after: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_of_a_list_goes_from_the_back() {
        let mut pointers = ["/spec/containers/2", "/spec/containers/10", "/data/a", "/spec/containers/10/env/1"];
        pointers.sort_by(|one, other| by_place(other, one));
        assert_eq!(pointers, ["/spec/containers/10/env/1", "/spec/containers/10", "/spec/containers/2", "/data/a"]);
    }

    #[test]
    fn what_somebody_waits_for_goes_before_everything_and_a_bundle_before_heals_and_prunes() {
        for cause in [Cause::Declared, Cause::Drift, Cause::Addition, Cause::Prune] {
            assert_eq!(urgency(cause, Priority::Person), Urgency::People, "{cause}");
        }
        for priority in [Priority::NewBundle, Priority::Drift, Priority::Sweep] {
            assert_eq!(urgency(Cause::Declared, priority), Urgency::Bundle);
            assert_eq!(urgency(Cause::Drift, priority), Urgency::Drift);
            assert_eq!(urgency(Cause::Prune, priority), Urgency::Prune);
        }
    }
}
