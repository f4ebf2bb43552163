//! The worker for the ledger: requests start in the order in which the machine made them, and their
//! results are sent in that order.
//!
//! The facts of an app are recorded whole: if one append overtook another, each would undo the
//! other, in the ledger or in the machine's memory. So there is one worker and not a task per
//! append. It does not wait for one append before it starts the next, because concurrent appends
//! share a sync.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use setpoint_engine::Event;
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use super::event_loop::Message;
use super::ledger_queue::{LedgerQueue, Request};
use crate::doors::Clock;

/// The most concurrent requests: as many as a ledger puts under one sync.
const MOST: usize = 128;

type UnderWay = Pin<Box<dyn Future<Output = Option<Event>> + Send>>;

enum Place {
    Waiting(UnderWay),
    Answered(Option<Event>),
}

/// The requests in flight, oldest first.
#[derive(Default)]
struct Places(VecDeque<Place>);

impl Places {
    fn add(&mut self, under_way: UnderWay) {
        self.0.push_back(Place::Waiting(under_way));
    }

    /// Returns the result of the oldest request. All requests are polled, from the oldest on: the
    /// first poll of a request starts it.
    fn poll_oldest(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        for place in &mut self.0 {
            if let Place::Waiting(under_way) = place
                && let Poll::Ready(event) = under_way.as_mut().poll(context)
            {
                *place = Place::Answered(event);
            }
        }
        match self.0.pop_front() {
            Some(Place::Answered(event)) => Poll::Ready(event),
            Some(waiting) => {
                self.0.push_front(waiting);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }
}

pub(super) struct Worker {
    desk: Arc<LedgerQueue>,
    clock: Clock,
    requests: mpsc::UnboundedReceiver<Request>,
    places: Places,
}

impl Worker {
    /// Creates a worker. The queue needs no bound of its own: the machine bounds its open requests.
    pub(super) fn new(desk: Arc<LedgerQueue>, clock: Clock, requests: mpsc::UnboundedReceiver<Request>) -> Self {
        Self { desk, clock, requests, places: Places::default() }
    }

    /// Serves requests until their sender is gone.
    pub(super) async fn serve(mut self, messages: mpsc::Sender<Message>) {
        loop {
            // Only while nothing is in flight: the next append may sign by itself.
            let due = self.desk.checkpoint_due().filter(|_| self.places.0.is_empty());
            let next = match due.map(|at| self.clock.instant_of(at)) {
                Some(instant) => timeout_at(instant, poll_fn(|context| self.poll_next(context))).await,
                None => Ok(poll_fn(|context| self.poll_next(context)).await),
            };
            match next {
                Err(_elapsed) => self.begin(Request::Checkpoint),
                Ok(Next::Ended) => return,
                Ok(Next::Answer(None)) => {}
                Ok(Next::Answer(Some(event))) => {
                    if messages.send(Message::Event(event)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn begin(&mut self, request: Request) {
        self.places.add(Box::pin(Arc::clone(&self.desk).carry_out(request)));
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        let mut ended = false;
        while self.places.0.len() < MOST && !ended {
            match self.requests.poll_recv(context) {
                Poll::Ready(Some(request)) => self.begin(request),
                Poll::Ready(None) => ended = true,
                Poll::Pending => break,
            }
        }
        if ended && self.places.0.is_empty() {
            return Poll::Ready(Next::Ended);
        }
        self.places.poll_oldest(context).map(Next::Answer)
    }
}

/// The next step of the worker.
enum Next {
    Answer(Option<Event>),
    /// No more requests can arrive, and all results have been sent.
    Ended,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::Waker;

    use setpoint_engine::Ticket;
    use tokio::sync::oneshot;

    use super::*;

    /// Returns the ticket of the oldest result, if it is available.
    fn oldest(places: &mut Places) -> Option<u64> {
        match places.poll_oldest(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Event::Appended { ticket })) => Some(ticket.0),
            _ => None,
        }
    }

    #[test]
    fn requests_begin_in_order_without_waiting_and_are_answered_in_order() {
        let (mut places, begun) = (Places::default(), Arc::new(Mutex::new(Vec::new())));
        let mut done = Vec::new();
        for number in 0..3 {
            let (answer, answered) = oneshot::channel::<()>();
            let begun = Arc::clone(&begun);
            places.add(Box::pin(async move {
                begun.lock().unwrap().push(number);
                answered.await.unwrap();
                Some(Event::Appended { ticket: Ticket(number) })
            }));
            done.push(answer);
        }
        assert_eq!(oldest(&mut places), None);
        assert_eq!(*begun.lock().unwrap(), [0, 1, 2], "all are under way, so that they can share a sync");
        done.pop().unwrap().send(()).unwrap();
        assert_eq!(oldest(&mut places), None, "the last may not overtake the first");
        for answer in done {
            answer.send(()).unwrap();
        }
        let answers: Vec<_> = std::iter::from_fn(|| oldest(&mut places)).collect();
        assert_eq!(answers, [0, 1, 2]);
    }
}
