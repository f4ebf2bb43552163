//! Tests a cluster whose etcd is restored from a backup under a running agent: the server's
//! versions go back, and are assigned a second time.

use setpoint_testbed::kube::{ApiServer, Options};

use super::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_server_is_noticed_and_everything_is_compared_again() {
    // No other test may use this server.
    let server: &'static ApiServer = Box::leak(Box::new(ApiServer::own(Options::default())));
    let scene = Scene::on(server, "restored", |_| {}).await;
    let (old, new) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let made = scene.have(&old).await;
    server.back_up();
    let made = scene.done(&scene.steps.update(&new, &made)).await.expect("an update answers with the object");
    assert_eq!(made.value, new.body);
    // The streams get further than the backup.
    scene.have(&scene.config_map("b", &[("mode", "1")])).await;
    scene.observe(&new).await;
    scene.caught_up().await;
    assert_eq!(scene.live(&new).await.value, new.body);
    server.restore();
    scene.hint_about(&new.key).await;
    assert_ne!(scene.live(&new).await.value, new.body, "it is as it was before the update");
}
