//! The wire over the network: HTTP/2 over TLS to one API server.
//!
//! - [`connection`]: where the server is and how we are known there, as given by the caller.
//! - [`kubeconfig`]: the same read from a kubeconfig file, strictly.
//! - [`HttpWire`]: requests and streams over it.

mod connection;
mod counting;
mod kubeconfig;
mod network;

pub use connection::{ClientCertificate, Connection, ConnectionError, Token};
pub use network::HttpWire;
