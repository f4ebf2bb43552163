//! Responses in parts: complete, cut short by either side, and never too many.

use std::ops::ControlFlow;

use setpoint_api::AskError;
use setpoint_api::answer::LogPart;
use setpoint_api::question::LogQuestion;

use crate::place::Place;

fn question(follow: bool) -> LogQuestion {
    let app = "web/shop".parse().expect("a valid app");
    LogQuestion { app, object: None, follow, since: None, tail: None, container: None, previous: false }
}

#[tokio::test]
async fn every_part_arrives_in_its_order() {
    let place = Place::new().await;
    let mut parts = Vec::new();
    let take = |part: LogPart| {
        parts.push(part);
        ControlFlow::Continue(())
    };
    place.client().logs(&question(false), take).await.expect("they are read");
    assert_eq!(parts, place.agent.logs);
}

#[tokio::test]
async fn whoever_has_heard_enough_hangs_up() {
    let place = Place::new().await;
    let mut count = 0;
    let take = |_| {
        count += 1;
        if count == place.agent.logs.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // A followed log never ends on its own.
    place.client().logs(&question(true), take).await.expect("they are read");
}

#[tokio::test]
async fn an_agent_that_stops_ends_what_is_followed() {
    let mut place = Place::new().await;
    let client = place.client();
    let mut stop = place.stopper();
    let take = |_| {
        // The first part shows that the response is under way.
        drop(stop.take());
        ControlFlow::Continue(())
    };
    client.logs(&question(true), take).await.expect("it ends in good order");
}

#[tokio::test]
async fn what_the_agent_says_no_to_is_no_empty_log() {
    let place = Place::new().await;
    let asked = LogQuestion { app: "web/nothing".parse().expect("a valid app"), ..question(false) };
    let refused = place.client().logs(&asked, |_| ControlFlow::Continue(())).await;
    assert!(matches!(refused, Err(AskError::Refused(_))), "{refused:?}");
}
