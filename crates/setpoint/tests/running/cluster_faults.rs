//! A faulty cluster: busy, failing, silent, cut off, or with stale responses. Whatever happens to a
//! response, a change takes place once, its intent is settled, and people are notified. The server
//! itself is the witness: it returns all writes since the start.

mod envtest {
    use std::collections::BTreeMap;

    use serde_json::Value;
    use setpoint::doors::Clock;
    use setpoint_api::answer::{AppDetail, AppState};
    use setpoint_api::question::OrderKind;
    use setpoint_core::time::Span;
    use setpoint_testbed::kube::proxy::RuleId;
    use setpoint_testbed::kube::{Fault, Proxy, Rule, Seen};

    use super::super::cluster::envtest::{Scene, healed};
    use super::super::lab::{Agent, is_at, withholds};

    /// Returns the faults and the recorded outcome of each, by the name of the changed object.
    fn faults() -> BTreeMap<&'static str, (Fault, &'static str)> {
        let status = |code, retry_after| Fault::Status { code, retry_after };
        BTreeMap::from([
            ("busy", (status(429, Some(2)), "refused")),
            ("overtaken", (status(409, None), "refused")),
            ("failing", (status(500, None), "unknown")),
            ("away", (status(503, None), "unknown")),
            ("failing-after", (Fault::StatusAfter(504), "unknown")),
            ("cut-before", (Fault::ResetBefore, "unknown")),
            ("cut-after", (Fault::ResetAfter, "unknown")),
            ("halved", (Fault::Half, "unknown")),
            ("silent-before", (Fault::HangBefore, "unknown")),
            ("silent-after", (Fault::HangAfter, "unknown")),
        ])
    }

    /// The effect of a write by Setpoint: the declared content, and the intent.
    #[derive(Clone, Debug, PartialEq)]
    struct Effect {
        colour: String,
        intent: Value,
    }

    impl Effect {
        fn of(object: &Value) -> Self {
            let colour = object["data"]["colour"].as_str().unwrap_or_default().to_owned();
            Self { colour, intent: object["metadata"]["annotations"]["setpoint.dev/intent"].clone() }
        }
    }

    fn name_of(object: &Value) -> String {
        object["metadata"]["name"].as_str().unwrap_or_else(|| panic!("no object: {object}")).to_owned()
    }

    /// A lab whose cluster is reached through a proxy that injects faults.
    struct Broken {
        scene: Scene,
        proxy: Proxy,
    }

    impl Broken {
        fn new(name: &str) -> Self {
            let (mut scene, proxy) = Scene::through_proxy(name);
            scene.lab.settings.leave_within = Span::seconds(3);
            scene.lab.settings.land_within = Span::seconds(3);
            scene.lab.settings.skew = Span::seconds(1);
            // So many failures would make the agent pause the cluster, which is tested elsewhere.
            scene.lab.settings.breaker_calls = 1_000;
            scene.lab.app("shop");
            Self { scene, proxy }
        }

        fn collection(&self) -> String {
            format!("/api/v1/namespaces/{}/configmaps", self.scene.namespace)
        }

        /// Returns the current objects of the server.
        fn list(&self) -> Value {
            self.scene.server.request("GET", &self.collection(), None).succeeded().json()
        }

        /// Returns the writes to each object since a list: its colour after each intent of
        /// Setpoint, and its end.
        fn effects_since(&self, then: &Value) -> BTreeMap<String, Vec<String>> {
            let version = then["metadata"]["resourceVersion"].as_str().expect("a list has a version");
            let path = format!("{}?watch=true&resourceVersion={version}&timeoutSeconds=1", self.collection());
            let account = self.scene.server.request("GET", &path, None).succeeded().body;
            let objects = then["items"].as_array().expect("a list has items").iter();
            let mut last: BTreeMap<String, Option<Effect>> =
                objects.map(|object| (name_of(object), Some(Effect::of(object)))).collect();
            let mut effects: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for line in account.lines() {
                let event: Value = serde_json::from_str(line).expect("an event is JSON");
                let object = &event["object"];
                let effect = (event["type"] != "DELETED").then(|| Effect::of(object));
                let before = last.insert(name_of(object), effect.clone());
                // A write that changes neither is a fence, or comes from another writer.
                if before != Some(effect.clone()) {
                    let word = effect.map_or_else(|| "gone".to_owned(), |effect| effect.colour);
                    effects.entry(name_of(object)).or_default().push(word);
                }
            }
            effects
        }

        /// Makes each change by this method fail once, in its own way.
        fn break_changes(&self, method: &str) -> Vec<RuleId> {
            let rule = |(name, (fault, _)): (&str, (Fault, &str))| {
                self.proxy.add(Rule::new(method, &format!("/configmaps/{name}?"), fault).times(1))
            };
            faults().into_iter().map(rule).collect()
        }

        /// Checks that each fault has struck, and that each change took place once: after it the
        /// object has this colour, or is gone.
        fn took_place_once(&self, rules: &[RuleId], then: &Value, word: &str) {
            let struck: Vec<usize> = rules.iter().map(|rule| self.proxy.struck(*rule)).collect();
            assert_eq!(struck, vec![1; rules.len()], "{:?}", faults().keys());
            let wanted: BTreeMap<String, Vec<String>> =
                faults().into_keys().map(|name| (name.to_owned(), vec![word.to_owned()])).collect();
            let mut effects = self.effects_since(then);
            effects.retain(|name, _| wanted.contains_key(name));
            assert_eq!(effects, wanted);
        }

        /// Checks that the history shows how each change failed, and how its outcome was
        /// determined.
        fn are_told(&self) {
            let history = self.scene.lab.told(&["history", "shop", "--records", "--limit", "100"]);
            let is_told = |name: &str, words: &str| {
                history.lines().any(|line| line.contains(&format!("/{name} ")) && line.contains(words))
            };
            for (name, (_, outcome)) in faults() {
                assert!(is_told(name, &format!("outcome: {outcome}, why: ")), "{name}: {history}");
                assert!(outcome == "refused" || is_told(name, "outcome: found "), "{name}: {history}");
            }
        }

        /// Declares all of them in this colour.
        fn paint_all(&mut self, colour: &str) -> String {
            for name in faults().into_keys() {
                self.scene.config("shop", name, colour);
            }
            self.scene.lab.commit()
        }
    }

    async fn until_settled(agent: &mut Agent, head: &str) {
        agent.hint().await;
        let settled = |detail: &AppDetail| {
            detail.summary.state == AppState::Converged
                && is_at(detail, head)
                && detail.unsettled.is_empty()
                && detail.report.is_empty()
        };
        agent.until_app("shop", "has come to rest", settled).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_change_takes_place_once_whatever_becomes_of_its_answer() {
        let mut broken = Broken::new("once");
        let (rules, then) = (broken.break_changes("PATCH"), broken.list());
        let head = broken.paint_all("red");
        let mut agent = broken.scene.lab.start().await;
        let unknown = |detail: &AppDetail| withholds(detail, "is not known yet; Setpoint is finding it out");
        agent.until_app("shop", "tells of what it does not know", unknown).await;
        until_settled(&mut agent, &head).await;
        broken.took_place_once(&rules, &then, "red");
        broken.are_told();

        let (rules, then) = (broken.break_changes("PATCH"), broken.list());
        let head = broken.paint_all("blue");
        until_settled(&mut agent, &head).await;
        broken.took_place_once(&rules, &then, "blue");
        broken.are_told();

        let (rules, then) = (broken.break_changes("DELETE"), broken.list());
        for name in faults().into_keys() {
            broken.scene.lab.remove(&format!("apps/shop/{name}.yaml"));
        }
        let head = broken.scene.config("shop", "kept", "red").lab.commit();
        agent.hint().await;
        agent.until_app("shop", "has accepted it", |detail| is_at(detail, &head)).await;
        agent.order("shop", OrderKind::Sync { allow_prune: 10 }).await;
        let gone = async |_: &Agent| faults().keys().all(|name| broken.scene.live(name).is_none()).then_some(());
        agent.until("all are gone", gone).await;
        until_settled(&mut agent, &head).await;
        broken.took_place_once(&rules, &then, "gone");
        broken.are_told();
        agent.stop().await;
        let facts = tokio::task::block_in_place(|| broken.scene.lab.facts()).expect("it is installed");
        assert!(facts.intents.is_empty(), "{:?}", facts.intents);
        let owned: Vec<&str> = facts.claims.iter().map(|claim| claim.key.name()).collect();
        assert_eq!(owned, ["kept"]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cluster_that_asks_for_time_is_given_it_and_people_are_told() {
        let mut broken = Broken::new("time");
        let head = broken.scene.config("shop", "first", "red").lab.commit();
        let mut agent = broken.scene.lab.start().await;
        until_settled(&mut agent, &head).await;
        let then = broken.list();
        let busy = Rule::new("PATCH", "/configmaps/first?", Fault::Status { code: 429, retry_after: Some(8) });
        let busy = broken.proxy.add(busy.times(1));
        let head = broken.scene.config("shop", "first", "blue").lab.commit();
        agent.hint().await;
        agent.until("it is busy", async |_| (broken.proxy.struck(busy) == 1).then_some(())).await;
        let (clock, proxy) = (Clock::start(), &broken.proxy);
        let asked = clock.now();
        proxy.take_seen();
        agent.until_app("shop", "leaves it alone", |detail| withholds(detail, "when the server has time")).await;
        let passed = async |_: &Agent| (clock.now().since(asked) >= Span::seconds(3)).then(|| proxy.take_seen());
        let seen = agent.until("some time passes", passed).await;
        assert!(seen.iter().all(Seen::is_watch), "{seen:?}");
        until_settled(&mut agent, &head).await;
        assert!(clock.now().since(asked) >= Span::seconds(7));
        assert_eq!(broken.effects_since(&then), BTreeMap::from([("first".to_owned(), vec!["blue".to_owned()])]));
        let history = broken.scene.lab.told(&["history", "shop"]);
        assert!(history.contains("it is tried again when the server has time"), "{history}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_list_that_is_behind_the_times_makes_nothing_twice_and_takes_nothing_unseen() {
        let mut broken = Broken::new("stale");
        // The agent gets an old list; an object created since is not in it.
        let stale = broken.list().to_string();
        let rule = Rule::new("GET", "/configmaps?limit", Fault::Answer { code: 200, body: stale });
        let rule = broken.proxy.add(rule.times(1));
        let theirs = ["thing-03", "thing-07"];
        for name in theirs {
            broken.scene.paint(name, "black");
        }
        let uids = theirs.map(|name| broken.scene.uid(name));
        let names: Vec<String> = (0..12).map(|number| format!("thing-{number:02}")).collect();
        let then = broken.list();
        for name in &names {
            broken.scene.config("shop", name, "red");
        }
        let head = broken.scene.lab.commit();
        let mut agent = broken.scene.lab.start().await;
        until_settled(&mut agent, &head).await;
        assert_eq!(broken.proxy.struck(rule), 1);
        let wanted: BTreeMap<String, Vec<String>> =
            names.into_iter().map(|name| (name, vec!["red".to_owned()])).collect();
        assert_eq!(broken.effects_since(&then), wanted);
        assert_eq!(theirs.map(|name| broken.scene.uid(name)), uids, "they are the same objects");
        let history = broken.scene.lab.told(&["history", "shop"]);
        assert!(history.contains("it is read and decided again"), "{history}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_no_event_tells_of_is_found_by_the_sweep_and_healed_once() {
        let mut broken = Broken::new("untold");
        broken.scene.lab.settings.sweep = Span::seconds(5);
        broken.scene.config("shop", "edited", "red").config("shop", "removed", "red");
        let head = broken.scene.config("shop", "still", "red").lab.commit();
        let mut agent = broken.scene.lab.start().await;
        until_settled(&mut agent, &head).await;
        let lost = Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(&broken.scene.namespace);
        let lost = broken.proxy.add(lost);
        let then = broken.list();
        broken.scene.paint("edited", "black");
        broken.scene.server.request("DELETE", &broken.scene.path("removed"), None).succeeded();
        for name in ["edited", "removed"] {
            healed(&mut agent, "shop", name).await;
        }
        until_settled(&mut agent, &head).await;
        assert!(broken.proxy.struck(lost) >= 2, "their events were lost");
        let word = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let wanted = [("edited", word(&["black", "red"])), ("removed", word(&["gone", "red"]))];
        assert_eq!(broken.effects_since(&then), wanted.map(|(name, words)| (name.to_owned(), words)).into());
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_storm_of_410_is_told_keeps_no_version_back_and_hides_no_drift_once_it_is_over() {
        let mut broken = Broken::new("storm");
        let head = broken.scene.config("shop", "first", "red").config("shop", "second", "red").lab.commit();
        let mut agent = broken.scene.lab.start().await;
        until_settled(&mut agent, &head).await;
        let storm = broken.proxy.add(Rule::new("GET", "watch=true", Fault::Expire));
        broken.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent).times(1));
        let then = broken.list();
        broken.scene.paint("second", "black");
        let told = async |_: &Agent| {
            let status = broken.scene.lab.told(&["status"]);
            status.contains("no longer has the version at which the stream ended").then_some(())
        };
        agent.until("it is told that changes are noticed late", told).await;
        let head = broken.scene.config("shop", "first", "blue").lab.commit();
        let moved = |detail: &AppDetail| is_at(detail, &head);
        agent.hint().await;
        agent.until_app("shop", "moves on", moved).await;
        let blue = async |_: &Agent| (broken.scene.colour("first").as_deref() == Some("blue")).then_some(());
        agent.until("what was committed is brought about", blue).await;
        broken.proxy.remove(storm);
        healed(&mut agent, "shop", "second").await;
        until_settled(&mut agent, &head).await;
        let over =
            async |_: &Agent| (!broken.scene.lab.told(&["status"]).contains("at which the stream ended")).then_some(());
        agent.until("nothing is told of it any more", over).await;
        let word = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let wanted = [("first", word(&["blue"])), ("second", word(&["black", "red"]))];
        assert_eq!(broken.effects_since(&then), wanted.map(|(name, words)| (name.to_owned(), words)).into());
        // The delay grows after each failure, so there is not one request for every moment of the
        // outage.
        assert!(broken.proxy.struck(storm) < 40, "{}", broken.proxy.struck(storm));
        agent.stop().await;
    }
}
