//! The change feed: reports which apps, stores and targets have become different, by sequence
//! number. Readers continue after the last number that they know. It never delays the engine: a
//! reader that is too slow loses its place and has to read everything again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use setpoint_api::agent::Parts;
use setpoint_api::answer::{Change, FeedEvent};
use setpoint_api::rights::Rights;
use setpoint_core::time::Timestamp;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::answers::Answers;
use super::rights::View;
use super::sources::Provider;

/// The number of changes that are remembered for readers that fell behind.
const REMEMBERED: usize = 4_096;

/// Changes within this time are reported together.
const TOGETHER: Duration = Duration::from_millis(200);

/// Changes are still observed for this long after the last reader left: it may be back, on the next
/// page.
const LINGER: Duration = Duration::from_secs(60);

/// The feed of one process.
#[derive(Debug)]
pub(super) struct Feed {
    log: Mutex<Log>,
    /// The number of the newest change.
    newest: watch::Sender<u64>,
    readers: watch::Sender<usize>,
}

/// The newest changes.
#[derive(Debug)]
struct Log {
    /// The number of the last change that is no longer remembered.
    before: u64,
    changes: VecDeque<Change>,
}

impl Log {
    /// Returns the changes after a position; `None` if the position is not known.
    fn after(&self, position: u64) -> Option<impl Iterator<Item = (u64, &Change)>> {
        let known = position.checked_sub(self.before)?;
        let known = usize::try_from(known).ok().filter(|known| *known <= self.changes.len())?;
        let numbered = (self.before + 1..).zip(&self.changes);
        Some(numbered.skip(known))
    }

    fn newest(&self) -> u64 {
        self.before + self.changes.len() as u64
    }
}

/// A reader of the feed, with the rights that it had when it began. The documents are those in
/// force at each event.
#[derive(Clone, Debug)]
pub(super) struct Viewer {
    pub(super) rights: Rights,
    pub(super) provider: Arc<Provider>,
}

impl Viewer {
    fn sees(&self, change: &Change) -> bool {
        let view = View::new(self.rights.clone(), self.provider.documents());
        match change {
            Change::App { app } => view.sees(app),
            Change::Store { store } => view.sees_store(store),
            Change::Target { target } => view.sees_target(target),
            Change::Reload => true,
        }
    }
}

/// Counts a reader for as long as it exists.
struct Reader(Arc<Feed>);

impl Reader {
    fn new(feed: Arc<Feed>) -> Self {
        feed.readers.send_modify(|readers| *readers += 1);
        Self(feed)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.send_modify(|readers| *readers -= 1);
    }
}

impl Feed {
    /// Creates a feed. Its numbers continue above those of any earlier process, so that a reader
    /// cannot take a position of one for a position of the other.
    pub(super) fn new(now: Timestamp) -> Arc<Self> {
        let before = now.as_millis();
        let log = Mutex::new(Log { before, changes: VecDeque::new() });
        Arc::new(Self { log, newest: watch::Sender::new(before), readers: watch::Sender::new(0) })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position after the newest change.
    pub(super) fn position(&self) -> u64 {
        self.log().newest()
    }

    /// Returns the number of readers.
    pub(super) fn readers(&self) -> usize {
        *self.readers.borrow()
    }

    /// Reports whether the feed has readers.
    pub(super) fn has_readers(&self) -> bool {
        self.readers() > 0
    }

    fn publish(&self, changes: impl IntoIterator<Item = Change>) {
        let newest = {
            let mut log = self.log();
            log.changes.extend(changes);
            while log.changes.len() > REMEMBERED {
                log.changes.pop_front();
                log.before += 1;
            }
            log.newest()
        };
        self.newest.send_if_modified(|known| std::mem::replace(known, newest) != newest);
    }

    /// Returns the changes after a position that the reader may see, as they happen. A position
    /// that is not known begins with [`Change::Reload`].
    pub(super) fn events(self: &Arc<Self>, viewer: Viewer, after: Option<u64>) -> Parts<FeedEvent> {
        let (newest, reader) = (self.newest.subscribe(), Reader::new(Arc::clone(self)));
        let batches = stream::unfold((newest, reader, after), move |(mut newest, reader, mut position)| {
            let viewer = viewer.clone();
            async move {
                loop {
                    newest.borrow_and_update();
                    let events = reader.0.read(&viewer, position);
                    position = Some(events.1);
                    if !events.0.is_empty() {
                        return Some((stream::iter(events.0), (newest, reader, position)));
                    }
                    newest.changed().await.ok()?;
                }
            }
        });
        batches.flatten().boxed()
    }

    /// Returns the changes after a position, and the position after them.
    fn read(&self, viewer: &Viewer, position: Option<u64>) -> (Vec<FeedEvent>, u64) {
        let log = self.log();
        let newest = log.newest();
        let Some(changes) = position.and_then(|position| log.after(position)) else {
            return (vec![FeedEvent { seq: newest, change: Change::Reload }], newest);
        };
        let changes: Vec<_> = changes.map(|(seq, change)| (seq, change.clone())).collect();
        drop(log);
        let visible = changes.into_iter().filter(|(_, change)| viewer.sees(change));
        (visible.map(|(seq, change)| FeedEvent { seq, change }).collect(), newest)
    }
}

/// Waits until there was no reader for a while.
async fn deserted(mut readers: watch::Receiver<usize>) {
    loop {
        // An error means that the feed is gone, and with it this task.
        let _ = readers.wait_for(|readers| *readers == 0).await;
        if timeout(LINGER, readers.wait_for(|readers| *readers > 0)).await.is_err() {
            return;
        }
    }
}

impl Answers {
    /// Publishes changes for as long as the feed has readers. Ends with the engine.
    #[expect(clippy::disallowed_methods, reason = "the door: changes of a moment are reported together")]
    pub(super) async fn publish_changes(&self) {
        let mut readers = self.feed.readers.subscribe();
        let mut steps = self.handle.steps();
        loop {
            if readers.wait_for(|readers| *readers > 0).await.is_err() {
                return;
            }
            // Changes while no one read are unknown.
            self.feed.publish([Change::Reload]);
            self.publish_differences().await;
            let deserted = deserted(self.feed.readers.subscribe());
            tokio::pin!(deserted);
            loop {
                tokio::select! {
                    step = steps.next() => {
                        if step.is_err() {
                            return;
                        }
                    }
                    () = &mut deserted => break,
                }
                sleep(TOGETHER).await;
                self.publish_differences().await;
            }
            self.forget_differences().await;
        }
    }

    /// Publishes what has changed since the last call. An engine that does not respond has not
    /// changed either.
    async fn publish_differences(&self) {
        let Ok(Ok(differences)) = timeout(LINGER, self.differences()).await else { return };
        match differences {
            Some(changes) if changes.len() <= REMEMBERED => self.feed.publish(changes),
            // So many changes cost a reader more than to read everything again.
            Some(_) | None => self.feed.publish([Change::Reload]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: usize) -> Change {
        Change::App { app: format!("web/app-{number}").parse().expect("a valid app") }
    }

    fn numbers(feed: &Feed, position: u64) -> Option<Vec<u64>> {
        feed.log().after(position).map(|changes| changes.map(|(seq, _)| seq).collect())
    }

    #[test]
    fn a_reader_continues_after_the_last_change_that_it_knows() {
        let feed = Feed::new(Timestamp::from_millis(1_000));
        assert_eq!(numbers(&feed, 1_000), Some(vec![]));
        feed.publish([app(1), app(2), app(3)]);
        assert_eq!(numbers(&feed, 1_001), Some(vec![1_002, 1_003]));
        assert_eq!(feed.position(), 1_003);
    }

    #[test]
    fn positions_of_another_process_and_forgotten_ones_are_not_known() {
        let feed = Feed::new(Timestamp::from_millis(1_000));
        assert_eq!(numbers(&feed, 999), None);
        assert_eq!(numbers(&feed, 1_001), None, "the future is not known either");
        feed.publish((0..REMEMBERED + 1).map(app));
        assert_eq!(numbers(&feed, 1_000), None);
        assert_eq!(numbers(&feed, 1_001).expect("known").len(), REMEMBERED);
    }
}
