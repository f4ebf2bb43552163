//! A small state repository: two scopes, three stores, three targets.

use std::sync::Arc;

use setpoint_engine::accept::{ControlDocuments, NotRead, documents_of};
use setpoint_store::{MemoryTree, StorePath};
use setpoint_target::{Families, Family};
use setpoint_target_host::Host;
use setpoint_target_kube::Kubernetes;

pub(crate) const CONTROL: &str = "\
apiVersion: setpoint.dev/v1
kind: Store
metadata: { name: platform }
spec: { url: 'https://git.example/platform.git', interval: 10s }
---
apiVersion: setpoint.dev/v1
kind: Store
metadata: { name: web-state, scope: web }
spec: { url: 'https://git.example/web.git' }
---
apiVersion: setpoint.dev/v1
kind: Target
metadata: { name: here }
spec: { kind: host, root: /srv/here }
---
apiVersion: setpoint.dev/v1
kind: Target
metadata: { name: vault }
spec: { kind: host, root: /srv/vault }
---
apiVersion: setpoint.dev/v1
kind: Scope
metadata: { name: web }
spec: { stores: [platform], targets: [here] }
";

/// An App of the scope `web`.
pub(crate) fn app(name: &str, more: &str) -> String {
    format!(
        "apiVersion: setpoint.dev/v1
kind: App
metadata: {{ name: {name}, scope: web }}
spec:
  component: {name}
  environment: production
  inputs: [{{ name: main, store: platform, path: apps/{name} }}]
  target: here
{more}"
    )
}

pub(crate) fn folder() -> StorePath {
    StorePath::new("setpoint/").expect("a path")
}

pub(crate) fn families() -> Families {
    Families::new([Arc::new(Host) as Arc<dyn Family>, Arc::new(Kubernetes::default())])
}

pub(crate) fn read(files: &[(&str, &str)]) -> Result<ControlDocuments, NotRead> {
    documents_of(&MemoryTree::of(files.iter().copied()), &folder(), &families()).map(|(documents, _)| documents)
}

/// The documents of the scene and these apps.
pub(crate) fn documents(apps: &str) -> ControlDocuments {
    match read(&[("setpoint/base.yaml", CONTROL), ("setpoint/apps.yaml", apps)]) {
        Ok(documents) => documents,
        Err(error) => panic!("{:?}", texts(error)),
    }
}

pub(crate) fn texts(error: NotRead) -> Vec<String> {
    match error {
        NotRead::Refused { problems } => problems.iter().map(ToString::to_string).collect(),
        NotRead::Failed { reason } => panic!("expected a refusal, not {reason}"),
    }
}

/// Returns the problems of the scene's documents together with these.
pub(crate) fn problems(more: &str) -> Vec<String> {
    texts(read(&[("setpoint/base.yaml", CONTROL), ("setpoint/more.yaml", more)]).expect_err("a refusal"))
}
