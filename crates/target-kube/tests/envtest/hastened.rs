//! A target's clock that a test can advance.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{BoxFuture, select};
use setpoint_core::time::Span;
use setpoint_target_kube::wire::{Request, Response, Wire, WireError};
use tokio::sync::watch;

use super::scene::Scene;

/// The longest silence of a stream.
pub(crate) const SILENCE: Span = Span::minutes(3);

/// The advanced time, and the waits of the target.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// The span by which the test has advanced the clock.
    passed: Span,
    /// The number of waits for [`SILENCE`] that have begun.
    silences: usize,
}

/// A wire to the server, with a clock that can be advanced.
#[derive(Debug)]
pub(crate) struct Hastened {
    inner: Arc<dyn Wire>,
    times: watch::Sender<Times>,
}

impl Hastened {
    /// Builds a scene whose clock the test controls.
    pub(crate) async fn scene(name: &str) -> (Scene, Arc<Self>) {
        let mut wire = None;
        let scene = Scene::with(name, |options| {
            let hastened = Self::over(Arc::clone(&options.wire));
            options.wire = Arc::clone(&hastened) as _;
            wire = Some(hastened);
        })
        .await;
        (scene, wire.expect("the scene was given it"))
    }

    fn over(inner: Arc<dyn Wire>) -> Arc<Self> {
        Arc::new(Self { inner, times: watch::Sender::default() })
    }

    pub(crate) fn pass(&self, span: Span) {
        self.times.send_modify(|times| times.passed = times.passed + span);
    }

    pub(crate) fn silences(&self) -> usize {
        self.times.borrow().silences
    }
}

impl Wire for Hastened {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>> {
        self.inner.send(request)
    }

    fn wait(&self, span: Span) -> BoxFuture<'static, ()> {
        self.times.send_if_modified(|times| {
            times.silences += usize::from(span == SILENCE);
            span == SILENCE
        });
        let mut times = self.times.subscribe();
        let until = times.borrow().passed + span;
        let really = self.inner.wait(span);
        Box::pin(async move {
            drop(select(really, pin!(times.wait_for(|times| times.passed >= until))).await);
        })
    }

    fn connections(&self) -> u64 {
        self.inner.connections()
    }
}
