//! Objects of a Kubernetes cluster are changed meanwhile, on a real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use setpoint_core::facts::Facts;
use setpoint_testbed::kube::{ApiServer, Proxy, Seen};

use super::super::lab::Lab;
use super::{APP, Dice, Scene, THINGS, World, kills};

/// An agent that has nothing left to do writes nothing for this long.
const QUIET: Duration = Duration::from_millis(1_500);

#[test]
fn an_agent_killed_while_it_changes_a_cluster_leaves_no_orphan_no_duplicate_and_no_lost_intent() {
    let server = ApiServer::shared();
    let (proxy, namespace) = (Proxy::before(server), server.fresh_namespace("kills"));
    let mut lab = Lab::new();
    let kubeconfig = proxy.kubeconfig(server, server.admin_token());
    let target = format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {namespace} }}", kubeconfig.display());
    lab.control("machine", "Target", &target);
    let mut scene = Scene::new(lab, Cluster { server, proxy, namespace });
    // What may still be made is waited for, so objects are made under few kills and changed under many.
    let creating = kills() / 10;
    scene.kill(creating.max(1));
    scene.ends_well();
    scene.kill(kills() - creating);
    scene.ends_well();
}

struct Cluster {
    server: &'static ApiServer,
    proxy: Proxy,
    namespace: String,
}

impl Cluster {
    fn objects(&self) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let list = self.server.request("GET", &path, None).succeeded().json();
        list["items"].as_array().expect("a list has items").clone()
    }
}

impl World for Cluster {
    fn declare(&self, lab: &mut Lab, generation: u64) {
        for number in 0..THINGS {
            let (name, data) = (name(number), format!("{{ generation: \"{generation}\", again: \"{generation}\" }}"));
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {data}\n");
            lab.write(&format!("apps/{APP}/{name}.yaml"), &text);
        }
    }

    fn generations(&self, _: &Lab) -> BTreeSet<u64> {
        let generation = |object: &Value| {
            let data = &object["data"];
            assert_eq!(data["generation"], data["again"], "{object} is torn");
            data["generation"].as_str().and_then(|text| text.parse().ok()).expect("every generation has a number")
        };
        let found: BTreeMap<String, u64> =
            self.objects().iter().map(|object| (text_of(object, "name"), generation(object))).collect();
        (0..THINGS).map(|number| found.get(&name(number)).copied().unwrap_or(0)).collect()
    }

    /// Some write reaches the server: mostly one of the change, else one that ends what a former agent had under way.
    fn await_moment(&mut self, _: &Lab, dice: &mut Dice, start: &mut dyn FnMut()) {
        self.proxy.take_seen();
        let (writes, any) = (dice.roll(THINGS) + 1, dice.roll(4) == 0);
        let is_meant =
            |seen: &Seen| seen.method == "PATCH" && !seen.is_dry_run() && (any || !seen.query.contains("-fence"));
        start();
        self.proxy.await_seen(is_meant, writes, QUIET);
    }

    fn nothing_is_left_over(&self, _: &Lab, facts: &Facts) {
        let there: BTreeMap<String, String> =
            self.objects().iter().map(|object| (text_of(object, "name"), text_of(object, "uid"))).collect();
        assert_eq!(there.keys().cloned().collect::<Vec<_>>(), (0..THINGS).map(name).collect::<Vec<_>>());
        let uid = |claim: &setpoint_core::claim::Claim| claim.uid.as_ref().map(ToString::to_string).unwrap_or_default();
        let owned: BTreeMap<String, String> =
            facts.claims.iter().map(|claim| (claim.key.name().to_owned(), uid(claim))).collect();
        assert_eq!(owned, there, "what is there is ours, object by object");
    }
}

fn name(number: u64) -> String {
    format!("thing-{number:02}")
}

fn text_of(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().expect("every object has it").to_owned()
}
