//! The properties of a change on a cluster, observed on the cluster itself: the object, its
//! version, and the owners of its fields.

use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::intent::{IntentId, Verb};
use setpoint_kube::request::{FENCED_ANNOTATION, INTENT_ANNOTATION};
use setpoint_kube_world::{Committed, Request, Stored};
use setpoint_target::Work;

use super::{Ledgered, Monitor, Scene};
use crate::cluster::MANAGER;
use crate::cluster::objects::{self, CO_OWNED, content_of};
use crate::universe::SimTargetKind;

/// A change by a request of ours.
#[derive(Debug)]
pub struct Change<'a> {
    pub change: &'a Committed,
    /// Set if it removes additions of strangers, after an apply.
    pub takes_out: bool,
    /// Set if the cluster rewrote it.
    pub rewritten: bool,
    /// Our last write to that object, and the resulting version.
    pub last: Option<(IntentId, u64)>,
}

impl Monitor {
    /// Checks a change by a request that belongs to no step. It may only fence an object, so that
    /// an intent can no longer land.
    pub fn changed_unasked(&mut self, change: Option<&Committed>, request: &Request) {
        let moved_on = |change: &Committed| {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
            let of = after.body["metadata"]["annotations"][FENCED_ANNOTATION].as_str().and_then(|id| id.parse().ok());
            let key = objects::key_at(&change.place);
            let intended = of.zip(key).is_some_and(|intent| self.opened.contains(&intent));
            intended && before.has_same_body_beside(after, FENCED_ANNOTATION)
        };
        let right = change.is_none_or(moved_on);
        self.holds("S7", right, || format!("{} changes a cluster without a step", request.path()));
    }

    /// Reports changes of a cluster that is not the target.
    pub fn changed_elsewhere(&mut self, changes: &[Committed], request: &Request) {
        self.holds("S11", changes.is_empty(), || {
            format!("{} changes a cluster that is none of our targets", request.path())
        });
    }

    /// Checks a claim on an object as created by us: a stranger must not have created it, since
    /// such an object may be deleted without anyone's permission.
    pub(super) fn made_by_us(&mut self, scene: &Ledgered<'_>, claim: &Claim) {
        let Some(uid) = claim.uid.as_ref().filter(|_| claim.origin == ClaimOrigin::Created) else { return };
        let is_cluster = |kind: &SimTargetKind| kind.identity == claim.target && kind.cluster.is_some();
        let target = scene.targets.iter().find(|target| *target.identity() == claim.target);
        let Some(target) = target.filter(|_| scene.universe.targets.iter().any(is_cluster)) else { return };
        let strangers = target
            .objects()
            .any(|(key, object)| *key == claim.key && object.live.uid == *uid && object.created_by.is_none());
        self.holds("S1", !strangers, || format!("{} is claimed as created by us, and is a stranger's", claim.key));
    }

    /// Checks the change of an object by a step.
    pub fn committed(&mut self, scene: &Scene<'_>, work: &Work, change: &Change<'_>) {
        let (step, before) = (&work.step, change.change.before.as_ref());
        let key = &step.key;
        let Some(before) = before else {
            return self
                .holds("S5", step.verb == Verb::Create, || format!("{key} is created, though it was to be changed"));
        };
        if change.takes_out {
            let ours = change.last == Some((work.intent, before.version));
            return self.holds("S5", ours, || format!("something is removed from {key} that was written since"));
        }
        let expected = step.expect.as_ref().filter(|_| step.verb != Verb::Create);
        let same = expected.is_some_and(|expect| expect.uid.as_str() == before.uid());
        let property = if step.verb == Verb::Delete { "S1" } else { "S5" };
        self.holds(property, same, || {
            format!("to {} {key} changes {}, which is not {expected:?}", step.verb, before.uid())
        });
        let version = expected.and_then(|expect| expect.version.as_ref()).map(|version| version.as_str().to_owned());
        self.holds("S5", version == Some(before.version.to_string()), || {
            format!("to {} {key} changes version {}, and {version:?} was observed", step.verb, before.version)
        });
        if let (true, Some(after)) = (step.folds && !change.rewritten, &change.change.after) {
            let same = before.has_same_body_beside(after, INTENT_ANNOTATION);
            self.holds("S5", same, || format!("{key} is changed, and only who holds it was to be"));
        }
        if let (Verb::Update, Some(after)) = (step.verb, &change.change.after) {
            self.others_respected(work, before, after);
            let declared = step.resource.as_ref().map(|resource| &*resource.body);
            let as_declared = content_of(key, before).map(|content| scene.universe.body(key, content));
            let idle = before.is_same_beside(after, INTENT_ANNOTATION) && as_declared.as_ref() == declared;
            self.holds("S4", !idle, || format!("{key} is written although it is as declared"));
        }
    }

    /// Checks that fields of rightful other owners, and additions that the declaration leaves
    /// alone, stay unchanged.
    fn others_respected(&mut self, work: &Work, before: &Stored, after: &Stored) {
        let key = &work.step.key;
        let replicas = |stored: &Stored| stored.body["spec"]["replicas"].clone();
        let shared = before.others_hold(CO_OWNED, MANAGER) && replicas(before) != replicas(after);
        self.holds("S5", !shared, || format!("the replicas of {key} are taken from their owner"));
        for at in ["/metadata/annotations/stranger", "/metadata/annotations/note"] {
            let kept = before.body.pointer(at).is_none_or(|value| after.body.pointer(at) == Some(value));
            self.holds("S5", kept, || format!("{at} of {key} is removed, and a stranger had put it there"));
        }
    }
}
