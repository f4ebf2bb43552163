//! The wire over the network: HTTP/2 over TLS to one API server.
//!
//! - [`connection`]: the address of the server and our credentials, as given by the caller.
//! - [`kubeconfig`]: the same, read strictly from a kubeconfig file.
//! - [`HttpWire`]: requests and streams over it.

mod connect;
mod connection;
mod counting;
mod kubeconfig;
mod network;

pub(crate) use connect::connect;
pub use connection::{ClientCertificate, Connection, ConnectionError, Token};
pub use network::HttpWire;
