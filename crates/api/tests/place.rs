//! A directory with a running agent.

use std::path::PathBuf;
use std::sync::Arc;

use setpoint_api::canned::CannedAgent;
use setpoint_api::{Client, Server, socket_in};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// An agent under test. Ends when the value is dropped.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) agent: Arc<CannedAgent>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinSet<()>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory for the test");
        let server = Server::bind(&socket_in(folder.path())).await.expect("the path is free");
        let agent = Arc::new(CannedAgent::example());
        let (stop, stopped) = oneshot::channel();
        let mut serving = JoinSet::new();
        let answering = Arc::clone(&agent);
        serving.spawn(async move {
            let stopped = async { stopped.await.unwrap_or(()) };
            server.serve(answering, stopped).await;
        });
        Self { folder, agent, stop: Some(stop), serving }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        socket_in(self.folder.path())
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.socket())
    }

    /// Returns the sender that keeps the agent running until it is dropped.
    pub(crate) fn stopper(&mut self) -> Option<oneshot::Sender<()>> {
        self.stop.take()
    }

    /// Stops the agent, and waits until it has ended.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        self.serving.join_next().await.expect("it was serving").expect("it ends without a panic");
    }
}
