//! Answers that come in parts: a JSON value a line, for as long as the asker listens and the agent
//! runs.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use crate::agent::{Parts, Problem, ProblemKind};

/// Answers of this kind at the same time. They are fewer than the connections, so that questions
/// are heard beside them.
const MOST: usize = 16;

/// Parts that are there already leave together.
const TOGETHER: usize = 256;

/// A body of any kind.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The answers in parts that are under way.
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

    /// The body of an answer in parts.
    pub(super) fn body<T: Serialize + Send + 'static>(&self, parts: Parts<T>) -> Result<Body, Problem> {
        let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() else {
            let message = format!("{MOST} logs are being read already: end one, then ask again");
            return Err(Problem::new(ProblemKind::Unavailable, message));
        };
        let mut ended = self.ended.subscribe();
        let over = async move {
            // Whoever ends them, or is gone: either way it is over.
            let _ = ended.wait_for(|ended| *ended).await;
        };
        let frames = parts.take_until(Box::pin(over)).ready_chunks(TOGETHER).map(move |parts| {
            // The turn is given back with the body.
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
