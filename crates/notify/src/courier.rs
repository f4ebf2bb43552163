//! Delivers messages to every notifier.
//!
//! Messages of one kind that arrive within a short window are sent as one: if forty apps fail
//! together, a person gets one message. The courier remembers which notifiers have a message until
//! all of them have it, so a message that is submitted again is not repeated to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared, join_all};
use reqwest::Client;

use crate::message::Message;
use crate::notifier::{DeliveryProblem, Notifier};

/// The number of messages that are remembered because only some notifiers have them. Beyond this,
/// the oldest is forgotten, and at worst sent twice.
const REMEMBERED: usize = 1_000;

/// Time limits, which tests shorten.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time that a message waits for others of its kind.
    pub window: Duration,
    /// The time limit for a notifier to respond.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window: Duration::from_secs(2), patience: Duration::from_secs(10) }
    }
}

/// The result of a test message at one notifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub notifier: String,
    pub problem: Option<DeliveryProblem>,
}

/// Delivers messages to every notifier. Clones share one state.
#[derive(Clone, Debug)]
pub struct Courier {
    rounds: Arc<Rounds>,
}

impl Courier {
    /// Creates a courier. Fails only if TLS cannot be set up on this machine.
    pub fn new(notifiers: Vec<Notifier>) -> Result<Self, reqwest::Error> {
        Self::with_limits(notifiers, Limits::default())
    }

    pub fn with_limits(notifiers: Vec<Notifier>, limits: Limits) -> Result<Self, reqwest::Error> {
        // Nothing comes from the environment, and no redirect sends a message and its credentials
        // to another host.
        let client = Client::builder()
            .no_proxy()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0)
            .build()?;
        let (groups, taken) = (Mutex::default(), Mutex::default());
        Ok(Self { rounds: Arc::new(Rounds { notifiers, limits, client, groups, taken }) })
    }

    /// Delivers a message. Returns once every notifier has it, or an attempt was made for each that
    /// has not. May be called again after an error: only notifiers without the message are
    /// contacted.
    pub async fn deliver(&self, message: &Message) -> Result<(), Vec<DeliveryProblem>> {
        if self.rounds.notifiers.is_empty() {
            return Ok(());
        }
        let round = self.join_round(message).await;
        let problems = round.iter().find(|(told, _)| told.is_same_matter(message)).map(|(_, problems)| problems);
        match problems {
            Some(problems) => Err(problems.clone()),
            None => Ok(()),
        }
    }

    /// Sends a message to every notifier at once, regardless of earlier messages.
    pub async fn test(&self, message: &Message) -> Vec<Tested> {
        let Rounds { notifiers, client, limits, .. } = self.rounds.as_ref();
        join_all(notifiers.iter().map(async |notifier| {
            let problem = notifier.tell(client, limits.patience, &[message]).await.err();
            Tested { notifier: notifier.name().to_owned(), problem }
        }))
        .await
    }

    /// Adds the message to the pending round of its kind, or opens one. Every waiting caller drives
    /// the round, so it does not matter if some of them stop waiting.
    fn join_round(&self, message: &Message) -> Shared<BoxFuture<'static, Outcome>> {
        let mut groups = locked(&self.rounds.groups);
        if let Some(group) = groups.get_mut(&message.kind)
            && let Some(round) = group.round.upgrade()
        {
            group.messages.push(message.clone());
            return round;
        }
        let round = Arc::clone(&self.rounds).leave(message.kind.clone()).boxed().shared();
        let weak = round.downgrade().expect("a future that was never polled is not over");
        groups.insert(message.kind.clone(), Group { messages: vec![message.clone()], round: weak });
        round
    }
}

/// The result of a round: the messages that some notifiers do not have, with their problems.
type Outcome = Arc<Vec<(Message, Vec<DeliveryProblem>)>>;

/// Messages of one kind that wait to be sent together.
#[derive(Debug)]
struct Group {
    messages: Vec<Message>,
    round: WeakShared<BoxFuture<'static, Outcome>>,
}

#[derive(Debug)]
struct Rounds {
    notifiers: Vec<Notifier>,
    limits: Limits,
    client: Client,
    groups: Mutex<BTreeMap<String, Group>>,
    taken: Mutex<VecDeque<PendingMessage>>,
}

/// A message that some notifiers have, by their index in the list.
#[derive(Debug)]
struct PendingMessage {
    message: Message,
    by: BTreeSet<usize>,
}

impl Rounds {
    #[expect(
        clippy::disallowed_methods,
        reason = "the window in which messages gather; the waiting task holds no lock and no worker"
    )]
    async fn leave(self: Arc<Self>, kind: String) -> Outcome {
        tokio::time::sleep(self.limits.window).await;
        let mut messages = locked(&self.groups).remove(&kind).map(|group| group.messages).unwrap_or_default();
        messages.sort();
        messages.dedup_by(|a, b| a.is_same_matter(b));
        let tellings = (0..self.notifiers.len()).map(|place| self.tell(place, &messages));
        let problems: Vec<Option<DeliveryProblem>> = join_all(tellings).await;
        Arc::new(self.missing(messages, &problems))
    }

    /// Sends one notifier the messages that it does not have yet, and remembers those it accepted.
    async fn tell(&self, place: usize, messages: &[Message]) -> Option<DeliveryProblem> {
        let fresh: Vec<&Message> = messages.iter().filter(|message| !self.has(place, message)).collect();
        if fresh.is_empty() {
            return None;
        }
        let told = self.notifiers[place].tell(&self.client, self.limits.patience, &fresh).await;
        if told.is_ok() {
            fresh.into_iter().for_each(|message| self.remember(place, message));
        }
        told.err()
    }

    fn has(&self, place: usize, message: &Message) -> bool {
        locked(&self.taken).iter().any(|taken| taken.message.is_same_matter(message) && taken.by.contains(&place))
    }

    fn remember(&self, place: usize, message: &Message) {
        let mut memory = locked(&self.taken);
        if let Some(taken) = memory.iter_mut().find(|taken| taken.message.is_same_matter(message)) {
            taken.by.insert(place);
            return;
        }
        if memory.len() == REMEMBERED {
            memory.pop_front();
        }
        memory.push_back(PendingMessage { message: message.clone(), by: BTreeSet::from([place]) });
    }

    /// Returns the messages that some notifiers do not have. The others are forgotten: if their
    /// event recurs, it is sent again.
    fn missing(
        &self,
        messages: Vec<Message>,
        problems: &[Option<DeliveryProblem>],
    ) -> Vec<(Message, Vec<DeliveryProblem>)> {
        let mut missing = Vec::new();
        for message in messages {
            let lacking = problems.iter().enumerate().filter(|(place, _)| !self.has(*place, &message));
            let problems: Vec<DeliveryProblem> = lacking.filter_map(|(_, problem)| problem.clone()).collect();
            if problems.is_empty() {
                locked(&self.taken).retain(|taken| !taken.message.is_same_matter(&message));
            } else {
                missing.push((message, problems));
            }
        }
        missing
    }
}

/// No holder of these locks can panic half-way through a change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
