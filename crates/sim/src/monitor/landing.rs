//! The properties of a landing effect: ownership, certainty, budgets, gates, and that nothing is
//! done twice.

use setpoint_core::claim::ClaimOrigin;
use setpoint_core::intent::{Expect, Intent, Verb};
use setpoint_core::live::Live;
use setpoint_core::modes::Cause;
use setpoint_core::plan::Step;
use setpoint_target::{Fence, Outcome, RefusalClass, Work};

use super::{DELETE_WINDOW, Monitor, Scene, input, too_often};
use crate::universe::settings;

impl Monitor {
    /// Checks the preconditions of an effect that is about to land.
    pub fn landing(&mut self, scene: &Scene<'_>, work: &Work) {
        let step = &work.step;
        self.holds("S9", !scene.makes_one_more(work), || format!("one more object is created for {}", step.key));
        let intent = scene.facts.intents.get(&work.intent);
        self.holds("S7", intent.is_some(), || format!("{:?} {} without a durable intent", step.verb, step.key));
        if let Some(intent) = intent {
            self.gates_passed(scene, step, intent);
            self.in_its_turn(scene, step, intent);
        }
        self.confined(scene, work);
        match step.verb {
            Verb::Create => {}
            Verb::Update => self.update_landing(scene, work),
            Verb::Delete => self.delete_landing(scene, work, intent),
        }
    }

    /// Checks that the applied resource is the accepted one, byte for byte, and in manual mode one
    /// that a person released.
    fn gates_passed(&mut self, scene: &Scene<'_>, step: &Step, intent: &Intent) {
        let (app, bundle) = (&intent.app, intent.bundle);
        let passed = (app.clone(), bundle);
        self.holds("S10", self.accepted.contains(&passed), || format!("{app} moves to {bundle}, never accepted"));
        let declared = scene.bundles.get(&bundle).and_then(|bundle| bundle.resources().get(&step.key));
        let same = step.resource.as_ref().is_none_or(|resource| {
            declared.is_some_and(|declared| intent.declared == Some(declared.digest) && declared.resource == *resource)
        });
        self.holds("S10", same, || format!("{} is not what {bundle} declares", step.key));
        let manual = scene.universe.is_manual(app);
        let moves = matches!(step.cause, Cause::Declared | Cause::Prune | Cause::Replace);
        let let_through = !manual || !moves || self.let_through.contains(&passed);
        self.holds("S10", let_through, || format!("{app} moves to {bundle}, which no person released"));
        // Corrections of drift continue, and so does the way back to the last good bundle.
        let waits = moves || matches!(step.cause, Cause::Environment | Cause::Retire);
        let closed = waits && self.is_closed(scene.universe, app, intent.at);
        self.holds("S10", !closed, || format!("{} is begun for {app} while its window is closed", step.key));
    }

    fn update_landing(&mut self, scene: &Scene<'_>, work: &Work) {
        let step = &work.step;
        let object = scene.target.objects().find(|(key, _)| **key == step.key);
        let Some((_, object)) = object else { return };
        let version = step.expect.as_ref().and_then(|expect| expect.version.as_ref());
        let uid = step.expect.as_ref().map(|expect| &expect.uid);
        if uid == Some(&object.live.uid) && version.is_none_or(|version| *version == object.live.version) {
            self.holds("S5", version.is_some(), || format!("{} is overwritten whatever was written since", step.key));
            // On a cluster an object with the right values may have lost its field owner: a write
            // there is judged when it happens.
            let cluster = scene.universe.targets.iter().any(|kind| kind.cluster.is_some());
            let same = step.resource.as_ref().is_some_and(|resource| resource.body == object.live.value);
            self.holds("S4", !same || cluster, || format!("{} is written although it is as declared", step.key));
        }
    }

    fn delete_landing(&mut self, scene: &Scene<'_>, work: &Work, intent: Option<&Intent>) {
        let (step, app) = (&work.step, &work.step.claim.app);
        let object = scene.target.objects().find(|(key, object)| {
            **key == step.key && step.expect.as_ref().is_some_and(|expect| holds_for(expect, &object.live))
        });
        let Some((_, object)) = object else { return };
        let claim = scene.facts.claims.get(scene.target.identity(), &step.key);
        let owned = claim.is_some_and(|claim| claim.app == *app && claim.uid.as_ref() == Some(&object.live.uid));
        self.holds("S1", owned, || {
            format!("{} is deleted and not owned: {claim:?}, it is {}", step.key, object.live.uid)
        });
        self.holds("S1", !object.live.controlled, || {
            format!("{} is deleted and controlled by another object", step.key)
        });
        let allowed = self.is_permitted(&step.key, &object.live.uid);
        let adopted = claim.is_some_and(|claim| claim.origin != ClaimOrigin::Created);
        self.holds("S1", !adopted || allowed, || format!("{} is deleted and was there before us", step.key));
        self.holds("S1", allowed || !claim.is_some_and(|claim| claim.protected), || {
            format!("{} is protected", step.key)
        });
        // By the writers' own clocks: one that starts hours ahead ends the quarantine early, which
        // cannot be prevented.
        let quarantine = |installed| installed + settings().quarantine;
        let over =
            scene.facts.installed_at.zip(intent).is_some_and(|(installed, intent)| intent.at >= quarantine(installed));
        self.holds("S2", over, || format!("{} is deleted in quarantine", step.key));
        let anew = step.cause == Cause::Replace;
        // By the durable intent: a delete that is declared as a replacement costs no budget.
        self.holds("S3", intent.is_none_or(|intent| intent.declared.is_some() == anew), || {
            format!("the intent to delete {} does not contain its purpose", step.key)
        });
        if anew {
            self.replace_landing(scene, step, intent);
        }
        if step.cause == Cause::Prune {
            let bundle = intent.and_then(|intent| scene.bundles.get(&intent.bundle));
            let empty = bundle.is_some_and(|bundle| bundle.is_empty());
            self.holds("S2", !empty, || format!("{} is deleted for an empty render", step.key));
            let known = scene.undeclared_lately(app, &step.key, &self.governed);
            self.holds("S2", known, || format!("{} is deleted although the store declares it", step.key));
        }
    }

    /// Checks that a declared object is deleted only if its document allows that, after its change
    /// was refused and the target would accept the new one.
    fn replace_landing(&mut self, scene: &Scene<'_>, step: &Step, intent: Option<&Intent>) {
        let bundle = intent.and_then(|intent| scene.bundles.get(&intent.bundle));
        let Some(declared) = bundle.and_then(|bundle| bundle.resources().get(&step.key)) else {
            return self.holds("S1", false, || format!("{} is replaced and not declared", step.key));
        };
        let resource = &declared.resource;
        self.holds("S1", resource.replace && !resource.protected, || {
            format!("{} is deleted to be replaced, which is not allowed", step.key)
        });
        let Some(Expect { uid, version: Some(version) }) = step.expect.clone() else {
            return self.holds("S2", false, || format!("{} is replaced whatever was written since", step.key));
        };
        self.holds("S2", self.immutable.contains(&(step.key.clone(), uid, declared.digest)), || {
            format!("{} is deleted to be replaced, though its change was not refused", step.key)
        });
        let proven = self.proven.get(&(step.key.clone(), version, declared.digest));
        self.holds("S2", proven.is_some_and(|at| scene.now <= at + DELETE_WINDOW), || {
            format!("{} is deleted before it is known that the target accepts the new one", step.key)
        });
    }

    /// Records an effect that has landed.
    pub fn landed(&mut self, scene: &Scene<'_>, work: &Work, fence: Fence, outcome: &Outcome) {
        let key = &work.step.key;
        self.newest_seen = self.newest_seen.max(fence.epoch);
        match outcome {
            Outcome::Done { .. } => {
                // A delete may come late for good reasons (budget, quarantine); other writes may
                // not.
                self.writes += u64::from(work.step.verb != Verb::Delete);
                if let (Verb::Delete, Some(expect)) = (work.step.verb, &work.step.expect) {
                    self.deleted.insert((key.clone(), expect.uid.clone()));
                }
                // On a cluster a new holder waits only for objects that were being created: the
                // others are fenced.
                let cluster = scene.universe.targets.iter().any(|kind| kind.cluster.is_some());
                let place = (scene.target.identity().clone(), cluster.then(|| key.clone()));
                let newest = self.newest_epoch.entry(place).or_default();
                let before = *newest;
                *newest = fence.epoch.max(before);
                self.holds("S8", fence.epoch >= before, || format!("epoch {} acts after epoch {before}", fence.epoch));
                if matches!(work.step.cause, Cause::Drift | Cause::Addition) {
                    let most = 20 * (1 + self.recent_tenures(scene.now));
                    let window = self.fight_window();
                    let often = too_often(self.heals.entry(input(work)).or_default(), scene.now, window, most);
                    self.holds("L3", !often, || format!("{key} is healed again and again without slowing down"));
                }
            }
            Outcome::Refused { refusal }
                if matches!(refusal.class, RefusalClass::Denied | RefusalClass::Invalid | RefusalClass::Immutable) =>
            {
                let most = 20 * (1 + self.recent_tenures(scene.now));
                let window = self.fight_window();
                let often = too_often(self.refusals.entry(input(work)).or_default(), scene.now, window, most);
                self.holds("L3", !often, || format!("{key} is refused again and again and tried again and again"));
            }
            Outcome::Refused { .. } | Outcome::Unknown { .. } => {}
        }
        if let (Outcome::Refused { refusal }, Some(resource), Some(expect)) =
            (outcome, &work.step.resource, &work.step.expect)
            && refusal.class == RefusalClass::Immutable
        {
            self.immutable.insert((key.clone(), expect.uid.clone(), resource.digest()));
        }
        let made_by_us =
            scene.target.objects().filter(|(at, object)| *at == key && object.created_by.is_some()).count();
        self.holds("S9", made_by_us <= 1, || format!("{made_by_us} objects were created for {key}"));
    }
}

/// Reports whether a step with this expectation is carried out on the live object: otherwise the
/// target refuses it, and nothing happens.
fn holds_for(expect: &Expect, live: &Live) -> bool {
    expect.uid == live.uid && expect.version.as_ref().is_none_or(|version| *version == live.version)
}
