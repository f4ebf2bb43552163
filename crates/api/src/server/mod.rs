//! The agent's end of the socket: HTTP with JSON bodies, for root and the owner of the socket only.
//!
//! Reading order: `socket` (how it comes to be there), `seats` (who makes room), `peer` (who asks),
//! `handling` (question in, answer out), `parts` (answers that do not end by themselves).
//! Everything is bounded: connections, answers in parts, the size of a question, and the time it
//! takes to arrive. How long an answer takes is the agent's matter.

mod handling;
mod parts;
mod peer;
mod seats;
mod socket;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::agent::Agent;
use parts::Streams;
pub use peer::user;
use seats::{Progress, Seats};
pub use socket::BindError;
use socket::Socket;

/// Connections at the same time. One that has asked nothing yet makes room for a newcomer; only
/// while this many requests are being answered do more wait in the socket's queue.
const CONNECTIONS: usize = 64;

/// How long a question may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);

/// How long answers under way may still take once the agent stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// The socket, bound and not yet answering.
#[derive(Debug)]
pub struct Server {
    socket: Socket,
}

impl Server {
    /// Takes the place at `path`, mode 0600. What a dead agent left there is replaced, a live agent
    /// is not.
    ///
    /// Call it inside a tokio runtime, by the one process that holds the lock of the data folder.
    pub async fn bind(path: &Path) -> Result<Self, BindError> {
        Ok(Self { socket: Socket::bind(path).await? })
    }

    /// Answers until `stop`, then lets answers under way leave for a few seconds. The socket is
    /// gone when it returns.
    pub async fn serve(self, agent: Arc<dyn Agent>, stop: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let streams = Arc::new(Streams::new());
        let mut seats = Seats::new(CONNECTIONS);
        tokio::pin!(stop);
        loop {
            let has_room = seats.has_room();
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                () = seats.changed(), if !has_room => {}
                stream = self.socket.accept(), if has_room => {
                    let (owner, agent, streams) = (self.socket.owner(), Arc::clone(&agent), Arc::clone(&streams));
                    seats.take(|progress| connections.spawn(converse(stream, owner, agent, streams, progress)));
                }
            }
        }
        // Nobody new finds it; whoever was heard is answered.
        drop(self.socket);
        // What never ends by itself ends here.
        streams.end();
        let answered = async { while connections.join_next().await.is_some() {} };
        // What takes longer is cut off with the set: its asker sees a broken connection, not a
        // wrong answer.
        let _ = timeout(FAREWELL, answered).await;
    }
}

/// One connection: one question and its answer.
async fn converse(stream: UnixStream, owner: u32, agent: Arc<dyn Agent>, streams: Arc<Streams>, progress: Progress) {
    let peer = peer::of(&stream, owner).await;
    let service = service_fn(|request| handling::handle(request, peer.as_ref(), agent.as_ref(), (&streams, &progress)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ARRIVAL)
        .keep_alive(false)
        // No client reads it, and making one panics while the machine's clock is before 1970.
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    // An asker that went away in between has nobody left to be told.
    let _ = connection.await;
}
