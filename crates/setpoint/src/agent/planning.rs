//! Plans without changing anything: the machine's own decision for a bundle and a new observation,
//! with the target's preview of every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_api::answer::{AppPlan, PlanStep};
use setpoint_api::question::PlanRequest;
use setpoint_api::{Problem, ProblemKind, rights};
use setpoint_core::bundle::Bundle;
use setpoint_core::decide::Decision;
use setpoint_core::diff::Difference;
use setpoint_core::intent::Verb;
use setpoint_core::name::AppId;
use setpoint_core::plan::Step;
use setpoint_core::report::Withheld;
use setpoint_core::version::Revision;
use setpoint_engine::machine::{AppStatus, WhatIf};
use setpoint_store::StoreError;
use setpoint_target::{Asker, Target};

use super::answers::{Answers, ended};
use super::bootstrap::Bootstrap;
use super::rights::View;
use super::sources::{Candidate, Memory};
use super::summary::{hold_of, refused_of, set_back_of};
use crate::interpreter::Sources as _;

/// The versions among which a version is searched.
#[derive(Clone, Copy)]
enum Among {
    /// Versions on the branch or tag that the store follows: they may be accepted.
    Followed,
    /// All versions that the store offers: they may be planned.
    Offered,
}

impl Answers {
    pub(super) async fn plans(&self, request: PlanRequest, view: &View) -> Result<Vec<AppPlan>, Problem> {
        let rev = request.rev.as_deref();
        if let Some(app) = &request.app {
            let status = self.status(app, view).await?;
            let mut plan = self.plan_of(app, &status, rev).await?;
            view.redact_plan(&mut plan);
            return Ok(vec![plan]);
        }
        let standing = self.handle.standing().await.map_err(ended)?;
        let wanted = |app: &AppId| *app != Bootstrap::root() && view.sees(app) && view.allows(rights::Verb::Plan, app);
        let mut plans = Vec::new();
        for (app, status) in standing.apps.iter().filter(|(app, _)| wanted(app)) {
            let mut plan = self.plan_of(app, status, rev).await?;
            view.redact_plan(&mut plan);
            plans.push(plan);
        }
        Ok(plans)
    }

    async fn plan_of(&self, app: &AppId, status: &AppStatus, rev: Option<&str>) -> Result<AppPlan, Problem> {
        let accepted = status.facts.accepted.as_ref();
        let (revision, bundle) = match rev {
            // The accepted version may wait for a person or a window, and is shown all the same. An
            // app that is retiring has no version to follow.
            None => {
                let bundle = match status.facts.retiring {
                    true => self.handle.bundle(app).await,
                    false => self.handle.accepted_bundle(app).await,
                };
                let bundle = bundle.map_err(ended)?;
                (accepted.map(|accepted| accepted.revision.clone()), Ok(bundle))
            }
            Some(rev) => {
                let revision = self.whole_revision(app, rev, status).await?;
                let bundle = self.bundle(app, status, &revision).await?;
                (Some(revision), bundle.map(Some))
            }
        };
        let mut plan = AppPlan {
            app: app.clone(),
            revision,
            set_back: set_back_of(app, status).filter(|_| rev.is_none()),
            newest_refused: refused_of(status).filter(|_| rev.is_none() && accepted.is_some()),
            refused: Vec::new(),
            observed: status.observed,
            hold: hold_of(status),
            suspension: status.facts.suspension.clone(),
            window_opens: status.window_opens,
            steps: Vec::new(),
            report: Vec::new(),
        };
        match bundle {
            Err(problems) => plan.refused = problems,
            Ok(None) => plan.refused.extend(status.refused.as_ref().map(|refused| refused.problem.clone())),
            Ok(Some(bundle)) => (plan.steps, plan.report) = self.steps(app, &bundle).await?,
        }
        if plan.observed {
            // An app that is only observed does not take over objects that already match.
            plan.steps.retain(|step| step.verb != Verb::Update || !step.differences.is_empty());
        }
        Ok(plan)
    }

    /// Returns a version of each store of an app: the named version for stores that have it on any
    /// branch, else the accepted one. For display only, never for acceptance.
    pub(super) async fn whole_revision(&self, app: &AppId, rev: &str, status: &AppStatus) -> Result<Revision, Problem> {
        let named = self.named(app, rev, Among::Offered).await?;
        let accepted = status.facts.accepted.iter().flat_map(|accepted| accepted.revision.iter());
        let all = accepted.chain(named.iter()).map(|(store, version)| (store.clone(), version.clone()));
        Ok(Revision::from(all.collect::<BTreeMap<_, _>>()))
    }

    /// Returns the named version, for those stores of an app that have it on the branch or tag they
    /// follow.
    pub(super) async fn revision(&self, app: &AppId, rev: &str) -> Result<Revision, Problem> {
        self.named(app, rev, Among::Followed).await
    }

    async fn named(&self, app: &AppId, rev: &str, among: Among) -> Result<Revision, Problem> {
        let mut versions = BTreeMap::new();
        let (mut kind, mut reasons) = (ProblemKind::Missing, Vec::new());
        for name in self.provider.stores_of(app) {
            let Some(store) = self.provider.store(&name) else { continue };
            let found = match among {
                Among::Followed => store.find(rev).await,
                Among::Offered => store.find_offered(rev).await,
            };
            match found {
                Ok(version) => drop(versions.insert(name, version)),
                Err(error) => {
                    // An unreachable store may have it.
                    if !matches!(error, StoreError::Vanished { .. } | StoreError::Refused { .. }) {
                        kind = ProblemKind::Unavailable;
                    }
                    reasons.push(format!("store {name}: {error}"));
                }
            }
        }
        if versions.is_empty() {
            let message = format!("no store of {app} has a version {rev}: {}", reasons.join("; "));
            return Err(Problem::new(kind, message));
        }
        Ok(Revision::from(versions))
    }

    async fn bundle(
        &self,
        app: &AppId,
        status: &AppStatus,
        revision: &Revision,
    ) -> Result<Result<Arc<Bundle>, Vec<String>>, Problem> {
        let memory = Memory::Asked { accepted: None };
        match self.provider.candidate(app, revision, memory, self.provider.taken_up()).await {
            Candidate::Rendered(resources) => {
                let bundle = Bundle::new(app.clone(), status.facts.target.clone(), resources);
                Ok(bundle.map(Arc::new).map_err(|bad| vec![bad.to_string()]))
            }
            Candidate::Refused(problems) => Ok(Err(problems)),
            Candidate::Failed(reason) => Err(Problem::new(ProblemKind::Unavailable, reason.to_string())),
            Candidate::Unchanged => unreachable!("nothing was given that it could be unchanged from"),
        }
    }

    async fn steps(&self, app: &AppId, bundle: &Arc<Bundle>) -> Result<(Vec<PlanStep>, Vec<Withheld>), Problem> {
        if *app == Bootstrap::root() {
            // Its target is the engine, so its objects have no steps.
            return Ok((Vec::new(), Vec::new()));
        }
        // If planning is impossible, the result is an error and not an empty plan.
        let cannot = |why: String| Problem::new(ProblemKind::Unavailable, format!("{app} cannot be planned: {why}"));
        let forgotten = || cannot("the engine does not manage it now; try again".to_owned());
        let found = self.handle.wanted_for(app, bundle).await.map_err(ended)?;
        let (identity, wanted, asker) = found.ok_or_else(forgotten)?;
        let target = self.provider.target_of(&identity);
        let target =
            target.ok_or_else(|| cannot(format!("target {identity} is not connected: check the agent's log")))?;
        let observation = target.observe(wanted, asker.clone(), self.clock.now()).await;
        let decision = self.handle.what_if(app, bundle, observation).await.map_err(ended)?;
        let WhatIf { decision: Decision { plan, report, .. }, mut waits } = decision.ok_or_else(forgotten)?;
        let mut steps = Vec::new();
        for step in plan.steps {
            let waits = waits.remove(&step.key).unwrap_or_default();
            steps.push(PlanStep { waits, ..previewed(target.as_ref(), step, &asker).await });
        }
        Ok((steps, report))
    }
}

/// Returns the step with the target's preview: the differences, or the reason why it would be
/// refused.
async fn previewed(target: &dyn Target, step: Step, asker: &Asker) -> PlanStep {
    let answer = match &step.resource {
        Some(resource) => target.forecast(resource, asker).await,
        None => Ok(None),
    };
    let (differences, refused) = match answer {
        Ok(differences) => (differences.unwrap_or(step.differences), None),
        Err(refusal) => (step.differences, Some(refusal.detail)),
    };
    // Comparisons go from the declared to the actual state, and steps the other way.
    let differences = differences.into_iter().map(Difference::turned).collect();
    PlanStep { key: step.key, verb: step.verb, cause: step.cause, differences, waits: Vec::new(), refused }
}
