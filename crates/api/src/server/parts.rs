//! Responses without an end of their own: limits their number, and ends them with the agent.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, watch};

use crate::agent::{Problem, ProblemKind};

/// The number of simultaneous responses without an end. Fewer than the connections, so that other
/// requests are still served.
const MOST: usize = 16;

/// The responses without an end that are under way.
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

    /// Returns the response with a body that ends with the agent, if there is room for it.
    pub(super) fn limit(&self, response: Response<Body>) -> Result<Response<Body>, Problem> {
        let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() else {
            let message = format!("{MOST} logs are being read already: stop one, then try again");
            return Err(Problem::new(ProblemKind::Unavailable, message));
        };
        let mut ended = self.ended.subscribe();
        let over = async move {
            // An error means that the sender is gone: the response is over in both cases.
            let _ = ended.wait_for(|ended| *ended).await;
        };
        Ok(response.map(|body| {
            Body::from_stream(body.into_data_stream().take_until(Box::pin(over)).inspect(move |_| {
                // The permit is returned with the body.
                let _kept = &turn;
            }))
        }))
    }
}
