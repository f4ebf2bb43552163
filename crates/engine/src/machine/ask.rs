//! Questions that must be answered before a decision, and their answers.

use std::collections::BTreeSet;

use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;
use setpoint_core::observed::UnknownReason;
use setpoint_core::snapshot::{FreshRender, Preview, Question, Replacement};
use setpoint_core::time::Span;
use setpoint_target::{Refusal, RefusalClass};

use crate::effect::{Effect, Ticket};

use super::app::Phase;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine};

impl Machine {
    pub(super) fn ask_questions(&mut self, app: &AppId, questions: BTreeSet<Question>) {
        let Some(bundle) = self.bundle_of(app) else { return self.set_phase(app, Phase::Idle) };
        let mut asked = BTreeSet::new();
        for question in questions {
            match question {
                // Open intents are settled on a schedule of their own, see `settle`.
                Question::Settle { .. } => {}
                Question::FreshRender { bundle } => {
                    let ticket =
                        self.ask(Awaited::Afresh { app: app.clone(), bundle, asked: self.now }, self.settings.patience);
                    let documents = self.controls.of;
                    self.effects.push(Effect::RenderAfresh { ticket, app: app.clone(), documents });
                    asked.insert(ticket);
                }
                Question::Preview { key, version, declared } => {
                    let Some(resource) = bundle.resources().get(&key).map(|declared| declared.resource.clone()) else {
                        continue;
                    };
                    let awaited = Awaited::Preview { app: app.clone(), key, version, declared };
                    let ticket = self.ask(awaited, self.settings.patience);
                    let target = bundle.target().clone();
                    let asker = self.asker(app);
                    self.effects.push(Effect::Preview { ticket, target, resource, asker });
                    asked.insert(ticket);
                }
                Question::Replace { key, uid, version, declared } => {
                    // An object is deleted on this answer, so it must be about this very
                    // declaration.
                    let same = bundle.resources().get(&key).filter(|found| found.digest == declared);
                    let Some(resource) = same.map(|found| found.resource.clone()) else { continue };
                    let asked_at = self.now;
                    let awaited = Awaited::Replacement { app: app.clone(), key, uid, version, declared, asked_at };
                    let ticket = self.ask(awaited, self.settings.patience);
                    let target = bundle.target().clone();
                    let asker = self.asker(app);
                    self.effects.push(Effect::PreviewReplacement { ticket, target, resource, asker });
                    asked.insert(ticket);
                }
            }
        }
        let phase = if asked.is_empty() { Phase::Idle } else { Phase::Asking(asked) };
        self.set_phase(app, phase);
    }

    pub(super) fn rendered_afresh(&mut self, ticket: Ticket, rendered: Result<Digest, UnknownReason>) {
        let Some(Awaited::Afresh { app, bundle, asked }) = self.take(ticket) else { return };
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(reason) => {
                self.doubt_controls(&reason);
                return self.question_failed(&app, ticket);
            }
        };
        if let Some(kept) = self.apps.get_mut(&app) {
            kept.answers.fresh_render = Some(FreshRender { of: bundle, rendered, at: asked });
        }
        if rendered != bundle {
            // The store has a new head, or our render was wrong: either way it is time to poll it.
            let control = self.apps.get(&app).and_then(|kept| kept.control.as_ref());
            for store in control.map(|control| control.stores.clone()).into_iter().flatten() {
                self.timers.set(Timer::Poll(store), self.now);
            }
        }
        self.answered(&app, ticket);
    }

    pub(super) fn previewed(&mut self, ticket: Ticket, verdict: Result<(), Refusal>) {
        match self.take(ticket) {
            Some(Awaited::Preview { app, key, version, declared }) => {
                if verdict.as_ref().is_err_and(|refusal| !is_verdict(refusal)) {
                    return self.question_failed(&app, ticket);
                }
                if let Some(kept) = self.apps.get_mut(&app) {
                    let verdict = verdict.map_err(|refusal| refusal.detail);
                    kept.answers.previews.insert(key, Preview { version, declared, verdict });
                }
                self.answered(&app, ticket);
            }
            Some(Awaited::Replacement { app, key, uid, version, declared, asked_at }) => {
                // A new object would have to wait, so it is not proven that it would exist.
                let waits = |refusal: &Refusal| refusal.class == RefusalClass::Unready;
                if verdict.as_ref().is_err_and(|refusal| !is_verdict(refusal) && !waits(refusal)) {
                    return self.question_failed(&app, ticket);
                }
                let now = self.now;
                if let Some(kept) = self.apps.get_mut(&app) {
                    if let Err(refusal) = &verdict {
                        // The question is repeated, ever more rarely. The problem is still that the
                        // object cannot be changed in place.
                        let (class, detail) = (RefusalClass::Immutable, refusal.detail.clone());
                        let refusal = Refusal { class, detail, retry_after: None };
                        kept.setbacks.failed(&key, &refusal, Some(declared), now);
                    }
                    let verdict = verdict.map_err(|refusal| refusal.detail);
                    let answer = Replacement { uid, version, declared, at: asked_at, verdict };
                    kept.answers.replacements.insert(key, answer);
                }
                self.answered(&app, ticket);
            }
            _ => {}
        }
    }

    pub(super) fn question_failed(&mut self, app: &AppId, ticket: Ticket) {
        self.timers.set_no_later(Timer::Look(app.clone()), self.now + Span::seconds(5));
        let Some(kept) = self.apps.get_mut(app) else { return };
        if let Phase::Asking(left) = &mut kept.phase {
            left.remove(&ticket);
            if left.is_empty() {
                self.set_phase(app, Phase::Idle);
            }
        }
    }

    /// Removes an answered question. After the last one the app is observed again and decided on.
    pub(super) fn answered(&mut self, app: &AppId, ticket: Ticket) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let Phase::Asking(left) = &mut kept.phase else { return };
        left.remove(&ticket);
        if left.is_empty() {
            self.set_phase(app, Phase::Idle);
            self.wants_look(app, Priority::Drift);
        }
    }
}

/// Reports whether a refusal is a verdict: only one that the target would repeat is. A failure to
/// respond is none.
fn is_verdict(refusal: &Refusal) -> bool {
    matches!(refusal.class, RefusalClass::Invalid | RefusalClass::Immutable | RefusalClass::Denied)
}
