//! Commands against an agent with fixed responses, over its real socket.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;

use setpoint_api::answer::{
    AppDetail, AppSummary, AppTree, DriftRecord, HistoryChange, HistoryRecord, NotifyTested, Ordered, Overview,
    PlanAnswer,
};
use setpoint_api::canned::CannedAgent;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_api::{Server, socket_in};
use setpoint_core::intent::IntentId;
use setpoint_core::time::Span;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::setpoint::{Run, command, copy_program, read, run};

/// A data directory with an agent that runs until the value is dropped.
struct Place {
    folder: TempDir,
    agent: Arc<CannedAgent>,
    _stop: oneshot::Sender<()>,
    _runtime: Runtime,
}

impl Place {
    fn new() -> Self {
        Self::with(CannedAgent::example())
    }

    #[expect(clippy::disallowed_methods, reason = "it is ended with its runtime")]
    fn with(agent: CannedAgent) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(Server::bind(&socket_in(folder.path()))).expect("the place is free");
        let agent = Arc::new(agent);
        let (stop, stopped) = oneshot::channel::<()>();
        let answering = Arc::clone(&agent);
        let serving = async move { server.serve(answering, async { stopped.await.unwrap_or(()) }).await };
        runtime.handle().spawn(serving);
        Self { folder, agent, _stop: stop, _runtime: runtime }
    }

    fn data(&self) -> &str {
        self.folder.path().to_str().expect("a plain path")
    }

    fn run(&self, arguments: &[&str]) -> Run {
        run(&[arguments, &["--data", self.data()]].concat())
    }

    /// Runs a command with JSON output, and parses the output as the agent's response.
    fn json<T: serde::de::DeserializeOwned>(&self, arguments: &[&str]) -> T {
        let run = self.run(&[arguments, &["--output", "json"]].concat());
        assert_eq!(run.complaints, "");
        serde_json::from_str(&run.output).unwrap_or_else(|error| panic!("{error}:\n{}", run.output))
    }

    fn orders(&self) -> Vec<OrderRequest> {
        self.agent.orders().into_iter().map(|(_, order)| order).collect()
    }
}

fn has(run: &Run, parts: &[&str]) {
    for part in parts {
        assert!(run.output.contains(part), "no `{part}` in:\n{}{}", run.output, run.complaints);
    }
}

#[test]
fn json_is_exactly_what_the_agent_answered() {
    let place = Place::new();
    let agent = &place.agent;
    assert_eq!(place.json::<Overview>(&["status"]), agent.overview);
    assert_eq!(place.json::<AppDetail>(&["get", "web/shop"]), agent.detail);
    assert_eq!(place.json::<AppDetail>(&["why", "web/shop"]), agent.detail);
    assert_eq!(place.json::<AppTree>(&["tree", "web/shop"]), agent.tree);
    assert_eq!(place.json::<Vec<HistoryChange>>(&["history"]), agent.changes);
    assert_eq!(place.json::<Vec<HistoryRecord>>(&["history", "--records"]), agent.history);
    assert_eq!(place.json::<Vec<DriftRecord>>(&["drift"]), agent.drift);
    assert_eq!(place.json::<PlanAnswer>(&["plan"]), agent.plan);
    assert_eq!(place.json::<Vec<NotifyTested>>(&["notify", "test"]), agent.notifiers);
    assert_eq!(place.json::<Ordered>(&["resume", "web/shop"]).app, agent.detail.summary.app);
}

#[test]
fn every_page_can_be_read_in_a_pipe() {
    let place = Place::new();
    has(&place.run(&["status"]), &["web/shop", "held", "platform@3f2a91c03f2a", "default/motd", "converged", "legacy"]);
    has(&place.run(&["get", "web/shop"]), &["Open the shop at nine", "file /etc/shop.conf", "7-31", "Not done: 3"]);
    has(&place.run(&["why", "web/shop"]), &["web/shop is held", "setpoint resume web/shop", "did you mean `content`"]);
    has(&place.run(&["history", "--limit", "2"]), &["412", "411", "update", "2026-11-15 11:59:00Z"]);
    has(&place.run(&["history", "--records", "--limit", "2"]), &["412", "411", "acceptance", "2026-11-15 11:59:00Z"]);
    has(&place.run(&["drift"]), &["healed after 38 ms", "not healed", "likely by vim (user:max)"]);
    has(
        &place.run(&["tree", "web/shop"]),
        &["    Pod/front-77b0-q8", "ImagePullBackOff", "3 more of Pod", "Not observed"],
    );
    for arguments in [
        &["status"][..],
        &["get", "web/shop"],
        &["why", "web/shop"],
        &["tree", "web/shop"],
        &["history"],
        &["drift"],
        &["plan"],
    ] {
        let run = place.run(arguments);
        assert!(!run.output.contains('\u{1b}'), "{}", run.output);
        assert!(run.output.lines().all(|line| line == line.trim_end()), "{}", run.output);
    }
}

#[test]
fn logs_say_whose_they_are_and_what_could_not_be_read_is_beside_them() {
    let place = Place::new();
    let run = place.run(&["logs", "web/shop"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // A pipe gets the original output, with its colours.
    assert_eq!(run.output, "front-5f9c-1/web GET / 200\nfront-5f9c-2/web \u{1b}[31mGET /favicon 404\u{1b}[0m\n");
    assert_eq!(run.complaints, "note: front-77b0-q8/web: its log cannot be read: the container is waiting to start\n");
    let lines = place.run(&["logs", "web/shop", "--output", "json"]).output;
    let texts: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[0], serde_json::json!({"source": "front-5f9c-1/web", "text": "GET / 200"}));
}

#[test]
fn logs_of_which_none_could_be_read_are_exit_4_and_no_empty_log() {
    let mut agent = CannedAgent::example();
    agent.logs.retain(|part| !matches!(part, setpoint_api::answer::LogPart::Line { .. }));
    let run = Place::with(agent).run(&["logs", "web/shop"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""), "{run:?}");
    assert!(run.complaints.contains("waiting to start"), "{run:?}");
    for wrong in
        [&["logs", "web/shop", "-f", "--previous"][..], &["logs", "web/shop", "--since", "soon"], &["logs", "web/"]]
    {
        assert_eq!(Place::new().run(wrong).code, Some(1), "{wrong:?}");
    }
}

#[test]
fn a_status_shows_the_apps_that_its_filters_select() {
    let place = Place::new();
    let apps = |arguments: &[&str]| {
        let overview: Overview = place.json(&[&["status"], arguments].concat());
        overview.apps.iter().map(|app| app.app.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(apps(&[]), ["default/motd", "web/shop"]);
    for select_shop in [
        &["shop"][..],
        &["web/*"],
        &["w?b/sh*p", "nothing"],
        &["--scope", "web"],
        &["--component", "shop"],
        &["--label", "team"],
        &["--label", "team=checkout", "--label", "team=search"],
        &["--state", "held", "--state", "frozen"],
    ] {
        assert_eq!(apps(select_shop), ["web/shop"], "{select_shop:?}");
    }
    assert_eq!(apps(&["--state", "converged"]), ["default/motd"]);
    assert_eq!(apps(&["--scope", "web", "--state", "converged"]), [] as [&str; 0]);
    assert_eq!(apps(&["--label", "team=search"]), [] as [&str; 0]);
    assert_eq!(apps(&["--environment", "nowhere"]), [] as [&str; 0]);
    let target = &place.agent.overview.targets[0];
    let on_target = place.agent.overview.apps.iter().filter(|app| app.target == target.identity).count();
    assert_eq!(apps(&["--target", target.target.as_str()]).len(), on_target);
    assert_eq!(apps(&["--target", target.identity.as_str()]).len(), on_target);
    assert_eq!(apps(&["--target", "elsewhere"]), [] as [&str; 0]);

    let page = place.run(&["status", "--scope", "web"]).output;
    assert!(page.contains("1 of 2 apps match the filter") && !page.contains("default/motd"), "{page}");
    let wrong = place.run(&["status", "--state", "broken"]);
    assert!(wrong.code == Some(1) && wrong.complaints.contains("`out-of-sync`"), "{wrong:?}");
}

#[test]
fn a_status_of_many_apps_shows_those_that_need_attention_first() {
    let mut agent = CannedAgent::example();
    let calm = agent.overview.apps[0].clone();
    for number in 0..9_998 {
        agent
            .overview
            .apps
            .insert(0, AppSummary { app: format!("all/app-{number}").parse().expect("a name"), ..calm.clone() });
    }
    let place = Place::with(agent);
    let page = place.run(&["status"]).output;
    assert!(page.len() < 20_000 && page.contains("9950 more apps: show them with --all"), "{page}");
    assert!(page.contains("10000") && page.contains("web/shop"), "{page}");
    let first = page.lines().skip_while(|line| !line.starts_with("APP ")).nth(1).expect("a row");
    assert!(first.starts_with("web/shop"), "{first}");
    let all = place.run(&["status", "--all"]).output;
    assert!(all.contains("app-1234") && !all.contains("more apps"), "{}", all.len());
    assert_eq!(place.json::<Overview>(&["status"]).apps.len(), 10_000, "programs get all of them");
}

#[test]
fn the_short_form_of_output_is_o() {
    let place = Place::new();
    assert_eq!(
        place.run(&["why", "web/shop", "-o", "json"]).output,
        place.run(&["why", "web/shop", "--output", "json"]).output
    );
}

#[test]
fn colour_comes_when_it_is_asked_for() {
    let run = Place::new().run(&["status", "--color", "always"]);
    has(&run, &["\u{1b}[32mconverged\u{1b}[0m"]);
}

#[test]
fn a_plan_says_by_its_exit_code_whether_there_is_anything_to_do() {
    let place = Place::new();
    let changes = place.run(&["plan"]);
    assert_eq!(changes.code, Some(2));
    has(
        &changes,
        &[
            "1 to create, 1 to update, 1 to delete; 1 of these waits; 1 app not at the version that the stores offer; 1 not done",
            "+ create file /etc/shop.d/new.conf",
        ],
    );
    let nothing = place.run(&["plan", "motd"]);
    assert_eq!(nothing.code, Some(0));
    has(&nothing, &["1 app: nothing to do"]);
}

#[test]
fn a_plan_that_would_be_refused_is_exit_4() {
    let mut agent = CannedAgent::example();
    agent.plan.apps[0].refused.push("apps/motd.yaml:1:1: unknown kind `Fiel`".to_owned());
    let refused = Place::with(agent).run(&["plan", "--rev", "3f2a91c"]);
    assert_eq!(refused.code, Some(4));
    has(&refused, &["refused: apps/motd.yaml:1:1: unknown kind `Fiel`", "1 app would be refused"]);

    let mut agent = CannedAgent::example();
    agent.plan.apps[1].steps[0].refused = Some("only root may set an owner".to_owned());
    let refused = Place::with(agent).run(&["plan"]);
    assert_eq!(refused.code, Some(4));
    has(&refused, &["the target would refuse it: only root may set an owner"]);
}

#[test]
fn every_order_reaches_the_agent_with_its_reason() {
    let place = Place::new();
    let because = |order: &[&'static str]| [order, &["--reason", "OPS-1"]].concat();
    let intent = IntentId { epoch: 7, number: 31 };
    let cases = [
        (vec!["sync", "web/shop"], "", OrderKind::Sync { allow_prune: 0 }),
        (because(&["sync", "web/shop", "--allow-prune", "4"]), "OPS-1", OrderKind::Sync { allow_prune: 4 }),
        (because(&["suspend", "web/shop", "--for", "2h"]), "OPS-1", OrderKind::Suspend { length: Span::hours(2) }),
        (vec!["resume", "web/shop"], "", OrderKind::Resume),
        (because(&["hold", "web/shop"]), "OPS-1", OrderKind::Hold),
        (because(&["release", "web/shop"]), "OPS-1", OrderKind::Release { accept: None }),
        (
            because(&["release", "web/shop", "--accept", "9c1e04d"]),
            "OPS-1",
            OrderKind::Release { accept: Some("9c1e04d".to_owned()) },
        ),
        (because(&["settle", "web/shop", "7-31", "--done"]), "OPS-1", OrderKind::Settle { intent, done: true }),
        (because(&["settle", "web/shop", "7-31", "--not-done"]), "OPS-1", OrderKind::Settle { intent, done: false }),
    ];
    for (arguments, reason, order) in cases {
        let run = place.run(&arguments);
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{arguments:?}");
        has(&run, &["web/shop", "file /etc/shop.conf was left as it was"]);
        let app = "web/shop".parse().expect("a valid app");
        let expected = OrderRequest { app, reason: reason.to_owned(), order };
        assert_eq!(place.orders().last(), Some(&expected), "{arguments:?}");
    }
}

#[test]
fn an_override_without_its_reason_never_reaches_the_agent() {
    let place = Place::new();
    let cases = [
        &["sync", "web/shop", "--allow-prune", "4"][..],
        &["suspend", "web/shop", "--for", "2h"],
        &["suspend", "web/shop", "--reason", "r"],
        &["suspend", "web/shop", "--reason", "r", "--for", "99d"],
        &["hold", "web/shop"],
        &["release", "web/shop"],
        &["settle", "web/shop", "7-31", "--done"],
        &["settle", "web/shop", "7-31", "--reason", "r"],
        &["settle", "web/shop", "7-31", "--done", "--not-done", "--reason", "r"],
        &["sync", "Web/Shop"],
    ];
    for arguments in cases {
        let run = place.run(arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(!run.complaints.is_empty(), "{arguments:?}");
    }
    assert_eq!(place.orders(), []);
}

#[test]
fn a_notifier_that_did_not_take_the_message_is_exit_4() {
    let run = Place::new().run(&["notify", "test"]);
    assert_eq!(run.code, Some(4));
    has(&run, &["default/ops: accepted the message", "web/shop-team: hooks.example returned 403"]);
}

#[test]
fn what_the_agent_says_no_to_is_exit_1_in_its_words() {
    let run = Place::new().run(&["get", "nothing"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert_eq!(run.complaints, "error: there is no app default/nothing: `setpoint status` lists them\n");
}

#[test]
fn without_an_agent_one_is_told_how_to_start_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a plain path");
    let run = run(&["status", "--data", data]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.starts_with(&format!("error: no agent is running at {data}/agent.sock")), "{run:?}");
    assert!(run.complaints.contains("setpoint run --config"), "{run:?}");
}

#[test]
fn another_user_is_told_whose_agent_it_is() {
    if !rustix::process::geteuid().is_root() {
        setpoint_testbed::skipped("only root can become another user; run the tests as root");
        return;
    }
    let place = Place::new();
    open_to_all(place.folder.path());
    // The binary may be in a directory that only root can read.
    let binary = place.folder.path().join("setpoint");
    copy_program(Path::new(env!("CARGO_BIN_EXE_setpoint")), &binary);
    open_to_all(&binary);
    let started = command(&["status", "--data", place.data()]);
    let mut as_nobody = started_from(&binary, &started);
    let run = read(&as_nobody.uid(65_534).gid(65_534).output().expect("it starts"));
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.complaints.contains("it belongs to root; run this with sudo"), "{run:?}");
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its owner may");
}

/// Returns the same command for a copy of the binary.
#[expect(clippy::disallowed_methods, reason = "a copy of the binary, where another user can start it")]
fn started_from(binary: &Path, command: &std::process::Command) -> std::process::Command {
    let mut copy = std::process::Command::new(binary);
    copy.args(command.get_args()).env_clear();
    copy
}
