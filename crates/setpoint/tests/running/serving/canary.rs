//! Case 57 of the list of bad input: a secret is in no page, stream, response or line of the log.

pub(crate) mod envtest {
    use std::collections::BTreeSet;

    use data_encoding::{BASE64, HEXLOWER};
    use serde_json::json;
    use setpoint_api::answer::AppDetail;
    use setpoint_core::time::Timestamp;

    use super::super::super::cluster::envtest::{Scene, healed};
    use super::super::browser::Browser;
    use super::super::{NAME, PASSWORD};

    /// Secrets that no output may contain, in any encoding.
    struct Canaries {
        run: u64,
        given: Vec<String>,
    }

    impl Canaries {
        /// Returns a text that occurs nowhere else.
        fn next(&mut self) -> String {
            let text = format!("canary?{}&{}", self.run, self.given.len());
            self.given.push(text.clone());
            text
        }

        /// Returns a secret that a text contains.
        fn within(&self, text: &str) -> Option<String> {
            let forms = |canary: &String| {
                let encoded: String = canary.bytes().map(|byte| format!("%{byte:02X}")).collect();
                let escaped = canary.replace('&', "&#38;");
                [canary.clone(), BASE64.encode(canary.as_bytes()), HEXLOWER.encode(canary.as_bytes()), encoded, escaped]
            };
            self.given.iter().flat_map(forms).find(|form| text.contains(form.as_str()))
        }
    }

    fn secret(name: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{ name: {name} }}\n{rest}\n")
    }

    /// Returns the pages of this server that a page links to.
    fn links(body: &str) -> impl Iterator<Item = String> {
        let links = body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let pages = links.filter(|link| link.starts_with('/') && !link.starts_with("/assets/"));
        pages.map(|link| link.split('#').next().unwrap_or_default().replace("&#38;", "&").replace("&amp;", "&"))
    }

    #[tokio::test]
    async fn case_57_a_secret_is_in_no_page_and_no_response() {
        let mut scene = Scene::new("canary");
        let mut canaries = Canaries { run: std::process::id().into(), given: Vec::new() };
        let path = |scene: &Scene| format!("/api/v1/namespaces/{}/secrets/word", scene.namespace);
        let encoded = BASE64.encode(canaries.next().as_bytes());
        let plain = canaries.next();
        scene.lab.app("shop").write(
            "apps/shop/word.yaml",
            &secret("word", &format!("data: {{ coded: {encoded} }}\nstringData: {{ plain: '{plain}' }}")),
        );
        let address = scene.lab.serve();
        let version = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &version).await;

        // Someone changes it, and leaves a copy in an annotation as `kubectl apply` does.
        let edited = BASE64.encode(canaries.next().as_bytes());
        let copied = format!("{{\"data\":{{\"coded\":\"{}\"}}}}", BASE64.encode(canaries.next().as_bytes()));
        let annotation = "kubectl.kubernetes.io/last-applied-configuration";
        let object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"coded": edited},
            "metadata": {"name": "word", "annotations": {annotation: copied}}});
        scene.server.apply(&path(&scene), "editor", &object);
        healed(&mut agent, "shop", "word").await;

        // A version with a Secret that is none, and a store with a password in its URL.
        let wrong = canaries.next();
        scene
            .lab
            .write("apps/shop/wrong.yaml", &secret("wrong", &format!("stringData: {{ a: ['{wrong}'] }}\ndata: 0")));
        agent_refuses(&mut scene, &mut agent).await;
        let password = canaries.next();
        let url = format!("https://me:{password}@127.0.0.1:1/a.git");
        scene.lab.control("leaky", "Store", &format!("{{ url: '{url}' }}"));
        let refused = scene.lab.commit();
        agent.hint().await;

        let mut browser = Browser::new(address);
        let token = agent.set_up_token().expect("there is no account yet");
        let fields = [("token", token.as_str()), ("account", NAME), ("password", PASSWORD), ("again", PASSWORD)];
        assert_eq!(browser.post("/set-up", &fields).await.status, 303);
        let tabs = ["tree", "diff", "history", "drift", "plan", "logs"];
        let mut open: Vec<String> = tabs.iter().map(|tab| format!("/apps/default/shop?tab={tab}")).collect();
        open.extend(["/apps".to_owned(), format!("/versions/{version}"), "/audit?q=word".to_owned()]);
        open.push("/apps/default/shop?tab=diff&kind=Secret&name=word".to_owned());
        let api = [
            "overview",
            "apps",
            "apps/default/shop",
            "apps/default/shop/tree",
            "history",
            "changes",
            "drift",
            "plan",
            "explain?app=default/shop&object=Secret/word",
            "logs?app=default/shop",
            "session",
        ];
        open.extend(api.iter().map(|path| format!("/api/v1/{path}")));
        open.extend([&version, &refused].map(|rev| format!("/api/v1/plan?app=default/shop&rev={rev}")));
        open.extend((0..40).map(|number| format!("/api/v1/history/{number}/proof")));
        let mut visited = BTreeSet::new();
        while let Some(path) = open.pop() {
            if !visited.insert(path.clone()) || visited.len() > 400 {
                continue;
            }
            let response = browser.get(&path).await;
            let found = canaries.within(&response.head).or_else(|| canaries.within(&response.body));
            assert_eq!(found, None, "{path} ({}): {}", response.status, response.body);
            open.extend(links(&response.body));
        }
        assert!(visited.contains("/access/tokens") && visited.len() > 60, "pages are found: {visited:#?}");
        for line in agent.said() {
            assert_eq!(canaries.within(&line), None, "{line}");
        }
        agent.stop().await;
    }

    async fn agent_refuses(scene: &mut Scene, agent: &mut super::super::super::lab::Agent) {
        scene.lab.commit();
        agent.hint().await;
        let refused = |detail: &AppDetail| {
            let at = detail.refused.as_ref().map(|refused| refused.at);
            at.is_some_and(|at| at > Timestamp::from_millis(0)) || !detail.report.is_empty()
        };
        agent.until_app("shop", "does not follow a Secret that is none", refused).await;
    }
}
