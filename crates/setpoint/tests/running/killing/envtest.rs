//! An agent is killed while it changes objects of a Kubernetes cluster, on a real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use setpoint_core::facts::Facts;
use setpoint_testbed::kube::{ApiServer, Proxy, Seen};

use super::super::lab::Lab;
use super::guests::Guests;
use super::{APP, Dice, Moment, Scene, THINGS, World, kills};

/// An idle agent writes nothing for this long.
pub(super) const QUIET: Duration = Duration::from_millis(1_500);

/// A label of objects that Setpoint has written, among other marks.
const LABEL: &str = "setpoint.dev/installation";

#[test]
fn an_agent_killed_while_it_changes_a_cluster_leaves_no_orphan_no_duplicate_and_no_lost_intent() {
    let server = ApiServer::shared();
    let (proxy, namespace) = (Proxy::before(server), server.fresh_namespace("kills"));
    let mut lab = Lab::new();
    let kubeconfig = proxy.kubeconfig(server, server.admin_token());
    let target = format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {namespace} }}", kubeconfig.display());
    lab.control("machine", "Target", &target);
    // Deletes are withheld for a while after installation, and a process of its own has no other
    // settings.
    lab.install_a_while_ago();
    let mut scene = Scene::new(lab, Cluster { server, proxy, namespace, guests: Guests::default() });
    // The agent waits for creates that may still land, so objects are created under few kills and
    // changed under many.
    let (creating, hosting) = (kills() / 10, kills() * 3 / 10);
    scene.kill(creating.max(1));
    scene.ends_well();
    scene.kill(kills() - creating - hosting);
    scene.ends_well();
    scene.kill_the_host(hosting.max(1));
    scene.ends_well();
}

pub(super) struct Cluster {
    pub(super) server: &'static ApiServer,
    pub(super) proxy: Proxy,
    pub(super) namespace: String,
    /// The objects of others.
    pub(super) guests: Guests,
}

impl Cluster {
    pub(super) fn collection(&self, kind: &str) -> String {
        format!("/api/v1/namespaces/{}/{}s", self.namespace, kind.to_lowercase())
    }

    fn objects(&self) -> Vec<Value> {
        let of = |kind: &str| {
            let list = self.server.request("GET", &self.collection(kind), None).succeeded().json();
            list["items"].as_array().expect("a list has items").clone()
        };
        KINDS.into_iter().flat_map(of).collect()
    }

    /// Returns the generation of each thing, 0 for a missing one.
    fn generation_of_each(&self) -> impl Iterator<Item = u64> {
        let generation = |object: &Value| {
            let metadata = &object["metadata"];
            let (one, other) = (&metadata["annotations"]["generation"], &metadata["labels"]["again"]);
            assert_eq!(one, other, "{object} is torn");
            one.as_str().and_then(|text| text.parse().ok()).expect("every generation has a number")
        };
        let objects = self.objects();
        let things = objects.iter().map(|object| (text_of(object, "name"), object));
        let things = things.filter(|(name, _)| name.starts_with("thing-"));
        let found: BTreeMap<String, u64> = things.map(|(name, object)| (name, generation(object))).collect();
        (0..THINGS).map(move |number| found.get(&name(number)).copied().unwrap_or(0))
    }

    /// Returns the names and UIDs of all existing objects with the label of Setpoint.
    fn written(&self) -> BTreeMap<String, String> {
        let objects = self.objects();
        let ours = objects.iter().filter(|object| object["metadata"]["labels"][LABEL].is_string());
        ours.map(|object| (text_of(object, "name"), text_of(object, "uid"))).collect()
    }
}

/// The kinds of things and guests, in turn.
const KINDS: [&str; 2] = ["ConfigMap", "Secret"];

pub(super) fn kind_of(number: u64) -> &'static str {
    KINDS[usize::from(!number.is_multiple_of(2))]
}

impl World for Cluster {
    fn declare(&self, lab: &mut Lab, generation: u64) {
        for number in 0..THINGS {
            let (kind, name) = (kind_of(number), name(number));
            let metadata = format!(
                "{{ name: {name}, annotations: {{ generation: \"{generation}\" }}, labels: {{ again: \"{generation}\" }} }}"
            );
            let text = format!("apiVersion: v1\nkind: {kind}\nmetadata: {metadata}\n");
            lab.write(&format!("apps/{APP}/{name}.yaml"), &text);
        }
    }

    fn generations(&self, _: &Lab) -> BTreeSet<u64> {
        self.generation_of_each().collect()
    }

    /// Waits until a write reaches the server: mostly one of the remaining changes, else one that
    /// ends an effect of an earlier agent. Its intent is recorded before it is sent.
    fn await_moment(&mut self, _: &Lab, generation: u64, dice: &mut Dice, start: &mut dyn FnMut()) {
        self.proxy.take_seen();
        let left = self.generation_of_each().filter(|found| *found != generation).count() as u64;
        let (writes, any) = (dice.roll(left.max(1)) + 1, dice.roll(4) == 0);
        let is_meant =
            |seen: &Seen| seen.method == "PATCH" && !seen.is_dry_run() && (any || !seen.query.contains("-fence"));
        start();
        self.proxy.await_seen(is_meant, writes, QUIET);
    }

    /// Counts only kills with open intents.
    fn counts(&self, moment: Moment) -> bool {
        moment.is_open()
    }

    fn leave(&self) -> u32 {
        self.guests.undeclared()
    }

    fn nothing_is_left_over(&self, _: &Lab, facts: &Facts) {
        let written = self.written();
        let wanted: BTreeSet<String> = (0..THINGS).map(name).chain(self.guests.declared()).collect();
        assert_eq!(written.keys().cloned().collect::<BTreeSet<_>>(), wanted);
        let uid = |claim: &setpoint_core::claim::Claim| claim.uid.as_ref().map(ToString::to_string).unwrap_or_default();
        let owned: BTreeMap<String, String> =
            facts.claims.iter().map(|claim| (claim.key.name().to_owned(), uid(claim))).collect();
        assert_eq!(owned, written, "what we wrote and is there is ours, object by object");
        self.guests.are_well(&self.objects());
    }
}

fn name(number: u64) -> String {
    format!("thing-{number:02}")
}

pub(super) fn text_of(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().expect("every object has it").to_owned()
}
