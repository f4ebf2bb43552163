//! The order of changes on a cluster: waves of one app, which wait until the earlier ones are
//! healthy.

mod envtest {
    use serde_json::json;
    use setpoint_api::answer::AppDetail;

    use super::super::cluster::envtest::{Scene, healed};
    use super::super::lab::{Agent, withholds};

    /// Lets an app declare a Job in a wave, and returns its path.
    fn job(scene: &mut Scene, name: &str, wave: i32) -> String {
        let text = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{ name: {name}, annotations: {{ setpoint.dev/wave: \"{wave}\" }} }}\nspec:\n  \
             template:\n    spec: {{ restartPolicy: Never, containers: [{{ name: main, image: 'job:1' }}] }}\n"
        );
        scene.lab.write("apps/shop/job.yaml", &text);
        format!("/apis/batch/v1/namespaces/{}/jobs/{name}", scene.namespace)
    }

    fn config(scene: &mut Scene, name: &str, wave: i32, colour: &str) {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name}, annotations: {{ setpoint.dev/wave: \"{wave}\" }} }}\n\
             data: {{ colour: {colour} }}\n"
        );
        scene.lab.write(&format!("apps/shop/{name}.yaml"), &text);
    }

    /// Writes the status of a Job, because there is no controller on this server.
    fn ends(scene: &Scene, job: &str, succeeded: bool) {
        let time = "2026-01-01T00:00:00Z";
        let condition =
            |kind: &str| json!({"type": kind, "status": "True", "reason": "Told", "lastTransitionTime": time});
        let status = match succeeded {
            true => json!({
                "startTime": time, "completionTime": time, "succeeded": 1,
                "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
            }),
            false => json!({
                "startTime": time, "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")],
            }),
        };
        let patch = json!({"status": status}).to_string();
        let content = ("application/merge-patch+json", patch.as_bytes());
        scene.server.request("PATCH", &format!("{job}/status"), Some(content)).succeeded();
    }

    async fn until_there(agent: &mut Agent, scene: &Scene, path: &str) {
        let there = async |_: &Agent| (scene.server.request("GET", path, None).status == 200).then_some(());
        agent.until(&format!("{path} is there"), there).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_wave_begins_once_the_job_before_it_has_ended_well() {
        let mut scene = Scene::new("waves");
        scene.lab.app("shop");
        let migration = job(&mut scene, "migrate", -1);
        config(&mut scene, "first", 0, "red");
        config(&mut scene, "last", 1, "blue");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        until_there(&mut agent, &scene, &migration).await;
        let waits = |detail: &AppDetail| withholds(detail, "it waits for wave -1: ");
        agent.until_app("shop", "waits for the migration", waits).await;
        assert_eq!((scene.colour("first"), scene.colour("last")), (None, None));

        ends(&scene, &migration, true);
        agent.until_converged("shop", &head).await;
        assert_eq!((scene.colour("first").as_deref(), scene.colour("last").as_deref()), (Some("red"), Some("blue")));

        // The migration of the next version fails: later waves are not begun, and the existing
        // objects are still managed.
        let failing = job(&mut scene, "migrate-again", -1);
        config(&mut scene, "first", 0, "green");
        scene.lab.commit();
        agent.hint().await;
        until_there(&mut agent, &scene, &failing).await;
        ends(&scene, &failing, false);
        agent.until_app("shop", "waits for what failed", waits).await;
        scene.paint("last", "pink");
        healed(&mut agent, "shop", "last").await;
        assert_eq!((scene.colour("first").as_deref(), scene.colour("last").as_deref()), (Some("red"), Some("blue")));
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_wave_that_is_no_number_refuses_the_version() {
        let mut scene = Scene::new("no-wave");
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let text =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: second, annotations: { setpoint.dev/wave: soon } }\n";
        scene.lab.write("apps/shop/second.yaml", text).commit();
        agent.hint().await;
        let refused = async |_: &Agent| {
            let told = scene.lab.command(&["why", "shop"]).output;
            (told.contains("second.yaml") && told.contains("is not a whole number")).then_some(())
        };
        agent.until("the version is refused", refused).await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        agent.stop().await;
    }
}
