//! Requests on their way to a cluster and responses on their way back: late, lost, refused, or
//! carried out without a receiver.

use std::sync::Arc;

use setpoint_core::intent::Verb;
use setpoint_core::live::{Health, Live};
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_engine::{Effect, Event};
use setpoint_kube_world as kube;
use setpoint_kube_world::schema::KINDS;
use setpoint_kube_world::{Committed, Refused, Rule};
use setpoint_target::memory::Object;
use setpoint_target::{Fence, Outcome, Refusal, RefusalClass, Target, Work};
use setpoint_target_kube::wire::{Method, Request, WireError};

use super::{Errand, Link, Reply, objects};
use crate::fault::Fault;
use crate::monitor::{Change, Scene};
use crate::world::{Happening, Recipient, World};

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Sent {
    number: u64,
    request: kube::Request,
    /// The step that it belongs to, and the fence of that.
    work: Option<(Work, Fence)>,
    at: u64,
    /// Set if it went to the other cluster, because the address led there.
    strayed: bool,
}

impl Sent {
    /// Returns the place of the object that it is about.
    pub(super) fn place(&self) -> Option<kube::Place> {
        self.request.place()
    }

    pub(super) fn is_delete(&self) -> bool {
        self.request.method == kube::Method::Delete
    }
}

impl World {
    pub(crate) fn is_cluster(&self, target: usize) -> bool {
        target < self.clusters.len()
    }

    /// Opens the connections of an instance that starts.
    pub(crate) fn connect(&mut self, n: usize) {
        for target in 0..self.clusters.len() {
            let (now, life) = (self.instances[n].clock(self.now), self.instances[n].life);
            let identity = self.targets[target].identity().clone();
            let cluster = &mut self.clusters[target];
            let memory = Arc::clone(cluster.memories.entry(n).or_default());
            let mut link = Link::new(life, memory, now, &identity);
            let streams = link.target.watch_task();
            let never = async move {
                streams.await;
                Event::Woke
            };
            link.begin(Errand::Watching, Box::pin(never));
            link.await_hint(identity);
            cluster.links.insert(n, link);
            self.drive(n, target);
        }
    }

    /// Ends the tasks of an instance that dies. Requests that were sent stay on their way.
    pub(crate) fn disconnect(&mut self, n: usize) {
        for cluster in &mut self.clusters {
            cluster.links.remove(&n);
        }
    }

    /// Starts an effect for a cluster. Returns it if it is for another target.
    pub(crate) fn ask_cluster(&mut self, from: Recipient, effect: Effect) -> Option<Effect> {
        let target = match &effect {
            Effect::Observe { target, .. }
            | Effect::Preview { target, .. }
            | Effect::PreviewReplacement { target, .. }
            | Effect::Execute { target, .. }
            | Effect::Settle { target, .. } => self.target_index(target),
            _ => return Some(effect),
        };
        if !self.is_cluster(target) {
            return Some(effect);
        }
        if !self.is_current(from) {
            return None;
        }
        let paused_until = self.instances[from.instance].paused_until;
        if paused_until > self.now {
            self.at(paused_until, Happening::Arrive { from, effect: Box::new(effect) });
            return None;
        }
        self.break_off(target);
        let now = self.instances[from.instance].clock(self.now);
        if let Some(link) = self.clusters[target].links.get_mut(&from.instance) {
            let on = link.target.clone();
            match effect {
                Effect::Observe { ticket, wanted, asker, .. } => {
                    let doing = async move {
                        let observation = on.observe(wanted, asker, now).await;
                        Event::Observed { ticket, observation }
                    };
                    link.begin(Errand::Asking, Box::pin(doing));
                }
                Effect::Preview { ticket, resource, asker, .. } => {
                    let doing = async move {
                        let verdict = on.preview(&resource, &asker).await;
                        Event::Previewed { ticket, verdict }
                    };
                    link.begin(Errand::Asking, Box::pin(doing));
                }
                Effect::PreviewReplacement { ticket, resource, asker, .. } => {
                    let doing = async move {
                        let verdict = on.preview_replacement(&resource, &asker).await;
                        Event::Previewed { ticket, verdict }
                    };
                    link.begin(Errand::Asking, Box::pin(doing));
                }
                Effect::Settle { ticket, intent, declared, .. } => {
                    let doing = async move {
                        let settlement = on.settle(&intent, declared.as_deref()).await;
                        Event::Settled { ticket, settlement }
                    };
                    link.begin(Errand::Asking, Box::pin(doing));
                }
                Effect::Execute { ticket, work, fence, .. } => {
                    let errand = Errand::Executing(Arc::new(work.clone()), fence);
                    let doing = async move {
                        let outcomes = on.execute(work, fence).await;
                        Event::Executed { ticket, outcomes }
                    };
                    link.begin(errand, Box::pin(doing));
                }
                _ => unreachable!("only these are asked of a target"),
            }
        }
        self.drive(from.instance, target);
        None
    }

    /// Polls every task that can make progress, and sends the requests.
    pub(super) fn drive(&mut self, n: usize, target: usize) {
        loop {
            let clock = self.instances[n].clock(self.now);
            let Some(link) = self.clusters[target].links.get_mut(&n) else { return };
            let to = Recipient { instance: n, life: link.life };
            let Some(moved) = link.step(clock) else { return };
            for (number, span) in moved.taken.waits {
                let delay = self.instances[n].lasts(span.as_millis());
                self.after(delay, Happening::Ring { to, target, number });
            }
            for (number, request) in moved.taken.requests {
                self.depart(to, target, (number, request), &moved.errand);
            }
            if let Some(event) = moved.event {
                self.hear(to, target, &moved.errand, event);
            }
        }
    }

    /// Handles the end of a task with this event.
    fn hear(&mut self, to: Recipient, target: usize, errand: &Errand, event: Event) {
        if let Event::Observed { observation, .. } = &event {
            self.monitor.looked(to.instance, self.targets[target].identity(), observation);
            self.monitor.shown(self.targets[target].identity(), observation);
        }
        let Errand::Hinting = errand else { return self.reply(to, event) };
        let identity = self.targets[target].identity().clone();
        if let Some(link) = self.clusters[target].links.get_mut(&to.instance) {
            link.await_hint(identity);
        }
        if !self.script.drops_next() {
            self.after(20, Happening::Deliver { to, event: Box::new(event) });
        }
    }

    fn depart(&mut self, from: Recipient, target: usize, (number, request): (u64, Request), errand: &Errand) {
        let method = match request.method {
            Method::Get => kube::Method::Get,
            Method::Patch => kube::Method::Patch,
            Method::Delete => kube::Method::Delete,
        };
        let content = request.content.map(|(how, bytes)| (how.to_owned(), bytes));
        let request = kube::Request::new(method, &request.path, request.accept, content);
        let key = request.place().and_then(|place| objects::key_at(&place));
        let work = match (errand, key) {
            (Errand::Executing(works, fence), Some(key)) => {
                works.iter().find(|work| work.step.key == key).map(|work| (work.clone(), *fence))
            }
            _ => None,
        };
        let slow = request.is_change() && self.strikes(Fault::SlowEffect, "slow request");
        let delay = if slow {
            1_000 + self.instances[from.instance].lasts(u64::from(self.tape.pick("slow request", 28_000)))
        } else {
            1 + u64::from(self.tape.pick("request way", 20))
        };
        let strayed = self.clusters[target].links.get(&from.instance).is_some_and(|link| link.strayed);
        let sent = Sent { number, request, work, at: self.now, strayed };
        self.after(delay, Happening::Reach { from, target, sent: Box::new(sent) });
    }

    /// Delivers a request to the cluster, or loses it.
    pub(crate) fn attend(&mut self, from: Recipient, target: usize, sent: &Sent) {
        let lost = |detail: &str| Reply::Failure(WireError::Unanswered { detail: detail.to_owned() });
        self.monitor.asked(sent.request.path(), self.now);
        match self.outages[target].filter(|(_, until)| *until > self.now) {
            // The client gives up by itself.
            Some((Fault::Partition, _)) => return,
            Some((Fault::Revoked, _)) => return self.respond(from, target, sent, refused(&Refused::unknown_client())),
            _ => {}
        }
        if sent.at < self.clusters[target].restored_at {
            return self.respond(from, target, sent, lost("the server was stopped"));
        }
        let change = sent.request.is_change();
        let before =
            if change { (Fault::TimeoutBefore, "request lost") } else { (Fault::TargetUnreachable, "read lost") };
        if self.strikes(before.0, before.1) {
            let reply = if change {
                lost("it timed out")
            } else {
                Reply::Failure(WireError::NotSent { detail: "no server responds".to_owned() })
            };
            return self.respond(from, target, sent, reply);
        }
        if self.strikes(Fault::Unavailable, "request unavailable") {
            let code = [429, 503, 500][self.tape.pick("which code", 3) as usize];
            let says = code == 429 && self.tape.happens("says when", 500);
            let retry_after = says.then_some(Span::seconds(5));
            let Reply::Answer { code, bytes, .. } = refused(&Refused::burdened(code)) else { return };
            return self.respond(from, target, sent, Reply::Answer { code, bytes, retry_after });
        }
        let given_up = sent
            .request
            .timeout()
            .is_some_and(|seconds| self.now > sent.at + self.instances[from.instance].lasts(seconds * 1_000));
        if given_up {
            return self.respond(from, target, sent, lost("the server gave it up"));
        }
        if change && self.strikes(Fault::Conflict, "somebody is faster") {
            self.touch(target, sent);
        }
        let reply = self.carry_out(target, sent);
        let reply = match reply {
            kube::Reply::Answer { code, bytes } => Reply::Answer { code, bytes, retry_after: None },
            kube::Reply::Stream(watch) => Reply::Stream(self.open_stream(from, target, sent.number, watch)),
        };
        if change && self.strikes(Fault::TimeoutAfter, "answer timed out") {
            return self.respond(from, target, sent, lost("it timed out"));
        }
        if !self.strikes(Fault::LostAnswer, "request unanswered") {
            self.respond(from, target, sent, reply);
        }
    }

    fn respond(&mut self, to: Recipient, target: usize, sent: &Sent, reply: Reply) {
        let number = sent.number;
        self.after(2, Happening::Respond { to, target, number, reply: Box::new(reply) });
    }

    /// Delivers a response, or the end of a wait, to the instance.
    pub(crate) fn come_back(&mut self, to: Recipient, target: usize, number: u64, reply: Option<Box<Reply>>) {
        if !self.is_current(to) {
            return;
        }
        let paused_until = self.instances[to.instance].paused_until;
        if paused_until > self.now {
            let happening = match reply {
                Some(reply) => Happening::Respond { to, target, number, reply },
                None => Happening::Ring { to, target, number },
            };
            return self.at(paused_until, happening);
        }
        let Some(link) = self.clusters[target].links.get(&to.instance) else { return };
        match reply {
            Some(reply) => link.wire.give(number, *reply),
            None => link.wire.ring(number),
        }
        self.drive(to.instance, target);
    }

    /// Carries out a request on the cluster, and reports the true changes to the monitor.
    fn carry_out(&mut self, target: usize, sent: &Sent) -> kube::Reply {
        let seconds = self.now / 1_000;
        if sent.strayed {
            let elsewhere = &mut self.clusters[target].elsewhere;
            let reply = elsewhere.answer(&sent.request);
            let changes = elsewhere.take_committed();
            self.monitor.changed_elsewhere(&changes, &sent.request);
            return reply;
        }
        let place = sent.request.place();
        let custom = place.as_ref().is_some_and(|place| KINDS[place.kind].custom)
            || sent.request.path().starts_with("/apis/sim.");
        let lags = self.outages[target].is_some_and(|(fault, until)| fault == Fault::KindMissing && until > self.now);
        self.clusters[target].server.set_now(seconds);
        if lags && (custom || sent.request.path() == "/apis") {
            return self.clusters[target].server.answer_undefined(&sent.request);
        }
        let rule = self.rewriting(sent);
        let server = &mut self.clusters[target].server;
        if let Some((place, rule)) = &rule {
            server.rule(place, rule.clone());
        }
        let stale = !sent.request.is_change() && sent.request.says("resourceVersion", "0");
        let reply = if stale && self.strikes(Fault::StaleRead, "stale cache") {
            let cluster = &mut self.clusters[target];
            let n = self.tape.pick("how stale", cluster.past.len().max(1) as u32) as usize;
            let revision = cluster.past.get(n).map_or(cluster.server.revision(), |(_, revision)| *revision);
            cluster.server.answer_as_of(&sent.request, revision)
        } else {
            self.clusters[target].server.answer(&sent.request)
        };
        let server = &mut self.clusters[target].server;
        if let Some((place, rule)) = &rule {
            server.lift(place, rule);
        }
        let committed = server.take_committed();
        if sent.request.is_change() {
            self.judge(target, sent, &reply, (&committed, rule.is_some()));
        }
        self.reflect(target, &committed);
        if !committed.is_empty() {
            self.stir(target);
            self.fight_back();
        }
        reply
    }

    /// Returns a rule of the cluster that rewrites this one write.
    fn rewriting(&mut self, sent: &Sent) -> Option<(kube::Place, Rule)> {
        sent.work.as_ref()?;
        let place = sent.request.place()?;
        let pointer = match KINDS[place.kind].kind {
            "ConfigMap" | "Secret" => "/data/content",
            "Deployment" => "/spec/template/spec/containers/0/image",
            "Widget" => "/spec/content",
            _ => return None,
        };
        if !sent.request.is_change()
            || sent.request.method != kube::Method::Patch
            || !self.strikes(Fault::Mutated, "rewritten")
        {
            return None;
        }
        let value = match KINDS[place.kind].kind {
            "ConfigMap" | "Secret" => serde_json::json!("00000667"),
            "Deployment" => serde_json::json!("app:667"),
            _ => serde_json::json!(667),
        };
        Some((place, Rule::Rewrite { pointer: pointer.to_owned(), value }))
    }

    /// Judges a change of ours on the cluster: its preconditions must be true, and nothing else may
    /// have changed.
    fn judge(&mut self, target: usize, sent: &Sent, reply: &kube::Reply, (committed, rewritten): (&[Committed], bool)) {
        let place = sent.request.place();
        let change = committed.iter().find(|change| Some(&change.place) == place.as_ref());
        let Some((work, fence)) = &sent.work else {
            return self.monitor.changed_unasked(change, &sent.request);
        };
        let (now, universe, stores, bundles) = (self.now, &self.universe, &self.stores, &self.bundles);
        let facts = self.ledger.facts(&self.origin);
        let image = &self.targets[target];
        let scene = Scene { now, universe, stores, target: image, facts, bundles };
        let takes_out = sent.request.content.as_ref().is_some_and(|(how, _)| how.contains("json-patch"));
        let takes_out = takes_out && !work.step.folds;
        let cluster = &mut self.clusters[target];
        if let Some(change) = change {
            if !takes_out {
                self.monitor.landing(&scene, work);
            }
            let last = change.before.as_ref().and_then(|before| cluster.written.get(before.uid())).copied();
            self.monitor.committed(&scene, work, &Change { change, takes_out, rewritten, last });
            if let Some(after) = &change.after {
                if work.step.verb == Verb::Create && change.before.is_none() {
                    cluster.made.insert(after.uid().to_owned(), work.intent);
                }
                if work.step.verb != Verb::Delete {
                    cluster.written.insert(after.uid().to_owned(), (work.intent, after.version));
                }
            }
        }
        let kube::Reply::Answer { code, .. } = reply else { return };
        let refused = |class| Outcome::Refused { refusal: Refusal { class, detail: String::new(), retry_after: None } };
        let outcome = match (change, *code) {
            (Some(_), _) => Outcome::Done { live: None },
            (None, 403) => refused(RefusalClass::Denied),
            (None, 422) => refused(RefusalClass::Invalid),
            _ => return,
        };
        if self.timeline.is_some() {
            let text = format!("cluster: {} {:?} {} → {code}", work.intent, work.step.verb, work.step.key);
            self.remark(&text);
        }
        let facts = self.ledger.facts(&self.origin);
        let (universe, stores, bundles) = (&self.universe, &self.stores, &self.bundles);
        let scene = Scene { now, universe, stores, target: &self.targets[target], facts, bundles };
        if !takes_out {
            self.monitor.landed(&scene, work, *fence, &outcome);
        }
    }

    /// Updates the image of a cluster to its true content.
    pub(super) fn reflect(&mut self, target: usize, committed: &[Committed]) {
        let (cluster, image) = (&mut self.clusters[target], &mut self.targets[target]);
        for change in committed {
            let Some(key) = objects::key_at(&change.place) else { continue };
            if !self.universe.keys.iter().any(|keys| keys.contains(&key)) {
                continue;
            }
            let object = cluster.server.object(&change.place).map(|stored| {
                let value = match objects::content_of(&key, stored) {
                    Some(content) => objects::body(&key, content),
                    None => Value::str("not as anybody declares it"),
                };
                let uid = stored.uid().to_owned();
                let intents = (cluster.made.get(&uid).copied(), cluster.written.get(&uid).map(|(intent, _)| *intent));
                imaged(stored, &uid, value, intents)
            });
            image.mirror(&key, object);
        }
        if !committed.is_empty() {
            cluster.past.push_back((self.now, cluster.server.revision()));
        }
        while cluster.past.front().is_some_and(|(at, _)| self.now - at > 45_000) {
            cluster.past.pop_front();
        }
    }
}

fn imaged(
    stored: &kube::Stored,
    uid: &str,
    value: Value,
    (created_by, written_by): (Option<setpoint_core::intent::IntentId>, Option<setpoint_core::intent::IntentId>),
) -> Object {
    let live = Live {
        controlled: objects::is_controlled(stored),
        health: Health::Healthy,
        ..Live::new(
            Uid::new(uid).expect("a short text"),
            LiveVersion::new(&stored.version.to_string()).expect("digits are a version"),
            value,
        )
    };
    Object { live, created_by, written_by }
}

fn refused(refused: &Refused) -> Reply {
    Reply::Answer { code: refused.code, bytes: refused.bytes(), retry_after: None }
}
