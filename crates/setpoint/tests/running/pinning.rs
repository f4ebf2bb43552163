//! Pinned stores: by a tag, which may not move, and by a commit, which stays regardless of the
//! branch.

use setpoint_api::answer::{AppDetail, AppState};
use setpoint_core::hold::HoldReason;
use setpoint_testbed::GitServer;

use super::lab::{Lab, is_at};

/// Returns a Store of the lab's repository.
fn store(server: &GitServer, pin: &str) -> String {
    let authority = server.authority();
    format!("{{ url: {}, authoritiesFile: {}, {pin} }}", server.url("state.git"), authority.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_of_a_tag_is_held_when_the_tag_moves_and_follows_the_next_tag() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    lab.control("pinned", "Store", &store(&server, "interval: 1s, tag: v1"));
    lab.app_from("hello", "pinned", "").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    lab.repository().git(&["tag", "-a", "-m", "one", "v1", &first], b"");
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;

    // A new commit on the branch does not affect the tag. Then the tag is moved to a descendant.
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    lab.repository().git(&["tag", "-f", "v1", &second], b"");
    let held = |detail: &AppDetail| detail.summary.state == AppState::Held;
    let detail = agent.until_app("hello", "is held", held).await;
    assert!(is_at(&detail, &first), "{detail:?}");
    assert!(matches!(detail.hold.map(|hold| hold.why), Some(HoldReason::Rewritten { .. })));
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    let why = lab.told(&["why", "hello"]);
    assert!(why.contains("tag was moved") && why.contains(&second[..12]), "{why}");

    lab.told(&["release", "hello", "--accept", &second, "--reason", "it was moved on purpose"]);
    agent.until_converged("hello", &second).await;

    lab.file("hello", "greeting", "Good night\n").control("pinned", "Store", &store(&server, "interval: 1s, tag: v2"));
    let third = lab.commit();
    lab.repository().git(&["tag", "v2", &third], b"");
    agent.until_converged("hello", &third).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good night\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_of_a_commit_stays_at_it_until_its_document_names_another_and_then_follows_at_once() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    let first = lab.file("hello", "greeting", "Hello\n").commit();
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    lab.app_from("hello", "pinned", "");
    lab.control("pinned", "Store", &store(&server, &format!("interval: 1d, commit: '{first}'")));
    let third = lab.file("hello", "greeting", "Good night\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    assert!(agent.has_seen(&third).await, "the control documents are those of the branch");
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    let plan = lab.command(&["plan", "hello", "--rev", &third]);
    assert!(plan.complaints.contains("no store"), "a version that is not declared was planned: {plan:?}");

    lab.control("pinned", "Store", &store(&server, &format!("interval: 1d, commit: '{second}'")));
    lab.commit();
    agent.until_converged("hello", &second).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));
    agent.stop().await;
}
