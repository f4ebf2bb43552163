//! Execution of effects: each takes a while, reaches its system, and its result takes a while to
//! return.

mod ledger;
mod source;
mod target;

use setpoint_engine::{Effect, Event};

use crate::fault::Fault;
use crate::world::{Happening, Recipient, World};

use source::Wish;

impl World {
    /// Sends an effect.
    pub(crate) fn send(&mut self, from: Recipient, effect: Effect) {
        let delay = 1 + u64::from(self.tape.pick("way", 40));
        let effect = Box::new(effect);
        let happening = match *effect {
            Effect::Execute { .. } => Happening::Leave { from, effect },
            Effect::Append { .. } => {
                // Appends keep their order, on the way and on the way back.
                let at = (self.now + delay).max(self.instances[from.instance].append_lane);
                self.instances[from.instance].append_lane = at;
                return self.at(at, Happening::Arrive { from, effect });
            }
            _ => Happening::Arrive { from, effect },
        };
        self.after(delay, happening);
    }

    pub(crate) fn reply(&mut self, to: Recipient, event: Event) {
        let delay = 1 + u64::from(self.tape.pick("way back", 40));
        self.after(delay, Happening::Deliver { to, event: Box::new(event) });
    }

    pub(crate) fn arrive(&mut self, from: Recipient, effect: Effect) {
        if let Effect::Observe { asker, .. } = &effect
            && let Some(app) = &asker.app
        {
            self.monitor.looks_at(app, self.now);
        }
        let Some(effect) = self.ask_cluster(from, effect) else { return };
        match effect {
            Effect::Acquire { length } => self.acquire(from, length),
            Effect::Renew { epoch, length } => self.renew(from, epoch, length),
            Effect::Load { epoch } => self.load(from, epoch),
            Effect::Append { ticket, epoch, entries, bundles } => {
                let event = match self.append(from, epoch, &entries, bundles) {
                    Ok(()) => Event::Appended { ticket },
                    Err((class, detail)) => Event::AppendFailed { ticket, class, detail },
                };
                let mut delay = 1 + u64::from(self.tape.pick("way back", 40)) + self.script.slow_records;
                if self.strikes(Fault::SlowRecord, "slow record") {
                    delay += self.instances[from.instance]
                        .lasts(3_000 + u64::from(self.tape.pick("slow record ms", 10_000)));
                }
                let at = (self.now + delay).max(self.instances[from.instance].answer_lane);
                self.instances[from.instance].answer_lane = at;
                self.at(at, Happening::Deliver { to: from, event: Box::new(event) });
            }
            Effect::Poll { ticket, store } => {
                let head = self.poll(&store);
                self.reply(from, Event::Polled { ticket, head });
            }
            Effect::Render { ticket, app, revision, accepted, descends_from, documents } => {
                let wish = Wish {
                    app: &app,
                    revision: &revision,
                    accepted: accepted.as_ref(),
                    descends_from: descends_from.as_ref(),
                    documents,
                };
                let outcome = self.render(from, &wish);
                self.reply(from, Event::Rendered { ticket, outcome });
            }
            Effect::RenderAfresh { ticket, app, documents } => {
                let bundle = self.render_afresh(from, &app, documents);
                self.reply(from, Event::RenderedAfresh { ticket, bundle });
            }
            Effect::Observe { ticket, target, wanted, asker } => {
                let target = self.target_index(&target);
                let observation = self.look(from, target, &wanted);
                self.monitor.looked(from.instance, self.targets[target].identity(), &observation);
                self.monitor.shown(self.targets[target].identity(), &observation);
                let event = Event::Observed { ticket, observation };
                let scripted = self.script.slow_reads_of.is_some() && self.script.slow_reads_of == asker.app;
                if scripted {
                    return self.after(10_000, Happening::Deliver { to: from, event: Box::new(event) });
                }
                if self.strikes(Fault::SlowRead, "slow read") {
                    let delay =
                        self.instances[from.instance].lasts(1_000 + u64::from(self.tape.pick("slow read ms", 16_000)));
                    return self.after(delay, Happening::Deliver { to: from, event: Box::new(event) });
                }
                self.reply(from, event);
            }
            Effect::Preview { ticket, target, resource, .. } => {
                let verdict = self.targets[self.target_index(&target)].preview(&resource);
                self.reply(from, Event::Previewed { ticket, verdict });
            }
            Effect::PreviewReplacement { ticket, target, resource, .. } => {
                let target = self.target_index(&target);
                let verdict = match self.outage(target) {
                    Some(_) => Err(target::unavailable("no answer")),
                    None => self.targets[target].preview_replacement(&resource),
                };
                if verdict.is_ok() {
                    self.monitor.replacement_proven(self.now, &self.targets[target], &resource);
                }
                self.reply(from, Event::Previewed { ticket, verdict });
            }
            Effect::Settle { ticket, target, intent, declared } => {
                // The machine sends this only after the effect can no longer land, by its own
                // measure of elapsed time.
                let ever = setpoint_core::time::Timestamp::from_millis(u64::MAX);
                let settlement = self.targets[self.target_index(&target)].settle(&intent, declared.as_deref(), ever);
                self.reply(from, Event::Settled { ticket, settlement });
            }
            Effect::Notify { ticket, note } => {
                let delivered = !self.strikes(Fault::LostAnswer, "note lost");
                *self.monitor.notes.entry(note.kind).or_default() += u32::from(delivered);
                self.reply(from, Event::Notified { ticket, delivered });
            }
            Effect::Control { bundle, known } => self.govern(from, &bundle, &known),
            // The ledger shows whether the order was recorded; nothing here waits for the result.
            Effect::Ordered { .. } => {}
            Effect::Attribute { .. } => unreachable!("no target here has an audit trail"),
            Effect::Execute { .. } | Effect::WakeAt { .. } => unreachable!("they do not travel this way"),
        }
        if let Some(detail) = self.recall.contradiction() {
            self.monitor.read_differently(detail);
        }
    }
}
