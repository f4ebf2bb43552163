//! The lane to the ledger: requests begin in the order the machine made them, and are answered in that order.
//!
//! Facts of an app are recorded whole: two appends that overtook each other would undo each other, in the ledger or in the
//! machine's memory. So there is one lane and not a task per append. It does not wait for one append before it begins the next,
//! because those under way together share a sync.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use setpoint_engine::Event;
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use super::conductor::Message;
use super::desk::{Desk, Request};
use crate::doors::Clock;

/// Requests under way at once: as many as a ledger puts under one sync.
const MOST: usize = 128;

type UnderWay = Pin<Box<dyn Future<Output = Option<Event>> + Send>>;

enum Place {
    Waiting(UnderWay),
    Answered(Option<Event>),
}

pub(super) struct Lane {
    desk: Arc<Desk>,
    clock: Clock,
    requests: mpsc::UnboundedReceiver<Request>,
    places: VecDeque<Place>,
}

impl Lane {
    /// The queue has no bound of its own: the machine has a bounded number of requests open.
    pub(super) fn new(desk: Arc<Desk>, clock: Clock, requests: mpsc::UnboundedReceiver<Request>) -> Self {
        Self { desk, clock, requests, places: VecDeque::new() }
    }

    /// Serves until nobody asks any more.
    pub(super) async fn serve(mut self, messages: mpsc::Sender<Message>) {
        loop {
            let due = self.desk.checkpoint_due().filter(|_| self.places.is_empty());
            let next = match due.map(|at| self.clock.instant_of(at)) {
                Some(instant) => timeout_at(instant, poll_fn(|context| self.poll_next(context))).await,
                None => Ok(poll_fn(|context| self.poll_next(context)).await),
            };
            match next {
                Err(_elapsed) => self.begin(Request::Checkpoint),
                Ok(None) => return,
                Ok(Some(None)) => {}
                Ok(Some(Some(event))) => {
                    if messages.send(Message::Event(event)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn begin(&mut self, request: Request) {
        let under_way = Arc::clone(&self.desk).carry_out(request);
        self.places.push_back(Place::Waiting(Box::pin(under_way)));
    }

    /// The answer to the oldest request; `None` when there is none and never will be.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Option<Event>>> {
        let mut ended = false;
        while self.places.len() < MOST && !ended {
            match self.requests.poll_recv(context) {
                Poll::Ready(Some(request)) => self.begin(request),
                Poll::Ready(None) => ended = true,
                Poll::Pending => break,
            }
        }
        // From the oldest on: a request is begun by being polled for the first time.
        for place in &mut self.places {
            if let Place::Waiting(under_way) = place
                && let Poll::Ready(event) = under_way.as_mut().poll(context)
            {
                *place = Place::Answered(event);
            }
        }
        match self.places.pop_front() {
            Some(Place::Answered(event)) => Poll::Ready(Some(event)),
            Some(waiting) => {
                self.places.push_front(waiting);
                Poll::Pending
            }
            None if ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
