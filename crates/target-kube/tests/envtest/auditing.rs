//! Tests attribution by the audit trail of a real server: writers are proven with user, address and
//! audit id, whatever name they use.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Value as Json, json};
use setpoint_core::live::{Live, Presence, Writer};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_kube::request::field_manager;
use setpoint_target::Target;
use setpoint_target_kube::{AuditSenders, AuditWebhook, KubeOptions};
use setpoint_testbed::kube::{ApiServer, AuditSender, AuditWebhook as PostedTo, Options, free_ports};

use super::scene::Scene;

pub(super) fn server() -> &'static ApiServer {
    static SERVER: OnceLock<ApiServer> = OnceLock::new();
    SERVER.get_or_init(|| ApiServer::own(Options { audit_log: true, ..Options::default() }))
}

/// Builds a target that follows its server's audit log.
pub(super) async fn audited(name: &str) -> Scene {
    let mut scene = Scene::on(server(), name, |options| {
        options.trust_streams = false;
        options.audit = Some(Span::millis(300));
    })
    .await;
    scene.follow_audit_log();
    scene
}

/// Returns the kubeconfig of a user with a client certificate and all rights.
pub(super) fn jane() -> PathBuf {
    server().kubeconfig_with_certificate("jane", Some("system:masters"))
}

pub(super) fn run_as(user: &Path, arguments: &[&str], input: &str) {
    let output = server().kubectl_as(user, arguments, input.as_bytes());
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the proven writer of an observed change, with the details.
pub(super) async fn proven(scene: &Scene, resource: &Resource, live: Option<&Live>) -> Proof {
    let version = live.map(|live| live.version.clone());
    let seen = [(resource.key.clone(), version)].into();
    let mut writers = scene.in_time(scene.target.attribute(seen)).await;
    match writers.remove(&resource.key) {
        Some(Writer::Proven(proof)) => {
            let setpoint_core::live::Proof { who, acting_as, address, audit_id, how } = *proof;
            let audit_id = audit_id.expect("one request did it");
            Proof { who, acting_as, from: address.expect("a connection comes from somewhere"), audit_id, how }
        }
        other => panic!("nobody is proven: {other:?}"),
    }
}

pub(super) struct Proof {
    pub(super) who: String,
    pub(super) acting_as: Option<String>,
    from: String,
    audit_id: String,
    how: String,
}

impl Proof {
    /// Returns the event that the log itself has under the id.
    fn in_the_log(&self) -> Json {
        let log = std::fs::read_to_string(server().audit_log()).unwrap();
        let mut events = log.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        events.find(|event| event["auditID"] == *self.audit_id).expect("the log has it")
    }
}

async fn gone(scene: &Scene, resource: &Arc<Resource>) {
    assert!(matches!(scene.observe(resource).await, Observed::Known { value: Presence::Absent, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_proven_with_user_address_and_audit_id() {
    let scene = audited("edit").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    let patch = r#"{"data":{"mode":"fast"}}"#;
    run_as(&jane(), &["patch", "configmap", "settings", "-n", &scene.namespace, "-p", patch], "");
    let drifted = scene.live(&declared).await;
    assert!(matches!(&drifted.writer, Writer::Likely { who } if who.contains("kubectl-patch")), "{:?}", drifted.writer);
    scene.done(&scene.steps.update(&declared, &drifted)).await;
    let proof = proven(&scene, &declared, Some(&drifted)).await;
    assert_eq!((proof.who.as_str(), proof.from.as_str(), &proof.acting_as), ("jane", "127.0.0.1", &None));
    assert!(proof.how.starts_with("kubectl-patch (update, "), "{}", proof.how);
    let event = proof.in_the_log();
    assert_eq!((&event["user"]["username"], &event["verb"]), (&json!("jane"), &json!("patch")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_added_and_left_alone_is_proven_too() {
    let scene = audited("added-beside").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    run_as(&jane(), &["label", "configmap", "settings", "-n", &scene.namespace, "team=blue"], "");
    let seen = scene.live(&declared).await;
    assert_eq!(seen.value, declared.body);
    let remarks = seen.remarks.as_deref().unwrap();
    assert_eq!((remarks.len(), &*remarks[0].path, &*remarks[0].holder), (1, "metadata.labels.team", "kubectl-label"));
    let proof = proven(&scene, &declared, Some(&seen)).await;
    assert_eq!((proof.who.as_str(), proof.from.as_str()), ("jane", "127.0.0.1"));
    assert!(proof.how.starts_with("kubectl-label (update, "), "{}", proof.how);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_was_removed_is_proven_too_though_nobody_holds_it() {
    let scene = audited("unset").await;
    let declared = scene.config_map("settings", &[("mode", "safe"), ("level", "1")]);
    scene.have(&declared).await;
    let patch = r#"[{"op":"remove","path":"/data/mode"}]"#;
    run_as(&jane(), &["patch", "configmap", "settings", "-n", &scene.namespace, "--type=json", "-p", patch], "");
    let drifted = scene.live(&declared).await;
    assert_eq!(proven(&scene, &declared, Some(&drifted)).await.who, "jane");
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_are_proven_one_by_one_and_all_at_once_and_again_after_healing() {
    let scene = audited("delete").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    for round in 0..2 {
        scene.have(&declared).await;
        run_as(&jane(), &["delete", "configmap", "settings", "-n", &scene.namespace], "");
        gone(&scene, &declared).await;
        let proof = proven(&scene, &declared, None).await;
        assert_eq!((proof.who.as_str(), proof.from.as_str()), ("jane", "127.0.0.1"), "round {round}");
        assert!(proof.how.starts_with("delete, "), "{}", proof.how);
    }
    scene.have(&declared).await;
    let all = format!("/api/v1/namespaces/{}/configmaps", scene.namespace);
    server().request("DELETE", &all, None).succeeded();
    gone(&scene, &declared).await;
    let proof = proven(&scene, &declared, None).await;
    assert_eq!(proof.who, "admin");
    assert!(proof.how.starts_with("deletecollection, "), "{}", proof.how);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scale_is_proven() {
    let scene = audited("scale").await;
    let declared = scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
        },
    }));
    scene.have(&declared).await;
    run_as(&jane(), &["scale", "deployment", "web", "-n", &scene.namespace, "--replicas=3"], "");
    let drifted = scene.live(&declared).await;
    let proof = proven(&scene, &declared, Some(&drifted)).await;
    assert_eq!(proof.who, "jane");
    assert!(proof.how.contains("of scale"), "{}", proof.how);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_uses_the_name_of_our_manager_is_proven_to_be_somebody_else() {
    let scene = audited("posing").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    let manager = format!("--field-manager={}", field_manager(&scene.namespace));
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": scene.namespace}, "data": {"mode": "fast"},
    });
    run_as(&jane(), &["apply", "--server-side", &manager, "-f", "-"], &object.to_string());
    let drifted = scene.live(&declared).await;
    assert_eq!(proven(&scene, &declared, Some(&drifted)).await.who, "jane");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_acts_in_another_name_is_shown_with_both() {
    let scene = audited("acting").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    let patch = r#"{"data":{"mode":"fast"}}"#;
    let other = ["--as=bob", "--as-group=system:masters"];
    let arguments = ["patch", "configmap", "settings", "-n", &scene.namespace, "-p", patch];
    run_as(&jane(), &[&arguments[..], &other[..]].concat(), "");
    let drifted = scene.live(&declared).await;
    let proof = proven(&scene, &declared, Some(&drifted)).await;
    assert_eq!((proof.who.as_str(), proof.acting_as.as_deref()), ("jane", Some("bob")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_right_after_a_restart_is_proven_and_our_own_writes_before_it_are_ours() {
    let mut scene = audited("restart").await;
    let declared = scene.config_map("settings", &[("mode", "safe"), ("level", "1")]);
    scene.have(&declared).await;
    let patch = r#"[{"op":"remove","path":"/data/mode"}]"#;
    run_as(&jane(), &["patch", "configmap", "settings", "-n", &scene.namespace, "--type=json", "-p", patch], "");
    scene.restart(|_| {});
    scene.follow_audit_log();
    let drifted = scene.live(&declared).await;
    assert_eq!(proven(&scene, &declared, Some(&drifted)).await.who, "jane", "we wrote too, and are not suspected");
}

/// Two API servers on one etcd. Both post to the same address, and the first also writes a log.
struct Posting {
    first: &'static ApiServer,
    second: ApiServer,
    webhook: AuditWebhook,
}

impl Posting {
    fn new() -> Self {
        let [port] = free_ports();
        let (url, token) = (format!("https://127.0.0.1:{port}/"), "a token of servers");
        let known = PostedTo { url, authority: None, sender: AuditSender::Token(token.to_owned()) };
        let options = Options { audit_log: true, audit_webhook: Some(known.clone()), ..Options::default() };
        let first = Box::leak(Box::new(ApiServer::own(options)));
        let second = first.beside(Options { audit_webhook: Some(known), ..Options::default() });
        let file = |name: &str| first.folder().join(name);
        std::fs::write(file("audit.token"), token).unwrap();
        let webhook = AuditWebhook {
            listen: (Ipv4Addr::LOCALHOST, port).into(),
            certificate: file("server.pem"),
            key: file("server.key"),
            senders: AuditSenders::Token(file("audit.token")),
        };
        Self { first, second, webhook }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_several_servers_post_proves_edits_and_deletes_and_is_the_same_evidence_as_a_log() {
    let Posting { first, second, webhook } = Posting::new();
    let adjust = |options: &mut KubeOptions| {
        options.trust_streams = false;
        options.audit = Some(Span::seconds(1));
    };
    let mut scene = Scene::on(first, "posted", adjust).await;
    scene.listen_for_audit(webhook).await;
    // Changes on the first server are reported twice.
    scene.follow_audit_log();
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    let run = |server: &ApiServer, arguments: &[&str], input: &str| {
        let jane = server.kubeconfig_with_certificate("jane", Some("system:masters"));
        let done = server.kubectl_as(&jane, &[arguments, &["-n", &scene.namespace]].concat(), input.as_bytes());
        assert!(done.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };

    // Deletes come first: no writer is proven for an edit in the second in which listening began.
    for server in [first, &second] {
        scene.have(&declared).await;
        run(server, &["delete", "configmap", "settings"], "");
        gone(&scene, &declared).await;
        let proof = proven(&scene, &declared, None).await;
        assert_eq!((proof.who.as_str(), proof.from.as_str()), ("jane", "127.0.0.1"));
    }
    scene.have(&declared).await;
    for server in [first, &second] {
        run(server, &["patch", "configmap", "settings", "-p", r#"{"data":{"mode":"fast"}}"#], "");
        let drifted = scene.live(&declared).await;
        scene.done(&scene.steps.update(&declared, &drifted)).await;
        let proof = proven(&scene, &declared, Some(&drifted)).await;
        assert_eq!((proof.who.as_str(), proof.from.as_str()), ("jane", "127.0.0.1"));
    }
    let manager = format!("--field-manager={}", field_manager(&scene.namespace));
    let posing = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"mode": "fast"},
    });
    run(&second, &["apply", "--server-side", "--force-conflicts", &manager, "-f", "-"], &posing.to_string());
    let drifted = scene.live(&declared).await;
    assert_eq!(proven(&scene, &declared, Some(&drifted)).await.who, "jane", "whatever name she uses");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_audit_log_nobody_is_proven_and_nobody_waits() {
    let scene = Scene::new("unaudited").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    scene.edit(&scene.config_map("settings", &[("mode", "fast")]), "stranger");
    let drifted = scene.live(&declared).await;
    assert!(matches!(drifted.writer, Writer::Likely { .. }));
    assert!(!scene.target.capabilities().attributes);
    let seen = [(declared.key.clone(), Some(drifted.version))].into();
    assert_eq!(scene.in_time(scene.target.attribute(seen)).await, [].into());
}
