//! A small world for one decision, and helpers to build it.

use crate::bundle::Bundle;
use crate::check::check;
use crate::claim::{Claim, ClaimOrigin};
use crate::decide::{Decision, decide};
use crate::intent::{IntentId, Verb};
use crate::key::Key;
use crate::live::{Baseline, Health, Live, Observation, Presence};
use crate::modes::{Cause, State, States};
use crate::name::{AppId, LiveVersion, TargetIdentity, Uid};
use crate::observed::{Observed, UnknownReason};
use crate::report::{Setback, Why};
use crate::resource::Resource;
use crate::snapshot::{Answers, BackOff, Budget, Elsewhere, FreshRender, Rules, Snapshot, TargetStanding};
use crate::time::Timestamp;
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const NOW: Timestamp = Timestamp::from_millis(10_000_000);

pub(super) fn key(n: u8) -> Key {
    Key::new("file", "", &format!("/k{n}")).unwrap()
}

pub(super) fn app() -> AppId {
    "web/shop".parse().unwrap()
}

pub(super) fn body(content: u8) -> Value {
    Value::map([("content", Value::int(content.into()))])
}

/// A small world that a snapshot is borrowed from.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) bundle: Bundle,
    pub(super) target: TargetStanding,
    pub(super) rules: Rules,
    pub(super) states: States,
    pub(super) retiring: bool,
    pub(super) converged_before: bool,
    pub(super) claims: BTreeMap<Key, Arc<Claim>>,
    pub(super) elsewhere: BTreeMap<Key, Elsewhere>,
    pub(super) baselines: BTreeMap<Key, Baseline>,
    pub(super) observation: Observation,
    pub(super) missing_since: BTreeMap<Key, Timestamp>,
    pub(super) open_intents: BTreeMap<Key, IntentId>,
    pub(super) backing_off: BTreeMap<Key, BackOff>,
    pub(super) unconsidered: Option<AppId>,
    pub(super) waiting_for: Vec<AppId>,
    pub(super) budget: Budget,
    pub(super) answers: Answers,
}

impl World {
    pub(super) fn new(declared: &[(u8, u8)]) -> Self {
        Self {
            bundle: bundle(declared),
            target: TargetStanding {
                identity: TargetIdentity::new("host-1").unwrap(),
                quarantine_until: Timestamp::from_millis(0),
                fresh_reads: true,
                breaker_open: false,
            },
            rules: Rules::default(),
            states: [State::Auto].into_iter().collect(),
            retiring: false,
            converged_before: false,
            claims: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            baselines: BTreeMap::new(),
            observation: Observation { at: NOW, states: BTreeMap::new() },
            missing_since: BTreeMap::new(),
            open_intents: BTreeMap::new(),
            backing_off: BTreeMap::new(),
            unconsidered: None,
            waiting_for: Vec::new(),
            budget: Budget { owned: 10, spent: 0, fleet_owned: 10, fleet_spent: 0, allowance: None },
            answers: Answers::default(),
        }
    }

    pub(super) fn absent(mut self, n: u8) -> Self {
        self.observation.states.insert(key(n), Observed::known(Presence::Absent, NOW));
        self
    }

    pub(super) fn unknown(mut self, n: u8) -> Self {
        let reason = UnknownReason::Unreachable { detail: "timed out".into() };
        self.observation.states.insert(key(n), Observed::unknown(reason));
        self
    }

    pub(super) fn live(mut self, n: u8, uid: &str, content: u8) -> Self {
        self.observation.states.insert(key(n), Observed::known(Presence::Present(live(uid, content)), NOW));
        self
    }

    /// Returns the claim on a key, to be changed.
    pub(super) fn claimed(&mut self, n: u8) -> &mut Claim {
        Arc::make_mut(self.claims.get_mut(&key(n)).unwrap())
    }

    /// Leaves a key alone until then, because the target refused a change of it.
    pub(super) fn backs_off(&mut self, key: Key, until: Timestamp) {
        let setback = Setback::Failure { problem: "the disk is full".into() };
        self.backing_off.insert(key, BackOff { until, setback });
    }

    pub(super) fn claim(mut self, n: u8, uid: Option<&str>) -> Self {
        self.claims.insert(key(n), Arc::new(claim(n, uid)));
        self
    }

    /// Sets the state after the engine last observed the key in place with this content.
    pub(super) fn converged(mut self, n: u8, uid: &str, content: u8) -> Self {
        let fingerprint = Live::fingerprint_of(&body(content));
        let declared = resource(n, content).digest();
        self.baselines.insert(key(n), Baseline { declared, fingerprint });
        self.live(n, uid, content).claim(n, Some(uid))
    }

    pub(super) fn rendered_afresh(mut self) -> Self {
        let digest = self.bundle.digest();
        self.answers.fresh_render = Some(FreshRender { of: digest, rendered: digest, at: NOW });
        self
    }

    pub(super) fn snapshot(&self) -> (AppId, &Self) {
        (app(), self)
    }

    pub(super) fn decide(&self) -> Decision {
        let (app, world) = self.snapshot();
        let snapshot = world.view(&app);
        let decision = decide(&snapshot, NOW);
        assert_eq!(check(&decision.plan, &snapshot, NOW), [], "a decided plan breaks no rule");
        assert_eq!(decision, decide(&snapshot, NOW), "equal input, equal answer");
        decision
    }

    pub(super) fn view<'a>(&'a self, app: &'a AppId) -> Snapshot<'a> {
        Snapshot {
            app,
            target: &self.target,
            rules: &self.rules,
            states: self.states,
            bundle: &self.bundle,
            retiring: self.retiring,
            rolling_back: false,
            converged_before: self.converged_before,
            claims: &self.claims,
            elsewhere: &self.elsewhere,
            baselines: &self.baselines,
            observation: &self.observation,
            missing_since: &self.missing_since,
            open_intents: &self.open_intents,
            backing_off: &self.backing_off,
            unconsidered: self.unconsidered.as_ref(),
            waiting_for: &self.waiting_for,
            budget: &self.budget,
            answers: &self.answers,
            parent: None,
        }
    }
}

pub(super) fn resource(n: u8, content: u8) -> Resource {
    Resource::new(key(n), "v1", "File", body(content))
}

pub(super) fn bundle(declared: &[(u8, u8)]) -> Bundle {
    let resources = declared.iter().map(|(n, content)| resource(*n, *content)).collect();
    Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), resources).unwrap()
}

pub(super) fn live(uid: &str, content: u8) -> Live {
    let value = body(content);
    Live { health: Health::Healthy, ..Live::new(Uid::new(uid).unwrap(), LiveVersion::new("v7").unwrap(), value) }
}

pub(super) fn claim(n: u8, uid: Option<&str>) -> Claim {
    Claim::new(
        TargetIdentity::new("host-1").unwrap(),
        key(n),
        app(),
        uid.map(|uid| Uid::new(uid).unwrap()),
        ClaimOrigin::Created,
    )
}

pub(super) fn verbs(decision: &Decision) -> Vec<(Verb, Cause)> {
    decision.plan.steps.iter().map(|step| (step.verb, step.cause)).collect()
}

pub(super) fn reasons(decision: &Decision) -> Vec<Why> {
    decision.report.iter().map(|withheld| withheld.why.clone()).collect()
}
