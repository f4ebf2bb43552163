//! Tests case 71: the limit for a response of a cluster. A longer response is given up; that costs
//! this cluster, and no other.

use std::time::Duration;

use serde_json::json;
use setpoint_core::observed::Observed;
use setpoint_core::time::Span;
use setpoint_target::{Outcome, Settlement};
use setpoint_testbed::kube::proxy::RuleId;
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::{Scene, now, until};

impl Scene {
    /// Breaks reads of this path, and not of the paths below it.
    pub(crate) fn break_only(&self, path: &str, fault: Fault) -> RuleId {
        // A rule matches every path that contains its text: the rule for longer paths comes first.
        self.proxy.add(Rule::new("GET", &format!("{path}/"), Fault::DelayBefore(Duration::ZERO)));
        self.proxy.add(Rule::new("GET", path, fault))
    }
}

/// Builds the discovery document of a cluster with this many kinds.
fn discovery(kinds: usize) -> String {
    let resource = |number: usize| {
        format!(
            r#"{{"resource":"r{number}s","responseKind":{{"group":"","version":"","kind":"R{number}"}},"scope":"Namespaced","singularResource":"r{number}","verbs":["get","list","patch","watch"]}}"#
        )
    };
    let resources = (0..kinds).map(resource).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{{}},"items":[{{"metadata":{{"name":"many.example.com"}},"versions":[{{"version":"v1","resources":[{resources}]}}]}}]}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_definitions_without_number_are_given_up_and_others_are_served() {
    let (bad, good) = (Scene::new("definitions").await, Scene::new("beside").await);
    let account = |scene: &Scene| {
        scene.resource(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "reader", "namespace": scene.namespace}, "rules": [],
        }))
    };
    let declared = account(&bad);
    let many = bad.break_only("/apis", Fault::Answer { code: 200, body: discovery(300_000) });
    let asked = now();
    // The served kinds are unknown, so nothing is known to be absent, and nothing is written.
    let seen = bad.observe(&declared).await;
    assert!(bad.proxy.struck(many) > 0, "it is asked what is served");
    let Observed::Unknown { reason } = seen else { panic!("nobody can tell: {seen:?}") };
    assert!(reason.to_string().contains("it is longer than"), "{reason}");
    let outcome = bad.execute(&bad.steps.create(&declared)).await;
    assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
    assert_eq!(bad.written(), 0);
    good.have(&account(&good)).await;
    assert!(now().since(asked) < Span::seconds(60));
    bad.proxy.mend();
    until("it is known what is served", async || bad.observe(&declared).await.is_known()).await;
    bad.have(&declared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_an_object_that_is_larger_than_any_can_be_is_unknown_and_a_write_so_answered_is_settled_by_looking() {
    let scene = Scene::new("oversized").await;
    let (one, two) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let made = scene.have(&one).await;
    let mut swollen = scene.stored(&one);
    swollen["data"]["mode"] = json!("x".repeat(5 << 20));
    let fault = Fault::Answer { code: 200, body: swollen.to_string() };
    let rule = scene.proxy.add(Rule::new("*", "/configmaps/a", fault));
    let seen = scene.observe(&one).await;
    let Observed::Unknown { reason } = seen else { panic!("that is no object: {seen:?}") };
    assert!(reason.to_string().contains("it is longer than"), "{reason}");
    let update = scene.steps.update(&two, &made);
    let outcome = scene.execute(&update).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    scene.proxy.remove(rule);
    assert_eq!(scene.settle(&update).await, Settlement::NotDone);
    assert_eq!(scene.live(&one).await.value, one.body);
}
