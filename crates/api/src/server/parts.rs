//! Responses in parts: one JSON value per line, for as long as the client reads and the agent runs.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use crate::agent::{Parts, Problem, ProblemKind};

/// The number of simultaneous responses in parts. Fewer than the connections, so that other
/// requests are still served.
const MOST: usize = 16;

/// The number of parts that are sent together if they are ready.
const TOGETHER: usize = 256;

/// A body of any kind.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The responses in parts that are under way.
#[derive(Debug)]
pub(super) struct Streams {
    turns: Arc<Semaphore>,
    ended: watch::Sender<bool>,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(MOST)), ended: watch::Sender::new(false) }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Returns the body of a response in parts.
    pub(super) fn body<T: Serialize + Send + 'static>(&self, parts: Parts<T>) -> Result<Body, Problem> {
        let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() else {
            let message = format!("{MOST} logs are being read already: stop one, then try again");
            return Err(Problem::new(ProblemKind::Unavailable, message));
        };
        let mut ended = self.ended.subscribe();
        let over = async move {
            // An error means that the sender is gone: the response is over in both cases.
            let _ = ended.wait_for(|ended| *ended).await;
        };
        let frames = parts.take_until(Box::pin(over)).ready_chunks(TOGETHER).map(move |parts| {
            // The permit is returned with the body.
            let _kept = &turn;
            Ok(Frame::data(lines(&parts)))
        });
        Ok(BodyExt::boxed_unsync(StreamBody::new(frames)))
    }
}

fn lines(parts: &[impl Serialize]) -> Bytes {
    let mut text = Vec::new();
    for part in parts {
        serde_json::to_writer(&mut text, part).expect("parts are texts, and memory takes everything");
        text.push(b'\n');
    }
    text.into()
}
