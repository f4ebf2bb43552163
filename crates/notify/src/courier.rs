//! Brings messages to every notifier.
//!
//! Messages of one kind that come within a short window leave as one: forty apps that fail together
//! are one message to a person. Which notifier has what is remembered until all have it, so that a
//! message that is handed in again is not repeated to those who had it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared, join_all};
use reqwest::Client;

use crate::message::Message;
use crate::notifier::{DeliveryProblem, Notifier};

/// Matters that some notifiers have and others do not. Beyond this the oldest is forgotten, and at
/// worst told twice.
const REMEMBERED: usize = 1_000;

/// Times that tests make shorter.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a message waits for others of its kind.
    pub window: Duration,
    /// How long a notifier may take.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window: Duration::from_secs(2), patience: Duration::from_secs(10) }
    }
}

/// How a test message fared at one notifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub notifier: String,
    pub problem: Option<DeliveryProblem>,
}

/// Brings messages to every notifier. Clones are one courier.
#[derive(Clone, Debug)]
pub struct Courier {
    rounds: Arc<Rounds>,
}

impl Courier {
    /// Fails only where TLS cannot be set up on this machine.
    pub fn new(notifiers: Vec<Notifier>) -> Result<Self, reqwest::Error> {
        Self::with_limits(notifiers, Limits::default())
    }

    pub fn with_limits(notifiers: Vec<Notifier>, limits: Limits) -> Result<Self, reqwest::Error> {
        // Nothing comes from the environment, and nobody sends us and our credentials elsewhere.
        let client = Client::builder()
            .no_proxy()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0)
            .build()?;
        let (groups, taken) = (Mutex::default(), Mutex::default());
        Ok(Self { rounds: Arc::new(Rounds { notifiers, limits, client, groups, taken }) })
    }

    /// Ends once every notifier has the message, or once each that has not was tried. May be handed
    /// in again after an error: only those who do not have it are told.
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

    /// Sends a message to every notifier at once, with no regard to what was sent before.
    pub async fn test(&self, message: &Message) -> Vec<Tested> {
        let Rounds { notifiers, client, limits, .. } = self.rounds.as_ref();
        join_all(notifiers.iter().map(async |notifier| {
            let problem = notifier.tell(client, limits.patience, &[message]).await.err();
            Tested { notifier: notifier.name().to_owned(), problem }
        }))
        .await
    }

    /// Adds the message to the round of its kind that is about to leave, or opens one. Whoever
    /// waits for the round drives it, so it does not matter who goes away.
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

/// What is still missing after a round: messages that not everyone has, and who has not and why.
type Outcome = Arc<Vec<(Message, Vec<DeliveryProblem>)>>;

/// Messages of one kind that wait to leave together.
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

/// A message that some notifiers have, by their place in the list.
#[derive(Debug)]
struct PendingMessage {
    message: Message,
    by: BTreeSet<usize>,
}

impl Rounds {
    #[expect(
        clippy::disallowed_methods,
        reason = "the window in which messages gather; who waits for it holds no lock and no worker"
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

    /// Tells one notifier what it does not have yet, and remembers what it took.
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

    /// Which messages not everyone has. Those that everyone has are forgotten: should the matter
    /// come back, it is told again.
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
