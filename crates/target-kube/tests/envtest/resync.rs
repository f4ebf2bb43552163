//! Ten resyncs: looks with what is remembered, looks of processes that remember nothing, and looks
//! at rest. None of them finds a difference, and none writes.

use std::sync::Arc;

use serde_json::Value as Json;
use setpoint_core::diff::diff;
use setpoint_core::live::{Presence, Remark};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_target::{Asker, Target};
use setpoint_target_kube::Call;

use super::scene::{Scene, now};

const RESYNCS: usize = 10;

impl Scene {
    /// Ten resyncs of each kind: nothing differs from what is declared, nothing is written.
    pub(crate) async fn resyncs(&mut self, resources: &[&Arc<Resource>]) {
        let versions = self.versions(resources);
        self.resyncs_of_anybodys(resources).await;
        let written = self.written();
        self.restart(|options| options.trust_streams = true);
        self.differences(resources).await;
        self.caught_up().await;
        // What a stream told while it caught up is cleared by one more look.
        self.differences(resources).await;
        let asked = self.asked();
        for _ in 0..RESYNCS {
            assert_eq!(self.differences(resources).await, [""; 0], "by streams");
        }
        assert_eq!(self.asked(), asked, "at rest nothing is asked");
        assert_eq!(self.written(), written, "by streams");
        assert_eq!(self.versions(resources), versions);
        self.restart(|options| options.trust_streams = false);
    }

    /// The same for objects that need not be ours. Those are read whenever they are looked at.
    pub(crate) async fn resyncs_of_anybodys(&mut self, resources: &[&Arc<Resource>]) {
        let (versions, written) = (self.versions(resources), self.written());
        for _ in 0..RESYNCS {
            assert_eq!(self.differences(resources).await, [""; 0], "with records");
        }
        for _ in 0..RESYNCS {
            self.restart(|_| {});
            assert_eq!(self.differences(resources).await, [""; 0], "without records");
        }
        assert_eq!((self.versions(resources), self.written()), (versions, written));
    }

    /// The same for what a target has just made.
    pub(crate) async fn resyncs_once_made(&mut self, declared: &Json) -> Arc<Resource> {
        let resource = self.resource(declared);
        let made = self.have(&resource).await;
        assert_eq!(made.value, resource.body);
        self.resyncs(&[&resource]).await;
        resource
    }

    /// What somebody else changes is drift, and healing it brings it back. Without this, no
    /// difference would say nothing.
    pub(crate) async fn notices(&self, resource: &Arc<Resource>, patch: &Json) {
        self.patch(resource, "stranger", patch);
        let seen = self.live(resource).await;
        assert_ne!(seen.value, resource.body, "{patch} was not noticed");
        let healed = self.done(&self.steps.update(resource, &seen)).await.unwrap();
        assert_eq!(healed.value, resource.body);
        assert_eq!(self.live(resource).await.value, resource.body);
    }

    /// Where what is there differs from what is declared, and what is told of what others than
    /// people hold beside it.
    pub(crate) async fn differences(&self, resources: &[&Arc<Resource>]) -> Vec<String> {
        let wanted = resources.iter().map(|resource| (resource.key.clone(), Some(Arc::clone(resource)))).collect();
        let states = self.target.observe(wanted, Asker::default(), now()).await.states;
        let of = |resource: &&Arc<Resource>| match &states[&resource.key] {
            Observed::Known { value: Presence::Present(live), .. } => {
                let found = diff(&resource.body, &live.value);
                let is_a_persons =
                    |remark: &&Remark| &*remark.holder == "stranger" || remark.holder.starts_with("kubectl");
                let told = live.remarks.iter().flat_map(|remarks| remarks.iter());
                let told = told.filter(|remark| !is_a_persons(remark));
                let told = told.map(|remark| format!("{}: {} of {}", resource.key, remark.path, remark.holder));
                found.iter().map(|found| format!("{}: {found}", resource.key)).chain(told).collect()
            }
            other => vec![format!("{}: {other:?}", resource.key)],
        };
        resources.iter().flat_map(of).collect()
    }

    /// How many writes the proxy has seen, whoever sent them, since what it saw was last taken.
    pub(crate) fn written(&self) -> usize {
        self.proxy.seen().iter().filter(|seen| seen.method != "GET" && !seen.is_dry_run()).count()
    }

    /// How often it has asked for anything but streams, and but for who the cluster is.
    fn asked(&self) -> u64 {
        let requests = self.target.requests();
        requests.iter().filter(|(call, _)| !matches!(call, Call::Watch)).map(|(_, times)| times).sum()
    }

    fn versions(&self, resources: &[&Arc<Resource>]) -> Vec<Json> {
        // The server goes on to write the status of a definition after it was made.
        let field = |kind: &str| if kind == "CustomResourceDefinition" { "generation" } else { "resourceVersion" };
        resources.iter().map(|resource| self.stored(resource)["metadata"][field(&resource.kind)].clone()).collect()
    }
}
