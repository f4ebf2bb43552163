//! Webhooks as hints: which stores follow a repository that changed, and when to poll them. A storm
//! of webhooks costs a few polls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::name::{Scope, StoreName};
use setpoint_core::time::{Span, Timestamp};
use setpoint_documents::Reference;
use setpoint_server::http::Push;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::bootstrap::Bootstrap;
use super::sources::Provider;
use crate::doors::{Clock, duration};
use crate::interpreter::Handle;

/// The first wait between two polls of one store because of webhooks. It doubles while they go on.
const FIRST_WAIT: Span = Span::seconds(1);
const LONGEST_WAIT: Span = Span::seconds(30);

/// After this time without a poll, a webhook is the first one again.
const QUIET: Span = Span::minutes(1);

/// A webhook with a commit that was reported within this time is a repetition: a second sender, or a
/// second webhook of the same repository.
const REPETITION: Span = Span::seconds(10);

/// The stores to poll because of webhooks.
#[derive(Debug)]
pub(super) struct Pushes {
    clock: Clock,
    provider: Arc<Provider>,
    /// The store of the control documents.
    bootstrap: (String, Reference),
    paces: Mutex<BTreeMap<StoreName, Pace>>,
    heard: Notify,
}

impl Pushes {
    pub(super) fn new(clock: Clock, provider: Arc<Provider>, bootstrap: &Bootstrap) -> Self {
        let store = &bootstrap.spec.store;
        let bootstrap = (store.url.as_str().to_owned(), Reference::Branch(store.branch.clone()));
        Self { clock, provider, bootstrap, paces: Mutex::default(), heard: Notify::new() }
    }

    /// Notes a push, for the stores of a scope, or for all stores.
    pub(super) fn push(&self, scope: Option<&Scope>, push: &Push) {
        let stores = self.stores_of(scope, push);
        if stores.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut paces = self.paces();
        for store in stores {
            paces.entry(store).or_default().push(now, push.commit.as_deref());
        }
        drop(paces);
        self.heard.notify_one();
    }

    /// Polls the stores when they are due. Never ends.
    pub(super) async fn poll(&self, handle: &Handle) {
        loop {
            let now = self.clock.now();
            let (due, next) = self.due(now);
            for store in due {
                // An engine that has ended polls nothing.
                handle.hint_store(store).await.ok();
            }
            match next {
                Some(at) => drop(timeout(duration(at.since(now)), self.heard.notified()).await),
                None => self.heard.notified().await,
            }
        }
    }

    /// Returns the stores that are due, and the time of the next one.
    fn due(&self, now: Timestamp) -> (Vec<StoreName>, Option<Timestamp>) {
        let mut paces = self.paces();
        let due = paces.iter_mut().filter_map(|(store, pace)| pace.take_due(now).then(|| store.clone())).collect();
        paces.retain(|_, pace| !pace.is_over(now));
        (due, paces.values().filter_map(|pace| pace.due).min())
    }

    fn paces(&self) -> MutexGuard<'_, BTreeMap<StoreName, Pace>> {
        self.paces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stores_of(&self, scope: Option<&Scope>, push: &Push) -> Vec<StoreName> {
        let urls: Vec<String> = push.urls.iter().map(|url| normalized(url)).collect();
        let is_meant = |url: &str, reference: &Reference| {
            urls.contains(&normalized(url)) && push.reference.as_deref().is_none_or(|name| name == full_name(reference))
        };
        let documents = self.provider.documents();
        let declared = documents.stores().iter().filter(|(_, store)| scope.is_none_or(|scope| store.scope == *scope));
        let declared = declared.filter(|(_, store)| is_meant(store.spec.url.as_str(), &store.spec.reference()));
        let mut stores: Vec<StoreName> = declared.map(|(name, _)| name.clone()).collect();
        let (url, reference) = &self.bootstrap;
        if scope.is_none() && is_meant(url, reference) {
            stores.push(Bootstrap::store());
        }
        stores
    }
}

fn full_name(reference: &Reference) -> String {
    match reference {
        Reference::Branch(branch) => format!("refs/heads/{branch}"),
        Reference::Tag(tag) => format!("refs/tags/{tag}"),
    }
}

/// Returns host and path of a repository's address, whatever the protocol: hosts report several
/// addresses, and a store has one of them.
fn normalized(url: &str) -> String {
    let (is_url, rest) = match url.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, url),
    };
    let (host, path) = match (is_url, rest.split_once(if is_url { '/' } else { ':' })) {
        // `user@host:path`, as `git clone` accepts it.
        (false, Some((host, path))) if !host.contains('/') => (host, path),
        (true, Some((host, path))) => (host, path),
        _ => ("", rest),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).to_ascii_lowercase();
    format!("{host}/{path}")
}

/// The polls of one store that webhooks caused.
#[derive(Debug, Default)]
struct Pace {
    due: Option<Timestamp>,
    last: Option<Timestamp>,
    /// The number of polls that followed each other closely.
    close: u32,
    commit: Option<(String, Timestamp)>,
}

impl Pace {
    fn push(&mut self, now: Timestamp, commit: Option<&str>) {
        if let Some(commit) = commit {
            let is_repetition = |(known, at): &(String, Timestamp)| known == commit && now.since(*at) < REPETITION;
            if self.commit.as_ref().is_some_and(is_repetition) {
                return;
            }
            self.commit = Some((commit.to_owned(), now));
        }
        if self.due.is_some() {
            return;
        }
        let wait = FIRST_WAIT.doubled(self.close, LONGEST_WAIT);
        self.due = Some(self.last.map_or(now, |last| now.max(last + wait)));
    }

    fn take_due(&mut self, now: Timestamp) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        let is_close = self.last.is_some_and(|last| now.since(last) < QUIET);
        self.close = if is_close { self.close + 1 } else { 0 };
        (self.last, self.due) = (Some(now), None);
        true
    }

    /// Reports whether the next push is like the first.
    fn is_over(&self, now: Timestamp) -> bool {
        self.due.is_none() && self.last.is_none_or(|last| now.since(last) >= QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn the_addresses_of_a_repository_are_one() {
        let forms = [
            "https://git.example/Team/App.git",
            "https://user@GIT.example:8443/team/app",
            "ssh://git@git.example:2222/team/app.git/",
            "git@git.example:team/app.git",
            "git.example:/team/app",
        ];
        for form in forms {
            assert_eq!(normalized(form), "git.example/team/app", "{form}");
        }
        assert_eq!(normalized("/srv/git/app.git"), "/srv/git/app");
        assert_ne!(normalized("https://git.example/team/app2"), normalized(forms[0]));
        assert_ne!(normalized("https://other.example/team/app"), normalized(forms[0]));
    }

    /// Returns the seconds at which a store is polled while webhooks come each 100 ms.
    fn polls(seconds: u64, commit: impl Fn(u64) -> Option<String>) -> Vec<u64> {
        let (mut pace, mut polls) = (Pace::default(), Vec::new());
        for tick in 0..seconds * 10 {
            let now = START + Span::millis(tick * 100);
            pace.push(now, commit(tick).as_deref());
            if pace.take_due(now) {
                polls.push(tick / 10);
            }
        }
        polls
    }

    #[test]
    fn a_storm_of_webhooks_costs_a_few_polls() {
        assert_eq!(polls(10, |_| Some("one commit".to_owned())), [0]);
        assert_eq!(polls(10, |tick| Some(tick.to_string())), [0, 1, 3, 7]);
        assert_eq!(polls(120, |_| None), [0, 1, 3, 7, 15, 31, 61, 91]);
    }

    #[test]
    fn a_push_after_a_quiet_time_is_polled_at_once() {
        let mut pace = Pace::default();
        pace.push(START, Some("a"));
        assert!(pace.take_due(START) && !pace.is_over(START));
        let soon = START + Span::millis(300);
        pace.push(soon, Some("b"));
        assert!(!pace.take_due(soon) && pace.take_due(START + FIRST_WAIT), "no push is forgotten");
        let later = START + FIRST_WAIT + QUIET;
        assert!(pace.is_over(later));
        pace.push(later, Some("c"));
        assert!(pace.take_due(later));
    }
}
