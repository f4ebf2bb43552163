//! Which app is next. A set with one place per app: work replaces work, it never piles up.
//!
//! Order is by *when it should have been done*: the instant an app was queued plus what its priority may wait. So urgent work
//! comes first and nothing starves: what has waited longest past its allowance wins (strict priorities let items starve
//! for half an hour: incident 31).

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::name::{AppId, Scope};
use setpoint_core::time::{Span, Timestamp};

/// Why an app wants to be looked at, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    Person,
    NewBundle,
    Drift,
    Sweep,
}

impl Priority {
    fn may_wait(self) -> Span {
        match self {
            Self::Person => Span::ZERO,
            Self::NewBundle => Span::seconds(1),
            Self::Drift => Span::seconds(3),
            Self::Sweep => Span::minutes(5),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    order: BTreeSet<(Timestamp, AppId)>,
    places: BTreeMap<AppId, Timestamp>,
}

impl Queue {
    /// Queues an app, or moves it forward. It is never moved back.
    pub(super) fn push(&mut self, app: &AppId, priority: Priority, now: Timestamp) {
        let due = now + priority.may_wait();
        if let Some(place) = self.places.get(app).copied() {
            if place <= due {
                return;
            }
            self.order.remove(&(place, app.clone()));
        }
        self.order.insert((due, app.clone()));
        self.places.insert(app.clone(), due);
    }

    pub(super) fn holds(&self, app: &AppId) -> bool {
        self.places.contains_key(app)
    }

    pub(super) fn remove(&mut self, app: &AppId) {
        if let Some(place) = self.places.remove(app) {
            self.order.remove(&(place, app.clone()));
        }
    }

    /// The next app that `may_start` lets through. While several scopes wait, none may hold more than a quarter of the slots
    /// (and always one): `busy` counts what each holds.
    pub(super) fn pop(
        &mut self,
        busy: &BTreeMap<Scope, usize>,
        slots: usize,
        may_start: impl Fn(&AppId) -> bool,
    ) -> Option<AppId> {
        let share = (slots / 4).max(1);
        let startable = || self.order.iter().map(|(_, app)| app).filter(|app| may_start(app));
        let fair = |app: &&AppId| busy.get(&app.scope).is_none_or(|held| *held < share);
        let next = startable().find(fair).or_else(|| startable().next())?.clone();
        self.remove(&next);
        Some(next)
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(text: &str) -> AppId {
        text.parse().unwrap()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0) + Span::seconds(seconds)
    }

    fn pop(queue: &mut Queue) -> Option<String> {
        queue.pop(&BTreeMap::new(), 8, |_| true).map(|app| app.to_string())
    }

    #[test]
    fn urgent_work_comes_first_and_old_work_does_not_starve() {
        let mut queue = Queue::default();
        queue.push(&app("a/sweep"), Priority::Sweep, at(0));
        queue.push(&app("a/drift"), Priority::Drift, at(10));
        queue.push(&app("a/person"), Priority::Person, at(11));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/person"));
        queue.push(&app("a/late"), Priority::Person, at(301));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/drift"));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/sweep"), "it has waited its five minutes");
    }

    #[test]
    fn an_app_has_one_place_and_only_moves_forward() {
        let mut queue = Queue::default();
        queue.push(&app("a/x"), Priority::Sweep, at(0));
        queue.push(&app("a/x"), Priority::Person, at(1));
        queue.push(&app("a/x"), Priority::Sweep, at(2));
        assert_eq!(queue.order.first().unwrap().0, at(1));
        assert!(pop(&mut queue).is_some() && pop(&mut queue).is_none());
    }

    #[test]
    fn one_scope_does_not_take_all_slots_while_another_waits() {
        let mut queue = Queue::default();
        for n in 0..5 {
            queue.push(&app(&format!("greedy/{n}")), Priority::Person, at(0));
        }
        queue.push(&app("modest/x"), Priority::Sweep, at(0));
        let busy = BTreeMap::from([(Scope::new("greedy").unwrap(), 2)]);
        let next = queue.pop(&busy, 8, |_| true).map(|app| app.to_string());
        assert_eq!(next.as_deref(), Some("modest/x"));
        assert!(queue.pop(&busy, 8, |_| true).is_some(), "alone it may have them all");
    }
}
