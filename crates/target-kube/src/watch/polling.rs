//! Polls the kinds that there is no stream left for: lists them in turn, so that their changes are
//! noticed too, only later.

use std::collections::BTreeSet;

use setpoint_core::time::Span;

use super::{StreamId, Watches};
use crate::cluster::Cluster;
use crate::turns::Places;

/// The shortest pause between two lists. With many kinds a round takes longer, because lists are
/// expensive.
const SHORTEST_PAUSE: Span = Span::millis(500);

/// The most kinds that a message names.
const MOST_NAMED: usize = 5;

fn some(kinds: &[&str]) -> String {
    let named = kinds.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    if kinds.len() > MOST_NAMED { format!("{named} and {} more", kinds.len() - MOST_NAMED) } else { named }
}

impl Cluster {
    /// Lists the kinds without a stream in turn. Never ends.
    pub(super) async fn poll_in_turn(&self, relists: &Places) {
        let mut last = None;
        loop {
            let Some((id, pause)) = self.watches.next_to_poll(last.as_ref()) else {
                self.watches.to_poll.heard().await;
                continue;
            };
            // A list that fails now is tried in the next round; until then observations read the
            // objects.
            self.poll(&id, relists).await;
            last = Some(id);
            self.api.sender.wire.wait(pause).await;
        }
    }

    async fn poll(&self, id: &StreamId, relists: &Places) {
        let listed = self.list_polled(id, relists).await;
        self.watches.was_listed(id, listed.err());
    }

    /// Lists a kind without a stream; fails with the reason in words.
    async fn list_polled(&self, id: &StreamId, relists: &Places) -> Result<(), String> {
        self.visit().await.map_err(|reason| reason.to_string())?;
        let collection = self.collection_of(id).await.map_err(|reason| reason.to_string())?;
        let _turn = relists.take().await;
        let listed = self.list(id, &collection).await;
        if let Err(failure) = &listed
            && failure.code() == Some(403)
            && id.namespace.is_empty()
        {
            self.watches.restrict(id);
        }
        listed.map(drop).map_err(|failure| failure.to_string())
    }
}

impl Watches {
    fn was_listed(&self, id: &StreamId, problem: Option<String>) {
        let mut state = self.state();
        match problem.filter(|_| state.polled.contains(id)) {
            Some(problem) => drop(state.unlisted.insert(id.clone(), problem)),
            None => drop(state.unlisted.remove(id)),
        }
    }

    /// Returns a message that changes are noticed late, with the reason and the remedy.
    pub(crate) fn degraded(&self) -> Option<String> {
        let told = [self.broken_off(), self.polling(), self.failing()].into_iter().flatten();
        let told = told.collect::<Vec<_>>().join("; ");
        (!told.is_empty()).then_some(told)
    }

    /// Describes streams that broke off and could not resume when they were tried again: there are
    /// no hints for their objects until they resume. A stream that resumes at once has missed
    /// nothing and is not reported.
    fn broken_off(&self) -> Option<String> {
        let state = self.state();
        let lasting = state.streams.iter().filter(|(_, progress)| progress.tries > 1);
        let mut troubled = lasting.filter_map(|(id, progress)| Some((id, progress.trouble.as_ref()?)));
        let (id, trouble) = troubled.next()?;
        let (count, all, class) = (troubled.count() + 1, state.streams.len(), &id.class);
        Some(format!(
            "{count} of {all} streams broke off, and drift there is noticed when they go on, or once a day: {class}: {trouble}"
        ))
    }

    /// Describes lists that failed in place of streams.
    fn failing(&self) -> Option<String> {
        let state = self.state();
        let (id, problem) = state.unlisted.first_key_value()?;
        let (count, class) = (state.unlisted.len(), &id.class);
        Some(format!("{count} of these could not be listed, and their objects are read once a day: {class}: {problem}"))
    }

    fn polling(&self) -> Option<String> {
        let state = self.state();
        let (polled, streams, round) = (state.polled.len(), state.streams.len(), self.poll_round);
        let kinds: BTreeSet<&str> = state.polled.iter().map(|id| &*id.class).collect();
        let restricted: Vec<&str> = kinds.into_iter().filter(|class| state.restricted.contains(*class)).collect();
        let remedy = if restricted.is_empty() {
            "spread the apps over several Targets".to_owned()
        } else {
            format!("let the agent list and watch {} in the whole cluster, one stream for all", some(&restricted))
        };
        (polled > 0).then(|| {
            format!(
                "{polled} kinds or namespaces are polled every {round}, as {streams} streams are open already: {remedy}"
            )
        })
    }

    /// Returns the next kind to poll after this one, and the pause after its list.
    fn next_to_poll(&self, last: Option<&StreamId>) -> Option<(StreamId, Span)> {
        let state = self.state();
        let after = last.and_then(|last| state.polled.range(last..).find(|id| *id != last));
        let next = after.or_else(|| state.polled.first())?;
        let count = u64::try_from(state.polled.len()).unwrap_or(u64::MAX);
        Some((next.clone(), Span::millis(self.poll_round.as_millis() / count).max(SHORTEST_PAUSE)))
    }
}
