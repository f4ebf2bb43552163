//! Runs ten resyncs: observations with records, observations of processes without records, and
//! observations at rest. None of them finds a difference, and none writes.

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
    /// Runs ten resyncs of each kind: nothing differs from the declaration, nothing is written.
    pub(crate) async fn resyncs(&mut self, resources: &[&Arc<Resource>]) {
        let versions = self.versions(resources);
        self.resyncs_of_anybodys(resources).await;
        let written = self.written();
        self.restart(|options| options.trust_streams = true);
        self.differences(resources).await;
        self.caught_up().await;
        // One more read clears the events that arrived while the stream caught up.
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

    /// Runs the same for objects that need not be ours. Those are read at each observation.
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

    /// Runs the same for objects that a target has just created.
    pub(crate) async fn resyncs_once_made(&mut self, declared: &Json) -> Arc<Resource> {
        let resource = self.resource(declared);
        let made = self.have(&resource).await;
        assert_eq!(made.value, resource.body);
        self.resyncs(&[&resource]).await;
        resource
    }

    /// Checks that a stranger's change is drift, and that a heal reverts it. Without this check,
    /// finding no difference would prove nothing.
    pub(crate) async fn notices(&self, resource: &Arc<Resource>, patch: &Json) {
        self.patch(resource, "stranger", patch);
        let seen = self.live(resource).await;
        assert_ne!(seen.value, resource.body, "{patch} was not noticed");
        let healed = self.done(&self.steps.update(resource, &seen)).await.unwrap();
        assert_eq!(healed.value, resource.body);
        assert_eq!(self.live(resource).await.value, resource.body);
    }

    /// Returns the differences from the declarations, and the remarks on fields that controllers
    /// hold.
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

    /// Returns the number of writes of any client that the proxy has recorded since its record was
    /// last taken.
    pub(crate) fn written(&self) -> usize {
        self.proxy.seen().iter().filter(|seen| seen.method != "GET" && !seen.is_dry_run()).count()
    }

    /// Returns the number of requests other than streams and identity checks.
    fn asked(&self) -> u64 {
        let requests = self.target.requests();
        requests.iter().filter(|(call, _)| !matches!(call, Call::Watch)).map(|(_, times)| times).sum()
    }

    fn versions(&self, resources: &[&Arc<Resource>]) -> Vec<Json> {
        // The server continues to write the status of a definition after its creation.
        let field = |kind: &str| if kind == "CustomResourceDefinition" { "generation" } else { "resourceVersion" };
        resources.iter().map(|resource| self.stored(resource)["metadata"][field(&resource.kind)].clone()).collect()
    }
}
