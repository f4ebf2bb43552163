//! Runs the suite for targets over ConfigMaps.

use std::future::ready;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::Target;
use setpoint_target::conformance::{Finished, Form, Subject, failures};
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::{Scene, now};

struct OnCluster(Scene);

impl OnCluster {
    async fn new() -> Self {
        let adjust = |options: &mut setpoint_target_kube::KubeOptions| {
            // The suite observes right after a write, before any stream can have reported it.
            options.trust_streams = false;
            // Through the proxy, another cluster responds on the same connection.
            options.identity_holds = Span::ZERO;
        };
        Self(Scene::with("conforming", adjust).await)
    }

    fn config_map(&self, name: &str, content: &str) -> Arc<Resource> {
        self.0.config_map(name, &[("content", content)])
    }
}

fn done<'a>() -> Finished<'a, ()> {
    Box::pin(ready(()))
}

impl Subject for OnCluster {
    fn target(&self) -> &dyn Target {
        &self.0.target
    }

    fn now(&self) -> Timestamp {
        now()
    }

    fn sample(&self, number: usize, form: Form) -> Resource {
        let content = if form == Form::First { "one" } else { "two" };
        (*self.config_map(&format!("sample-{number}"), content)).clone()
    }

    fn tells_own_creates(&self) -> bool {
        true
    }

    fn edit<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        self.0.edit(resource, "stranger");
        done()
    }

    fn remove<'a>(&'a self, key: &'a Key) -> Finished<'a, ()> {
        self.0.remove(&self.config_map(key.name(), ""));
        done()
    }

    fn recreate<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        self.0.remove(resource);
        self.0.make(resource);
        done()
    }

    fn hide<'a>(&'a self, key: &'a Key) -> Finished<'a, ()> {
        let part = format!("/configmaps/{}", key.name());
        self.0.proxy.add(Rule::new("GET", &part, Fault::Status { code: 403, retry_after: None }));
        done()
    }

    fn replace_system(&self) -> Finished<'_, ()> {
        let body = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"another"}}"#;
        let fault = Fault::Answer { code: 200, body: body.to_owned() };
        self.0.proxy.add(Rule::new("GET", "/namespaces/kube-system", fault));
        done()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_maps_conform() {
    let failures = failures(OnCluster::new).await;
    let failures: Vec<_> = failures.into_iter().map(|failure| (failure.check, failure.detail)).collect();
    assert_eq!(failures, []);
}
