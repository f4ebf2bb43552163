//! What can be asked of a running agent, over its local socket: for the agent that answers and the
//! commands that ask.
//!
//! Reading order: [`question`] and [`answer`] (the words), [`agent`] (who answers them), `route`
//! (where each is asked), [`server`] and [`client`] (the two ends of the socket). Who asks is known
//! from the socket itself, never from what a request says.

pub mod agent;
pub mod answer;
#[cfg(feature = "canned")]
pub mod canned;
pub mod client;
pub mod question;
mod route;
pub mod server;

use std::path::{Path, PathBuf};

pub use agent::{Agent, Problem, ProblemKind};
pub use client::{AskError, Client};
pub use server::{BindError, Server};

/// The agent's socket in its data folder.
pub fn socket_in(data: &Path) -> PathBuf {
    data.join("agent.sock")
}
