//! Apps at rest: everything declared is in place, claimed and remembered, as after a long quiet
//! night.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::key::Key;
use setpoint_core::live::{Baseline, Health, Live, Observation, Presence};
use setpoint_core::modes::{State, States};
use setpoint_core::name::{AppId, LiveVersion, TargetIdentity, Uid};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::snapshot::{Answers, Budget, Rules, Snapshot, TargetStanding};
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;

/// The resources of each app.
pub(super) const RESOURCES: usize = 100;
/// The time of observation and decision.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The state that the apps of a fleet share.
#[derive(Debug)]
pub(super) struct FleetEnvironment {
    target: TargetStanding,
    rules: Rules,
    budget: Budget,
    answers: Answers,
}

impl FleetEnvironment {
    pub(super) fn new() -> anyhow::Result<Self> {
        let target = TargetStanding {
            identity: TargetIdentity::new("cluster-1")?,
            quarantine_until: Timestamp::default(),
            fresh_reads: true,
            breaker_open: false,
        };
        let owned = RESOURCES as u32;
        let budget = Budget { owned, spent: 0, fleet_owned: owned, fleet_spent: 0, allowance: None };
        Ok(Self { target, rules: Rules::default(), budget, answers: Answers::default() })
    }
}

/// One app at rest.
#[derive(Debug)]
pub(super) struct AtRest {
    app: AppId,
    bundle: Bundle,
    claims: BTreeMap<Key, Arc<Claim>>,
    baselines: BTreeMap<Key, Baseline>,
    observation: Observation,
}

impl AtRest {
    pub(super) fn new(number: usize, around: &FleetEnvironment) -> anyhow::Result<Self> {
        let app: AppId = format!("team-{}/service-{number}", number % 25).parse()?;
        let bundle = bundle(&app, around, None)?;
        let mut at_rest = Self {
            app,
            bundle,
            claims: BTreeMap::new(),
            baselines: BTreeMap::new(),
            observation: Observation { at: NOW, states: BTreeMap::new() },
        };
        for (n, (key, declared)) in at_rest.bundle.resources().iter().enumerate() {
            let live = live(&format!("uid-{number}-{n}"), &declared.resource.body)?;
            at_rest.claims.insert(key.clone(), Arc::new(claim(key, &at_rest.app, around, &live.uid)));
            let baseline = Baseline { declared: declared.digest, fingerprint: live.fingerprint };
            at_rest.baselines.insert(key.clone(), baseline);
            at_rest.observation.states.insert(key.clone(), Observed::known(Presence::Present(live), NOW));
        }
        Ok(at_rest)
    }

    /// Returns the same app after the acceptance of a version that changes one of its resources.
    pub(super) fn with_one_change(mut self, around: &FleetEnvironment) -> anyhow::Result<Self> {
        self.bundle = bundle(&self.app, around, Some(RESOURCES / 2))?;
        Ok(self)
    }

    pub(super) fn snapshot<'a>(&'a self, around: &'a FleetEnvironment) -> Snapshot<'a> {
        Snapshot {
            app: &self.app,
            target: &around.target,
            rules: &around.rules,
            states: States::default().with(State::Auto),
            bundle: &self.bundle,
            retiring: false,
            rolling_back: false,
            converged_before: true,
            claims: &self.claims,
            elsewhere: const { &BTreeMap::new() },
            baselines: &self.baselines,
            observation: &self.observation,
            missing_since: const { &BTreeMap::new() },
            open_intents: const { &BTreeMap::new() },
            backing_off: const { &BTreeMap::new() },
            unconsidered: None,
            waiting_for: &[],
            budget: &around.budget,
            answers: &around.answers,
            parent: None,
        }
    }
}

fn bundle(app: &AppId, around: &FleetEnvironment, changed: Option<usize>) -> anyhow::Result<Bundle> {
    let resources = (0..RESOURCES).map(|n| resource(app, n, changed == Some(n))).collect::<Result<_, _>>()?;
    Ok(Bundle::new(app.clone(), around.target.identity.clone(), resources)?)
}

fn resource(app: &AppId, n: usize, changed: bool) -> anyhow::Result<Resource> {
    let name = format!("{app}-{n}").replace('/', "-");
    let labels = Value::map([("app.kubernetes.io/name", Value::str(&name)), ("tier", Value::str("backend"))]);
    let tag = if changed { "2.0" } else { "1.0" };
    let container = Value::map([
        ("name", Value::str("main")),
        ("image", Value::str(&format!("images.example/{name}:{tag}"))),
        ("args", Value::Seq(vec![Value::str("--port=8080"), Value::str("--verbose")])),
    ]);
    let body = Value::map([
        ("metadata", Value::map([("name", Value::str(&name)), ("labels", labels)])),
        ("spec", Value::map([("replicas", Value::int(3)), ("containers", Value::Seq(vec![container]))])),
    ]);
    Ok(Resource::new(Key::new("apps/Deployment", "web", &name)?, "apps/v1", "Deployment", body))
}

fn live(uid: &str, body: &Value) -> anyhow::Result<Live> {
    Ok(Live { health: Health::Healthy, ..Live::new(Uid::new(uid)?, LiveVersion::new("7")?, body.clone()) })
}

fn claim(key: &Key, app: &AppId, around: &FleetEnvironment, uid: &Uid) -> Claim {
    Claim::new(around.target.identity.clone(), key.clone(), app.clone(), Some(uid.clone()), ClaimOrigin::Created)
}
