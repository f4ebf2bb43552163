//! A proxy between a client and the API server that breaks what it is told to, and counts
//! everything.
//!
//! It ends TLS with an authority of its own, so clients come with tokens; client certificates do
//! not reach the server. Reading order: [`Fault`] says what can go wrong, [`Rule`] when, [`Seen`]
//! what came; `serving.rs` does it, `frames.rs` writes answers that are not whole.

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

/// Stands before one API server at a time, and ends with the value.
#[derive(Debug)]
pub struct Proxy {
    server: TlsServer,
    authority: Authority,
    state: Arc<State>,
}

/// What every connection looks at.
#[derive(Debug)]
struct State {
    upstream: Mutex<Upstream>,
    rules: Mutex<Rules>,
    seen: Mutex<Vec<Seen>>,
    /// Told of each request.
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

    /// From now on new requests go to another server; streams that are running go on.
    pub fn lead_to(&self, server: &ApiServer) {
        *locked(&self.state.upstream) = Upstream::of(server);
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.server.port())
    }

    /// The certificate of the authority that signed the proxy's, as PEM.
    pub fn authority(&self) -> &str {
        self.authority.pem()
    }

    /// A kubeconfig with a token that leads through the proxy; kept as long as the server.
    pub fn kubeconfig(&self, server: &ApiServer, token: &str) -> PathBuf {
        let text = kubeconfig::self_contained(&self.url(), self.authority(), &Identity::Token(token));
        server.write_kubeconfig(&text)
    }

    /// Breaks what the rule says until it has struck as often as it says, or is removed. Of several
    /// that match the first counts.
    pub fn add(&self, rule: Rule) -> RuleId {
        locked(&self.state.rules).add(rule)
    }

    pub fn remove(&self, rule: RuleId) {
        locked(&self.state.rules).remove(rule);
    }

    /// Removes every rule.
    pub fn mend(&self) {
        locked(&self.state.rules).clear();
    }

    /// How often a rule has struck, also after it was removed.
    pub fn struck(&self, rule: RuleId) -> usize {
        locked(&self.state.rules).struck(rule)
    }

    /// The requests so far, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.state.seen).clone()
    }

    /// The requests since this was last asked.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *locked(&self.state.seen))
    }

    /// Waits until so many requests of some kind were seen since they were last taken; not if none
    /// comes for so long. Whether they came.
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

    /// How many requests there were by verb and resource, as in `("list", "deployments.apps")`.
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

    /// Notes a request, and says what goes wrong with it.
    fn take_in(&self, seen: Seen) -> Option<Struck> {
        let struck = locked(&self.rules).strike_request(&seen);
        locked(&self.seen).push(seen);
        self.arrived.notify_all();
        struck
    }

    /// Says what goes wrong with the next line of a stream.
    fn strike_line(&self, stream: &Seen, line: &[u8]) -> Option<Struck> {
        locked(&self.rules).strike_line(stream, line)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
