//! A real Kubernetes API server on loopback: etcd, kube-apiserver, kubectl and, on request,
//! kube-controller-manager.
//!
//! Reading order: [`ApiServer`] is the interface for tests, [`Options`] has the settings of a
//! separate server, [`proxy`] sits between a client and the server to break things, [`Webhook`] is
//! called by the server before it stores something, [`Extension`] is a server that it forwards
//! requests to. `cargo xtask envtest` builds the tools; a test that finds none fails with a
//! message. Tests that need them are in a module named `envtest`, so that a run without the tools
//! can name and skip all of them.
//!
//! No process and no file is left over: every server dies with the thread that keeps it
//! (`process.rs`), and a process that waits for the end of this one removes its directory.

mod arranging;
mod client;
mod cluster;
mod extension;
mod kubeconfig;
mod kubelet;
mod options;
mod process;
pub mod proxy;
mod server;
mod tools;
mod webhook;

pub use self::arranging::Forbidden;
pub use self::client::Answer;
pub use self::cluster::free_ports;
pub use self::extension::Extension;
pub use self::kubelet::Kubelet;
pub use self::options::{AuditSender, AuditWebhook, Options, User};
pub use self::proxy::{Fault, Proxy, Rule, Seen};
pub use self::server::ApiServer;
pub use self::tools::{kubernetes_version, kustomize};
pub use self::webhook::{Verdict, Webhook};

#[expect(
    clippy::disallowed_methods,
    reason = "the door through which xtask and people say where tools and servers are"
)]
fn variable(name: &str) -> Option<std::path::PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(Into::into)
}
