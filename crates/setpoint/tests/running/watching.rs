//! `--watch`: a state is shown again when it changes, and only then.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use futures_util::StreamExt;
use setpoint_api::Caller;
use setpoint_api::answer::{AppState, Change};
use setpoint_api::question::{AppsQuestion, OrderKind};
use setpoint_core::name::Actor;
use setpoint_core::time::Span;

use super::lab::{Agent, Lab, app};
use crate::setpoint::command;

/// A command that runs until the value is dropped, with its output in a file.
struct Watch {
    child: Child,
    file: PathBuf,
}

impl Watch {
    fn start(lab: &Lab, name: &str, arguments: &[&str]) -> Self {
        let (file, data) = (lab.path().join(name), lab.data().display().to_string());
        let mut command = command(&[arguments, &["--watch", "--data", &data]].concat());
        let output = File::create(&file).expect("the folder is ours");
        let child = command.stdout(output).stderr(Stdio::null()).spawn().expect("it was built with these tests");
        Self { child, file }
    }

    fn text(&self) -> String {
        read(&self.file)
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("it is text")
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn until_shown(agent: &mut Agent, watch: &Watch, part: &str) {
    let shown = async |_: &Agent| watch.text().contains(part).then_some(());
    agent.until(&format!("`{part}` is shown"), shown).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watched_state_is_shown_again_when_it_changes() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    let page = Watch::start(&lab, "page", &["status", "hello"]);
    let why = Watch::start(&lab, "why", &["why", "hello"]);
    let lines = Watch::start(&lab, "lines", &["get", "hello", "-o", "json"]);
    until_shown(&mut agent, &page, "converged").await;
    until_shown(&mut agent, &why, "is converged").await;
    until_shown(&mut agent, &lines, "\n").await;

    agent.order("hello", OrderKind::Suspend { length: Span::hours(1) }).await;
    for watch in [&page, &why, &lines] {
        until_shown(&mut agent, watch, "suspended").await;
    }
    // Each page after the first begins with a line.
    assert!(why.text().contains("\n---\n"), "{}", why.text());
    // Polls of the store and the clock are no changes.
    let states: Vec<serde_json::Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).expect("one value a line")).collect();
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "{states:#?}");
    assert_eq!(states.last().map(|state| &state["summary"]["state"]), Some(&"suspended".into()), "{states:#?}");
    drop((page, why, lines));
    agent.stop().await;
}

#[test]
fn a_watch_without_an_agent_ends_with_an_error() {
    let lab = Lab::new();
    let run = lab.command(&["status", "--watch"]);
    assert!(run.code == Some(1) && run.complaints.contains("no agent is running"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_on_the_next_page_and_the_feed_names_its_app_and_no_other() {
    let mut lab = Lab::new();
    for name in ["hello", "other"] {
        lab.app(name).file(name, name, "Hello\n");
    }
    let version = lab.commit();
    let mut agent = lab.start().await;
    for name in ["hello", "other"] {
        agent.until_converged(name, &version).await;
    }
    let caller = Caller::local(Actor::new("ada").expect("a plain name"));
    let states = async |agent: &Agent| {
        let page = agent.api().apps(&caller, AppsQuestion::default()).await.expect("it responds");
        page.apps.into_iter().map(|app| (app.app.to_string(), app.state)).collect::<Vec<_>>()
    };
    let mut events = agent.api().events(&caller, None).await.expect("it responds");
    assert_eq!(events.next().await.expect("an event").change, Change::Reload);
    assert!(states(&agent).await.iter().all(|(_, state)| *state == AppState::Converged));

    agent.order("hello", OrderKind::Suspend { length: Span::hours(1) }).await;
    let suspended = ("default/hello".to_owned(), AppState::Suspended);
    assert!(states(&agent).await.contains(&suspended), "a page is never older than its request");
    let mut named = Vec::new();
    while !named.contains(&Change::App { app: app("hello") }) {
        named.push(events.next().await.expect("an event").change);
    }
    assert!(!named.contains(&Change::App { app: app("other") }), "{named:?}");
    agent.stop().await;
}
