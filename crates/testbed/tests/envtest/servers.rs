//! The servers themselves: they are real, they can be stopped, and nothing of them is left over.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use setpoint_testbed::kube::{ApiServer, AuditSender, AuditWebhook, Fault, Options, Proxy, Rule, kubernetes_version};

use super::scene::PATIENCE;

/// Polls until a condition yields a value.
fn await_that<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let waiting = async {
        let mut clock = tokio::time::interval(std::time::Duration::from_millis(20));
        loop {
            clock.tick().await;
            if let Some(seen) = look() {
                return seen;
            }
        }
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be started");
    let seen = runtime.block_on(async { tokio::time::timeout(PATIENCE, waiting).await });
    seen.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

fn config_map(value: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value}})
}

#[test]
fn the_server_is_of_the_line_that_tests_are_written_for() {
    let version = ApiServer::shared().request("GET", "/version", None).succeeded().json();
    let reported = version["gitVersion"].as_str().expect("a version has a name");
    let (line, _) = kubernetes_version().rsplit_once('.').expect("a version has three parts");
    assert!(reported.starts_with(&format!("v{line}.")), "{reported}");
}

#[test]
fn a_server_side_apply_is_taken_and_its_manager_is_known() {
    let server = ApiServer::shared();
    let namespace = server.fresh_namespace("applying");
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/a");
    let applied = server.apply(&path, "somebody", &config_map("1"));
    let entry = &applied["metadata"]["managedFields"][0];
    assert_eq!((entry["manager"].as_str(), entry["operation"].as_str()), (Some("somebody"), Some("Apply")));
    let seen =
        server.kubectl(&["get", "configmap", "a", "--namespace", &namespace, "--output", "jsonpath={.data.key}"]);
    assert_eq!(seen, "1");
}

#[test]
fn two_servers_on_one_etcd_see_each_others_writes() {
    let first = ApiServer::own(Options::default());
    let second = first.beside(Options::default());
    assert_ne!(first.url(), second.url());
    let path = "/api/v1/namespaces/default/configmaps/a";
    first.apply(path, "one", &config_map("1"));
    let seen = second.request("GET", path, None).succeeded().json();
    assert_eq!(seen["data"]["key"], "1");
    second.apply(path, "two", &config_map("2"));
    assert_eq!(first.request("GET", path, None).succeeded().json()["data"]["key"], "2");
    first.stop();
    assert_eq!(second.request("GET", path, None).succeeded().json()["data"]["key"], "2");
}

#[test]
fn a_restarted_server_has_what_it_had() {
    let server = ApiServer::own(Options::default());
    let path = "/api/v1/namespaces/default/configmaps/a";
    let before = server.apply(path, "one", &config_map("1"));
    server.restart();
    let after = server.request("GET", path, None).succeeded().json();
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
}

#[test]
fn the_audit_log_names_the_user() {
    let server = ApiServer::own(Options { audit_log: true, ..Options::default() });
    let viewer = server.kubeconfig_with_token(server.token("viewer"));
    assert!(server.kubectl_as(&viewer, &["get", "configmaps"], b"").status.success());
    await_that("a line about the viewer", || {
        let log = std::fs::read_to_string(server.audit_log()).ok()?;
        let events = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut about = events.filter(|event| event["user"]["username"] == "viewer" && event["verb"] == "list");
        about.find(|event| event["objectRef"]["resource"] == "configmaps" && event["sourceIPs"][0] == "127.0.0.1")
    });
}

#[test]
fn the_audit_webhook_is_told_the_user() {
    let sink = Proxy::before(ApiServer::shared());
    sink.add(Rule::new("POST", "/audit", Fault::Answer { code: 200, body: "{}".to_owned() }));
    let (url, authority) = (format!("{}/audit", sink.url()), Some(sink.authority().to_owned()));
    let webhook = AuditWebhook { url, authority, sender: AuditSender::Nobody };
    let server = ApiServer::own(Options { audit_webhook: Some(webhook), ..Options::default() });
    server.apply("/api/v1/namespaces/default/configmaps/a", "one", &config_map("1"));
    await_that("an event about the administrator", || {
        let seen = sink.take_seen();
        let texts = seen.iter().map(|request| String::from_utf8_lossy(&request.body).into_owned());
        texts.into_iter().find(|text| text.contains(r#""username":"admin""#) && text.contains(r#""name":"a""#))
    });
}

#[test]
fn with_controllers_what_has_lost_its_owner_is_collected() {
    let server = ApiServer::own(Options { controllers: true, ..Options::default() });
    let all = "/api/v1/namespaces/default/configmaps";
    let owner = server.create(all, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}));
    let reference =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    let owned =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": reference}});
    server.create(all, &owned);
    server.request("DELETE", &format!("{all}/owner?propagationPolicy=Background"), None).succeeded();
    await_that("the end of the owned one", || {
        (server.request("GET", &format!("{all}/owned"), None).status == 404).then_some(())
    });
}

#[test]
fn nothing_of_a_server_stays_behind() {
    let server = ApiServer::own(Options::default());
    let (folder, address) = (server.folder().to_owned(), server.url().replace("https://", ""));
    assert!(TcpStream::connect(&address).is_ok() && folder.exists());
    drop(server);
    assert!(TcpStream::connect(&address).is_err(), "somebody still listens at {address}");
    assert!(!folder.exists(), "{} is still there", folder.display());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the keeper finds the tools as this test does: by the environment")]
fn nothing_stays_behind_of_a_keeper_that_was_killed() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_setpoint-testbed"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut keeper = command.spawn().expect("cargo has built it");
    let mut folder = String::new();
    BufReader::new(keeper.stdout.take().expect("it was piped")).read_line(&mut folder).expect("it says where it is");
    let folder = Path::new(folder.trim());
    let url = std::fs::read_to_string(folder.join("kube-apiserver-0.url")).expect("it describes the server");
    let address = url.replace("https://", "");
    assert!(TcpStream::connect(&address).is_ok());
    keeper.kill().expect("it is ours");
    keeper.wait().expect("it is ours");
    await_that("the end of the server", || TcpStream::connect(&address).is_err().then_some(()));
    await_that("the end of its folder", || (!folder.exists()).then_some(()));
}
