//! Attribution of changes by the audit trail of a real API server: recorded after the drift, and
//! shown with it.

mod envtest {
    use std::sync::OnceLock;

    use setpoint_core::live::Writer;
    use setpoint_testbed::kube::{ApiServer, AuditSender, AuditWebhook, Options, free_ports};

    use super::super::cluster::envtest::Scene;
    use super::super::lab::Agent;

    fn server() -> &'static ApiServer {
        static SERVER: OnceLock<ApiServer> = OnceLock::new();
        SERVER.get_or_init(|| ApiServer::own(Options { audit_log: true, ..Options::default() }))
    }

    /// Returns another API server of the same cluster.
    fn other_server() -> &'static ApiServer {
        static SERVER: OnceLock<ApiServer> = OnceLock::new();
        SERVER.get_or_init(|| server().beside(Options { audit_log: true, ..Options::default() }))
    }

    /// Returns a scene whose target follows the audit logs of both servers.
    fn audited(name: &str) -> Scene {
        let (log, other) = (server().audit_log(), other_server().audit_log());
        scene_with(server(), name, &format!("{{ logs: [{}, {}] }}", log.display(), other.display()))
    }

    fn scene_with(server: &'static ApiServer, name: &str, audit: &str) -> Scene {
        let mut scene = Scene::on(server, name);
        let (kubeconfig, namespace) = (server.kubeconfig(), &scene.namespace);
        let kubeconfig = kubeconfig.display();
        let target =
            format!("{{ kind: kubernetes, kubeconfig: {kubeconfig}, namespace: {namespace}, audit: {audit} }}");
        scene.lab.control("machine", "Target", &target);
        scene
    }

    /// Runs kubectl as a user with a client certificate.
    fn run_as_jane(server: &ApiServer, scene: &Scene, arguments: &[&str]) {
        let jane = server.kubeconfig_with_certificate("jane", Some("system:masters"));
        let done = server.kubectl_as(&jane, &[arguments, &["-n", &scene.namespace]].concat(), b"");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Waits until a change of an object is attributed to this user. Returns the audit ID.
    async fn proven(agent: &mut Agent, name: &str, user: &str) -> String {
        let what = format!("{user} is proven to have changed {name}");
        agent
            .until(&what, async |agent| {
                let records = agent.drift("shop").await;
                let record = records.into_iter().find(|record| record.key.name() == name)?;
                match record.writer {
                    Writer::Proven(proof) if proof.who == user => {
                        assert_eq!(proof.address.as_deref(), Some("127.0.0.1"));
                        proof.audit_id
                    }
                    _ => None,
                }
            })
            .await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_edit_and_a_delete_are_healed_at_once_and_their_writers_proven_later() {
        let mut scene = audited("proven");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        let patch = ["patch", "configmap", "first", "-p", r#"{"data":{"colour":"black"}}"#];
        run_as_jane(server(), &scene, &patch);
        let edited = proven(&mut agent, "first", "jane").await;
        run_as_jane(other_server(), &scene, &["delete", "configmap", "second"]);
        let deleted = proven(&mut agent, "second", "jane").await;
        assert_ne!(edited, deleted);
        assert_eq!((scene.colour("first").as_deref(), scene.colour("second").as_deref()), (Some("red"), Some("green")));

        let text = scene.lab.told(&["drift", "shop"]);
        assert!(text.contains("by jane from 127.0.0.1 (kubectl-patch (update, "), "{text}");
        assert!(text.contains(&format!("audit id {deleted})")), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&scene.lab.told(&["drift", "shop", "--output", "json"])).expect("it is JSON");
        let writers: Vec<_> = json.as_array().expect("a list").iter().map(|record| &record["writer"]).collect();
        assert!(writers.iter().any(|writer| writer["certainty"] == "proven" && writer["auditId"] == *edited), "{json}");
        // The writer is in the body of a record, which can be erased.
        let records = scene.lab.told(&["history", "shop", "--records"]);
        assert!(records.contains("drift.attributed") && !records.contains("jane"), "{records}");
        let history = scene.lab.told(&["history", "shop"]);
        assert!(history.lines().any(|line| line.contains("  drift ") && line.contains("jane")), "{history}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn drift_that_is_not_put_right_is_told_with_its_writer_by_why() {
        let mut scene = audited("suspended");
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        scene.lab.told(&["suspend", "shop", "--for", "2h", "--reason", "OPS-2"]);
        scene.paint("first", "black");
        let id = proven(&mut agent, "first", "admin").await;
        let why = scene.lab.told(&["why", "shop"]);
        assert!(why.contains("by admin from 127.0.0.1") && why.contains(&id), "{why}");
        assert_eq!(scene.colour("first").as_deref(), Some("black"));
        let records = agent.drift("shop").await;
        assert_eq!(records.len(), 1, "who did it is no drift of its own: {records:?}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_server_that_shows_its_certificate_posts_who_did_it() {
        let [port] = free_ports();
        let url = format!("https://127.0.0.1:{port}/");
        let webhook = AuditWebhook { url, authority: None, sender: AuditSender::Certificate };
        let server = ApiServer::own(Options { audit_webhook: Some(webhook), ..Options::default() });
        let server: &'static ApiServer = Box::leak(Box::new(server));
        let file = |name: &str| server.folder().join(name).display().to_string();
        let (certificate, key, authority) = (file("server.pem"), file("server.key"), file("authority.pem"));
        let audit = format!(
            "{{ webhook: {{ listen: '127.0.0.1:{port}', certificateFile: {certificate}, keyFile: {key}, \
             sendersFrom: {{ authoritiesFile: {authority} }}, batchWait: 1s }} }}"
        );
        let mut scene = scene_with(server, "posted", &audit);
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        run_as_jane(server, &scene, &["delete", "configmap", "second"]);
        proven(&mut agent, "second", "jane").await;
        run_as_jane(server, &scene, &["patch", "configmap", "first", "-p", r#"{"data":{"colour":"black"}}"#]);
        proven(&mut agent, "first", "jane").await;
        agent.stop().await;
    }
}
