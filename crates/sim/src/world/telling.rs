//! The output of a run: its trace, its timeline, and the reasons that the engine gave.

use setpoint_core::modes::State;
use setpoint_core::plan::Step;
use setpoint_core::report::Why;
use setpoint_engine::Effect;
use setpoint_target::Work;

use super::World;

/// The maximum length of a line in a timeline: a record may be very long.
const LONGEST_LINE: usize = 20_000;

impl World {
    /// Mixes the engine's effects into the trace, so that two runs can be compared.
    pub(super) fn note(&mut self, n: usize, effect: &Effect) {
        let kind = effect_name(effect);
        self.trace = mixed(self.trace, kind.bytes().chain(self.now.to_le_bytes()).chain([n as u8]));
        if let Effect::Execute { work, .. } = effect {
            for Work { intent, step, .. } in work {
                self.trace = mixed(self.trace, format!("{intent} {} {}", step.verb, step.key).bytes());
            }
        }
        if let Effect::Notify { note, .. } = effect
            && note.kind == setpoint_engine::NoteKind::RuleBroken
        {
            self.monitor.rule_broken(&note.text);
        }
        if self.timeline.is_some() && !matches!(effect, Effect::WakeAt { .. } | Effect::Renew { .. }) {
            let text = format!("{n}: {}", describe(effect));
            self.remark(&text);
        }
    }

    /// Adds a line to the timeline of a replay.
    pub(crate) fn remark(&mut self, text: &str) {
        let now = self.now;
        if let Some(timeline) = &mut self.timeline {
            timeline.push(format!("{:>8}.{:03} {text}", now / 1_000, now % 1_000));
        }
    }

    /// Returns a digest of the engine's effects and of its records.
    pub fn trace(&self) -> u64 {
        mixed(self.trace, self.ledger.head(&self.origin).root.to_string().bytes())
    }

    /// Collects the reasons in reports. An occasional check is enough to find the refusals that
    /// occur.
    pub(super) fn collect_reasons(&mut self, n: usize) {
        if !self.steps.is_multiple_of(16) {
            return;
        }
        for app in &self.universe.apps {
            for withheld in self.instances[n].machine.withheld(app) {
                self.seen.insert(reason_name(&withheld.why));
            }
        }
    }
}

fn mixed(trace: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(trace, |trace, byte| (trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(crate) fn effect_name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Acquire { .. } => "acquire",
        Effect::Renew { .. } => "renew",
        Effect::Load { .. } => "load",
        Effect::Append { .. } => "append",
        Effect::Poll { .. } => "poll",
        Effect::Render { .. } => "render",
        Effect::RenderAfresh { .. } => "render afresh",
        Effect::Control { .. } => "control",
        Effect::Observe { .. } => "look",
        Effect::Preview { .. } => "preview",
        Effect::PreviewReplacement { .. } => "preview replacement",
        Effect::Execute { .. } => "execute",
        Effect::Settle { .. } => "settle",
        Effect::Attribute { .. } => "attribute",
        Effect::Notify { .. } => "notify",
        Effect::Ordered { .. } => "ordered",
        Effect::WakeAt { .. } => "wake",
    }
}

fn describe(effect: &Effect) -> String {
    match effect {
        Effect::Append { entries, .. } => {
            let entries = entries.iter().map(|entry| format!("{:?} {} {:?}", entry.kind, entry.subject, entry.changes));
            format!("append {}", entries.collect::<Vec<_>>().join(" | ")).chars().take(LONGEST_LINE).collect()
        }
        Effect::Execute { work, fence, .. } => {
            let steps = work.iter().map(|Work { intent, step, .. }| {
                let Step { verb, key, expect, cause, differences, .. } = step;
                format!("{intent} {verb:?} {key} {expect:?} for {cause:?} {differences:?}")
            });
            format!("execute in epoch {}: {}", fence.epoch, steps.collect::<Vec<_>>().join(", "))
        }
        Effect::Settle { intent, .. } => format!("settle {} {:?} {}", intent.id, intent.verb, intent.key),
        Effect::Notify { note, .. } => format!("notify {}: {}", note.kind, note.text),
        Effect::Render { app, revision, .. } => format!("render {app} {revision}"),
        Effect::Observe { wanted, target, .. } => format!("observe {} keys of {target}", wanted.len()),
        other => effect_name(other).to_owned(),
    }
}

/// Returns the kind of a reason, without its details.
pub fn reason_name(why: &Why) -> &'static str {
    use setpoint_core::report::RetentionReason;
    match why {
        Why::State { state } => match state {
            State::Manual => "manual",
            State::Observe => "observe",
            State::Suspended => "suspended",
            State::Held => "held",
            State::StoreStale => "store stale",
            State::Auto => "auto",
            State::Frozen => "frozen",
            State::TargetMoved => "target moved",
            State::TargetUnknown => "target unknown",
            State::WindowClosed => "window closed",
        },
        Why::NotSeen { .. } => "not seen",
        Why::PerhapsGone => "perhaps gone",
        Why::NotSeenToEnd => "not seen to end",
        Why::OpenIntent { .. } => "open intent",
        Why::BackingOff { .. } => "backing off",
        Why::Deleting { .. } => "being deleted",
        Why::OwnedByOther { .. } => "owned by another app",
        Why::OutsideScope(_) => "outside of its scope",
        Why::NotOurs => "not ours",
        Why::Controlled | Why::RetentionReason(RetentionReason::Controlled) => "controlled",
        Why::PreviewPending => "preview pending",
        Why::PreviewRefused { .. } => "preview refused",
        Why::Immutable { .. } => "immutable",
        Why::ReplaceNotAllowed { .. } => "replace not allowed",
        Why::DeclaredElsewhere { .. } => "declared elsewhere",
        Why::ReplacementPending => "replacement pending",
        Why::ReplacementRefused { .. } => "replacement refused",
        Why::DependencyNotReady { .. } => "dependency not ready",
        Why::DependencyNotHealthy { .. } => "dependency not healthy",
        Why::EarlierWave { .. } => "earlier wave",
        Why::AppNotReady { .. } => "app not ready",
        Why::HandOver { .. } => "handed over",
        Why::RetentionReason(RetentionReason::PruneOff) => "prune off",
        Why::RetentionReason(RetentionReason::EmptyBundle) => "empty bundle",
        Why::RetentionReason(RetentionReason::IncompleteObservation) => "incomplete observation",
        Why::RetentionReason(RetentionReason::OldObservation) => "old observation",
        Why::RetentionReason(RetentionReason::Quarantine { .. }) => "quarantine",
        Why::RetentionReason(RetentionReason::BreakerOpen) => "breaker open",
        Why::RetentionReason(RetentionReason::OtherChangesFirst) => "other changes first",
        Why::RetentionReason(RetentionReason::Adopted) => "adopted",
        Why::RetentionReason(RetentionReason::Recovered) => "recovered",
        Why::RetentionReason(RetentionReason::Protected) => "protected",
        Why::RetentionReason(RetentionReason::OverBudget { .. }) => "over budget",
        Why::RetentionReason(RetentionReason::OverFleetBudget { .. }) => "over fleet budget",
        Why::RetentionReason(RetentionReason::FreshRenderPending) => "fresh render pending",
        Why::RetentionReason(RetentionReason::FreshRenderDiffers) => "fresh render differs",
        Why::RetentionReason(RetentionReason::DependentStands) => "dependent stands",
        Why::RetentionReason(RetentionReason::OthersNotConsidered) => "others not considered",
    }
}
