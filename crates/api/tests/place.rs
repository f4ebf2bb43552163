//! A folder with an agent that answers in it.

use std::path::PathBuf;
use std::sync::Arc;

use setpoint_api::canned::CannedAgent;
use setpoint_api::{Client, Server, socket_in};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// An agent under test. Ends with the value that holds it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) agent: Arc<CannedAgent>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinSet<()>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let server = Server::bind(&socket_in(folder.path())).await.expect("the place is free");
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

    /// What keeps the agent answering until it is dropped.
    pub(crate) fn stopper(&mut self) -> Option<oneshot::Sender<()>> {
        self.stop.take()
    }

    /// Asks the agent to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        self.serving.join_next().await.expect("it was serving").expect("it ends without a panic");
    }
}
