//! The agent's end of the socket: HTTP with JSON bodies, for root and the owner of the socket only.
//!
//! Reading order: `socket` (creating it), `seats` (limiting connections), `peer` (identifying the
//! caller), `handling` (one request, which it passes to the routes), `parts` (responses without an end of their own). Everything
//! is bounded: the number of connections and of responses in parts, the size of a request, and the
//! time until it has arrived. The time for a response is the agent's concern.

mod handling;
mod parts;
mod peer;
mod seats;
mod socket;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::agent::Agent;
use crate::caller::Caller;
use crate::handlers;
use parts::Streams;
pub use peer::user;
use seats::{Progress, Seats};
pub use socket::BindError;
use socket::Socket;

/// The number of simultaneous connections. A connection that has sent no request yet makes room for
/// a new one. More connections wait in the socket's queue only while this many requests are being
/// served.
const CONNECTIONS: usize = 64;

/// The time limit for a request to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);

/// The time that responses under way still have once the agent stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// The socket, bound and not yet served.
#[derive(Debug)]
pub struct Server {
    socket: Socket,
}

impl Server {
    /// Binds the socket at `path`, mode 0600. The socket of a dead agent is replaced, that of a
    /// live one is not.
    ///
    /// Must be called inside a tokio runtime, by the process that holds the lock of the data
    /// directory.
    pub async fn bind(path: &Path) -> Result<Self, BindError> {
        Ok(Self { socket: Socket::bind(path).await? })
    }

    /// Serves requests until `stop`, then gives responses under way a few seconds. The socket is
    /// removed when it returns.
    pub async fn serve(self, agent: Arc<dyn Agent>, stop: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let streams = Arc::new(Streams::new());
        let routes = handlers::routes(agent);
        let mut seats = Seats::new(CONNECTIONS);
        tokio::pin!(stop);
        loop {
            let has_room = seats.has_room();
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                () = seats.changed(), if !has_room => {}
                stream = self.socket.accept(), if has_room => {
                    let (owner, routes, streams) = (self.socket.owner(), routes.clone(), Arc::clone(&streams));
                    seats.take(|progress| connections.spawn(converse(stream, owner, routes, streams, progress)));
                }
            }
        }
        // New clients no longer find the socket; requests that have arrived are still served.
        drop(self.socket);
        // Responses without an end of their own end here.
        streams.end();
        let answered = async { while connections.join_next().await.is_some() {} };
        // Longer responses are cut off when the set is dropped: the client gets a broken
        // connection, not a wrong response.
        let _ = timeout(FAREWELL, answered).await;
    }
}

/// Serves one connection: one request and its response.
async fn converse(stream: UnixStream, owner: u32, routes: Router, streams: Arc<Streams>, progress: Progress) {
    let peer = peer::of(&stream, owner).await.map(Caller::local);
    let service = service_fn(|request| handling::handle(request, peer.as_ref(), routes.clone(), (&streams, &progress)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ARRIVAL)
        .keep_alive(false)
        // No client reads it, and creating one panics while the machine's clock is before 1970.
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    // If the client has disconnected meanwhile, there is no one to report an error to.
    let _ = connection.await;
}
