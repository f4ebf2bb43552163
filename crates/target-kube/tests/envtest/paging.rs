//! Tests lists in several pages: objects on a later page exist, and a list that was not read to its
//! end proves nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_target::{Asker, Target};
use setpoint_testbed::kube::{Fault, Rule};

use super::definitions::{fields, version};
use super::scene::{Scene, now, until};

impl Scene {
    /// Observes these objects at once in a process without records. Returns the states, and the
    /// numbers of requests for ConfigMaps by list and by name.
    async fn found(&mut self, sought: &[Arc<Resource>]) -> (Vec<Observed<Presence>>, usize, usize) {
        self.restart(|_| {});
        self.proxy.take_seen();
        let wanted = sought.iter().map(|resource| (resource.key.clone(), Some(Arc::clone(resource)))).collect();
        let mut states = self.target.observe(wanted, Asker::default(), now()).await.states;
        let states = sought.iter().map(|resource| states.remove(&resource.key).unwrap()).collect();
        let seen = self.proxy.take_seen();
        let asked = |verb| seen.iter().filter(|seen| seen.verb() == verb && seen.resource() == "configmaps").count();
        (states, asked("list"), asked("get"))
    }
}

fn is_absent(seen: &Observed<Presence>) -> bool {
    matches!(seen, Observed::Known { value: Presence::Absent, .. })
}

fn is_present(seen: &Observed<Presence>) -> bool {
    matches!(seen, Observed::Known { value: Presence::Present(_), .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_on_a_later_page_is_there_and_a_page_that_fails_makes_nothing_absent() {
    let mut scene = Scene::new("paged").await;
    for n in 0..10 {
        scene.make(&scene.config_map(&format!("m{n}"), &[]));
    }
    // The last of all names.
    let mut sought = vec![scene.config_map("z", &[("mode", "1")])];
    scene.make(&sought[0]);
    sought.extend((0..8).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])));
    let list = |fault| Rule::new("GET", "/configmaps?limit=", fault);
    let later = |fault| Rule::new("GET", "continue=", fault);
    let (there, missing) = (|states: &[_]| is_present(&states[0]), |states: &[_]| states[1..].iter().all(is_absent));

    scene.proxy.add(list(Fault::ShortPages(10)));
    let (states, lists, gets) = scene.found(&sought).await;
    assert!(there(&states) && missing(&states), "{states:?}");
    assert_eq!((lists, gets), (2, 1), "two pages, and what is on the second");
    scene.proxy.mend();
    scene.proxy.add(list(Fault::ShortPages(4)));
    let (states, lists, gets) = scene.found(&sought).await;
    assert!(there(&states) && missing(&states), "{states:?}");
    assert_eq!((lists, gets), (2, 9), "what else is there is too much");

    for fault in [
        Fault::Status { code: 500, retry_after: None },
        Fault::Status { code: 410, retry_after: None },
        Fault::Half,
        Fault::ResetBefore,
    ] {
        scene.proxy.mend();
        let failing = scene.proxy.add(later(fault.clone()));
        scene.proxy.add(list(Fault::ShortPages(10)));
        let (states, _, gets) = scene.found(&sought).await;
        assert!(there(&states) && missing(&states), "{fault:?}: {states:?}");
        assert!(scene.proxy.struck(failing) > 0 && gets == 9, "each is asked for: {fault:?}, {gets}");
        // An object that cannot be read by name either is unknown.
        scene.proxy.add(Rule::new("GET", "/configmaps/", Fault::Status { code: 403, retry_after: None }));
        let (states, ..) = scene.found(&sought).await;
        assert!(!states.iter().any(Observed::is_known), "{fault:?}: {states:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_whose_definition_stands_on_a_later_page_is_not_gone() {
    let mut scene = Scene::new("defined").await;
    let api_version = scene.define("Widget", &fields(&json!({"size": {"type": "integer"}}))).await;
    let mut first = scene.definition("Anvil", "Namespaced", &json!([version("v1", true, &fields(&json!({})))]));
    let group = format!("first.{}", scene.group());
    first["metadata"]["name"] = json!(format!("anvils.{group}"));
    first["spec"]["group"] = json!(group);
    scene.server.apply(&Scene::path(&scene.resource(&first)), "definer", &first);
    let there = scene.resource(&json!({
        "apiVersion": api_version, "kind": "Widget", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"size": 1},
    }));
    scene.make(&there);
    for fault in [Fault::DelayBefore(Duration::ZERO), Fault::Status { code: 500, retry_after: None }] {
        // A server that does not serve the kind yet, and returns one definition per page.
        let definitions = "/customresourcedefinitions?limit=";
        let later = scene.proxy.add(Rule::new("GET", "continue=", fault.clone()));
        scene.proxy.add(Rule::new("GET", definitions, Fault::ShortPages(1)));
        let none = r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#.to_owned();
        scene.break_only("/apis", Fault::Answer { code: 200, body: none });
        scene.restart(|_| {});
        let seen = scene.observe(&there).await;
        assert!(matches!(seen, Observed::Unknown { .. }), "{fault:?}: {seen:?}");
        assert!(scene.proxy.struck(later) > 0, "{fault:?}");
        scene.proxy.mend();
    }
    until("the kind is served", async || is_present(&scene.observe(&there).await)).await;
}
