//! The reasons that commands give for changes that are not made: the cause of a failure, and what a
//! change waits for.

use std::fs;

use setpoint_api::answer::{AppDetail, AppPlan, AppProblem, AppState, PlanAnswer};
use setpoint_api::question::OrderKind;
use setpoint_core::hold::HoldReason;
use setpoint_core::intent::Verb;
use setpoint_core::modes::State;
use setpoint_core::report::Why;
use setpoint_core::time::Span;
use setpoint_engine::Settings;

use super::lab::{Agent, Lab, is_at, withholds};

const MISSING: &str = "/etc does not exist: declare it as a Directory";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_shows_why_a_change_fails() {
    let mut lab = Lab::new();
    lab.app("shop").file("shop", "etc/motd", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_app("shop", "fails", |detail| withholds(detail, MISSING)).await;
    // While the change is tried again, there is nothing that is withheld.
    for command in [&["status"][..], &["get", "shop"], &["why", "shop"], &["plan", "shop"]] {
        let shown = async |_: &_| lab.command(command).output.contains(MISSING).then_some(());
        agent.until(&format!("{command:?} shows the cause"), shown).await;
    }
    let why = lab.told(&["why", "shop"]);
    assert!(!why.contains("until") && !why.contains("failures or a fight"), "{why}");
    agent.stop().await;
}

#[test]
fn apply_shows_why_a_change_fails() {
    let mut lab = Lab::new();
    lab.app("shop").file("shop", "etc/motd", "Hello\n").commit();
    let applied = lab.with_config(&["apply", "--once"]);
    assert_eq!(applied.code, Some(4), "{applied:?}");
    assert!(applied.output.contains(&format!("file /etc/motd: the directory {MISSING}")), "{applied:?}");
}

/// Returns the plan of the app `hello`, as JSON shows it.
fn planned(lab: &Lab) -> AppPlan {
    let run = lab.command(&["plan", "hello", "--output", "json"]);
    let plan: PlanAnswer = serde_json::from_str(&run.output).unwrap_or_else(|bad| panic!("{bad}: {run:?}"));
    plan.apps.into_iter().next().expect("the app was named")
}

/// Returns the steps of a plan, each with the states that it waits for.
fn steps(plan: &AppPlan) -> Vec<(Verb, &str, Vec<State>)> {
    let state = |why: &Why| match why {
        Why::State { state } => *state,
        other => panic!("{other}"),
    };
    plan.steps.iter().map(|step| (step.verb, step.key.name(), step.waits.iter().map(state).collect())).collect()
}

/// Commits another content of the greeting, and waits until that version is accepted.
async fn accept_another(lab: &mut Lab, agent: &mut Agent, content: &str) -> String {
    let head = lab.file("hello", "greeting", content).commit();
    agent.hint().await;
    agent.until_app("hello", "has accepted it", |detail| is_at(detail, &head)).await;
    head
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_what_a_person_would_let_through_and_what_it_waits_for() {
    let mut lab = Lab::new();
    lab.app_with("hello", "sync: { mode: manual }").file("hello", "greeting", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_app("hello", "waits for a person", |detail| withholds(detail, "setpoint sync")).await;
    assert_eq!(steps(&planned(&lab)), [(Verb::Create, "/greeting", vec![State::Manual])]);
    lab.told(&["sync", "hello"]);
    agent.until_app("hello", "has converged", |detail| detail.summary.state == AppState::Converged).await;
    assert_eq!(steps(&planned(&lab)), []);

    accept_another(&mut lab, &mut agent, "Good day\n").await;
    let plan = lab.command(&["plan", "hello"]);
    assert_eq!(plan.code, Some(2), "{plan:?}");
    for part in
        ["~ update file /greeting", "waits: the app is manual: run `setpoint sync`", "1 to update", "1 of these waits"]
    {
        assert!(plan.output.contains(part), "no {part} in {}", plan.output);
    }
    // A drift of the version that a person let through is healed without a person.
    fs::remove_file(lab.at("greeting")).expect("anyone may");
    agent.order("hello", OrderKind::Suspend { length: Span::hours(1) }).await;
    let waits = vec![State::Manual, State::Suspended];
    let suspended = async |_: &_| (planned(&lab).steps.iter().any(|step| step.waits.len() == 2)).then_some(());
    agent.until("the suspension is planned with", suspended).await;
    let plan = planned(&lab);
    assert_eq!(steps(&plan)[0].2, waits);
    assert!(plan.suspension.is_some());
    assert!(lab.command(&["plan", "hello"]).output.contains("! suspended: the test wants it"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_the_version_that_a_hold_keeps_out() {
    let mut lab = Lab::new();
    let first = lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.order("hello", OrderKind::Hold).await;
    accept_another(&mut lab, &mut agent, "Good day\n").await;
    let plan = planned(&lab);
    assert_eq!(steps(&plan), [(Verb::Update, "/greeting", vec![State::Held])]);
    assert!(plan.hold.is_some());
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    agent.order("hello", OrderKind::Release { accept: None }).await;
    agent
        .until("the newer version is made", async |_| {
            (lab.text("greeting").as_deref() == Some("Good day\n")).then_some(())
        })
        .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_is_converged_shows_the_refused_version_and_the_withheld_delete() {
    let mut lab = Lab::new();
    lab.settings = Settings::default();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    let detail = agent.until_converged("hello", &first).await;
    assert_eq!(detail.summary.problems, []);
    assert!(!lab.told(&["status"]).contains("deletes withheld"));

    let second = lab.remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    let withheld =
        |detail: &AppDetail| is_at(detail, &second) && detail.summary.problems == [AppProblem::DeletesWithheld];
    let detail = agent.until_app("hello", "withholds a delete", withheld).await;
    assert_eq!(detail.summary.state, AppState::Converged);
    lab.write("apps/hello/greeting.yaml", "kind: File\n").commit();
    agent.hint().await;
    let both = [AppProblem::VersionRefused, AppProblem::DeletesWithheld];
    agent.until_app("hello", "refuses a version", |detail| detail.summary.problems == both).await;

    let status = lab.told(&["status"]);
    for part in ["1 app: version refused; 1 app: deletes withheld", "converged, version refused +1", "2, 1 converged"] {
        assert!(status.contains(part), "no {part} in {status}");
    }
    assert!(lab.told(&["why", "hello"]).contains("converged, version refused, deletes withheld"));
    let plan = lab.told(&["plan", "hello"]);
    assert!(
        plan.contains("is refused: apps/hello/greeting.yaml") && plan.contains("1 app not at the version"),
        "{plan}"
    );
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_quarantine_is_a_countdown_and_sync_does_not_promise_an_earlier_delete() {
    let mut lab = Lab::new();
    lab.settings = Settings::default();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    agent.until_app("hello", "withholds the delete", |detail| withholds(detail, "after installation")).await;

    let told = lab.told(&["sync", "hello", "--allow-prune", "2", "--reason", "the colours are gone"]);
    assert!(told.contains("nothing is deleted yet") && told.contains("after installation; this ends in 1"), "{told}");
    for command in ["why", "plan", "get"] {
        let shown = lab.command(&[command, "hello"]).output;
        assert!(shown.contains("after installation; this ends in 1"), "{shown}");
    }
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_names_the_head_that_is_offered_now() {
    let mut lab = Lab::new();
    let first = lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let offered = |detail: &AppDetail| match detail.hold.as_ref().map(|hold| &hold.why) {
        Some(HoldReason::Rewritten { offered, .. }) => offered.versions().next().map(ToString::to_string),
        _ => None,
    };
    for content in ["Bye\n", "Good day\n"] {
        let head = lab.file("hello", "greeting", content).commit_on(None);
        agent.hint().await;
        agent.until_app("hello", "is held", |detail| offered(detail).as_ref() == Some(&head)).await;
        let command = format!("setpoint release default/hello --accept {} --reason …", &head[..12]);
        let why = lab.told(&["why", "hello"]);
        assert!(why.contains(&command) && why.contains(&format!("{} is offered instead", &head[..12])), "{why}");
    }
    agent.stop().await;
}
