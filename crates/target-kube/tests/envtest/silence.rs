//! Tests a stream whose connection is dead: bookmarks come every minute, so silence is an end.

use setpoint_core::time::Span;
use setpoint_testbed::kube::{Fault, Rule};

use super::hastened::Hastened;
use super::scene::until;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_silent_for_three_minutes_is_opened_anew_and_what_it_did_not_tell_is_noticed() {
    let (scene, wire) = Hastened::scene("silent").await;
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
    // The last event is two minutes old, then three.
    wire.pass(Span::minutes(2));
    assert_eq!(scene.live(&untold).await.value, untold.body, "nothing was told");
    assert_eq!(streams(), 1);
    scene.proxy.mend();
    wire.pass(Span::minutes(1));
    scene.hint_about(&untold.key).await;
    assert_ne!(scene.live(&untold).await.value, untold.body);
    assert_eq!(streams(), 2);
}
