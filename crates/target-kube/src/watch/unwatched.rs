//! The objects that no open stream reports, and since when: the knowledge of them is as old as
//! that.

use setpoint_core::time::Timestamp;
use setpoint_target::{Hint, Unwatched};

use super::{Progress, State, StreamId, Watches, Whose};

/// The number of failed tries after which a stream is down. One that resumes at once has missed
/// nothing.
const LASTING: u32 = 2;

impl Progress {
    /// Reports whether the stream was open before and could not be opened again.
    fn is_down(&self) -> bool {
        self.down_since.is_some() && self.tries >= LASTING
    }
}

impl State {
    /// Returns the next hint.
    pub(super) fn next_hint(&mut self) -> Option<Hint> {
        if std::mem::take(&mut self.unwatched_changed) {
            return Some(Hint::Unwatched { kinds: self.unwatched() });
        }
        if std::mem::take(&mut self.answers_again) {
            return Some(Hint::AnswersAgain);
        }
        let keys = std::mem::take(&mut self.hinted);
        (!keys.is_empty()).then_some(Hint::Changed { keys })
    }

    fn unwatched(&self) -> Vec<Unwatched> {
        let ours = self.streams.iter().filter(|(id, progress)| id.whose == Whose::Ours && progress.is_down());
        let unwatched = |(id, progress): (&StreamId, &Progress)| {
            Some(Unwatched {
                class: id.class.clone(),
                namespace: Some(id.namespace.clone()).filter(|namespace| !namespace.is_empty()),
                since: progress.down_since?,
                why: progress.trouble.as_deref().unwrap_or("the stream ended").into(),
            })
        };
        ours.filter_map(unwatched).collect()
    }

    /// Replaces the progress of a stream.
    pub(super) fn set_progress(&mut self, id: &StreamId, now: Progress) {
        let Some(progress) = self.streams.get_mut(id) else { return };
        let was_down = progress.is_down();
        *progress = now;
        self.unwatched_changed |= was_down != progress.is_down();
    }
}

impl Watches {
    /// Notes that the server responds again after an outage.
    pub(super) fn answers_again(&self) {
        self.state().answers_again = true;
        self.news.raise();
    }

    /// Notes that an interrupted stream is open again: it is about to report what it missed.
    pub(super) fn reopened(&self, id: &StreamId) {
        self.go_on(id, Progress { opened: true, ..Progress::default() });
    }

    pub(super) fn caught_up(&self, id: &StreamId) {
        self.go_on(id, Progress { opened: true, caught_up: true, ..Progress::default() });
    }

    /// Notes that a stream has ended, with the trouble if there was any.
    pub(super) fn interrupted(&self, id: &StreamId, trouble: Option<String>, tries: u32, now: Timestamp) {
        let (opened, down_since) = match self.state().streams.get(id) {
            Some(before) => (before.opened, before.down_since.or(before.opened.then_some(now))),
            None => (false, None),
        };
        let down_since = down_since.filter(|_| trouble.is_some());
        self.go_on(id, Progress { opened, trouble, tries, down_since, ..Progress::default() });
    }

    fn go_on(&self, id: &StreamId, now: Progress) {
        let mut state = self.state();
        state.set_progress(id, now);
        state.wake_listeners();
        drop(state);
        self.news.raise();
    }
}
