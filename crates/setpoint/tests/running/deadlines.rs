//! Objects that do not become healthy on a Kubernetes cluster: the deadline, the reaction to it,
//! and the apps that wait for others. No controller is running: the test writes the status of
//! objects in its place.

mod envtest {
    use serde_json::{Value, json};
    use setpoint_api::answer::{AppDetail, AppState};
    use setpoint_core::hold::HoldReason;
    use setpoint_core::live::Health;

    use super::super::cluster::envtest::Scene;
    use super::super::lab::{Agent, is_at, withholds};

    impl Scene {
        /// Lets an app declare a Deployment.
        fn deployment(&mut self, app: &str, image: &str) -> &mut Self {
            let text = format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: front }}\nspec:\n  selector: {{ matchLabels: {{ app: front }} }}\n  \
                 template:\n    metadata: {{ labels: {{ app: front }} }}\n    spec: {{ containers: [{{ name: web, image: '{image}' }}] }}\n"
            );
            self.lab.write(&format!("apps/{app}/front.yaml"), &text);
            self
        }

        fn front(&self) -> Option<Value> {
            let answer = self.server.request("GET", &self.objects("deployments/front"), None);
            if answer.status == 404 { None } else { Some(answer.succeeded().json()) }
        }

        async fn until_image(&self, agent: &mut Agent, image: &str) {
            let runs = async |_: &Agent| {
                let front = self.front()?;
                (front["spec"]["template"]["spec"]["containers"][0]["image"] == image).then_some(())
            };
            agent.until(&format!("{image} is to run"), runs).await;
        }

        /// Marks the current version as rolled out.
        fn is_rolled_out(&self) {
            let generation = self.front().expect("it is there")["metadata"]["generation"].clone();
            let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason});
            let conditions = [
                condition("Available", "MinimumReplicasAvailable"),
                condition("Progressing", "NewReplicaSetAvailable"),
            ];
            let status = json!({
                "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
                "availableReplicas": 1, "conditions": conditions,
            });
            self.report(&self.objects("deployments/front"), &status);
        }

        /// Marks the current version as failed, because its pods never start.
        fn lacks_its_pods(&self) {
            let generation = self.front().expect("it is there")["metadata"]["generation"].clone();
            let condition =
                json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no room"});
            self.report(
                &self.objects("deployments/front"),
                &json!({"observedGeneration": generation, "conditions": [condition]}),
            );
        }
    }

    /// Returns an app whose first version is rolled out.
    async fn rolled_out(name: &str, on_failure: &str) -> (Scene, Agent) {
        let mut scene = Scene::new(name);
        scene.lab.app_with("shop", &format!("onFailure: {on_failure}, sync: {{ deadline: 4s }}"));
        let head = scene.deployment("shop", "shop:1").lab.commit();
        let mut agent = scene.lab.start().await;
        scene.until_image(&mut agent, "shop:1").await;
        scene.is_rolled_out();
        agent.until_converged("shop", &head).await;
        (scene, agent)
    }

    /// Declares a version whose pods never start.
    async fn fails(scene: &mut Scene, agent: &mut Agent) -> String {
        let head = scene.deployment("shop", "shop:2").lab.commit();
        agent.hint().await;
        scene.until_image(agent, "shop:2").await;
        scene.lacks_its_pods();
        head
    }

    fn is_held(detail: &AppDetail) -> bool {
        detail.summary.state == AppState::Held
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_does_not_become_healthy_is_rolled_back_and_a_newer_version_lets_go() {
        let (mut scene, mut agent) = rolled_out("rollback", "rollback").await;
        let failed = fails(&mut scene, &mut agent).await;
        let detail = agent.until_app("shop", "is rolled back", is_held).await;
        assert!(is_at(&detail, &failed), "{detail:#?}");
        let hold = detail.hold.expect("it is held");
        assert!(matches!(hold.why, HoldReason::RolledBack { .. }), "{hold:?}");
        scene.until_image(&mut agent, "shop:1").await;
        scene.is_rolled_out();
        let well = |detail: &AppDetail| is_held(detail) && detail.summary.health == Health::Healthy;
        agent.until_app("shop", "is well where it was", well).await;
        let why = scene.lab.told(&["why", "shop"]);
        for part in ["failed and was rolled back", "it ends when a newer version is accepted", "setpoint release"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert!(agent.said().iter().any(|line| line.contains("did not converge")), "{:?}", agent.said());

        // Another commit that does not change the app is the version that failed, and so is the
        // same commit after a restart.
        let head = scene.lab.write("README", "nothing of the app").commit();
        agent.hint().await;
        agent.until("the commit is seen", async |agent| agent.has_seen(&head).await.then_some(())).await;
        agent.until("it is considered", async |agent| agent.has_considered_all().await.then_some(())).await;
        agent.stop().await;
        let mut agent = scene.lab.start().await;
        agent.until_app("shop", "is still held", well).await;
        agent.until("all is considered", async |agent| agent.has_considered_all().await.then_some(())).await;
        agent.until_app("shop", "is still held", well).await;
        scene.until_image(&mut agent, "shop:1").await;

        let head = scene.deployment("shop", "shop:3").lab.commit();
        agent.hint().await;
        scene.until_image(&mut agent, "shop:3").await;
        scene.is_rolled_out();
        let detail = agent.until_converged("shop", &head).await;
        assert_eq!(detail.hold, None);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_does_not_become_healthy_is_held_until_a_person_decides() {
        let (mut scene, mut agent) = rolled_out("hold", "hold").await;
        fails(&mut scene, &mut agent).await;
        let detail = agent.until_app("shop", "is held", is_held).await;
        let unhealthy = detail.unhealthy.first().expect("it is named");
        assert!(unhealthy.reason.contains("no room"), "{unhealthy:?}");
        let head = scene.deployment("shop", "shop:3").lab.commit();
        agent.hint().await;
        agent.until_app("shop", "has the next version", |detail| is_at(detail, &head)).await;
        agent.until("all is considered", async |agent| agent.has_considered_all().await.then_some(())).await;
        scene.until_image(&mut agent, "shop:2").await;
        assert!(is_held(&agent.detail("shop").await.expect("it is declared")));

        scene.lab.told(&["release", "shop", "--reason", "looked at"]);
        scene.until_image(&mut agent, "shop:3").await;
        scene.is_rolled_out();
        agent.until_converged("shop", &head).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn people_are_told_of_what_does_not_become_healthy_and_the_next_version_is_followed() {
        let (mut scene, mut agent) = rolled_out("alert", "alert").await;
        fails(&mut scene, &mut agent).await;
        let told =
            async |agent: &Agent| agent.said().iter().any(|line| line.contains("did not converge")).then_some(());
        agent.until("people are told", told).await;
        let detail = agent.until_app("shop", "is degraded", |detail| detail.summary.health == Health::Degraded).await;
        assert_eq!((detail.summary.state, detail.hold), (AppState::Degraded, None));
        scene.until_image(&mut agent, "shop:2").await;
        let head = scene.deployment("shop", "shop:3").lab.commit();
        agent.hint().await;
        scene.until_image(&mut agent, "shop:3").await;
        scene.is_rolled_out();
        agent.until_converged("shop", &head).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_app_waits_until_the_one_it_depends_on_is_healthy() {
        let mut scene = Scene::new("waits");
        scene.lab.app_with("shop", "onFailure: alert").app_with("store", "sync: { dependsOn: [shop] }");
        scene.deployment("shop", "shop:1");
        let head = scene.config("store", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        scene.until_image(&mut agent, "shop:1").await;
        let waits = |detail: &AppDetail| withholds(detail, "it waits for app default/shop to converge");
        agent.until_app("store", "waits", waits).await;
        scene.lacks_its_pods();
        agent.until_app("shop", "is degraded", |detail| detail.summary.health == Health::Degraded).await;
        agent.until_app("store", "still waits", waits).await;
        assert_eq!(scene.live("first"), None);
        assert!(scene.lab.told(&["why", "store"]).contains("it waits for app default/shop to converge"));

        scene.is_rolled_out();
        for app in ["shop", "store"] {
            agent.until_converged(app, &head).await;
        }
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        // The existing objects are managed regardless of the other app's state.
        scene.lacks_its_pods();
        agent.until_app("shop", "is degraded again", |detail| detail.summary.health == Health::Degraded).await;
        scene.paint("first", "black");
        let red = async |_: &Agent| (scene.colour("first").as_deref() == Some("red")).then_some(());
        agent.until("drift is put right all the same", red).await;
        agent.stop().await;
    }
}
