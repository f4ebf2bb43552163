//! The selection of a query: the apps that match, worst first, and the counts of all filters.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppState, AppSummary};

use super::super::marks::{Mark, Tone};
use super::super::words;
use super::query::{Field, FleetQuery, Search, View};

/// The most values of one filter that the page lists.
const MOST_VALUES: usize = 12;

/// The apps that match a query.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// Worst first, then by name, if the query shows a list.
    pub(super) apps: Vec<&'a AppSummary>,
    pub(super) total: usize,
    /// The number of apps that match the query without `problems`, and of those the ones that need
    /// attention.
    pub(super) considered: usize,
    pub(super) attention: usize,
    pub(super) facets: Vec<Facet>,
}

/// A filter with the number of apps for each of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facet {
    pub(super) field: Field,
    /// The most frequent first.
    pub(super) values: Vec<(String, usize)>,
    /// The number of values that are left out.
    pub(super) more: usize,
}

impl<'a> Selection<'a> {
    /// Selects apps. The counts of a filter ignore the filter itself: they are the numbers of apps
    /// that another value of it would select.
    pub(super) fn of(apps: impl IntoIterator<Item = &'a AppSummary>, query: &FleetQuery) -> Self {
        let search = Search::new(&query.text);
        let mut tally = Tally::default();
        let (mut selected, mut considered, mut attention) = (Vec::new(), 0, 0);
        let mut total = 0;
        for app in apps.into_iter().inspect(|_| total += 1).filter(|app| search.matches(app)) {
            let quiet = words::is_quiet(app);
            let mut missed = query.missed(app);
            let (first, second) = (missed.next(), missed.next());
            if first.is_none() {
                considered += 1;
                attention += usize::from(!quiet);
            }
            if query.problems && quiet {
                continue;
            }
            match (first, second) {
                (None, _) => {
                    Field::ALL.into_iter().for_each(|field| tally.count(field, app));
                    selected.push(app);
                }
                (Some(field), None) => tally.count(field, app),
                (Some(_), Some(_)) => {}
            }
        }
        // The other views have an order of their own.
        if query.view == View::List {
            selected.sort_by_cached_key(|app| place(app));
        }
        let facets = Field::ALL.into_iter().filter_map(|field| tally.facet(field, query)).collect();
        Self { apps: selected, total, considered, attention, facets }
    }
}

/// Returns the place of an app in the list: worst first, then by name.
pub(super) fn place(app: &AppSummary) -> (usize, &str, &str) {
    (words::severity(app), app.app.scope.as_str(), app.app.name.as_str())
}

/// Counters of values by filter. A value of a label has two parts.
#[derive(Default)]
struct Tally<'a>(BTreeMap<Field, BTreeMap<(&'a str, &'a str), usize>>);

impl<'a> Tally<'a> {
    fn count(&mut self, field: Field, app: &'a AppSummary) {
        let values = self.0.entry(field).or_default();
        if field == Field::Label {
            for (key, value) in &app.labels {
                *values.entry((key, value)).or_default() += 1;
            }
        } else if !field.value(app).is_empty() {
            *values.entry((field.value(app), "")).or_default() += 1;
        }
    }

    fn facet(&mut self, field: Field, query: &FleetQuery) -> Option<Facet> {
        let named = |((first, second), count): ((&str, &str), usize)| match field {
            Field::Label => (format!("{first}={second}"), count),
            _ => (first.to_owned(), count),
        };
        facet(field, self.0.remove(&field)?.into_iter().map(named).collect(), query)
    }
}

fn facet(field: Field, mut values: Vec<(String, usize)>, query: &FleetQuery) -> Option<Facet> {
    let selected = query.filter(field);
    if values.is_empty() || (values.len() == 1 && selected.is_empty()) {
        return None;
    }
    // Stable: equally frequent values stay in the order of their names. The selected value comes
    // first, because it must not be left out.
    values.sort_by_key(|(value, count)| (value != selected, std::cmp::Reverse(*count)));
    let more = values.len().saturating_sub(MOST_VALUES);
    values.truncate(MOST_VALUES);
    Some(Facet { field, values, more })
}

/// A part of a bar: the apps of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) mark: Mark,
    pub(super) state: AppState,
    pub(super) count: usize,
    /// The place and the width in a bar of [`BAR`] units.
    pub(super) x: usize,
    pub(super) width: usize,
}

/// The width of a bar in its own units.
pub(super) const BAR: usize = 1_000;

/// The least width of a part, so that one app among 50,000 can be found.
const LEAST: usize = 8;

/// Returns the conditions of apps with their counts, worst first, as parts of a bar.
pub(super) fn shares<'a>(apps: impl IntoIterator<Item = &'a AppSummary>) -> Vec<Share> {
    let mut counts: BTreeMap<(Tone, &str), (&AppSummary, usize)> = BTreeMap::new();
    for app in apps {
        counts.entry(words::condition_look(app)).or_insert((app, 0)).1 += 1;
    }
    let total: usize = counts.values().map(|(.., count)| count).sum();
    let least = LEAST * counts.len();
    let mut x = 0;
    let mut shares: Vec<Share> = counts
        .into_values()
        .map(|(app, count)| {
            let mark = words::condition(app);
            let mark = if mark.icon == "alert" { Mark { text: "with problems".to_owned(), ..mark } } else { mark };
            let state = app.state;
            let width = LEAST + (BAR - least) * count / total.max(1);
            let share = Share { mark, state, count, x, width };
            x += width;
            share
        })
        .collect();
    if let Some(last) = shares.last_mut() {
        last.width = BAR - last.x;
    }
    shares
}

#[cfg(test)]
mod tests {
    use setpoint_api::answer::AppProblem;

    use super::super::super::tests::{summary, with};
    use super::*;

    fn fleet() -> Vec<AppSummary> {
        let in_state = |name: &str, state: AppState, environment: &str| {
            with(name, |app| {
                app.state = state;
                app.environment = environment.to_owned();
            })
        };
        vec![
            in_state("web/a", AppState::Converged, "dev"),
            in_state("web/b", AppState::Degraded, "prod"),
            in_state("pay/c", AppState::Held, "prod"),
            with("pay/d", |app| app.problems = vec![AppProblem::VersionRefused]),
            in_state("pay/e", AppState::OutOfSync, "dev"),
        ]
    }

    fn names(query: &str) -> Vec<String> {
        let fleet = fleet();
        let selection = Selection::of(&fleet, &FleetQuery::parse(query));
        selection.apps.iter().map(|app| app.app.to_string()).collect()
    }

    #[test]
    fn the_worst_apps_come_first() {
        assert_eq!(names(""), ["web/b", "pay/e", "pay/c", "pay/d", "web/a"]);
    }

    #[test]
    fn filters_combine() {
        assert_eq!(names("scope=pay&environment=prod"), ["pay/c"]);
        assert_eq!(names("problems=1&scope=web"), ["web/b"]);
        assert_eq!(names("state=converged"), ["pay/d", "web/a"]);
        assert!(names("state=frozen").is_empty());
    }

    #[test]
    fn a_filter_counts_the_apps_that_its_other_values_would_select() {
        let fleet = fleet();
        let selection = Selection::of(&fleet, &FleetQuery::parse("scope=pay&environment=prod"));
        let of = |field| selection.facets.iter().find(|facet| facet.field == field).map(|facet| facet.values.clone());
        let pairs = |pairs: &[(&str, usize)]| Some(pairs.iter().map(|(a, n)| ((*a).to_owned(), *n)).collect());
        assert_eq!(of(Field::Scope), pairs(&[("pay", 1), ("web", 1)]));
        assert_eq!(of(Field::Environment), pairs(&[("prod", 1), ("dev", 1)]));
        assert_eq!(of(Field::State), None, "one value is no choice");
    }

    #[test]
    fn the_apps_that_need_attention_are_counted_in_every_view() {
        let fleet = fleet();
        for query in ["", "problems=1"] {
            let selection = Selection::of(&fleet, &FleetQuery::parse(query));
            assert_eq!((selection.total, selection.considered, selection.attention), (5, 5, 4), "{query}");
        }
    }

    #[test]
    fn a_long_filter_keeps_the_selected_value() {
        let fleet: Vec<AppSummary> = (0..40).map(|n| summary(&format!("scope-{n:02}/app"))).collect();
        let selection = Selection::of(&fleet, &FleetQuery::parse("scope=scope-39"));
        let facet = &selection.facets[0];
        assert_eq!((facet.values[0].0.as_str(), facet.values.len(), facet.more), ("scope-39", 12, 28));
    }

    #[test]
    fn a_bar_is_full_and_shows_single_apps() {
        let mut fleet: Vec<AppSummary> = (0..5_000).map(|n| summary(&format!("web/app-{n}"))).collect();
        fleet.push(with("web/bad", |app| app.state = AppState::Degraded));
        let shares = shares(&fleet);
        assert_eq!((shares[0].mark.text.as_str(), shares[0].count, shares[0].width), ("degraded", 1, LEAST));
        assert_eq!(shares.iter().map(|share| share.width).sum::<usize>(), BAR);
        assert!(super::shares([]).is_empty());
    }
}
