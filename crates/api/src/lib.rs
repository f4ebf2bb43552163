//! The API of a running agent over its local socket: used by the agent, which serves it, and by the
//! commands, which call it.
//!
//! Reading order: [`question`] and [`answer`] (the types of requests and responses), [`agent`] (the
//! trait that serves them), `route` (methods and paths), [`server`] and [`client`] (the two ends of
//! the socket). The caller is known from the socket itself, never from the content of a request.

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

/// Returns the path of the agent's socket in its data directory.
pub fn socket_in(data: &Path) -> PathBuf {
    data.join("agent.sock")
}
