//! The runs of instances: their start, death and events, and the steps of the shipped machine.

use setpoint_engine::{Controls, Declined, Effect, Event, Machine};

use super::{Happening, Recipient, World};
use crate::accept_plane::AcceptPlane;
use crate::fault::Fault;
use crate::repository;
use crate::universe::settings;

/// Longer than a lease, and than another instance takes to take over.
const LONG_PAUSE: u64 = 150_000;

impl World {
    pub(super) fn start(&mut self, n: usize) {
        let down_until = self.instances[n].down_until;
        if down_until > self.now {
            return self.at(down_until, Happening::Start { instance: n });
        }
        if self.strikes(Fault::ClockJump, "clock at start") {
            let hours = i64::from(self.tape.pick("clock hours", 5)) - 2;
            self.instances[n].offset = hours * 3_600_000;
        }
        let fast = self.strikes(Fault::ClockRate, "clock runs fast");
        self.monitor.clocks_ran_fast |= fast;
        let instance = &mut self.instances[n];
        instance.run_clock(if fast { 2 } else { 1 }, self.now);
        instance.machine = Machine::new(settings());
        instance.machine.watch_changes(self.compares_status);
        instance.desk = AcceptPlane::default();
        instance.life += 1;
        instance.up = true;
        instance.lease = None;
        instance.wake = None;
        self.connect(n);
        let mut controls = Controls::default();
        if self.universe.rooted {
            repository::bootstrap(&mut controls, None);
        } else {
            controls.clone_from(&self.universe.controls);
        }
        self.step(n, Event::Controls(controls));
        self.step(n, Event::Started);
    }

    /// Ends the process: messages to it are lost, effects that it has sent are not.
    pub(crate) fn crash(&mut self, n: usize) {
        self.instances[n].up = false;
        self.disconnect(n);
        let storm = self.strikes(Fault::CrashStorm, "crash storm");
        let delay = if storm { 500 } else { 1_000 + u64::from(self.tape.pick("down seconds", 90)) * 1_000 };
        self.after(delay, Happening::Start { instance: n });
        if self.script.touch_while_down || self.strikes(Fault::TouchedWhileDown, "touched while down") {
            self.after(delay / 2, Happening::Touch);
        }
    }

    pub(super) fn deliver(&mut self, to: Recipient, event: Box<Event>) {
        if !self.is_current(to) {
            return;
        }
        let paused_until = self.instances[to.instance].paused_until;
        if paused_until > self.now {
            return self.at(paused_until, Happening::Deliver { to, event });
        }
        self.step(to.instance, *event);
    }

    pub(super) fn wake(&mut self, to: Recipient) {
        if !self.is_current(to) {
            return;
        }
        let instance = &mut self.instances[to.instance];
        if instance.paused_until > self.now {
            let resume = instance.paused_until;
            return self.at(resume, Happening::Wake { to });
        }
        let due = instance.wake.is_some_and(|at| at <= instance.clock(self.now));
        if due {
            instance.wake = None;
            self.step(to.instance, Event::Woke);
        }
    }

    /// Runs one step of the shipped machine, and sends its effects.
    pub(crate) fn step(&mut self, n: usize, event: Event) {
        if self.strikes(Fault::Pause, "pause") {
            let seconds = [5, 70, 150][self.tape.pick("pause", 3) as usize];
            self.instances[n].paused_until = self.now + seconds * 1_000;
        }
        self.steps += 1;
        let instance = &mut self.instances[n];
        let clock = instance.clock(self.now);
        let life = instance.life;
        let effects = instance.machine.step(clock, event);
        if self.compares_status {
            self.monitor.shows(&mut instance.shown, &mut instance.machine);
        }
        for target in &self.targets {
            if let Some(until) = instance.machine.left_alone_until(target.identity()) {
                self.monitor.leaves_alone(n, target.identity(), clock, until);
            }
        }
        for effect in effects {
            self.note(n, &effect);
            match &effect {
                Effect::Execute { fence, .. } => self.monitor.leaves(clock, *fence),
                Effect::Ordered { id, outcome: Err(Declined::Refused(_)) } => self.monitor.order_refused(n, *id),
                _ => {}
            }
            if let Effect::WakeAt { at } = effect {
                self.wake_later(n, at);
                continue;
            }
            self.script.effects += 1;
            let crash = self.script.crash_after_effect == Some(self.script.effects);
            if self.script.pause_after_effect == Some(self.script.effects) {
                self.instances[n].paused_until = self.now + LONG_PAUSE;
            }
            self.send(Recipient { instance: n, life }, effect);
            if crash || self.strikes(Fault::Crash, "crash") {
                self.crash(n);
                return;
            }
        }
        self.collect_reasons(n);
    }

    fn wake_later(&mut self, n: usize, at: setpoint_core::time::Timestamp) {
        let instance = &mut self.instances[n];
        if instance.wake == Some(at) {
            return;
        }
        instance.wake = Some(at);
        let (life, delay) = (instance.life, instance.until(at, self.now));
        self.after(delay, Happening::Wake { to: Recipient { instance: n, life } });
    }
}
