//! Follows logs: of the pods that exist, and of pods that start later, until the reader goes away.
//!
//! The objects that can own pods, and no others, are read again every few seconds. A container that
//! starts later is read from its beginning. One that cannot be read yet is tried again after each
//! of these reads.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{self, BoxStream, SelectAll};
use setpoint_core::time::Span;
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::offspring;
use setpoint_target::{Answer, LogPart, LogQuestion, LogReader, Wanted};

use crate::cluster::Cluster;
use crate::logs::{Run, Source, note, unreadable, unseen_note};
use crate::tree::Grown;

/// The most containers that are followed at the same time: each is a stream of its own.
const MOST_FOLLOWED: usize = 50;
/// The interval after which new containers show.
const LOOK_AGAIN: Span = Span::seconds(5);

/// An item of the log of a followed container.
enum Heard {
    Part(LogPart),
    /// The container could not be read, which may change.
    Unread(Run, LogPart),
}

/// The result of a later read.
type Look = BoxFuture<'static, Grown>;

/// Logs that are followed.
pub(crate) struct Following {
    cluster: Arc<Cluster>,
    /// The requested objects that can own pods.
    wanted: Wanted,
    /// The query for containers that start later: everything they have written.
    question: LogQuestion,
    streams: SelectAll<BoxStream<'static, Heard>>,
    look: Look,
    /// Parts that are returned first.
    parts: VecDeque<LogPart>,
    /// The containers that are being read, or were read to the end.
    taken: BTreeSet<Run>,
    names: BTreeSet<String>,
    /// Notes that were returned already, so that they are not repeated with every read.
    said: BTreeSet<String>,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").field("names", &self.names).finish_non_exhaustive()
    }
}

impl LogReader for Following {
    fn next(&mut self) -> Answer<'_, Option<LogPart>> {
        Box::pin(async {
            loop {
                if let Some(part) = self.parts.pop_front() {
                    return Some(part);
                }
                self.go_on().await;
            }
        })
    }
}

impl Following {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        mut wanted: Wanted,
        question: LogQuestion,
        grown: &Grown,
        sources: Vec<Source>,
    ) -> Self {
        wanted.retain(|key, _| can_own_pods(key.class()));
        let look = look(&cluster, &wanted);
        let mut following = Self {
            cluster,
            wanted,
            question: LogQuestion { since: None, tail: None, ..question },
            streams: SelectAll::new(),
            look,
            parts: VecDeque::new(),
            taken: BTreeSet::new(),
            names: BTreeSet::new(),
            said: BTreeSet::new(),
        };
        if sources.is_empty() {
            following.say_once(note("there is no pod yet: its log is shown once it starts".to_owned()));
        }
        following.take_up(grown, sources);
        following
    }

    async fn go_on(&mut self) {
        // Logs without a stream have not ended: a container may start.
        if self.streams.is_empty() {
            let grown = (&mut self.look).await;
            return self.looked(grown).await;
        }
        match select(self.streams.next(), &mut self.look).await {
            Either::Left((heard, _)) => match heard {
                Some(Heard::Part(part)) => self.parts.push_back(part),
                Some(Heard::Unread(run, complaint)) => {
                    self.taken.remove(&run);
                    self.say_once(complaint);
                }
                None => {}
            },
            Either::Right((grown, _)) => self.looked(grown).await,
        }
    }

    async fn looked(&mut self, grown: Grown) {
        // A requested object that is gone may come back: it has no pods meanwhile.
        let sources = self.cluster.sources(&grown, &self.question).await.unwrap_or_default();
        self.take_up(&grown, sources);
        self.look = look(&self.cluster, &self.wanted);
    }

    /// Follows the containers that are not followed yet.
    fn take_up(&mut self, grown: &Grown, sources: Vec<Source>) {
        let known = self.names.len();
        for source in sources.into_iter().filter(|source| !self.taken.contains(&source.run)).collect::<Vec<_>>() {
            if self.streams.len() == MOST_FOLLOWED {
                self.say_once(note(format!(
                    "only {MOST_FOLLOWED} containers are followed at the same time: name one object of the app"
                )));
                break;
            }
            self.taken.insert(source.run.clone());
            self.names.insert(source.name.clone());
            self.streams.push(heard_of(Arc::clone(&self.cluster), source));
        }
        if self.names.len() > known {
            // The names come before the lines of their logs.
            self.parts.push_front(LogPart::Sources { names: self.names.iter().cloned().collect() });
        }
        for line in grown.not_looked_at() {
            self.say_once(unseen_note(&line));
        }
    }

    fn say_once(&mut self, part: LogPart) {
        if let LogPart::Note { text } = &part
            && self.said.insert(text.clone())
        {
            self.parts.push_back(part);
        }
    }
}

/// Reads the objects again after a pause.
fn look(cluster: &Arc<Cluster>, wanted: &Wanted) -> Look {
    let (cluster, wanted) = (Arc::clone(cluster), wanted.clone());
    Box::pin(async move {
        cluster.api.sender.wire.wait(LOOK_AGAIN).await;
        cluster.grown(wanted).await
    })
}

fn heard_of(cluster: Arc<Cluster>, source: Source) -> BoxStream<'static, Heard> {
    let (name, run) = (source.name.clone(), source.run.clone());
    let opened = async move {
        match cluster.opened(source).await {
            Ok(lines) => lines.map(Heard::Part).boxed(),
            Err(failure) => stream::iter([Heard::Unread(run, unreadable(&name, &failure))]).boxed(),
        }
    };
    stream::once(opened).flatten().boxed()
}

/// Reports whether pods may be found through an object of this class.
pub(crate) fn can_own_pods(class: &str) -> bool {
    let (group, kind) = group_and_kind(class);
    class == "Pod" || offspring(group, kind).contains(&("", "Pod"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pods_can_come_from_is_looked_at_again() {
        for class in ["Pod", "apps/Deployment", "batch/CronJob", "shop.example/Store"] {
            assert!(can_own_pods(class), "{class}");
        }
        for class in ["ConfigMap", "Service", "rbac.authorization.k8s.io/Role"] {
            assert!(!can_own_pods(class), "{class}");
        }
    }
}
