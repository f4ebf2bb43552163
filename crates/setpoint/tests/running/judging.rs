//! Versions that are not followed: an invalid one, a rewritten history.

use std::fs;

use setpoint::agent::bootstrap::Bootstrap;
use setpoint_api::answer::{AppDetail, AppState};
use setpoint_core::hold::HoldReason;

use super::lab::{Agent, Lab, file_document, is_at};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_document_is_refused_with_its_place_while_the_last_accepted_bundle_is_enforced() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").app("other").file("other", "other", "x\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;

    let misspelt = file_document("greeting", "Bye\n").replace("content:", "contents:");
    lab.write("apps/hello/greeting.yaml", &misspelt).file("other", "other", "y\n");
    let second = lab.commit();
    agent.hint().await;
    let detail = agent.until_app("hello", "refuses the version", |detail| detail.refused.is_some()).await;
    assert!(is_at(&detail, &first), "{detail:?}");
    let problem = detail.refused.expect("it was waited for").problem;
    for part in ["apps/hello/greeting.yaml:6:", "contents", "did you mean `content`"] {
        assert!(problem.contains(part), "no `{part}` in {problem}");
    }
    assert!(lab.told(&["why", "hello"]).contains("apps/hello/greeting.yaml:6:"));
    agent.until_converged("other", &second).await;

    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let healed = async |_: &_| (lab.text("greeting").as_deref() == Some("Hello\n")).then_some(());
    agent.until("the accepted bundle is enforced", healed).await;

    lab.file("hello", "greeting", "Bye\n");
    let third = lab.commit();
    let detail = agent.until_converged("hello", &third).await;
    assert_eq!(detail.refused, None);
    assert_eq!(lab.text("greeting").as_deref(), Some("Bye\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_control_document_is_refused_and_those_accepted_before_stay_in_force() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.control("hello", "App", "{ component: hello, environment: lab, inputs: [], target: machine, prone: true }");
    lab.file("hello", "greeting", "Good day\n");
    let second = lab.commit();
    // The app follows the commit, under the documents accepted before.
    agent.until_converged("hello", &second).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));
    let refused = async |_: &_| {
        let why = lab.command(&["why", "setpoint/root"]).output;
        why.contains("refused").then_some(why)
    };
    let why = agent.until("the control documents are refused", refused).await;
    assert!(why.contains("setpoint/hello.yaml:4:") && why.contains("prone"), "{why}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_73_a_senseless_interval_is_refused_where_it_is_written_and_apps_move_on() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").app("other").file("other", "other", "x\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    for (interval, greeting) in [("banana", "Good day\n"), ("-5s", "Good evening\n"), ("1ns", "Good night\n")] {
        lab.control("odd", "Store", &format!("{{ url: \"https://git.example/odd\", interval: {interval} }}"));
        let head = lab.file("hello", "greeting", greeting).file("other", "other", greeting).commit();
        for app in ["hello", "other"] {
            agent.until_converged(app, &head).await;
        }
        let refused = async |_: &_| {
            let why = lab.command(&["why", "setpoint/root"]).output;
            (why.contains("refused") && why.contains(interval)).then_some(why)
        };
        let why = agent.until("the control documents are refused", refused).await;
        assert!(why.contains("setpoint/odd.yaml:4:") && why.contains("interval"), "{why}");
        assert_eq!(lab.text("greeting").as_deref(), Some(greeting));
    }
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewritten_history_is_held_with_both_heads_until_a_person_accepts_one() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.until_converged("hello", &second).await;

    lab.file("hello", "greeting", "Rewritten\n");
    let rewritten = lab.commit_on(None);
    agent.hint().await;
    let held = |detail: &AppDetail| detail.summary.state == AppState::Held;
    let detail = agent.until_app("hello", "is held", held).await;
    match detail.hold.map(|hold| hold.why) {
        Some(HoldReason::Rewritten { accepted, offered }) => {
            assert!(accepted.to_string().contains(&second[..12]), "{accepted}");
            assert!(offered.to_string().contains(&rewritten[..12]), "{offered}");
        }
        other => panic!("{other:?}"),
    }
    let why = lab.told(&["why", "hello"]);
    assert!(why.contains(&second[..12]) && why.contains(&rewritten[..12]), "{why}");
    // A held app is still managed.
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let healed = async |_: &_| (lab.text("greeting").as_deref() == Some("Good day\n")).then_some(());
    agent.until("what was accepted is enforced", healed).await;

    lab.told(&["release", "hello", "--accept", &rewritten, "--reason", "the rebase was meant"]);
    agent.until_converged("hello", &rewritten).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Rewritten\n"));
    assert!(lab.told(&["history", "hello"]).contains("the rebase was meant"));

    // The control documents come from the same history: their next change is held too, and needs
    // its own release.
    let next = lab.app("more").file("more", "more", "x\n").commit();
    agent.hint().await;
    let root_is_held = async |agent: &Agent| {
        let root = agent.overview().await.apps.into_iter().find(|summary| summary.app == Bootstrap::root())?;
        root.note.filter(|note| root.state == AppState::Held && note.contains(&next[..12]))
    };
    agent.until("the control documents are held", root_is_held).await;
    lab.told(&["release", "setpoint/root", "--accept", &next, "--reason", "the rebase was meant"]);
    agent.until_converged("more", &next).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_is_set_back_is_shown_with_the_command_that_follows_it() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.until_converged("hello", &second).await;

    lab.repository().git(&["update-ref", "refs/heads/main", &first], b"");
    agent.hint().await;
    let is_set_back = |detail: &AppDetail| detail.summary.set_back.is_some();
    let detail = agent.until_app("hello", "is shown as set back", is_set_back).await;
    assert!(is_at(&detail, &second) && detail.summary.state == AppState::OutOfSync, "{detail:?}");
    let set_back = detail.summary.set_back.expect("it was waited for");
    assert!(set_back.offered.versions().any(|version| version.as_str() == first), "{set_back:?}");
    assert_eq!(set_back.command, format!("setpoint release default/hello --accept {} --reason …", &first[..12]));
    for page in [&["status"][..], &["get", "hello"], &["why", "hello"], &["plan", "hello"]] {
        let shown = lab.told(page);
        assert!(shown.contains(&first[..12]) && shown.contains(&set_back.command), "{page:?}: {shown}");
        assert!(!shown.contains("everything declared is in place"), "{page:?}: {shown}");
    }
    let plan = lab.told(&["plan", "hello", "--output", "json"]);
    assert!(plan.contains("\"setBack\"") && plan.contains(&set_back.command), "{plan}");
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"), "it is not followed by itself");

    lab.told(&["release", "hello", "--accept", &first[..12], "--reason", "the second one was a mistake"]);
    let detail = agent.until_converged("hello", &first).await;
    assert_eq!((detail.summary.set_back, lab.text("greeting").as_deref()), (None, Some("Hello\n")));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rewrite_one_word_releases_every_app_of_the_store() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").app("quiet").file("quiet", "quiet", "1\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.until_converged("quiet", &first).await;
    lab.file("hello", "greeting", "Rewritten\n");
    let rewritten = lab.commit_on(None);
    agent.hint().await;
    agent.until_app("hello", "is held", |detail: &AppDetail| detail.summary.state == AppState::Held).await;

    let store = Bootstrap::store().to_string();
    let unknown = lab.command(&["release", "--store", "nowhere", "--accept", &rewritten, "--reason", "meant"]);
    assert!(unknown.code == Some(1) && unknown.complaints.contains("nowhere"), "{}", unknown.complaints);
    let told = lab.told(&["release", "--store", &store, "--accept", &rewritten, "--reason", "meant"]);
    assert!(["setpoint/root", "hello", "quiet"].iter().all(|app| told.contains(app)), "{told}");
    agent.until_converged("hello", &rewritten).await;

    // An app that had not changed yet, and the documents themselves, are not held by later commits.
    let next = lab.file("quiet", "quiet", "2\n").app("more").file("more", "more", "x\n").commit();
    agent.until_converged("quiet", &next).await;
    agent.until_converged("more", &next).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_75_a_bundle_whose_content_was_swapped_after_it_was_accepted_is_not_applied() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "what was accepted");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    agent.stop().await;

    lab.swap_in_ledger("what was accepted", "what was smuggled");
    fs::write(lab.at("greeting"), "drifted").expect("it is ours");

    let mut agent = lab.start().await;
    let trouble = async |agent: &Agent| agent.overview().await.ledger.trouble;
    let trouble = agent.until("the bundle is not loaded", trouble).await;
    assert!(trouble.contains("bundle") && trouble.contains("setpoint ledger verify"), "{trouble}");
    assert!(!agent.overview().await.ledger.holding);
    assert_eq!(lab.text("greeting").as_deref(), Some("drifted"), "nothing is written on the strength of it");
    agent.stop().await;
}
