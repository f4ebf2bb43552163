//! Queries of the machine: what it would do, and what each step waits for. A query changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::decide::Decision;
use setpoint_core::facts::AppFacts;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::modes::{Cause, Permission, State, permission};
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::plan::Step;
use setpoint_core::report::Why;
use setpoint_core::snapshot::{BackOff, FreshRender, Preview, Question};
use setpoint_target::{Asker, Priority, Wanted};

use super::Machine;
use super::orient::Assumptions;
use crate::controls::Mode;

/// A decision that is only shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    pub decision: Decision,
    /// The reasons why steps of the plan would not be taken now, by their keys.
    pub waits: BTreeMap<Key, Vec<Why>>,
}

impl Machine {
    /// Returns the target of an app, the objects to observe in order to plan for it with this
    /// bundle, and the requesting user; `None` for an unknown app.
    pub fn wanted_for(&self, app: &AppId, bundle: &Bundle) -> Option<(TargetIdentity, Wanted, Asker)> {
        let target = self.apps.get(app)?.sent.target.clone();
        let owned = self.holdings.claims_of(app).keys().map(|key| (key.clone(), None));
        let declared = bundle.resources().iter();
        let declared = declared.map(|(key, declared)| (key.clone(), Some(Arc::clone(&declared.resource))));
        // A person requests the plan.
        let asker = Asker { priority: Priority::Person, ..self.asker(app) };
        Some((target, owned.chain(declared).collect(), asker))
    }

    /// Returns the decision for an app with this observation, as if it were held at this bundle,
    /// and as if nothing kept it from changes for a while. The caller shows it after checking every
    /// step with the target, so questions about takeovers and deletes count as answered.
    pub fn what_if(&mut self, app: &AppId, bundle: &Arc<Bundle>, observation: &Observation) -> Option<WhatIf> {
        let keys = observation.states.keys().cloned().collect();
        let (first, _) = self.decide_for(app, bundle, &keys, observation, Some(Assumptions::default()))?;
        let assumed = self.assumptions(&first.questions);
        let decision = match assumed {
            Some(assumed) => self.decide_for(app, bundle, &keys, observation, Some(assumed))?.0,
            None => first,
        };
        let waits = decision.plan.steps.iter().map(|step| (step.key.clone(), self.waits_for(app, bundle, step)));
        Some(WhatIf { waits: waits.filter(|(_, waits)| !waits.is_empty()).collect(), decision })
    }

    /// Answers the questions about takeovers and deletes with yes; `None` if there are none.
    fn assumptions(&self, questions: &BTreeSet<Question>) -> Option<Assumptions> {
        let mut assumed = Assumptions::default();
        for question in questions {
            match question {
                Question::Preview { key, version, declared } => {
                    let preview = Preview { version: version.clone(), declared: *declared, verdict: Ok(()) };
                    assumed.previews.insert(key.clone(), preview);
                }
                Question::FreshRender { bundle } => {
                    let fresh = FreshRender { of: *bundle, rendered: *bundle, at: self.now };
                    assumed.fresh_render = Some(fresh);
                }
                Question::Settle { .. } | Question::Replace { .. } => {}
            }
        }
        (!assumed.previews.is_empty() || assumed.fresh_render.is_some()).then_some(assumed)
    }

    /// Returns everything that keeps a step towards this bundle from being taken now.
    fn waits_for(&self, app: &AppId, bundle: &Bundle, step: &Step) -> Vec<Why> {
        let (Some(kept), Some(facts)) = (self.apps.get(app), self.holdings.facts().apps.get(app)) else {
            return Vec::new();
        };
        let states = self.states_of(app, facts).without(State::Observe);
        let heals = matches!(step.cause, Cause::Drift | Cause::Addition);
        let kept_from = match self.held_at(app) == Some(bundle.digest()) || heals {
            true => Vec::new(),
            false => self.kept_back_by(app, facts),
        };
        let hinders = |state: &State| {
            kept_from.contains(state) || states.contains(*state) && permission(step.cause, *state) != Permission::Act
        };
        let failed = kept.setbacks.last(&step.key, step.resource.as_ref().map(|resource| resource.digest()), self.now);
        let failed = failed.map(|BackOff { until, setback }| Why::BackingOff { until, setback });
        let states = State::ALL.into_iter().filter(hinders).map(|state| Why::State { state });
        failed.into_iter().chain(states).collect()
    }

    /// Returns the states that keep an app at its bundle while another one is accepted.
    fn kept_back_by(&self, app: &AppId, facts: &AppFacts) -> Vec<State> {
        if facts.hold.is_some() {
            return vec![State::Held];
        }
        let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
        let manual = control.is_some_and(|control| control.mode == Mode::Manual).then_some(State::Manual);
        let closed = self.window_opens(app).map(|_| State::WindowClosed);
        manual.into_iter().chain(closed).collect()
    }
}
