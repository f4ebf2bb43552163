//! The text of the metrics, in the format of OpenMetrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use setpoint_api::answer::{AppProblem, AppState, AppSummary, Overview, StoreStanding, TargetStanding};
use setpoint_core::live::Health;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::{Span, Timestamp};

use super::{Call, Durations, Meters, POLL_OUTCOMES, STEP_OUTCOMES};
use crate::doors::ProcessUsage;

/// The most stores, and the most targets, with a label of their own. The others are one.
const MOST_LABELS: usize = 1_000;
/// The label of the others.
const OTHER: &str = "other";

/// The numbers of one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) meters: Arc<Meters>,
    pub(crate) overview: Overview,
    pub(crate) apps: AppCounts,
    pub(crate) queued: usize,
    /// `None` while the ledger is not open.
    pub(crate) log: Option<LogSize>,
    pub(crate) feed_readers: usize,
    pub(crate) usage: ProcessUsage,
    pub(crate) started: Timestamp,
}

/// The apps, counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AppCounts {
    states: BTreeMap<AppState, u64>,
    /// In the order of [`HEALTH`].
    health: [u64; HEALTH.len()],
    problems: BTreeMap<AppProblem, u64>,
    /// The age of the oldest app that should be converged by now.
    pub(crate) oldest_unconverged: Span,
}

impl AppCounts {
    pub(crate) fn of<'a>(apps: impl IntoIterator<Item = &'a AppSummary>) -> Self {
        let mut counts = Self::default();
        for app in apps {
            *counts.states.entry(app.state).or_default() += 1;
            let kind = HEALTH.iter().position(|(kind, _)| *kind == app.health);
            kind.into_iter().for_each(|kind| counts.health[kind] += 1);
            for problem in &app.problems {
                *counts.problems.entry(*problem).or_default() += 1;
            }
        }
        counts
    }
}

/// The size of the log of the ledger, and of its parts that could be changed unnoticed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSize {
    pub(crate) records: u64,
    /// The records that no checkpoint covers.
    pub(crate) unsigned: u64,
    /// The records that the anchor does not cover, and the age of the oldest of them; `None`
    /// until an anchor was written.
    pub(crate) unanchored: Option<(u64, Span)>,
}

/// Returns the text, without its end.
pub(crate) fn text(snapshot: Snapshot) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(snapshot));
    encode_registry(&mut text, &registry)?;
    Ok(text)
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.encode_apps(&mut page)?;
        self.encode_stages(&mut page)?;
        self.encode_effects(&mut page)?;
        self.encode_stores(&mut page)?;
        self.encode_targets(&mut page)?;
        self.encode_ledger(&mut page)?;
        self.encode_process(&mut page)
    }
}

type Label<'a> = (&'static str, &'a str);

/// Writes metrics, each with its description.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    /// Writes a gauge without labels.
    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue + Copy) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn gauges<'l, const N: usize, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([Label<'l>; N], V)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            labelled(&mut encoder, &labels, |encoder| encoder.encode_gauge(&value))?;
        }
        Ok(())
    }

    fn counters<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([Label<'l>; N], u64)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            labelled(&mut encoder, &labels, |encoder| encoder.encode_counter::<NoLabelSet, _, u64>(&value, None))?;
        }
        Ok(())
    }

    /// Writes histograms; the name gets the unit.
    fn durations<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([Label<'l>; N], &'l Durations)>,
    ) -> fmt::Result {
        let unit = Unit::Seconds;
        let mut encoder = self.0.encode_descriptor(name, help, Some(&unit), MetricType::Histogram)?;
        for (labels, value) in values {
            labelled(&mut encoder, &labels, |encoder| value.encode(encoder))?;
        }
        Ok(())
    }
}

/// Encodes a value with its labels, if it has any.
fn labelled<'l, const N: usize>(
    encoder: &mut MetricEncoder<'_>,
    labels: &'l [Label<'l>; N],
    encode: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result
where
    [Label<'l>; N]: EncodeLabelSet,
{
    if N == 0 { encode(encoder) } else { encode(&mut encoder.encode_family(labels)?) }
}

impl Snapshot {
    fn encode_apps(&self, page: &mut Page<'_>) -> fmt::Result {
        let AppCounts { states, health, problems, oldest_unconverged } = &self.apps;
        let of = |count: Option<&u64>| count.copied().unwrap_or_default();
        page.gauges(
            "setpoint_apps",
            "Apps by state",
            STATES.map(|(state, word)| ([("state", word)], of(states.get(&state)))),
        )?;
        page.gauges(
            "setpoint_apps_by_health",
            "Apps by the health of their objects",
            HEALTH.iter().zip(health).map(|((_, word), number)| ([("health", *word)], *number)),
        )?;
        page.gauges(
            "setpoint_apps_with_problem",
            "Apps that have a problem which their state does not show",
            PROBLEMS.map(|(problem, word)| ([("problem", word)], of(problems.get(&problem)))),
        )?;
        page.gauge(
            "setpoint_apps_unconverged_oldest_age_seconds",
            "Time since the app that has not been converged for longest was converged, of apps that follow their store",
            seconds(*oldest_unconverged),
        )?;
        page.gauge("setpoint_apps_queued", "Apps that wait to be observed", self.queued as u64)
    }

    fn encode_stages(&self, page: &mut Page<'_>) -> fmt::Result {
        let meters = &self.meters;
        page.durations(
            "setpoint_accept_duration",
            "Time from a new version in a store to the record that accepts or refuses it for an app",
            [([("outcome", "accepted")], &meters.accepted), ([("outcome", "refused")], &meters.refused)],
        )?;
        page.durations(
            "setpoint_converge_duration",
            "Time from the acceptance of a version to the first convergence of its app",
            [([], &meters.converged)],
        )?;
        page.durations(
            "setpoint_heal_duration",
            "Time from the observation of drift to its correction",
            [([], &meters.healed)],
        )?;
        page.counters(
            "setpoint_versions",
            "Versions that were accepted or refused, one for each app",
            [
                ([("outcome", "accepted")], meters.versions_accepted.get()),
                ([("outcome", "refused")], meters.versions_refused.get()),
            ],
        )?;
        page.counters(
            "setpoint_drift_objects",
            "Objects whose drift was observed, was healed, or ended without a change of Setpoint",
            [
                ([("event", "observed")], meters.drift_observed.get()),
                ([("event", "healed")], meters.drift_healed.get()),
                ([("event", "over")], meters.drift_over.get()),
            ],
        )
    }

    fn encode_effects(&self, page: &mut Page<'_>) -> fmt::Result {
        let meters = &self.meters;
        page.durations("setpoint_step_duration", "Time of a step of the engine", [([], &meters.steps)])?;
        page.durations(
            "setpoint_effect_duration",
            "Time from the request of an effect to its result, with the wait for a permit",
            Call::ALL.map(|call| ([("effect", call.word())], &meters.calls[call])),
        )?;
        page.durations(
            "setpoint_effect_wait",
            "Time that an effect waited for a permit",
            Call::ALL
                .into_iter()
                .filter(|call| call.waits())
                .map(|call| ([("effect", call.word())], &meters.waits[call])),
        )?;
        page.gauges(
            "setpoint_effects_in_flight",
            "Effects that wait or are being carried out",
            Call::ALL.map(|call| {
                // Read in this order, so that the difference is never negative.
                let ended = meters.ended[call].get();
                ([("effect", call.word())], meters.begun[call].get().saturating_sub(ended))
            }),
        )?;
        page.counters(
            "setpoint_notifications",
            "Notifications to people, by outcome; one that fails is sent again",
            [
                ([("outcome", "delivered")], meters.notes_delivered.get()),
                ([("outcome", "failed")], meters.notes_undelivered.get()),
            ],
        )?;
        page.gauge("setpoint_feed_readers", "Readers of the change feed", self.feed_readers as u64)
    }

    fn encode_stores(&self, page: &mut Page<'_>) -> fmt::Result {
        let mut stores = BTreeMap::<&str, Store>::new();
        for (place, standing) in self.overview.stores.iter().enumerate() {
            let store = stores.entry(label(place, standing.store.as_str())).or_default();
            store.add(standing, self.overview.now, self.meters.polls.numbers(&standing.store));
        }
        let stores: Vec<_> = stores.iter().collect();
        let each = || stores.iter().map(|(name, store)| ([("store", **name)], *store));
        page.gauges(
            "setpoint_store_age_seconds",
            "Time since the store last responded",
            each().filter_map(|(labels, store)| Some((labels, seconds(store.age?)))),
        )?;
        page.gauges(
            "setpoint_store_stale",
            "1 if the store has not responded for so long that its current version is unknown",
            each().map(|(labels, store)| (labels, store.stale)),
        )?;
        page.gauges(
            "setpoint_store_failures",
            "Polls of the store that failed since its last response",
            each().map(|(labels, store)| (labels, store.failures)),
        )?;
        page.counters(
            "setpoint_store_polls",
            "Polls of the store",
            stores.iter().flat_map(|(name, store)| {
                POLL_OUTCOMES
                    .iter()
                    .zip(store.polls)
                    .map(|(outcome, number)| ([("store", **name), ("outcome", *outcome)], number))
            }),
        )
    }

    fn encode_targets(&self, page: &mut Page<'_>) -> fmt::Result {
        let (targets, unreached) = (&self.overview.targets, &self.overview.unreached);
        let mut connected: BTreeMap<_, _> =
            targets.iter().map(|target| (target.target.as_str(), Some(target))).collect();
        connected.extend(unreached.iter().map(|target| (target.target.as_str(), None)));
        // Documents can name one system twice: its changes are counted once.
        let mut counted = BTreeMap::<&TargetIdentity, &str>::new();
        for (name, target) in &connected {
            if let Some(target) = target {
                counted.entry(&target.identity).or_insert(name);
            }
        }
        let mut sums = BTreeMap::<&str, Target<'_>>::new();
        for (place, (name, target)) in connected.iter().enumerate() {
            let sum = sums.entry(label(place, name)).or_default();
            let Some(target) = target else { continue };
            let is_counted = counted.get(&target.identity) == Some(name);
            let changes = if is_counted { self.meters.changes.numbers(&target.identity) } else { [0; 3] };
            sum.add(target, changes);
        }
        let sums: Vec<_> = sums.iter().collect();
        let mut gauges = |name: &str, help: &str, value: fn(&Target<'_>) -> u64| {
            page.gauges(name, help, sums.iter().map(|(name, target)| ([("target", **name)], value(target))))
        };
        gauges("setpoint_target_connected", "1 if the target is connected", |target| target.connected)?;
        gauges(
            "setpoint_target_breaker_open",
            "1 if the target is not contacted, because it failed too often",
            |it| it.breakers,
        )?;
        gauges("setpoint_target_degraded", "1 if the target can be observed or changed only in part", |it| {
            it.degraded
        })?;
        gauges("setpoint_target_apps", "Apps on the target", |target| target.apps)?;
        page.counters(
            "setpoint_target_changes",
            "Changes of objects that were sent to the target, by outcome",
            sums.iter().flat_map(|(name, target)| {
                let outcomes = STEP_OUTCOMES.iter().zip(target.changes);
                outcomes.map(|(outcome, number)| ([("target", **name), ("outcome", *outcome)], number))
            }),
        )?;
        page.counters(
            "setpoint_target_requests",
            "Requests to the target, by verb",
            sums.iter().flat_map(|(name, target)| {
                target.requests.iter().map(|(verb, number)| ([("target", **name), ("verb", *verb)], *number))
            }),
        )
    }

    fn encode_ledger(&self, page: &mut Page<'_>) -> fmt::Result {
        let ledger = &self.overview.ledger;
        page.gauge(
            "setpoint_ledger_held",
            "1 if this agent may write the ledger, and so may act",
            u64::from(ledger.holding),
        )?;
        page.gauge(
            "setpoint_ledger_failing",
            "1 if the last write to the ledger failed",
            u64::from(ledger.trouble.is_some()),
        )?;
        let anchor = ledger.anchor.is_some();
        page.gauge("setpoint_ledger_anchor_failing", "1 if the anchor cannot be written", u64::from(anchor))?;
        let Some(log) = self.log else { return Ok(()) };
        page.gauge("setpoint_ledger_records", "Records in the ledger", log.records)?;
        page.gauge("setpoint_ledger_unsigned_records", "Records that no checkpoint covers", log.unsigned)?;
        let Some((records, age)) = log.unanchored else { return Ok(()) };
        page.gauge("setpoint_ledger_unanchored_records", "Records that the anchor does not cover", records)?;
        let help = "Age of the oldest record that the anchor does not cover";
        page.gauge("setpoint_ledger_unanchored_age_seconds", help, seconds(age))
    }

    fn encode_process(&self, page: &mut Page<'_>) -> fmt::Result {
        let ProcessUsage { processor_time, resident_bytes, open_files } = self.usage;
        let mut build =
            page.0.encode_descriptor("setpoint_build", "The version of the agent", None, MetricType::Info)?;
        build.encode_info(&[("version", self.overview.version.as_str())])?;
        let mut cpu = page.0.encode_descriptor(
            "process_cpu_seconds",
            "Processor time of the process",
            None,
            MetricType::Counter,
        )?;
        cpu.encode_counter::<NoLabelSet, _, u64>(&processor_time.as_secs_f64(), None)?;
        let started = Duration::from_millis(self.started.as_millis()).as_secs_f64();
        page.gauge("process_start_time_seconds", "Start of the process, in seconds since 1970", started)?;
        if let Some(bytes) = resident_bytes {
            page.gauge("process_resident_memory_bytes", "Resident memory of the process", bytes)?;
        }
        match open_files {
            Some(files) => page.gauge("process_open_fds", "Open files of the process", files),
            None => Ok(()),
        }
    }
}

fn seconds(span: Span) -> f64 {
    Duration::from_millis(span.as_millis()).as_secs_f64()
}

/// Returns the label of the store or target with this place in the order of names.
fn label(place: usize, name: &str) -> &str {
    if place < MOST_LABELS { name } else { OTHER }
}

/// The numbers of one store, or the sums of several. Of ages, the largest counts.
#[derive(Default)]
struct Store {
    age: Option<Span>,
    stale: u64,
    failures: u64,
    polls: [u64; 2],
}

impl Store {
    fn add(&mut self, standing: &StoreStanding, now: Timestamp, polls: [u64; 2]) {
        self.age = self.age.max(standing.answered.map(|answered| now.since(answered)));
        self.stale += u64::from(standing.stale);
        self.failures += u64::from(standing.failures);
        self.polls = add(self.polls, polls);
    }
}

/// The numbers of one target, or the sums of several.
#[derive(Default)]
struct Target<'a> {
    connected: u64,
    breakers: u64,
    degraded: u64,
    apps: u64,
    changes: [u64; 3],
    requests: BTreeMap<&'a str, u64>,
}

impl<'a> Target<'a> {
    fn add(&mut self, standing: &'a TargetStanding, changes: [u64; 3]) {
        self.connected += 1;
        self.breakers += u64::from(standing.left_alone_until.is_some());
        self.degraded += u64::from(standing.degraded.is_some());
        self.apps += standing.apps as u64;
        self.changes = add(self.changes, changes);
        for (verb, number) in &standing.requests {
            *self.requests.entry(verb).or_default() += number;
        }
    }
}

fn add<const N: usize>(one: [u64; N], other: [u64; N]) -> [u64; N] {
    std::array::from_fn(|place| one[place] + other[place])
}

/// All states, so that a state without apps has the value 0. The words are those of the API.
const STATES: [(AppState, &str); 10] = [
    (AppState::Converged, "converged"),
    (AppState::Progressing, "progressing"),
    (AppState::OutOfSync, "out-of-sync"),
    (AppState::Degraded, "degraded"),
    (AppState::Suspended, "suspended"),
    (AppState::Held, "held"),
    (AppState::Frozen, "frozen"),
    (AppState::Retiring, "retiring"),
    (AppState::Waiting, "waiting"),
    (AppState::Unknown, "unknown"),
];

const HEALTH: [(Health, &str); 4] = [
    (Health::Healthy, "healthy"),
    (Health::Progressing, "progressing"),
    (Health::Degraded, "degraded"),
    (Health::Unknown, "unknown"),
];

const PROBLEMS: [(AppProblem, &str); 6] = [
    (AppProblem::VersionRefused, "version-refused"),
    (AppProblem::VersionNotRendered, "version-not-rendered"),
    (AppProblem::HistoryRewritten, "history-rewritten"),
    (AppProblem::StoreSetBack, "store-set-back"),
    (AppProblem::StoreStale, "store-stale"),
    (AppProblem::DeletesWithheld, "deletes-withheld"),
];

#[cfg(test)]
mod tests {
    use setpoint_api::canned::CannedAgent;
    use setpoint_core::name::{StoreName, TargetName};

    use super::*;

    /// Returns the text for this many apps, stores and targets.
    fn text_of(apps: usize, stores: usize, targets: usize) -> String {
        let mut overview = CannedAgent::example().overview;
        let app = overview.apps[0].clone();
        let (store, target) = (overview.stores[0].clone(), overview.targets[0].clone());
        let meters = Meters::default();
        overview.stores = (0..stores)
            .map(|number| StoreStanding { store: StoreName::new(&format!("store-{number}")).unwrap(), ..store.clone() })
            .inspect(|store| meters.polls.of(&store.store)[0].add(1))
            .collect();
        let verbs = ["get", "list", "watch", "apply", "dry-run", "patch", "delete", "discovery", "log"];
        overview.targets = (0..targets)
            .map(|number| TargetStanding {
                target: TargetName::new(&format!("target-{number}")).unwrap(),
                identity: TargetIdentity::new(&format!("identity-{number}")).unwrap(),
                requests: verbs.map(|verb| (verb.to_owned(), 7)).into(),
                apps: 1,
                ..target.clone()
            })
            .inspect(|target| meters.changes.of(&target.identity)[0].add(1))
            .collect();
        overview.unreached.clear();
        overview.apps.clear();
        let named = |number: usize| AppSummary { app: format!("web/app-{number}").parse().unwrap(), ..app.clone() };
        let apps: Vec<_> = (0..apps).map(named).collect();
        text(Snapshot {
            meters: Arc::new(meters),
            overview,
            apps: AppCounts::of(&apps),
            queued: 0,
            log: Some(LogSize { records: 1, unsigned: 0, unanchored: Some((0, Span::ZERO)) }),
            feed_readers: 0,
            usage: ProcessUsage::default(),
            started: Timestamp::default(),
        })
        .unwrap()
    }

    /// Returns the sum of the values of the samples that begin with this text.
    fn sum(text: &str, start: &str) -> f64 {
        let samples = text.lines().filter(|line| line.starts_with(start));
        samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    }

    #[test]
    fn the_length_does_not_depend_on_the_number_of_apps() {
        let (few, many) = (text_of(5, 3, 3), text_of(50_000, 3, 3));
        assert_eq!(few.lines().count(), many.lines().count());
        assert!(!many.contains("app-"), "no app is named");
        assert_eq!(sum(&many, "setpoint_apps{"), 50_000.0);
        assert_eq!(sum(&many, "setpoint_apps_by_health{"), 50_000.0);
    }

    #[test]
    fn stores_and_targets_beyond_a_limit_are_summed_up() {
        let text = text_of(0, 50_000, 50_000);
        assert!(text.len() < 2 * 1024 * 1024, "{} bytes", text.len());
        assert_eq!(sum(&text, "setpoint_target_apps{"), 50_000.0);
        assert_eq!(sum(&text, "setpoint_target_apps{target=\"other\"}"), 49_000.0);
        assert_eq!(sum(&text, "setpoint_target_changes_total{"), 50_000.0);
        assert_eq!(sum(&text, "setpoint_target_requests_total{target=\"other\",verb=\"get\"}"), 7.0 * 49_000.0);
        assert_eq!(sum(&text, "setpoint_store_polls_total{store=\"other\",outcome=\"answered\"}"), 49_000.0);
        assert_eq!(text.matches("setpoint_store_stale{").count(), MOST_LABELS + 1);
    }

    #[test]
    fn a_target_named_twice_counts_its_changes_once() {
        let mut overview = CannedAgent::example().overview;
        overview.unreached.clear();
        overview.targets.truncate(1);
        let first = overview.targets[0].clone();
        overview.targets.push(TargetStanding { target: TargetName::new("zweites").unwrap(), ..first.clone() });
        let meters = Meters::default();
        meters.changes.of(&first.identity)[1].add(3);
        let text = text(Snapshot {
            meters: Arc::new(meters),
            overview,
            apps: AppCounts::default(),
            queued: 0,
            log: None,
            feed_readers: 0,
            usage: ProcessUsage::default(),
            started: Timestamp::default(),
        });
        assert_eq!(sum(&text.unwrap(), "setpoint_target_changes_total{"), 3.0);
    }

    #[test]
    fn the_words_are_those_of_the_api() {
        let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
        for (state, shown) in STATES {
            assert_eq!(word(serde_json::to_value(state).unwrap()), shown);
        }
        for (health, shown) in HEALTH {
            assert_eq!(word(serde_json::to_value(health).unwrap()), shown);
        }
        for (problem, shown) in PROBLEMS {
            assert_eq!(word(serde_json::to_value(problem).unwrap()), shown);
        }
    }
}
