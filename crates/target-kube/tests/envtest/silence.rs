//! A stream on which nobody speaks any more: bookmarks come every minute, so that silence is an end.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{BoxFuture, select};
use setpoint_core::time::Span;
use setpoint_target_kube::wire::{Request, Response, Wire, WireError};
use setpoint_testbed::kube::{Fault, Rule};
use tokio::sync::watch;

use super::scene::{Scene, until};

const SILENCE: Span = Span::minutes(3);

/// What whoever waits has been through.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// How much time has passed at our word.
    passed: Span,
    /// How often somebody began to wait for [`SILENCE`].
    silences: usize,
}

/// The way to the server, with a clock that can be put forward.
#[derive(Debug)]
struct Hastened {
    inner: Arc<dyn Wire>,
    times: watch::Sender<Times>,
}

impl Hastened {
    fn over(inner: Arc<dyn Wire>) -> Arc<Self> {
        Arc::new(Self { inner, times: watch::Sender::default() })
    }

    fn pass(&self, span: Span) {
        self.times.send_modify(|times| times.passed = times.passed + span);
    }

    fn silences(&self) -> usize {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_silent_for_three_minutes_is_opened_anew_and_what_it_did_not_tell_is_noticed() {
    let mut wire = None;
    let scene = Scene::with("silent", |options| {
        let hastened = Hastened::over(Arc::clone(&options.wire));
        options.wire = Arc::clone(&hastened) as _;
        wire = Some(hastened);
    })
    .await;
    let wire = wire.expect("the scene was given it");
    let (told, untold) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("b", &[("mode", "1")]));
    for resource in [&told, &untold] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    let swallow = |text: &str| Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(text);
    scene.proxy.add(swallow("BOOKMARK"));
    let lost = scene.proxy.add(swallow(r#""name":"b""#));
    let streams = || scene.proxy.seen().iter().filter(|seen| seen.is_watch()).count();
    assert_eq!(streams(), 1);

    wire.pass(Span::minutes(2));
    let silences = wire.silences();
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&told.key).await;
    until("the stream is listened to again", async || wire.silences() > silences).await;
    scene.edit(&scene.config_map("b", &[("mode", "9")]), "stranger");
    until("the event is lost", async || scene.proxy.struck(lost) > 0).await;
    // Since anything came it is two minutes, then three.
    wire.pass(Span::minutes(2));
    assert_eq!(scene.live(&untold).await.value, untold.body, "nothing was told");
    assert_eq!(streams(), 1);
    scene.proxy.mend();
    wire.pass(Span::minutes(1));
    scene.hint_about(&untold.key).await;
    assert_ne!(scene.live(&untold).await.value, untold.body);
    assert_eq!(streams(), 2);
}
