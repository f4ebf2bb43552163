//! Tests outages of an API server: once it is back, changes made meanwhile are noticed within
//! seconds, however long it was away.

use std::time::Duration;

use setpoint_core::time::Span;
use setpoint_target::{Hint, Target};
use setpoint_testbed::kube::{Fault, Rule};

use super::hastened::Hastened;
use super::scene::{Scene, until};

/// The limit for every reaction once the server is back.
const SOON: Duration = Duration::from_secs(10);

/// Waits for the first matching hint, and drops all hints before it.
async fn hinted(scene: &Scene, soon: Duration, is_wanted: impl Fn(&Hint) -> bool) -> Hint {
    let wanted = async {
        loop {
            let hint = scene.target.hints().await;
            if is_wanted(&hint) {
                return hint;
            }
        }
    };
    tokio::time::timeout(soon, wanted).await.expect("it must be hinted at")
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_go_on_within_seconds_after_an_outage_however_long_it_was() {
    let (scene, wire) = Hastened::scene("outage").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent));
    let away = scene.proxy.add(Rule::new("*", "", Fault::ResetBefore));
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    // The target knows that it notices no changes, and since when.
    let down = hinted(&scene, SOON, |hint| matches!(hint, Hint::Unwatched { kinds } if !kinds.is_empty())).await;
    let Hint::Unwatched { kinds } = down else { unreachable!("it was just found to be so") };
    assert!(kinds.iter().any(|unwatched| unwatched.covers(&declared.key)), "{kinds:?}");
    // The outage is so long that each stream by itself retries only once a minute.
    for _ in 0..10 {
        let before = scene.proxy.struck(away);
        wire.pass(Span::minutes(1));
        until("somebody tries again", async || scene.proxy.struck(away) > before).await;
    }
    scene.proxy.mend();
    // The longest pause of the probe.
    wire.pass(Span::seconds(4));
    hinted(&scene, SOON, |hint| matches!(hint, Hint::Unwatched { kinds } if kinds.is_empty())).await;
    let told = |hint: &Hint| matches!(hint, Hint::Changed { keys } if keys.contains(&declared.key));
    hinted(&scene, SOON, told).await;
    assert_ne!(scene.live(&declared).await.value, declared.body);
}
