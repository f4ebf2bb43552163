//! Decisions of people: to suspend an app, to permit changes manually, to observe only.

use std::fs;

use setpoint_api::answer::{AppDetail, AppState};
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_core::time::Span;

use super::lab::{Agent, Lab, app, is_at, withholds};

async fn with_hello(more: &str) -> (Lab, Agent) {
    let mut lab = Lab::new();
    lab.app_with("hello", more).file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.hint().await;
    agent.until_app("hello", "has a version", |detail| is_at(detail, &first)).await;
    (lab, agent)
}

async fn until_greeting(lab: &Lab, agent: &mut Agent, text: &str) {
    let reads = async |_: &_| (lab.text("greeting").as_deref() == Some(text)).then_some(());
    agent.until(&format!("the greeting is {text:?}"), reads).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspension_leaves_alone_what_it_then_lists_and_heals() {
    let (mut lab, mut agent) = with_hello("").await;
    until_greeting(&lab, &mut agent, "Hello\n").await;
    lab.told(&["suspend", "hello", "--for", "2h", "--reason", "OPS-2"]);
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let second = lab.file("hello", "colours", "red\n").commit();
    agent.hint().await;
    let skipping = |detail: &AppDetail| {
        detail.summary.state == AppState::Suspended && is_at(detail, &second) && detail.report.len() == 2
    };
    agent.until_app("hello", "skips both", skipping).await;
    assert_eq!((lab.text("greeting").as_deref(), lab.text("colours")), (Some("by hand\n"), None));
    assert!(lab.told(&["why", "hello"]).contains("OPS-2"));

    let told = lab.told(&["resume", "hello"]);
    assert!(told.contains("/greeting") && told.contains("/colours"), "{told}");
    agent.until_converged("hello", &second).await;
    let again = lab.command(&["resume", "hello"]);
    assert!(again.code == Some(1) && again.complaints.contains("default/hello is not suspended"), "{again:?}");
    assert_eq!((lab.text("greeting").as_deref(), lab.text("colours").as_deref()), (Some("Hello\n"), Some("red\n")));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspension_ends_by_itself() {
    let (lab, mut agent) = with_hello("").await;
    until_greeting(&lab, &mut agent, "Hello\n").await;
    lab.told(&["suspend", "hello", "--for", "1s", "--reason", "OPS-2"]);
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    until_greeting(&lab, &mut agent, "Hello\n").await;
    agent.until_app("hello", "is free", |detail| detail.suspension.is_none()).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_has_its_limits_over_the_socket_too_and_one_that_is_declined_has_no_effect() {
    let (mut lab, mut agent) = with_hello("").await;
    until_greeting(&lab, &mut agent, "Hello\n").await;
    let years = OrderKind::Suspend { length: Span::hours(24 * 365 * 1_000) };
    let for_ever = OrderKind::Suspend { length: Span::millis(u64::MAX) };
    let orders = [(years, "OPS-2".to_owned()), (for_ever, "OPS-2".to_owned()), (OrderKind::Hold, "x".repeat(600_000))];
    for (order, reason) in orders {
        let request = OrderRequest { app: app("hello"), reason, order };
        let declined = agent.client().order(&request).await.expect_err("it is declined");
        assert!(declined.to_string().contains("longer than"), "{declined}");
    }
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    let detail = agent.until_converged("hello", &second).await;
    assert!(detail.hold.is_none() && detail.suspension.is_none(), "{detail:?}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_in_manual_mode_changes_when_a_person_says_so_and_heals_by_itself() {
    let (mut lab, mut agent) = with_hello("sync: { mode: manual }").await;
    agent.until_app("hello", "waits for a person", |detail| withholds(detail, "setpoint sync")).await;
    assert_eq!(lab.text("greeting"), None);
    lab.told(&["sync", "hello"]);
    until_greeting(&lab, &mut agent, "Hello\n").await;

    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.hint().await;
    let waits = |detail: &AppDetail| is_at(detail, &second) && detail.summary.state == AppState::OutOfSync;
    let detail = agent.until_app("hello", "waits for a person again", waits).await;
    let note = detail.summary.note.expect("what waits is said");
    assert!(note.contains(&second[..12]) && note.contains("setpoint sync"), "{note}");
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    lab.told(&["sync", "hello"]);
    until_greeting(&lab, &mut agent, "Good day\n").await;

    fs::remove_file(lab.at("greeting")).expect("anyone may");
    until_greeting(&lab, &mut agent, "Good day\n").await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_in_observe_mode_is_told_about_and_never_written() {
    let (mut lab, mut agent) = with_hello("sync: { mode: observe }").await;
    agent.until_app("hello", "reports", |detail| withholds(detail, "observing only")).await;
    let plan = lab.command(&["plan", "hello"]);
    assert!(plan.code == Some(2) && plan.output.contains("only observed"), "{}{}", plan.output, plan.complaints);
    lab.told(&["sync", "hello"]);
    let second = lab.file("hello", "colours", "red\n").commit();
    agent.hint().await;
    let reports = |detail: &AppDetail| is_at(detail, &second) && detail.report.len() == 2;
    agent.until_app("hello", "reports both", reports).await;
    assert_eq!(fs::read_dir(lab.at("")).expect("it is there").count(), 0);
    agent.stop().await;
}
