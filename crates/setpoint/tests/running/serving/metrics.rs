//! The metrics of a running agent, the rules for alerts that are shipped with it, and identifiers of
//! requests.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use setpoint_api::question::OrderKind;

use super::browser::Browser;
use super::{lab, served, token, with_access};

const PROMTOOL: &str = "/usr/bin/promtool";

fn shipped(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus").join(file)
}

/// Runs promtool with this standard input; `None` if the machine lacks it.
#[expect(clippy::disallowed_methods, reason = "the door of these tests to promtool")]
fn promtool(arguments: &[&str], input: &str) -> Option<Output> {
    if !PathBuf::from(PROMTOOL).exists() {
        setpoint_testbed::skipped("there is no promtool; install the Debian package `prometheus`");
        return None;
    }
    let mut command = Command::new(PROMTOOL);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("it exists");
    process.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    Some(process.wait_with_output().expect("it ends"))
}

fn succeeded(output: &Output) {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}{}", texts[0], texts[1]);
}

/// Returns the words of a text that are names of metrics.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_metric = |word: &&str| word.starts_with("setpoint_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

/// Returns the names of all samples.
fn samples(text: &str) -> BTreeSet<String> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// Returns the value of the sample with this name and these labels.
fn value(text: &str, sample: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{sample}: {text}")).parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_does_is_measured() {
    let mut lab = lab();
    let anchor = lab.path().join("anchor");
    lab.anchor_at(anchor);
    let (mut agent, browser) = served(&mut lab).await;
    fs::write(lab.at("etc/web.conf"), "listen 81\n").expect("anyone may");
    let healed =
        async |agent: &super::Agent| agent.drift("web").await.iter().any(|it| it.healed.is_some()).then_some(());
    agent.until("drift is healed", healed).await;
    // An order is signed at once, and with it the anchor is written for the first time.
    agent.order("web", OrderKind::Sync { allow_prune: 0 }).await;
    lab.file("web", "etc/web.conf", "listen 82\n");
    let version = lab.commit();
    agent.until_converged("web", &version).await;

    let text = browser.get("/metrics").await;
    assert_eq!((text.status, text.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
    let text = text.body;
    assert_eq!(value(&text, "setpoint_apps{state=\"converged\"}"), 2.0);
    assert_eq!(value(&text, "setpoint_apps_unconverged_oldest_age_seconds"), 0.0);
    assert_eq!(value(&text, "setpoint_ledger_held"), 1.0);
    assert!(value(&text, "setpoint_ledger_records") > 5.0);
    assert_eq!(value(&text, "setpoint_ledger_anchor_failing"), 0.0);
    assert_eq!(value(&text, "setpoint_store_stale{store=\"bootstrap\"}"), 0.0);
    assert!(value(&text, "setpoint_store_age_seconds{store=\"bootstrap\"}") < 150.0);
    assert!(value(&text, "setpoint_store_polls_total{store=\"bootstrap\",outcome=\"answered\"}") >= 2.0);
    assert_eq!(value(&text, "setpoint_target_connected{target=\"machine\"}"), 1.0);
    assert_eq!(value(&text, "setpoint_target_apps{target=\"machine\"}"), 1.0);
    assert!(value(&text, "setpoint_target_changes_total{target=\"machine\",outcome=\"done\"}") >= 3.0);
    assert!(value(&text, "setpoint_accept_duration_seconds_count{outcome=\"accepted\"}") >= 3.0);
    assert!(value(&text, "setpoint_versions_total{outcome=\"accepted\"}") >= 3.0);
    assert!(value(&text, "setpoint_converge_duration_seconds_count") >= 2.0);
    assert!(value(&text, "setpoint_heal_duration_seconds_count") >= 1.0);
    assert!(value(&text, "setpoint_drift_objects_total{event=\"observed\"}") >= 1.0);
    assert!(value(&text, "setpoint_drift_objects_total{event=\"healed\"}") >= 1.0);
    for effect in ["poll", "render", "observe", "execute", "record"] {
        let sample = format!("setpoint_effect_duration_seconds_count{{effect=\"{effect}\"}}");
        assert!(value(&text, &sample) >= 2.0, "{effect}");
    }
    assert!(value(&text, "setpoint_effect_wait_seconds_count{effect=\"execute\"}") >= 2.0);
    assert!(value(&text, "setpoint_sessions") >= 1.0);
    assert!(value(&text, "setpoint_http_connections") >= 1.0);
    assert!(value(&text, "process_resident_memory_bytes") > 1e6);
    assert!(!text.contains("default/web") && !text.contains("web.conf"), "nothing names an app or an object: {text}");

    // A path is counted under the template of its route, and one without a route under none.
    browser.get("/apps/default/web").await;
    browser.get("/api/v1/apps/default/web").await;
    browser.get("/no/such/path").await;
    let open = browser.send("GET", "/metrics", "accept: application/openmetrics-text;version=1.0.0\r\n", "").await;
    assert!(open.header("content-type").starts_with("application/openmetrics-text"));
    assert!(open.body.ends_with("# EOF\n"));
    for (route, status) in [("/apps/{scope}/{app}", "2xx"), ("/api/v1/apps/{scope}/{app}", "2xx"), ("none", "4xx")] {
        let sample = format!("setpoint_http_requests_total{{route=\"{route}\",status=\"{status}\"}}");
        assert!(value(&open.body, &sample) >= 1.0, "{route}");
    }

    let rules = fs::read_to_string(shipped("setpoint.rules.yaml")).expect("it is shipped");
    let missing: Vec<_> = metrics_in(&rules).difference(&samples(&text)).cloned().collect();
    assert!(missing.is_empty(), "the rules use metrics that no agent has: {missing:?}");
    if let Some(output) = promtool(&["check", "metrics"], &text) {
        succeeded(&output);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = fs::read_to_string(page).expect("there is a page about metrics");
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let undocumented: Vec<_> = families.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(undocumented.is_empty(), "docs/metrics.md lacks {undocumented:?}");
    agent.stop().await;
}

#[test]
fn the_rules_for_alerts_are_valid_and_fire() {
    for arguments in [["check", "rules", "setpoint.rules.yaml"], ["test", "rules", "setpoint.test.yaml"]] {
        let file = shipped(arguments[2]).display().to_string();
        let Some(output) = promtool(&[arguments[0], arguments[1], &file], "") else { return };
        succeeded(&output);
    }
}

#[test]
fn every_alert_has_a_test_and_a_section_in_the_documentation() {
    let read = |path: PathBuf| fs::read_to_string(path).expect("it is in the tree");
    let (rules, tests) = (read(shipped("setpoint.rules.yaml")), read(shipped("setpoint.test.yaml")));
    let page = read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md"));
    let values = |name: &str| -> Vec<String> {
        let lines = rules.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix(name));
        lines.map(|value| value.trim().to_owned()).collect()
    };
    let (alerts, runbooks) = (values("alert:"), values("runbook:"));
    assert!(alerts.len() >= 10 && alerts.len() == runbooks.len() && alerts.len() == values("summary:").len());
    for (alert, runbook) in alerts.iter().zip(runbooks) {
        assert_eq!(runbook, format!("docs/metrics.md#{}", alert.to_lowercase()));
        assert!(page.lines().any(|line| line == format!("### {alert}")), "docs/metrics.md explains {alert}");
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} has a test");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_for_callers_that_may_see_everything() {
    let mut lab = lab();
    with_access(&mut lab);
    let narrow = "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: { name: narrow }\nspec: { subjects: [{ token: narrow }], rules: [{ verbs: [all], scopes: [default] }] }\n";
    lab.write("setpoint/narrow.yaml", narrow);
    let (agent, mut administrator) = served(&mut lab).await;
    let (wide, narrow) = (token(&mut administrator, "ci").await, token(&mut administrator, "narrow").await);
    let stranger = Browser::new(administrator.address);
    let status = async |token: &str| {
        let header = format!("authorization: Bearer {token}\r\n");
        stranger.send("GET", "/metrics", &header, "").await.status
    };
    assert_eq!(status(&wide).await, 200);
    assert_eq!(status(&narrow).await, 403, "all rights on one scope are not enough");
    let refused = stranger.get("/metrics").await;
    assert_eq!(refused.status, 401);
    assert!(!refused.body.contains("setpoint_apps"), "{}", refused.body);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_metrics_need_no_account_and_open_nothing_else() {
    let mut lab = lab();
    let address = lab.serve();
    lab.serve_with("metrics: open");
    lab.commit();
    let agent = lab.start().await;
    let stranger = Browser::new(address);
    let metrics = stranger.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.body.contains("setpoint_build_info{version="), "{}", metrics.body);
    assert_eq!(stranger.get("/api/v1/overview").await.status, 401);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_and_the_log_have_the_same_identifier_of_the_request() {
    let mut lab = lab();
    let address = lab.serve();
    lab.serve_with("trustedProxies: [127.0.0.1]");
    lab.commit();
    let agent = lab.start().await;
    let proxy = Browser::new(address);
    let given = proxy.send("GET", "/api/v1/overview", "x-request-id: edge-7f3a\r\n", "").await;
    assert_eq!((given.status, given.header("x-request-id")), (401, "edge-7f3a"));
    let stranger = Browser { from: [127, 9, 9, 8].into(), ..proxy };
    let made = stranger.send("GET", "/healthz", "x-request-id: edge-7f3a\r\n", "").await;
    let made = made.header("x-request-id");
    assert!(!made.is_empty() && made != "edge-7f3a", "a stranger does not choose it: {made}");
    for (id, rest) in [("edge-7f3a", "route=/api/v1/overview"), (made, "route=/healthz")] {
        let line = format!("DEBUG request answered request={id} method=GET {rest}");
        assert!(agent.said().iter().any(|said| said.starts_with(&line)), "{line}: {:?}", agent.said());
    }
    agent.stop().await;
}
