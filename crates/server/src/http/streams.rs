//! Responses without an end: limited in number, kept alive, and ended when a right is taken away or
//! the agent stops.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use setpoint_api::handlers::Endless;
use setpoint_api::{Caller, Problem, ProblemKind, Rights};
use setpoint_core::name::Actor;
use tokio::sync::watch;
use tokio::time::interval;

use super::identity::{SignIn, rights_now};
use super::{Shared, SharedState};

/// The number of simultaneous streams, and those of one account.
const MOST: usize = 1_000;
const MOST_OF_ONE: usize = 32;

/// The interval at which the rights of a reader are checked again, and at which an idle stream
/// sends something, so that proxies keep it and a reader that is gone is noticed.
const CHECK: Duration = Duration::from_secs(10);

/// The streams that are open.
#[derive(Debug)]
pub(super) struct Streams {
    open: Mutex<BTreeMap<Actor, usize>>,
    ended: watch::Sender<bool>,
}

/// A place among the open streams, which is returned when it is dropped.
struct Place {
    shared: Arc<Shared>,
    actor: Actor,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.shared.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        let left = open.get(&self.actor).map_or(0, |count| count.saturating_sub(1));
        match left {
            0 => drop(open.remove(&self.actor)),
            left => drop(open.insert(self.actor.clone(), left)),
        }
    }
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), ended: watch::Sender::new(false) }
    }

    /// Returns the number of open streams.
    pub(super) fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Ends all streams.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    fn place(shared: &Arc<Shared>, actor: &Actor) -> Option<Place> {
        let mut open = shared.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, of_one) = (open.values().sum::<usize>(), open.get(actor).copied().unwrap_or_default());
        if all >= MOST || of_one >= MOST_OF_ONE {
            return None;
        }
        open.insert(actor.clone(), of_one + 1);
        Some(Place { shared: Arc::clone(shared), actor: actor.clone() })
    }
}

/// Gives a response without an end its limits.
pub(super) async fn limit(State(shared): SharedState, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().cloned();
    let sign_in = request.extensions().get::<SignIn>().cloned();
    let response = next.run(request).await;
    if response.extensions().get::<Endless>().is_none() {
        return response;
    }
    let (Some(caller), Some(sign_in)) = (caller, sign_in) else { return response };
    let Some(place) = Streams::place(&shared, &caller.actor) else {
        let message = "too many open streams: close some of the pages or logs, then try again";
        return Problem::new(ProblemKind::TooMany, message).into_response();
    };
    let is_events = response.headers().get(CONTENT_TYPE).is_some_and(|it| it == "text/event-stream");
    let mut ended = shared.streams.ended.subscribe();
    let over = async move {
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {}
            () = revoked(&shared, &sign_in, &caller.rights) => {}
        }
    };
    response.map(|body| {
        let parts = body.into_data_stream().map(Some).map(Ok::<_, std::convert::Infallible>);
        let parts = parts.filter_map(|part| async move { part.ok().flatten() });
        let alive = stream::unfold(interval(CHECK), |mut ticks| async {
            ticks.tick().await;
            Some((Ok(Bytes::from_static(b": alive\n\n")), ticks))
        });
        let alive = alive.take(if is_events { usize::MAX } else { 0 });
        let parts = stream::select(parts, alive).take_until(Box::pin(over)).inspect(move |_| {
            // The place is returned with the body.
            let _kept = &place;
        });
        Body::from_stream(parts)
    })
}

/// Waits until a sign-in has ended or has other rights than at first. The browser connects again,
/// and gets a stream with the new rights.
async fn revoked(shared: &Arc<Shared>, sign_in: &SignIn, rights: &Rights) {
    let mut checks = interval(CHECK);
    loop {
        checks.tick().await;
        if rights_now(shared, sign_in).await.as_ref() != Some(rights) {
            return;
        }
    }
}
