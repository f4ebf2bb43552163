//! What people read about the past and about differences: the history, with one row for each change;
//! texts of many lines, as a diff; names of targets and apps, right and wrong ones.

use std::fs;

use setpoint_api::answer::{AppDetail, AppState, HistoryChange};
use setpoint_core::value::Value;

use super::lab::{Agent, Lab, file_document};

/// Returns a lab with an app that has converged.
async fn with_hello(content: &str) -> (Lab, Agent, String) {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", content);
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    (lab, agent, head)
}

fn history(lab: &Lab, more: &[&str]) -> Vec<HistoryChange> {
    let run = lab.told(&[&["history", "hello", "--output", "json"][..], more].concat());
    serde_json::from_str(&run).expect("it is a list of changes")
}

fn numbered(change: &str) -> String {
    (1..=300).map(|line| if line == 250 { format!("line 250{change}\n") } else { format!("line {line}\n") }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_one_row_of_the_history_and_pages_show_each_once() {
    let (lab, mut agent, head) = with_hello("Hello\n").await;
    fs::write(lab.at("greeting"), "Bye\n").expect("anyone may");
    let healed = async |agent: &Agent| agent.drift("hello").await.into_iter().find(|drift| drift.healed.is_some());
    agent.until("the edit is healed", healed).await;
    agent.until_converged("hello", &head).await;

    let changes = history(&lab, &[]);
    let greeting = || changes.iter().filter(|change| change.object == "file /greeting");
    let created: Vec<_> = greeting().filter(|change| change.what == "create").collect();
    let [created] = created[..] else { panic!("one row, not {created:#?}") };
    assert_eq!((created.result.as_str(), created.cause.as_deref()), ("done", Some("declared")));
    assert_eq!(created.records.len(), 2, "its result and its intent: {created:?}");
    let updated = greeting().find(|change| change.what == "update").expect("it was healed");
    assert_eq!((updated.result.as_str(), updated.cause.as_deref()), ("done", Some("drift")));
    let drift = greeting().find(|change| change.what == "drift").expect("it was recorded");
    assert!(drift.result.contains("content") && drift.cause.is_some(), "{drift:?}");
    let accepted = changes.iter().find(|change| change.what == "accept").expect("a version was accepted");
    assert!(
        accepted.object.contains(&head[..12]) && accepted.result.starts_with("1 resource, bundle "),
        "{accepted:?}"
    );

    let mut pages = history(&lab, &["--limit", "1"]);
    while let Some(last) = pages.last().map(|change| change.seq.to_string()) {
        let page = history(&lab, &["--limit", "1", "--before", &last]);
        if page.is_empty() {
            break;
        }
        pages.extend(page);
    }
    assert_eq!(pages, changes, "pages of one change are the whole");

    let text = lab.told(&["history", "hello"]);
    assert!(!text.contains("--before"), "a pipe has only rows: {text}");
    let longest = text.split(|letter: char| !letter.is_ascii_hexdigit()).map(str::len).max();
    assert!(longest < Some(40), "no digest is printed whole: {text}");
    let records = lab.told(&["history", "hello", "--records"]);
    for part in ["intent", "effect.result", "plan: "] {
        assert!(records.contains(part), "no `{part}` in {records}");
    }
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_is_unknown_is_an_error_and_one_without_records_is_not() {
    let (lab, agent, _) = with_hello("Hello\n").await;
    for command in ["history", "drift"] {
        let run = lab.command(&[command, "helo"]);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.complaints.contains("there is no app default/helo; did you mean default/hello?"), "{run:?}");
    }
    assert_eq!(lab.told(&["drift", "hello"]), "there is no recorded drift\n");
    assert_eq!(lab.told(&["history", "hello", "--before", "0"]), "there are no records\n");
    agent.stop().await;
}

/// Returns the lines of the first hunk of a page, without the indent of the page.
fn hunk(page: &str) -> Vec<&str> {
    let mut lines = page.lines().skip_while(|line| !line.trim_start().starts_with("@@ "));
    let first = lines.next().unwrap_or_else(|| panic!("no diff in {page}"));
    let indent = first.len() - first.trim_start().len();
    std::iter::once(first).chain(lines).map(|line| line.get(indent..).unwrap_or_default()).take(9).collect()
}

fn expected<'a>(before: &'a str, after: &'a str) -> [&'a str; 9] {
    let [one, two, three, four, five, six] =
        [" line 247", " line 248", " line 249", " line 251", " line 252", " line 253"];
    ["@@ -247,7 +247,7 @@", one, two, three, before, after, four, five, six]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_deep_in_a_text_is_shown_as_a_diff_and_json_has_the_texts() {
    let (mut lab, mut agent, _) = with_hello(&numbered("")).await;
    let secret = format!("{}  sensitive: true\n", file_document("secret", "hunter\n2\n"));
    let head = lab.write("apps/hello/secret.yaml", &secret).commit();
    agent.until_converged("hello", &head).await;
    lab.told(&["suspend", "hello", "--for", "2h", "--reason", "looking"]);
    fs::write(lab.at("greeting"), numbered(", by hand")).expect("anyone may");
    fs::write(lab.at("secret"), "hunter\n3\nby hand\n").expect("anyone may");
    let both = |detail: &AppDetail| detail.drifts.len() == 2 && detail.summary.state == AppState::Suspended;
    agent.until_app("hello", "reports both edits", both).await;
    for command in ["get", "why", "drift"] {
        let page = lab.told(&[command, "hello"]);
        assert_eq!(hunk(&page), expected("-line 250", "+line 250, by hand"), "{command}: {page}");
        assert!(!page.contains("hunter"), "{command}: {page}");
    }
    let detail: AppDetail =
        serde_json::from_str(&lab.told(&["get", "hello", "--output", "json"])).expect("it is a detail");
    let greeting = detail.drifts.iter().find(|drift| drift.key.name() == "/greeting").expect("it is reported");
    let [difference] = &greeting.differences[..] else { panic!("one difference: {greeting:?}") };
    let texts = [&difference.before, &difference.after].map(|value| value.as_ref().and_then(Value::as_str));
    assert_eq!(texts, [Some(numbered("").as_str()), Some(numbered(", by hand").as_str())]);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_the_change_of_a_text_as_a_diff() {
    let mut lab = Lab::new();
    fs::write(lab.at("greeting"), numbered(", by hand")).expect("it is ours");
    lab.app_with("hello", "sync: { mode: observe }").file("hello", "greeting", &numbered("")).commit();
    let mut agent = lab.start().await;
    agent.until_app("hello", "reports the difference", |detail| !detail.report.is_empty()).await;
    let plan = lab.command(&["plan", "hello"]);
    assert_eq!(plan.code, Some(2), "{plan:?}");
    assert_eq!(hunk(&plan.output), expected("-line 250, by hand", "+line 250"), "{}", plan.output);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_is_shown_by_its_name_with_its_state() {
    let (lab, agent, _) = with_hello("Hello\n").await;
    for command in ["get", "tree"] {
        let text = lab.told(&[command, "hello"]);
        assert!(text.contains("target        machine (host-"), "{text}");
    }
    let overview = agent.overview().await;
    let [target] = &overview.targets[..] else { panic!("one target: {overview:?}") };
    assert_eq!((target.target.as_str(), target.kind.as_str(), target.apps), ("machine", "host", 1));
    let status = lab.told(&["status"]);
    let row = status.lines().find(|line| line.starts_with("machine ")).expect("it has a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[1], cells[3], cells[4]), ("host", "connected", "1"), "{status}");
    agent.stop().await;
}
