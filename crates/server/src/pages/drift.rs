//! The page of drift: who changes what outside of the stores, how often, and what became of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use setpoint_api::answer::DriftRecord;
use setpoint_core::modes::Cause;
use setpoint_core::time::{Span, Timestamp};

use super::chrome::Chrome;
use super::difference::Change;
use super::marks::{Mark, Tone};
use super::moment::{self, Moment};
use super::{address, rendered, words};

/// The number of writers, fields and apps that are listed.
const MOST: usize = 6;

/// The number of bars of the trend.
const BARS: u64 = 28;

/// Recorded drift as one page shows it.
#[derive(Clone, Debug, Default)]
pub struct DriftView {
    /// Newest first.
    pub records: Vec<DriftRecord>,
    /// The writer to which the page is limited; empty for all.
    pub writer: String,
    /// The app to which the page is limited, as `scope/name`; empty for all.
    pub app: String,
}

/// One drift of one object.
#[derive(Clone, Debug)]
pub(super) struct DriftItem {
    pub(super) seq: u64,
    pub(super) app: String,
    pub(super) path: String,
    pub(super) object: String,
    pub(super) mark: Mark,
    pub(super) who: String,
    pub(super) at: Moment,
    pub(super) end: Mark,
    pub(super) changes: Vec<Change>,
}

impl DriftItem {
    pub(super) fn of(record: &DriftRecord, now: Timestamp) -> Self {
        let fields = record.differences.iter().map(Change::of);
        Self {
            seq: record.seq,
            app: record.app.to_string(),
            path: address::app(&record.app),
            object: record.key.to_string(),
            mark: mark(record.cause),
            who: words::whose(record.cause, &record.writer),
            at: Moment::new(record.seen, now),
            end: end(record),
            changes: fields.chain(record.beside.iter().map(|path| Change::undeclared(path))).collect(),
        }
    }
}

fn end(record: &DriftRecord) -> Mark {
    let after = record.healed.map(|healed| moment::length(healed.since(record.seen)));
    match (after, record.beside.is_empty()) {
        (Some(after), true) => Mark::good(format!("healed after {after}")),
        (Some(after), false) => Mark::mute(format!("left alone, gone after {after}")),
        (None, true) => Mark::warn("not healed"),
        (None, false) => Mark::mute("left alone"),
    }
}

/// Returns the mark of the cause of a difference.
pub(super) fn mark(cause: Cause) -> Mark {
    let (tone, icon) = match cause {
        Cause::Drift => (Tone::Warn, "drift"),
        Cause::Addition | Cause::Leftover => (Tone::Mute, "dash"),
        Cause::Prune | Cause::Retire => (Tone::Bad, "minus-sign"),
        Cause::Declared | Cause::Environment | Cause::Rollback | Cause::Replace => (Tone::Busy, "tilde"),
    };
    Mark::new(tone, icon, cause.to_string())
}

/// A name with the number of its drifts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rank {
    name: String,
    count: usize,
    /// The length of its bar in percent.
    percent: usize,
    /// The page that is limited to it; empty if there is none.
    path: String,
}

/// Returns the most frequent names.
fn ranking<'a>(names: impl Iterator<Item = &'a str>, path: impl Fn(&str) -> String) -> Vec<Rank> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (Reverse(*count), *name));
    let most = counts.first().map_or(1, |(_, count)| *count);
    let rank = |(name, count): &(&str, usize)| Rank {
        name: (*name).to_owned(),
        count: *count,
        percent: (*count * 100 / most).max(2),
        path: path(name),
    };
    counts.iter().take(MOST).map(rank).collect()
}

/// A bar of the trend.
struct Bar {
    x: u64,
    y: usize,
    height: usize,
    label: String,
}

/// Returns the number of drifts per interval, and the length of the whole trend.
fn trend(records: &[DriftRecord], now: Timestamp) -> (Vec<Bar>, String) {
    let oldest = records.iter().map(|record| record.seen).min().unwrap_or(now);
    let whole = match now.since(oldest) {
        span if span <= Span::hours(2) => Span::hours(2),
        span if span <= Span::hours(28) => Span::hours(28),
        span if span <= Span::hours(7 * 24) => Span::hours(7 * 24),
        _ => Span::hours(28 * 24),
    };
    let step = whole.as_millis() / BARS;
    let mut counts = [0_usize; 28];
    for record in records {
        let age = now.since(record.seen).as_millis() / step;
        if let Some(count) = usize::try_from(BARS - 1 - age.min(BARS)).ok().and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bars = (0..BARS).zip(counts).map(|(place, count)| {
        let height = if count == 0 { 1 } else { (count * 64 / most).max(4) };
        let from = now - Span::millis(step * (BARS - place));
        Bar { x: place * 20, y: 64 - height, height, label: format!("{}: {count}", moment::absolute(from)) }
    });
    (bars.collect(), moment::length(whole))
}

#[derive(Template)]
#[template(path = "drift.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a DriftView,
    items: Vec<DriftItem>,
    writers: Vec<Rank>,
    fields: Vec<Rank>,
    apps: Vec<Rank>,
    bars: Vec<Bar>,
    period: String,
    healed: usize,
    open: usize,
}

/// Renders the page of drift.
pub fn page(chrome: &Chrome, view: &DriftView) -> String {
    let records = &view.records;
    let (bars, period) = trend(records, chrome.now);
    let paths: Vec<String> = records.iter().flat_map(fields_of).collect();
    let apps: Vec<String> = records.iter().map(|record| record.app.to_string()).collect();
    let is_correctable = |record: &&DriftRecord| record.beside.is_empty();
    rendered(&Page {
        chrome,
        view,
        items: records.iter().map(|record| DriftItem::of(record, chrome.now)).collect(),
        writers: ranking(records.iter().map(|record| record.writer.name()), |writer| {
            format!("/drift{}", address::query([("writer", writer)]))
        }),
        fields: ranking(paths.iter().map(String::as_str), |_| String::new()),
        apps: ranking(apps.iter().map(String::as_str), |app| format!("/drift{}", address::query([("app", app)]))),
        bars,
        period,
        healed: records.iter().filter(is_correctable).filter(|record| record.healed.is_some()).count(),
        open: records.iter().filter(is_correctable).filter(|record| record.healed.is_none()).count(),
    })
}

/// Returns the fields that differ, without the places in lists, so that equal fields are counted
/// together.
fn fields_of(record: &DriftRecord) -> Vec<String> {
    let paths = record.differences.iter().map(|difference| difference.path.to_string());
    paths.chain(record.beside.iter().map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};

    use super::*;

    #[test]
    fn frequent_names_come_first() {
        let ranks = ranking(["b", "a", "b", "c"].into_iter(), ToOwned::to_owned);
        let pairs: Vec<(&str, usize, usize)> =
            ranks.iter().map(|rank| (rank.name.as_str(), rank.count, rank.percent)).collect();
        assert_eq!(pairs, [("b", 2, 100), ("a", 1, 50), ("c", 1, 50)]);
    }

    #[test]
    fn every_recent_drift_is_in_the_trend() {
        let records = CannedAgent::example().drift;
        let (bars, period) = trend(&records, NOON);
        assert_eq!(bars.iter().filter(|bar| bar.height > 1).count(), 1, "all were seen ten minutes ago");
        assert_eq!(period, "2 h");
    }

    #[test]
    fn the_end_of_a_drift_is_worded_by_its_kind() {
        let ends: Vec<String> = CannedAgent::example().drift.iter().map(|record| end(record).text).collect();
        assert_eq!(ends, ["left alone", "not healed", "healed after 38 ms", "left alone, gone after 1 h"]);
    }
}
