//! The queue of apps to observe. A set with one place per app: work replaces work, it never piles
//! up.
//!
//! The order is by due time: the instant an app was queued plus the time its priority may wait. So
//! urgent work comes first and nothing starves: the app that is overdue the longest wins (strict
//! priorities let items starve for half an hour: incident 31).

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::name::{AppId, Scope, TargetIdentity};
use setpoint_core::time::{Span, Timestamp};
pub(super) use setpoint_target::Priority;

fn may_wait(priority: Priority) -> Span {
    match priority {
        Priority::Person => Span::ZERO,
        Priority::NewBundle => Span::seconds(1),
        Priority::Drift => Span::seconds(3),
        Priority::Sweep => Span::minutes(5),
    }
}

/// A queue with one lane per scope and target. These two alone determine whether an app may start,
/// so only the first app of each lane is checked.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lanes: BTreeMap<QueueKey, BTreeSet<(Timestamp, AppId)>>,
    places: BTreeMap<AppId, Place>,
}

/// The place of a waiting app.
#[derive(Debug)]
struct Place {
    due: Timestamp,
    target: TargetIdentity,
    /// The most urgent priority it was queued with.
    priority: Priority,
}

type QueueKey = (Scope, TargetIdentity);

impl Queue {
    /// Queues an app of a target, or moves it forward. It is never moved back.
    pub(super) fn push(&mut self, app: &AppId, target: &TargetIdentity, priority: Priority, now: Timestamp) {
        let (mut due, mut priority) = (now + may_wait(priority), priority);
        if let Some(place) = self.places.get_mut(app) {
            place.priority = place.priority.min(priority);
            if place.due <= due && place.target == *target {
                return;
            }
            (due, priority) = (due.min(place.due), place.priority);
        }
        self.remove(app);
        self.lanes.entry((app.scope.clone(), target.clone())).or_default().insert((due, app.clone()));
        self.places.insert(app.clone(), Place { due, target: target.clone(), priority });
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn holds(&self, app: &AppId) -> bool {
        self.places.contains_key(app)
    }

    pub(super) fn remove(&mut self, app: &AppId) {
        self.take(app);
    }

    fn take(&mut self, app: &AppId) -> Option<Priority> {
        let Place { due, target, priority } = self.places.remove(app)?;
        let lane = (app.scope.clone(), target);
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            waiting.remove(&(due, app.clone()));
            if waiting.is_empty() {
                self.lanes.remove(&lane);
            }
        }
        Some(priority)
    }

    /// Takes the next app whose target `may_start` lets through, with its priority. While several
    /// scopes wait, none may hold more than a quarter of the slots (and always one): `busy` counts
    /// the slots of each.
    pub(super) fn pop(
        &mut self,
        busy: &BTreeMap<Scope, usize>,
        slots: usize,
        may_start: impl Fn(&TargetIdentity) -> bool,
    ) -> Option<(AppId, Priority)> {
        let share = (slots / 4).max(1);
        let startable = || self.lanes.iter().filter(|((_, target), _)| may_start(target));
        let fair = |((scope, _), _): &(&QueueKey, _)| busy.get(scope).is_none_or(|held| *held < share);
        let first = |(_, waiting): (_, &BTreeSet<(Timestamp, AppId)>)| waiting.first().cloned();
        let next = startable().filter(fair).filter_map(first).min().or_else(|| startable().filter_map(first).min());
        let (_, next) = next?;
        let priority = self.take(&next)?;
        Some((next, priority))
    }

    pub(super) fn clear(&mut self) {
        self.lanes.clear();
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

    fn target(text: &str) -> TargetIdentity {
        TargetIdentity::new(text).unwrap()
    }

    fn push(queue: &mut Queue, app: &AppId, priority: Priority, now: Timestamp) {
        queue.push(app, &target("one"), priority, now);
    }

    fn pop(queue: &mut Queue) -> Option<String> {
        queue.pop(&BTreeMap::new(), 8, |_| true).map(|(app, _)| app.to_string())
    }

    #[test]
    fn urgent_work_comes_first_and_old_work_does_not_starve() {
        let mut queue = Queue::default();
        push(&mut queue, &app("a/sweep"), Priority::Sweep, at(0));
        push(&mut queue, &app("a/drift"), Priority::Drift, at(10));
        push(&mut queue, &app("a/person"), Priority::Person, at(11));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/person"));
        push(&mut queue, &app("a/late"), Priority::Person, at(301));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/drift"));
        assert_eq!(pop(&mut queue).as_deref(), Some("a/sweep"), "it has waited its five minutes");
    }

    #[test]
    fn an_app_has_one_place_and_only_moves_forward() {
        let mut queue = Queue::default();
        push(&mut queue, &app("a/x"), Priority::Sweep, at(0));
        push(&mut queue, &app("a/x"), Priority::Person, at(1));
        push(&mut queue, &app("a/x"), Priority::Sweep, at(2));
        assert_eq!(queue.places[&app("a/x")].due, at(1));
        assert!(pop(&mut queue).is_some() && pop(&mut queue).is_none());
        assert!(queue.lanes.is_empty(), "nothing is left of a lane that nobody waits in");
    }

    #[test]
    fn one_scope_does_not_take_all_slots_while_another_waits() {
        let mut queue = Queue::default();
        for n in 0..5 {
            push(&mut queue, &app(&format!("greedy/{n}")), Priority::Person, at(0));
        }
        push(&mut queue, &app("modest/x"), Priority::Sweep, at(0));
        let busy = BTreeMap::from([(Scope::new("greedy").unwrap(), 2)]);
        let next = queue.pop(&busy, 8, |_| true).map(|(app, _)| app.to_string());
        assert_eq!(next.as_deref(), Some("modest/x"));
        assert!(queue.pop(&busy, 8, |_| true).is_some(), "alone it may have them all");
    }

    #[test]
    fn what_may_not_start_keeps_nobody_else_waiting() {
        let mut queue = Queue::default();
        let [down, up] = ["down", "up"].map(target);
        queue.push(&app("a/first"), &down, Priority::Person, at(0));
        queue.push(&app("a/second"), &up, Priority::Person, at(1));
        let mut next = || queue.pop(&BTreeMap::new(), 8, |target| *target == up).map(|(app, _)| app.to_string());
        assert_eq!(next().as_deref(), Some("a/second"));
        assert_eq!(next(), None);
        queue.push(&app("a/first"), &up, Priority::Sweep, at(2));
        let mut next = || queue.pop(&BTreeMap::new(), 8, |target| *target == up).map(|(app, _)| app.to_string());
        assert_eq!(next().as_deref(), Some("a/first"), "it was moved to another target");
    }
}
