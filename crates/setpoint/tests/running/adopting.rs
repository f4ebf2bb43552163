//! Adopts objects of other tools on a Kubernetes cluster: Setpoint takes over their declared
//! fields, and the tools keep the others.

mod envtest {
    use serde_json::{Value, json};

    use super::super::cluster::envtest::Scene;
    use super::super::lab::Agent;

    /// The tools, each with the name of its field manager.
    const TOOLS: [(&str, &str); 3] =
        [("plain", "kubectl-client-side-apply"), ("server", "kubectl"), ("flux", "kustomize-controller")];

    impl Scene {
        fn config_with(&self, name: &str, data: &[&str]) -> Value {
            let data: Value = data.iter().map(|field| ((*field).to_owned(), json!(*field))).collect();
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
        }

        /// Returns a ConfigMap with a label that only this tool sets.
        fn theirs_with(&self, name: &str, data: &[&str]) -> Value {
            let mut object = self.config_with(name, data);
            object["metadata"]["labels"] = json!({"theirs": "yes"});
            object
        }

        pub(in super::super) fn kubectl_apply(&self, object: &Value, more: &[&str]) {
            let arguments = [&["apply", "-n", &self.namespace, "-f", "-"], more].concat();
            let run = self.server.kubectl_as(&self.server.kubeconfig(), &arguments, object.to_string().as_bytes());
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }

        /// Returns the fields of a ConfigMap's data.
        fn data_of(&self, name: &str) -> Vec<String> {
            let live = self.live(name).expect("it is there");
            live["data"].as_object().expect("it has data").keys().cloned().collect()
        }

        fn declare(&mut self, fields: &[&str]) -> String {
            for (name, _) in TOOLS {
                let text = self.config_with(name, fields).to_string();
                self.lab.write(&format!("apps/shop/{name}.yaml"), &text);
            }
            self.lab.commit()
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_field_that_was_adopted_goes_with_its_declaration_and_what_others_alone_hold_stays() {
        let mut scene = Scene::new("adopted");
        scene.lab.app("shop");
        let fields = ["colour", "size"];
        scene.kubectl_apply(&scene.theirs_with("plain", &fields), &[]);
        scene.kubectl_apply(&scene.theirs_with("server", &fields), &["--server-side"]);
        scene.server.apply(&scene.path("flux"), "kustomize-controller", &scene.theirs_with("flux", &fields));
        let uids = TOOLS.map(|(name, _)| scene.uid(name));

        // The objects stay as they are; the tools keep only a label of their own.
        let head = scene.declare(&fields);
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        for (name, manager) in TOOLS {
            assert_eq!(scene.data_of(name), fields, "no value changed by it");
            let live = scene.live(name).expect("it is there");
            let entries = live["metadata"]["managedFields"].as_array().expect("it has holders");
            let theirs: Vec<&Value> = entries.iter().filter(|entry| entry["manager"] == manager).collect();
            let [theirs] = &theirs[..] else { panic!("{manager}: {entries:?}") };
            assert_eq!(theirs["fieldsV1"].get("f:data"), None, "{manager}");
            assert!(theirs["fieldsV1"]["f:metadata"]["f:labels"]["f:theirs"].is_object(), "{manager}");
        }
        let history = scene.lab.told(&["history", "shop"]);
        for (_, manager) in TOOLS {
            for told in [format!("adopts from: {manager}"), format!("folds: {manager}")] {
                assert!(history.contains(&told), "{told}: {history}");
            }
        }
        assert!(history.contains("kept by: kustomize-controller: metadata.labels.theirs"), "{history}");

        let head = scene.declare(&["colour"]);
        agent.until_converged("shop", &head).await;
        for (name, _) in TOOLS {
            assert_eq!(scene.data_of(name), ["colour"], "{name}");
            assert_eq!(scene.live(name).expect("it is there")["metadata"]["labels"]["theirs"], "yes", "{name}");
        }
        assert_eq!(TOOLS.map(|(name, _)| scene.uid(name)), uids, "they are the same objects");

        // A tool that applies again is not folded a second time: both own the fields that both
        // declare.
        scene.kubectl_apply(&scene.theirs_with("server", &["colour"]), &["--server-side", "--force-conflicts"]);
        let uid = scene.uid("server");
        let before = scene.live("server").expect("it is there")["metadata"]["resourceVersion"].clone();
        scene.paint("plain", "black");
        let healed = async |_: &Agent| (scene.colour("plain").as_deref() == Some("colour")).then_some(());
        agent.until("drift beside it is healed", healed).await;
        let after = scene.live("server").expect("it is there")["metadata"]["resourceVersion"].clone();
        assert_eq!((scene.uid("server"), after), (uid, before));
        agent.stop().await;
    }
}
