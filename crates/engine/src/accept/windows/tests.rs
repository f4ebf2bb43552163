//! Compares windows with a model that checks every minute, through changes of the clocks and across
//! the date line.

use proptest::prelude::*;
use setpoint_documents::{Spec, TargetKinds, read_documents};

use super::*;

/// Builds windows as a document would.
fn windows(list: &str) -> Vec<Window> {
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec:\n  component: a\n  environment: a\n  \
         inputs: [{{ name: a, store: s, path: a }}]\n  target: t\n  sync: {{ windows: {list} }}\n"
    );
    let documents = read_documents("a.yaml", &text, &TargetKinds::default()).unwrap();
    let Spec::App(app) = &documents[0].spec else { panic!("an App") };
    app.sync.windows.clone()
}

fn at(text: &str) -> Timestamp {
    let millis = text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    Timestamp::from_millis(millis.try_into().unwrap())
}

fn is_closed(intervals: &[Interval], at: Timestamp) -> bool {
    intervals.iter().any(|(from, until)| *from <= at && at < *until)
}

#[test]
fn an_app_without_windows_is_never_closed() {
    assert_eq!(closed(&[], at("2026-11-15T00:00:00Z")), []);
}

#[test]
fn the_weekend_of_the_design_is_closed_from_friday_evening_to_monday_morning() {
    let windows = windows(r#"[{ deny: "0 18 * * 5", for: 62h, zone: Europe/Berlin }]"#);
    let closed = closed(&windows, at("2026-11-18T12:00:00Z"));
    // Friday 18:00 in Berlin is 17:00 UTC in winter, and 62 hours later it is Monday 8:00.
    assert_eq!(closed[0], (at("2026-11-20T17:00:00Z"), at("2026-11-23T07:00:00Z")));
}

#[test]
fn a_window_that_began_before_now_is_still_closed() {
    let windows = windows(r#"[{ deny: "0 18 * * 5", for: 62h, zone: Europe/Berlin }]"#);
    let now = at("2026-11-22T00:00:00Z");
    assert_eq!(closed(&windows, now)[0], (at("2026-11-20T17:00:00Z"), at("2026-11-23T07:00:00Z")));
}

#[test]
fn with_allowing_windows_all_other_times_are_closed_and_denying_wins() {
    let now = at("2026-11-16T00:00:00Z");
    let allowed = windows(r#"[{ allow: "0 9 * * *", for: 8h }]"#);
    let intervals = closed(&allowed, now);
    assert!(is_closed(&intervals, at("2026-11-16T08:59:59Z")));
    assert!(!is_closed(&intervals, at("2026-11-16T09:00:00Z")));
    assert!(is_closed(&intervals, at("2026-11-16T17:00:00Z")));
    let both = windows(r#"[{ allow: "0 9 * * *", for: 8h }, { deny: "0 12 * * *", for: 1h }]"#);
    let intervals = closed(&both, now);
    assert!(is_closed(&intervals, at("2026-11-16T12:30:00Z")));
    assert!(!is_closed(&intervals, at("2026-11-16T13:00:00Z")));
}

#[test]
fn beyond_the_horizon_nothing_is_taken_for_open() {
    let now = at("2026-11-16T00:00:00Z");
    let intervals = closed(&windows(r#"[{ deny: "0 0 1 1 *", for: 1h }]"#), now);
    assert!(!is_closed(&intervals, renewed_by(now)));
    assert!(is_closed(&intervals, now + HORIZON));
}

#[test]
fn a_local_time_that_comes_twice_or_never_still_has_its_window() {
    let windows = windows(r#"[{ deny: "30 2 * * *", for: 10m, zone: Europe/Berlin }]"#);
    // 2026-10-25 3:00 CEST becomes 2:00 CET: 2:30 is 0:30 UTC and 1:30 UTC.
    let back = closed(&windows, at("2026-10-25T00:00:00Z"));
    assert_eq!(back[0].0, at("2026-10-25T00:30:00Z"));
    assert_eq!(back[1].0, at("2026-10-25T01:30:00Z"));
    // 2026-03-29 2:00 CET becomes 3:00 CEST: 2:30 would have been 1:30 UTC.
    let forward = closed(&windows, at("2026-03-29T00:00:00Z"));
    assert_eq!(forward[0].0, at("2026-03-29T01:30:00Z"));
}

#[test]
fn day_and_weekday_together_mean_either_as_in_cron() {
    let intervals = closed(&windows(r#"[{ deny: "0 0 13 * 5", for: 1h }]"#), at("2026-11-10T12:00:00Z"));
    let begun: Vec<Timestamp> = intervals.iter().map(|(from, _)| *from).take(2).collect();
    assert_eq!(begun, [at("2026-11-13T00:00:00Z"), at("2026-11-20T00:00:00Z")]);
    let intervals = closed(&windows(r#"[{ deny: "0 0 * * 7", for: 1h }]"#), at("2026-11-10T12:00:00Z"));
    assert_eq!(intervals[0].0, at("2026-11-15T00:00:00Z"), "7 is Sunday");
}

#[test]
fn a_zone_nobody_knows_is_not_in_the_database() {
    assert!(is_known(&Zone::new("Europe/Berlin").unwrap()));
    assert!(is_known(&Zone::new("UTC").unwrap()));
    assert!(!is_known(&Zone::new("Europe/Atlantis").unwrap()));
}

/// Reports whether a window begins at this minute, judged by the minute's own local time.
fn begins(times: &Times, zone: &TimeZone, minute: Timestamp) -> bool {
    let instant = |at: Timestamp| jiff::Timestamp::from_millisecond(at.as_millis().try_into().unwrap()).unwrap();
    let matches = |local: DateTime| {
        times.match_date(local.month(), local.day(), local.weekday().to_sunday_zero_offset())
            && times.of_day().any(|(hour, minute)| (hour, minute) == (local.hour(), local.minute()))
    };
    let here = zone.to_offset(instant(minute));
    let before = zone.to_offset(instant(minute - Span::hours(2)));
    let unmoved = before.to_datetime(instant(minute));
    let skipped = before < here && matches!(zone.to_ambiguous_timestamp(unmoved).offset(), AmbiguousOffset::Gap { .. });
    matches(here.to_datetime(instant(minute))) || skipped && matches(unmoved)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn windows_are_what_a_look_at_every_minute_finds(
        minute in prop::sample::select(vec!["0", "30", "*/20", "7-11"]),
        hour in prop::sample::select(vec!["*", "2", "1-3", "*/6", "23"]),
        days in prop::sample::select(vec!["* * *", "* * 0", "25,29 * *", "1-31/2 * 1-5", "* 3,10 *"]),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Kiritimati"]),
        start in prop::sample::select(vec!["2026-03-28T05:10:00Z", "2026-10-24T05:10:00Z", "2026-04-04T00:00:00Z", "2026-12-31T01:00:00Z"]),
        length in 1..600u64,
        allow in any::<bool>(),
    ) {
        let verb = if allow { "allow" } else { "deny" };
        let list = format!(r#"[{{ {verb}: "{minute} {hour} {days}", for: {length}m, zone: {zone} }}]"#);
        let windows = windows(&list);
        let (WindowTime::Allow(cron) | WindowTime::Deny(cron)) = &windows[0].time;
        let (times, tz, now) = (Times::of(cron), time_zone(&windows[0].zone).unwrap(), at(start));
        let intervals = closed(&windows, now);
        let begun: Vec<bool> = (0..length + 3 * 1440)
            .map(|n| begins(&times, &tz, now - Span::minutes(length) + Span::minutes(n)))
            .collect();
        for n in 0..3 * 1440 {
            let (end, length) = (n as usize + length as usize, length as usize);
            let inside = begun[end + 1 - length..=end.min(begun.len() - 1)].contains(&true);
            let instant = now + Span::minutes(n);
            prop_assert_eq!(is_closed(&intervals, instant), inside != allow, "{} at {:?}", list, instant);
        }
        for pair in intervals.windows(2) {
            prop_assert!(pair[0].1 < pair[1].0, "sorted and apart");
        }
    }
}
