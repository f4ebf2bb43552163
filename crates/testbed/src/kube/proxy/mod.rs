//! A proxy between a client and the API server that injects faults and counts all requests.
//!
//! It terminates TLS with its own CA, so clients must use tokens; client certificates do not reach
//! the server. Reading order: [`Fault`] is what can go wrong, [`Rule`] when, [`Seen`] a request
//! that arrived; `serving.rs` applies the faults, `frames.rs` writes incomplete responses.

mod frames;
mod rule;
mod seen;
mod serving;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_rustls::rustls::ClientConfig;

pub use self::rule::{Fault, Rule, RuleId};
pub use self::seen::Seen;

use self::rule::{Rules, Struck};
use super::kubeconfig::{self, Identity};
use super::server::ApiServer;
use crate::tls::{Authority, TlsServer};

/// A proxy for one API server at a time, which ends when the value is dropped.
#[derive(Debug)]
pub struct Proxy {
    server: TlsServer,
    authority: Authority,
    state: Arc<State>,
}

/// The state that all connections share.
#[derive(Debug)]
struct State {
    upstream: Mutex<Upstream>,
    rules: Mutex<Rules>,
    seen: Mutex<Vec<Seen>>,
    /// Notified of each request.
    arrived: Condvar,
}

/// The server behind the proxy.
#[derive(Clone, Debug)]
struct Upstream {
    port: u16,
    trust: Arc<ClientConfig>,
}

impl Upstream {
    fn of(server: &ApiServer) -> Self {
        Self { port: server.port(), trust: Arc::new(server.cluster().authority().client()) }
    }
}

impl Proxy {
    pub fn before(server: &ApiServer) -> Self {
        let authority = Authority::fresh();
        let upstream = Mutex::new(Upstream::of(server));
        let state =
            Arc::new(State { upstream, rules: Mutex::default(), seen: Mutex::default(), arrived: Condvar::new() });
        let shared = state.clone();
        let server = TlsServer::start(&authority, move |stream| serving::serve(stream, shared.clone()));
        Self { server, authority, state }
    }

    /// Sends new requests to another server from now on; running streams continue.
    pub fn lead_to(&self, server: &ApiServer) {
        *locked(&self.state.upstream) = Upstream::of(server);
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.server.port())
    }

    /// Returns the CA certificate that signed the proxy's, as PEM.
    pub fn authority(&self) -> &str {
        self.authority.pem()
    }

    /// Writes a kubeconfig with a token and the address of the proxy; it exists as long as the
    /// server.
    pub fn kubeconfig(&self, server: &ApiServer, token: &str) -> PathBuf {
        let text = kubeconfig::self_contained(&self.url(), self.authority(), &Identity::Token(token));
        server.write_kubeconfig(&text)
    }

    /// Adds a rule, which is in force until it has struck as often as it specifies, or is removed.
    /// If several rules match, the first one counts.
    pub fn add(&self, rule: Rule) -> RuleId {
        locked(&self.state.rules).add(rule)
    }

    pub fn remove(&self, rule: RuleId) {
        locked(&self.state.rules).remove(rule);
    }

    /// Removes all rules.
    pub fn mend(&self) {
        locked(&self.state.rules).clear();
    }

    /// Returns how often a rule has struck, even after it was removed.
    pub fn struck(&self, rule: RuleId) -> usize {
        locked(&self.state.rules).struck(rule)
    }

    /// Returns the requests so far, in the order in which they arrived.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.state.seen).clone()
    }

    /// Returns the requests since the last call.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *locked(&self.state.seen))
    }

    /// Waits until this many matching requests have arrived since they were last taken; gives up if
    /// none arrives for the period `quiet`. Returns whether they arrived.
    pub fn await_seen(&self, is_meant: impl Fn(&Seen) -> bool, wanted: u64, quiet: Duration) -> bool {
        let count = |seen: &[Seen]| seen.iter().filter(|seen| is_meant(seen)).count() as u64;
        let mut seen = locked(&self.state.seen);
        loop {
            let before = count(&seen);
            if before >= wanted {
                return true;
            }
            let none_came = |seen: &mut Vec<Seen>| count(seen) == before;
            let waited = self.state.arrived.wait_timeout_while(seen, quiet, none_came);
            let (now_seen, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            if timed_out.timed_out() {
                return false;
            }
            seen = now_seen;
        }
    }

    /// Returns the number of requests by verb and resource, as in `("list", "deployments.apps")`.
    pub fn counts(&self) -> BTreeMap<(&'static str, String), usize> {
        let mut counts = BTreeMap::new();
        for seen in locked(&self.state.seen).iter() {
            *counts.entry((seen.verb(), seen.resource())).or_default() += 1;
        }
        counts
    }
}

impl State {
    fn upstream(&self) -> Upstream {
        locked(&self.upstream).clone()
    }

    /// Records a request, and returns the fault for it, if any.
    fn take_in(&self, seen: Seen) -> Option<Struck> {
        let struck = locked(&self.rules).strike_request(&seen);
        locked(&self.seen).push(seen);
        self.arrived.notify_all();
        struck
    }

    /// Returns the fault for the next line of a stream, if any.
    fn strike_line(&self, stream: &Seen, line: &[u8]) -> Option<Struck> {
        locked(&self.rules).strike_line(stream, line)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
