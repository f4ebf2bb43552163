//! The web pages in a real browser: Chromium opens every page of an agent whose apps are in all
//! states, and operates it as people do. The scripts are in `tests/browser/`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use setpoint_api::answer::AppState;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_core::time::Span;
use setpoint_testbed::node::{Node, chromium};
use tokio::time::timeout;

use super::lab::{Agent, Lab, app, file_document, is_at};

/// Longer than the suite takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A text that would run a script on a page that did not escape it.
const HOSTILE: &str = "<img src=x onerror=window.hostile=1> javascript:hostile=1";

/// Declares an app that shares its component with others.
fn declare(lab: &mut Lab, app: &str, component: (&str, &str), labels: &str, more: &str) {
    let (scope, name) = app.split_once('/').expect("a scope");
    let (component, environment) = component;
    let inputs = format!("[{{ name: main, store: bootstrap, path: apps/{name} }}]");
    let spec = format!(
        "{{ component: {component}, environment: {environment}, inputs: {inputs}, target: machine, sync: {{ {more} }} }}"
    );
    let metadata = format!("{{ name: {name}, scope: {scope}, labels: {{ {labels} }} }}");
    let text = format!("apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {metadata}\nspec: {spec}\n");
    lab.write(&format!("setpoint/apps/{scope}-{name}.yaml"), &text);
}

/// Returns a lab whose apps are about to differ in everything that pages show.
fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.control("default", "Scope", "{ stores: [bootstrap], targets: [machine] }");
    lab.control("payments", "Scope", "{ stores: [bootstrap], targets: [machine] }");
    let shop = "team: checkout, tier: front";
    declare(&mut lab, "default/web", ("shop", "production"), shop, "");
    declare(&mut lab, "default/web-staging", ("shop", "staging"), shop, "");
    declare(&mut lab, "default/api", ("api", "production"), "team: checkout", "");
    declare(&mut lab, "default/cart", ("cart", "production"), "team: checkout", "");
    declare(&mut lab, "default/jobs", ("jobs", "production"), "team: batch", "");
    declare(&mut lab, "default/mail", ("mail", "production"), "team: post", "mode: manual");
    declare(&mut lab, "default/files", ("files", "production"), "team: post", "mode: observe");
    declare(&mut lab, "default/probe", ("probe", "staging"), "team: batch", "");
    declare(&mut lab, "default/tardy", ("tardy", "staging"), "team: batch", "dependsOn: [probe]");
    declare(&mut lab, "default/odd", ("odd", "staging"), "team: batch", "");
    declare(&mut lab, "payments/ledger", ("ledger", "production"), "team: money", "");
    lab.file("web", "etc/web.conf", "listen 80\n").file("web", "etc/motd", "Welcome\n");
    for name in ["web-staging", "api", "cart", "jobs", "mail", "files", "tardy", "ledger"] {
        lab.file(name, &format!("etc/{name}.conf"), &format!("name = {name}\nworkers = 4\n"));
    }
    let probe = "apiVersion: host.setpoint.dev/v1\nkind: Command\nmetadata: { name: probe }\nspec:\n  check: { command: [/bin/false] }\n  apply: { command: [/bin/true] }\n";
    lab.write("apps/probe/probe.yaml", probe);
    let odd = file_document("odd", HOSTILE).replace("/odd", "/etc/<img src=x onerror=window.hostile=1>");
    lab.write("apps/odd/odd.yaml", &odd);
    lab
}

async fn order(agent: &Agent, name: &str, reason: &str, order: OrderKind) {
    let request = OrderRequest { app: app(name), reason: reason.to_owned(), order };
    agent.client().order(&request).await.expect("it is recorded");
}

/// Starts an agent, and brings its apps into their states.
async fn start(lab: &mut Lab) -> Agent {
    fs::create_dir(lab.at("etc")).expect("it is ours");
    // An observed app that is not as declared.
    fs::write(lab.at("etc/files.conf"), "name = files\nworkers = 64\n# by hand\n").expect("it is ours");
    let first = lab.commit_as("Declare the shop\n");
    let mut agent = lab.start().await;
    for name in ["web", "cart", "jobs", "api", "odd"] {
        agent.until_converged(name, &first).await;
    }
    order(&agent, "cart", "OPS-17: the load test needs a quiet night", OrderKind::Suspend { length: Span::hours(4) })
        .await;
    order(&agent, "jobs", HOSTILE, OrderKind::Hold).await;
    let misspelt = file_document("etc/api.conf", "workers = 8\n").replace("content:", "contents:");
    lab.write("apps/api/etc-api.conf.yaml", &misspelt);
    lab.file("mail", "etc/mail.conf", "name = mail\nworkers = 8\n").file("web", "etc/motd", "Good morning\n");
    let second = lab.commit_as(&format!("{HOSTILE}\n"));
    agent.until_converged("web", &second).await;
    agent.until_app("api", "refuses the version", |detail| detail.refused.is_some()).await;
    agent.until_app("cart", "is suspended", |detail| detail.summary.state == AppState::Suspended).await;
    agent.until_app("jobs", "is held", |detail| detail.summary.state == AppState::Held).await;
    agent.until_app("files", "reports a difference", |detail| !detail.drifts.is_empty()).await;
    agent.until_app("mail", "waits for a person", |detail| is_at(detail, &second)).await;
    fs::write(lab.at("etc/motd"), "by hand\n").expect("it is ours");
    let healed =
        async |agent: &Agent| agent.drift("web").await.iter().any(|drift| drift.healed.is_some()).then_some(());
    agent.until("drift is healed", healed).await;
    agent
}

/// Returns the problems in the report of the suite; without its last line, it has not ended.
fn problems(report: &str) -> Vec<String> {
    let lines: Vec<serde_json::Value> = report.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let checks = lines.iter().filter(|line| line["check"].is_string());
    let (held, failed): (Vec<_>, Vec<_>) = checks.partition(|line| line["problem"].is_null());
    let text = |line: &serde_json::Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let problem = |line| format!("{}: {}: {}", text(line, "page"), text(line, "check"), text(line, "problem"));
    let mut problems: Vec<String> = failed.iter().copied().map(problem).collect();
    if lines.last().and_then(|line| line["done"].as_u64()) != Some((held.len() + failed.len()) as u64) {
        problems.push("the suite has not ended".to_owned());
    }
    problems
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_accessible_and_every_control_works_in_a_browser() {
    let (node, chromium) = match (Node::find(), chromium()) {
        (Ok(node), Ok(chromium)) => (node, chromium),
        (Err(reason), _) | (_, Err(reason)) => return setpoint_testbed::skipped(&reason),
    };
    let mut lab = lab();
    let address = lab.serve();
    let agent = start(&mut lab).await;
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    // Where Cargo builds: people view them after a change.
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("pages");
    let scratch = lab.path().join("browser");
    fs::create_dir(&scratch).expect("it is ours");
    let mut suite = tokio::process::Command::from(node.script(&scripts.join("suite.mjs"), &scratch));
    suite.env("ORIGIN", format!("http://{address}")).env("CHROMIUM", chromium).env("PICTURES", &pictures);
    suite.env("SET_UP", format!("/set-up?token={}", agent.set_up_token().expect("there is no account yet")));
    suite.env("MANAGED", lab.at("")).kill_on_drop(true);
    let output = timeout(PATIENCE, suite.output()).await.expect("the suite ends").expect("node starts");
    let problems = problems(&String::from_utf8_lossy(&output.stdout));
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(problems.is_empty() && output.status.success(), "{}\n{complaints}", problems.join("\n"));
    agent.stop().await;
}
