//! Counts connections as they are made. A new connection may lead to another system, so the
//! identity has to be checked again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

/// The number of connections made.
#[derive(Clone, Debug, Default)]
pub(super) struct Made(Arc<AtomicU64>);

impl Made {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl<S> Layer<S> for Made {
    type Service = Counting<S>;

    fn layer(&self, connector: S) -> Counting<S> {
        Counting { connector, made: self.clone() }
    }
}

/// A connector that counts.
#[derive(Clone, Debug)]
pub(super) struct Counting<S> {
    connector: S,
    made: Made,
}

impl<S: Service<R>, R> Service<R> for Counting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, to: R) -> S::Future {
        // Counted before the connection exists: a later reader of the count may check the identity
        // once too often, but never too seldom.
        self.made.0.fetch_add(1, Ordering::SeqCst);
        self.connector.call(to)
    }
}
