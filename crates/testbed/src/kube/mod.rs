//! A real Kubernetes API server on loopback: etcd, kube-apiserver, kubectl and, if asked,
//! kube-controller-manager.
//!
//! Reading order: [`ApiServer`] is what tests use, [`Options`] what a server of one's own can be
//! given, [`proxy`] what stands between a client and the server to break things, [`Webhook`] what
//! the server asks before it stores something, [`Extension`] a server that it hands requests on to.
//! `cargo xtask envtest` makes the tools; a test that finds none fails and says so. Tests that need
//! them stand in a module named `envtest`, so that a run without the tools can name and leave out
//! all of them.
//!
//! No process and no file stays behind: every server dies with the thread that keeps it
//! (`process.rs`), its folder is removed by a process that waits for the end of this one.

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
