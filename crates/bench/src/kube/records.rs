//! Follows the agent's ledger over its socket: how many changes are recorded as done, and when the
//! last of them was.
//!
//! The time is that of the record itself, so the poll interval does not matter. Requests cost the
//! agent time that it needs for the measured work. So while the log grows, only its newest record
//! is requested; the rest is read once the log stops growing.

use std::time::Duration;

use anyhow::{Context, bail};
use setpoint_api::Client;
use setpoint_api::answer::HistoryRecord;
use setpoint_api::question::HistoryQuestion;
use setpoint_core::time::Timestamp;
use tokio::time::interval;

use super::progress::tell;
use crate::agent::process::Agent;
use crate::stopwatch::Stopwatch;

/// The interval at which the newest record is requested.
const GLANCE: Duration = Duration::from_millis(500);
/// A log that grows for longer than this is read all the same.
const AT_THE_LATEST: Duration = Duration::from_secs(10);
const PAGE: usize = 2_000;
/// The interval at which progress is printed.
const TELL_EVERY: Duration = Duration::from_secs(15);

/// The records read so far.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// The first record that was not read yet.
    next: u64,
    /// The newest known record.
    newest: Option<u64>,
    done: usize,
    last: Option<Timestamp>,
}

impl Records {
    /// Waits until this many changes in total are recorded as done; returns when the last of them
    /// was recorded.
    pub(super) async fn until(&mut self, agent: &Agent, done: usize, patience: Duration) -> anyhow::Result<Timestamp> {
        let (waited, mut told, mut read) = (Stopwatch::start(), Duration::ZERO, Stopwatch::start());
        let mut turns = interval(GLANCE);
        loop {
            turns.tick().await;
            match self.grows(&agent.client).await {
                Ok(true) if read.elapsed() < AT_THE_LATEST => {}
                Ok(_) => {
                    self.read(&agent.client).await?;
                    read = Stopwatch::start();
                }
                // The socket may not exist yet.
                Err(problem) if waited.elapsed() > patience => return Err(problem),
                Err(_) => {}
            }
            if self.done >= done {
                return self.last.context("what was counted has a time");
            }
            if waited.elapsed() > patience {
                bail!("{} of {done} changes were recorded within {} s", self.done, patience.as_secs());
            }
            if waited.elapsed() > told + TELL_EVERY {
                told = waited.elapsed();
                tell(&format!("{} of {done} changes are recorded after {} s", self.done, told.as_secs()));
            }
        }
    }

    /// Reports whether the log has grown since the last call.
    async fn grows(&mut self, client: &Client) -> anyhow::Result<bool> {
        let newest = client.history(&HistoryQuestion { app: None, limit: 1, before: None }).await?;
        let newest = newest.first().map(|record| record.seq);
        Ok(std::mem::replace(&mut self.newest, newest) != newest)
    }

    /// Reads new records, newest first, back to the known ones.
    async fn read(&mut self, client: &Client) -> anyhow::Result<()> {
        let (mut before, mut newest) = (None, self.next);
        let (mut done, mut last) = (0, None);
        loop {
            let question = HistoryQuestion { app: None, limit: PAGE, before };
            let page = client.history(&question).await?;
            let fresh: Vec<&HistoryRecord> = page.iter().filter(|record| record.seq >= self.next).collect();
            newest = newest.max(fresh.first().map_or(0, |record| record.seq + 1));
            for record in fresh.iter().filter(|record| is_done(record)) {
                done += 1;
                last = last.max(Some(record.at));
            }
            before = fresh.last().map(|record| record.seq);
            if fresh.len() < PAGE || before == Some(self.next) {
                break;
            }
        }
        (self.next, self.done, self.last) = (newest, self.done + done, self.last.max(last));
        Ok(())
    }
}

fn is_done(record: &HistoryRecord) -> bool {
    let outcome = |part: &str| part == "outcome: done" || part == "outcome: found done";
    record.kind == "effect.result" && record.text.split(", ").any(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_that_was_made_counts() {
        let record = |kind: &str, text: &str| HistoryRecord {
            seq: 1,
            at: Timestamp::default(),
            kind: kind.to_owned(),
            subject: String::new(),
            actor: String::new(),
            text: text.to_owned(),
        };
        assert!(is_done(&record("effect.result", "intent: 7, outcome: done")));
        assert!(!is_done(&record("effect.result", "intent: 7, outcome: refused")));
        assert!(!is_done(&record("plan", "outcome: done")));
    }
}
