//! Windows: the times in which declared changes must wait, computed for a while ahead from cron,
//! zone and length.
//!
//! A window begins at every instant whose local time matches. A local time that occurs twice
//! (clocks go back) begins it twice. One that never occurs (clocks go forward) begins it at the
//! instant it would have had if the clocks had not moved. A window lasts its length in elapsed
//! time. If one window denies and another allows, the denying one wins.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use setpoint_core::time::{Span, Timestamp};
use setpoint_documents::{Window, WindowTime, Zone};

use cron::Times;

mod cron;

/// The time for which windows are computed ahead.
const HORIZON: Span = Span::hours(14 * 24);
/// The time after which windows should be computed again: half of the horizon is left if that fails
/// for a while.
const RENEW: Span = Span::hours(7 * 24);
/// The end of an interval without an end.
const NEVER: Timestamp = Timestamp::from_millis(u64::MAX);

/// An interval from an instant until another one.
pub type Interval = (Timestamp, Timestamp);

/// Returns when windows that were computed at `now` should be computed again.
pub(super) fn renewed_by(now: Timestamp) -> Timestamp {
    now + RENEW
}

/// Reports whether a zone is in the database that comes with the binary. No other one is consulted:
/// windows must be the same on every machine.
pub(super) fn is_known(zone: &Zone) -> bool {
    time_zone(zone).is_some()
}

fn time_zone(zone: &Zone) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(zone.as_str()).ok()
}

/// Returns the intervals from `now` on in which declared changes must wait: sorted and disjoint.
/// Beyond the horizon an app with windows is closed, because its windows were not computed that
/// far.
pub fn closed(windows: &[Window], now: Timestamp) -> Vec<Interval> {
    if windows.is_empty() {
        return Vec::new();
    }
    let horizon = now + HORIZON;
    let (mut denied, mut allowed) = (vec![(horizon, NEVER)], Vec::new());
    let mut restricted = false;
    for window in windows {
        let (times, list) = match &window.time {
            WindowTime::Deny(times) => (times, &mut denied),
            WindowTime::Allow(times) => {
                restricted = true;
                (times, &mut allowed)
            }
        };
        let length = window.length.span();
        // A zone that this binary does not know opens nothing: another binary knew it when the
        // document was accepted.
        let Some(zone) = time_zone(&window.zone) else { return vec![(now, NEVER)] };
        let begun = beginnings(&Times::of(times), &zone, now - length, horizon);
        list.extend(begun.into_iter().map(|from| (from, from + length)));
    }
    if restricted {
        denied.extend(gaps(&joined(allowed), now, horizon));
    }
    let mut closed = joined(denied);
    closed.retain(|(_, until)| *until > now);
    closed
}

/// Returns every instant from `from` on and before `until` at which a window begins.
fn beginnings(times: &Times, zone: &TimeZone, from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let mut begun = Vec::new();
    // One more day on both sides: local dates differ from those of UTC by at most one.
    let (Some(first), Some(last)) = (date(from - DAY), date(until + DAY)) else { return begun };
    for day in first.series(jiff::Span::new().days(1)).take_while(|day| *day <= last) {
        if !times.match_date(day.month(), day.day(), day.weekday().to_sunday_zero_offset()) {
            continue;
        }
        for (hour, minute) in times.of_day() {
            begun.extend(instants(zone, day.at(hour, minute, 0, 0)).filter(|at| (from..until).contains(at)));
        }
    }
    begun
}

const DAY: Span = Span::hours(24);

fn date(at: Timestamp) -> Option<Date> {
    let millis = i64::try_from(at.as_millis()).ok()?;
    let at = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(TimeZone::UTC.to_datetime(at).date())
}

/// Returns the instants at which clocks show a local time: one, two, or the one at which they would
/// have shown it.
fn instants(zone: &TimeZone, local: DateTime) -> impl Iterator<Item = Timestamp> {
    let offsets = match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => [Some(offset), None],
        AmbiguousOffset::Gap { before, .. } => [Some(before), None],
        AmbiguousOffset::Fold { before, after } => [Some(before), Some(after)],
    };
    let millis = move |offset: jiff::tz::Offset| offset.to_timestamp(local).ok()?.as_millisecond().try_into().ok();
    offsets.into_iter().flatten().filter_map(millis).map(Timestamp::from_millis)
}

/// Sorts intervals, and joins those that touch.
fn joined(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort();
    let mut joined: Vec<Interval> = Vec::new();
    for (from, until) in intervals {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = until.max(*end),
            _ => joined.push((from, until)),
        }
    }
    joined
}

/// Returns the gaps that sorted, disjoint intervals leave between two instants.
fn gaps(intervals: &[Interval], from: Timestamp, until: Timestamp) -> Vec<Interval> {
    let mut gaps = Vec::new();
    let mut at = from;
    for (start, end) in intervals {
        if *start > at {
            gaps.push((at, (*start).min(until)));
        }
        at = at.max(*end);
    }
    if at < until {
        gaps.push((at, until));
    }
    gaps.retain(|(start, end)| start < end);
    gaps
}

#[cfg(test)]
mod tests;
