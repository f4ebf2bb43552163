//! The network and the clock of a target: requests wait in a basket until the world takes them, and
//! the world provides responses and times.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::future::BoxFuture;
use futures_util::stream;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target_kube::Clock;
use setpoint_target_kube::wire::{Body, Request, Response, Wire, WireError};

/// The end of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    Answer {
        code: u16,
        bytes: Vec<u8>,
        retry_after: Option<Span>,
    },
    /// A response without an end.
    Stream(Channel),
    Failure(WireError),
}

#[derive(Debug, Default)]
pub(crate) struct SimWire(Mutex<Basket>);

#[derive(Debug, Default)]
struct Basket {
    numbers: u64,
    requests: Vec<(u64, Request)>,
    waits: Vec<(u64, Span)>,
    /// The slots of waiting callers, with the reply once it has arrived.
    slots: BTreeMap<u64, Slot>,
    connections: u64,
    now: Timestamp,
}

/// New requests and waits, each with the number for its reply.
pub(super) struct SentRequests {
    pub(super) requests: Vec<(u64, Request)>,
    pub(super) waits: Vec<(u64, Span)>,
}

#[derive(Debug, Default)]
struct Slot {
    reply: Option<Reply>,
    waker: Option<Waker>,
}

impl SimWire {
    fn basket(&self) -> MutexGuard<'_, Basket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_now(&self, now: Timestamp) {
        self.basket().now = now;
    }

    /// Takes the requests and waits that are new since the last call.
    pub(super) fn take(&self) -> SentRequests {
        let mut basket = self.basket();
        SentRequests { requests: std::mem::take(&mut basket.requests), waits: std::mem::take(&mut basket.waits) }
    }

    /// Delivers the reply for a number. There may be no caller that still waits for it.
    pub(super) fn give(&self, number: u64, reply: Reply) {
        let waker = {
            let mut basket = self.basket();
            let Some(slot) = basket.slots.get_mut(&number) else { return };
            slot.reply = Some(reply);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends a wait.
    pub(super) fn ring(&self, number: u64) {
        self.give(number, Reply::Answer { code: 0, bytes: Vec::new(), retry_after: None });
    }

    /// Sends the next request over a new connection.
    pub(super) fn reconnect(&self) {
        self.basket().connections += 1;
    }

    fn begin(&self) -> u64 {
        let mut basket = self.basket();
        basket.numbers += 1;
        let number = basket.numbers;
        basket.slots.insert(number, Slot::default());
        number
    }
}

/// A caller that waits for a number, until this is dropped.
struct Waiting {
    wire: Arc<SimWire>,
    number: u64,
}

impl Waiting {
    async fn reply(self) -> Reply {
        std::future::poll_fn(|context| {
            let mut basket = self.wire.basket();
            let slot = basket.slots.get_mut(&self.number).expect("it is kept until this is dropped");
            match slot.reply.take() {
                Some(reply) => Poll::Ready(reply),
                None => {
                    slot.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.wire.basket().slots.remove(&self.number);
    }
}

/// The wire as the target holds it.
#[derive(Clone)]
pub(super) struct Handle(pub(super) Arc<SimWire>);

impl Handle {
    pub(super) fn clock(&self) -> Clock {
        let wire = Arc::clone(&self.0);
        Clock::new(Arc::new(move || wire.basket().now))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Wire for Handle {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>> {
        let waiting = Waiting { wire: Arc::clone(&self.0), number: self.0.begin() };
        self.0.basket().requests.push((waiting.number, request));
        Box::pin(async move {
            match waiting.reply().await {
                Reply::Answer { code, bytes, retry_after } => {
                    let body: Body = Box::pin(stream::once(std::future::ready(Ok(bytes))));
                    Ok(Response { status: code, retry_after, body })
                }
                Reply::Stream(channel) => Ok(Response { status: 200, retry_after: None, body: channel.body() }),
                Reply::Failure(error) => Err(error),
            }
        })
    }

    fn wait(&self, span: Span) -> BoxFuture<'static, ()> {
        let waiting = Waiting { wire: Arc::clone(&self.0), number: self.0.begin() };
        self.0.basket().waits.push((waiting.number, span));
        Box::pin(async move { drop(waiting.reply().await) })
    }

    fn connections(&self) -> u64 {
        self.0.basket().connections
    }
}

/// The bytes of a stream in transit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel(Arc<Mutex<Flowing>>);

#[derive(Debug, Default)]
struct Flowing {
    chunks: VecDeque<Result<Vec<u8>, WireError>>,
    ended: bool,
    waker: Option<Waker>,
}

impl Channel {
    pub(super) fn push(&self, bytes: Vec<u8>) {
        self.change(|flowing| flowing.chunks.push_back(Ok(bytes)));
    }

    /// Ends the stream, with an error or without.
    pub(super) fn end(&self, error: Option<WireError>) {
        self.change(|flowing| {
            flowing.chunks.extend(error.map(Err));
            flowing.ended = true;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Flowing)) {
        let waker = {
            let mut flowing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut flowing);
            flowing.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn body(self) -> Body {
        Box::pin(stream::poll_fn(move |context| {
            let mut flowing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match flowing.chunks.pop_front() {
                Some(chunk) => Poll::Ready(Some(chunk)),
                None if flowing.ended => Poll::Ready(None),
                None => {
                    flowing.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }

    /// Reports whether the stream still has a reader.
    pub(super) fn is_read(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
