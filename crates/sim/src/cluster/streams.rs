//! The events of a cluster for its watches: in order, late, with a gap, cut in the middle, or ended
//! because the server has forgotten the revision.

use setpoint_kube_world::Watch;
use setpoint_target_kube::wire::WireError;

use super::wire::Channel;
use crate::fault::Fault;
use crate::world::{Happening, Recipient, World};

/// The interval of a stream's bookmarks.
const MARK_EVERY: u64 = 60_000;
/// The time after which servers end streams regularly.
const LONGEST: u64 = 30 * 60_000;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    to: Recipient,
    number: u64,
    watch: Watch,
    channel: Channel,
    opened_at: u64,
    /// Set if a delivery is scheduled.
    telling: bool,
    /// Set once the initial events have been delivered.
    begun: bool,
}

impl World {
    pub(super) fn open_stream(&mut self, to: Recipient, target: usize, number: u64, watch: Watch) -> Channel {
        let channel = Channel::default();
        let stream =
            Stream { to, number, watch, channel: channel.clone(), opened_at: self.now, telling: true, begun: false };
        self.clusters[target].streams.push(stream);
        self.after(5, Happening::Tell { to, target, number });
        self.after(MARK_EVERY, Happening::Mark { to, target, number });
        channel
    }

    /// Schedules the events of a change on a cluster for its watches.
    pub(super) fn stir(&mut self, target: usize) {
        for n in 0..self.clusters[target].streams.len() {
            if std::mem::replace(&mut self.clusters[target].streams[n].telling, true) {
                continue;
            }
            let late = self.strikes(Fault::ReorderedEvent, "events late");
            let delay = if late { 2_000 + u64::from(self.tape.pick("how late", 10_000)) } else { 15 };
            let Stream { to, number, .. } = self.clusters[target].streams[n];
            self.after(delay, Happening::Tell { to, target, number });
        }
        if !std::mem::replace(&mut self.clusters[target].tidying, true) {
            self.after(2_000, Happening::Tidy { target });
        }
    }

    /// Returns the position of an open stream. A stream without a reader is closed.
    fn stream(&mut self, to: Recipient, target: usize, number: u64) -> Option<usize> {
        let at = self.clusters[target].streams.iter().position(|one| one.to == to && one.number == number)?;
        if self.is_current(to) && self.clusters[target].streams[at].channel.is_read() {
            return Some(at);
        }
        self.clusters[target].streams.remove(at);
        None
    }

    fn is_paused(&self, who: Recipient) -> Option<u64> {
        Some(self.instances[who.instance].paused_until).filter(|until| *until > self.now)
    }

    pub(crate) fn tell(&mut self, to: Recipient, target: usize, number: u64) {
        let Some(at) = self.stream(to, target, number) else { return };
        if let Some(until) = self.is_paused(to) {
            return self.at(until, Happening::Tell { to, target, number });
        }
        let partition =
            self.outages[target].is_some_and(|(fault, until)| fault == Fault::Partition && until > self.now);
        if partition {
            // Nothing comes through; the events of this time are delivered afterwards.
            return self.after(10_000, Happening::Tell { to, target, number });
        }
        let dropped = self.strikes(Fault::DroppedEvent, "events dropped");
        // A server that loses an event continues as if nothing had happened.
        let swallowed = dropped && self.clusters[target].streams[at].begun && self.tape.happens("swallowed", 500);
        if self.script.drops_next() || dropped && !swallowed {
            return self.cut(target, at, None);
        }
        if self.strikes(Fault::EventsLost, "events forgotten") {
            self.clusters[target].server.compact();
            return self.cut_all(target);
        }
        let cluster = &mut self.clusters[target];
        let stream = &mut cluster.streams[at];
        stream.telling = false;
        stream.begun = true;
        let (events, channel) = (cluster.server.events(&mut stream.watch), stream.channel.clone());
        let Some(events) = events else { return self.cut(target, at, None) };
        if swallowed {
            return;
        }
        let half = events.len() > 1 && self.strikes(Fault::PartialList, "stream breaks off");
        let told = if half { &events[..events.len() / 2] } else { &events[..] };
        if !told.is_empty() {
            channel.push(lines(told));
        }
        if half {
            return self.cut(target, at, Some(WireError::Unanswered { detail: "it broke off".to_owned() }));
        }
        self.drive(to.instance, target);
    }

    /// Drops the latest events for all streams.
    pub(crate) fn lose_events(&mut self, target: usize) {
        let cluster = &mut self.clusters[target];
        for stream in cluster.streams.iter_mut().filter(|stream| stream.begun) {
            drop(cluster.server.events(&mut stream.watch));
        }
    }

    /// Ends all streams, because the server has stopped.
    pub(super) fn cut_all(&mut self, target: usize) {
        while !self.clusters[target].streams.is_empty() {
            self.cut(target, 0, None);
        }
    }

    fn cut(&mut self, target: usize, at: usize, error: Option<WireError>) {
        let stream = self.clusters[target].streams.remove(at);
        stream.channel.end(error);
        if self.is_current(stream.to) && self.is_paused(stream.to).is_none() {
            self.drive(stream.to.instance, target);
        }
    }

    /// Sends the bookmark of a stream.
    pub(crate) fn mark(&mut self, to: Recipient, target: usize, number: u64) {
        let Some(at) = self.stream(to, target, number) else { return };
        if let Some(until) = self.is_paused(to) {
            return self.at(until, Happening::Mark { to, target, number });
        }
        let cluster = &self.clusters[target];
        let stream = &cluster.streams[at];
        if self.now - stream.opened_at > LONGEST {
            return self.cut(target, at, None);
        }
        if let Some(bookmark) = cluster.server.bookmark(&stream.watch).filter(|_| !stream.telling) {
            stream.channel.push(lines(&[bookmark]));
        }
        self.after(MARK_EVERY, Happening::Mark { to, target, number });
        self.drive(to.instance, target);
    }
}

fn lines(events: &[String]) -> Vec<u8> {
    let mut lines = events.join("\n").into_bytes();
    lines.push(b'\n');
    lines
}
