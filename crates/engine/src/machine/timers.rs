//! Timers: each is set at most once; setting it again moves it.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::intent::IntentId;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::time::Timestamp;

use crate::effect::{Note, Ticket};

/// An action that becomes due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Acquire,
    Renew,
    LeaseEnd,
    ActFrom,
    GiveUp(Ticket),
    Control,
    Poll(StoreName),
    Stale(StoreName),
    Consider(AppId),
    Look(AppId),
    Sweep(AppId),
    Deadline(AppId),
    SuspensionEnds(AppId),
    Settle(IntentId),
    Breaker(TargetIdentity),
    /// Boxed: timers are moved around a lot, and all others are small.
    Deliver(Box<Note>),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Timestamp, Timer)>,
    set: BTreeMap<Timer, Timestamp>,
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Timestamp) {
        match self.set.insert(timer.clone(), at) {
            Some(before) if before == at => return,
            Some(before) => drop(self.due.remove(&(before, timer.clone()))),
            None => {}
        }
        self.due.insert((at, timer));
    }

    /// Sets a timer unless it is due earlier already.
    pub(super) fn set_no_later(&mut self, timer: Timer, at: Timestamp) {
        if self.set.get(&timer).is_none_or(|set| at < *set) {
            self.set(timer, at);
        }
    }

    pub(super) fn is_set(&self, timer: &Timer) -> bool {
        self.set.contains_key(timer)
    }

    pub(super) fn cancel(&mut self, timer: &Timer) {
        if let Some(at) = self.set.remove(timer) {
            self.due.remove(&(at, timer.clone()));
        }
    }

    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<Timer> {
        if self.due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, timer) = self.due.pop_first()?;
        self.set.remove(&timer);
        Some(timer)
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Cancels all timers, at the end of a tenure.
    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.set.clear();
    }
}
