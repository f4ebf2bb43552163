//! The API of a running agent: used by the agent, which serves it, and by the commands, which call
//! it over the local socket.
//!
//! Reading order: [`question`] and [`answer`] (the types of requests and responses), [`caller`] and
//! [`rights`] (who asks, and what it may do), [`agent`] (the trait that serves requests), [`path`]
//! and [`handlers`] (the routes, the same for the socket and for TCP), [`server`] and [`client`]
//! (the two ends of the socket). `openapi` generates the document of the routes, for tests only. The
//! caller is known from the connection, never from the content of a request.

pub mod agent;
pub mod answer;
pub mod caller;
#[cfg(feature = "canned")]
pub mod canned;
pub mod client;
pub mod etag;
mod fields;
pub mod handlers;
mod idempotency;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod path;
pub mod question;
pub mod rights;
pub mod selection;
pub mod server;

use std::path::{Path, PathBuf};

pub use agent::{Agent, Problem, ProblemKind};
pub use caller::{Caller, Principal, Via};
pub use client::{AskError, Client, Credentials, InvalidServer, RemoteServer};
pub use rights::{Grant, Rights, Verb};
pub use server::{BindError, Server};

/// Returns the path of the agent's socket in its data directory.
pub fn socket_in(data: &Path) -> PathBuf {
    data.join("agent.sock")
}
