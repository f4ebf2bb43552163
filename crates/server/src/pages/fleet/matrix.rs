//! The matrix of components and environments: which version is where.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_api::answer::AppSummary;
use setpoint_core::time::Timestamp;

use super::super::marks::Mark;
use super::super::{address, words};
use super::query::{Field, FleetQuery, component};

/// The number of components of a page.
pub(super) const ROWS: usize = 60;

/// The most environments; further ones are counted.
const COLUMNS: usize = 10;

/// Words of environments in the order in which versions usually reach them.
const ORDER: [&str; 16] = [
    "local",
    "sandbox",
    "dev",
    "development",
    "test",
    "testing",
    "qa",
    "integration",
    "int",
    "preview",
    "stage",
    "staging",
    "preprod",
    "canary",
    "prod",
    "production",
];

/// Components as rows, environments as columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) environments: Vec<String>,
    /// The number of environments that have no column.
    pub(super) more_environments: usize,
    pub(super) rows: Vec<Row>,
    pub(super) components: usize,
    /// The component after which the next page begins; empty on the last page.
    pub(super) after: String,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) component: String,
    pub(super) path: String,
    pub(super) cells: Vec<Option<Cell>>,
}

/// The apps of one component in one environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The page of the app, or the list of the apps.
    pub(super) path: String,
    /// The beginning of the version; the number of versions if there are several.
    pub(super) version: String,
    pub(super) full: String,
    /// The worst condition of the apps.
    pub(super) mark: Mark,
    pub(super) count: usize,
    /// The component has a newer version in another environment.
    pub(super) behind: bool,
}

/// The apps of one component by environment.
type Members<'a> = BTreeMap<&'a str, Vec<&'a AppSummary>>;

impl Matrix {
    /// Arranges apps; the page begins after the component that the query names.
    pub(super) fn of(apps: &[&AppSummary], query: &FleetQuery) -> Self {
        let mut names: Vec<&str> = apps.iter().map(|app| component(app)).collect();
        names.sort_unstable();
        names.dedup();
        let begin = match query.after.as_str() {
            "" => 0,
            after => names.partition_point(|name| *name <= after),
        };
        let shown = &names[begin..names.len().min(begin + ROWS)];
        let mut environments = BTreeSet::new();
        let mut members: Vec<Members<'_>> = vec![Members::new(); shown.len()];
        for app in apps {
            environments.insert(app.environment.as_str());
            if let Ok(place) = shown.binary_search(&component(app)) {
                members[place].entry(&app.environment).or_default().push(app);
            }
        }
        let mut columns: Vec<&str> = environments.into_iter().collect();
        columns.sort_by_key(|name| (order(name), *name));
        let more_environments = columns.len().saturating_sub(COLUMNS);
        columns.truncate(COLUMNS);
        let rows = shown.iter().zip(&members).map(|(name, apps)| row(name, apps, &columns, query)).collect();
        let is_last = begin + shown.len() == names.len();
        let after = shown.last().filter(|_| !is_last).map_or_else(String::new, |name| (*name).to_owned());
        let environments = columns.into_iter().map(ToOwned::to_owned).collect();
        Self { environments, more_environments, rows, components: names.len(), after }
    }
}

/// Returns the place of an environment. Unknown ones come before production, none comes last.
fn order(environment: &str) -> usize {
    let unknown = ORDER.len() - 3;
    if environment.is_empty() {
        return ORDER.len() + 1;
    }
    let is_word = |word: &str| environment.split(['-', '_', '.']).any(|part| part.eq_ignore_ascii_case(word));
    ORDER.iter().position(|word| is_word(word)).map_or(unknown, |place| if place < unknown { place } else { place + 1 })
}

fn row(name: &str, apps: &Members<'_>, columns: &[&str], query: &FleetQuery) -> Row {
    let newest = newest(apps.values().flatten().copied());
    let list = |environment: &str| {
        let query = FleetQuery { group: None, ..query.with_view(super::View::List) };
        format!("/apps{}", query.with(Field::Component, name).with(Field::Environment, environment).to_query())
    };
    let cells = columns
        .iter()
        .map(|environment| apps.get(environment).map(|apps| cell(apps, list(environment), newest.as_deref())))
        .collect();
    Row { component: name.to_owned(), path: list(""), cells }
}

/// Returns the version that the component reached last: the one whose first acceptance anywhere is
/// the latest.
fn newest<'a>(apps: impl Iterator<Item = &'a AppSummary>) -> Option<String> {
    let mut first: BTreeMap<String, Timestamp> = BTreeMap::new();
    for accepted in apps.filter_map(|app| app.accepted.as_ref()) {
        let at = first.entry(accepted.revision.to_string()).or_insert(accepted.at);
        *at = accepted.at.min(*at);
    }
    first.into_iter().max_by_key(|(_, at)| *at).map(|(version, _)| version)
}

fn cell(apps: &[&AppSummary], list: String, newest: Option<&str>) -> Cell {
    let worst = apps.iter().min_by_key(|app| words::severity(app));
    let versions: BTreeSet<String> =
        apps.iter().filter_map(|app| app.accepted.as_ref()).map(|accepted| accepted.revision.to_string()).collect();
    let tiny = apps.iter().find_map(|app| app.accepted.as_ref()).map(|accepted| words::tiny(&accepted.revision));
    let version = match versions.len() {
        0 => "no version".to_owned(),
        1 => tiny.unwrap_or_default(),
        many => format!("{many} versions"),
    };
    let path = match apps {
        [app] => address::app(&app.app),
        _ => list,
    };
    let behind = newest.is_some_and(|newest| versions.iter().any(|version| version != newest));
    let full = versions.into_iter().collect::<Vec<_>>().join("; ");
    let mark = worst.map_or_else(|| Mark::mute("none"), |app| words::condition(app));
    Cell { path, version, full, mark, count: apps.len(), behind }
}

#[cfg(test)]
mod tests {
    use setpoint_api::answer::AppState;

    use super::super::super::tests::{accepted, with};
    use super::*;

    fn app(name: &str, environment: &str, version: &str, minutes_ago: u64) -> AppSummary {
        with(name, |app| {
            app.component = "shop".to_owned();
            app.environment = environment.to_owned();
            app.accepted = Some(accepted(version, minutes_ago));
        })
    }

    fn matrix(apps: &[AppSummary], query: &str) -> Matrix {
        let apps: Vec<&AppSummary> = apps.iter().collect();
        Matrix::of(&apps, &FleetQuery::parse(query))
    }

    #[test]
    fn environments_are_in_the_order_of_a_roll_out() {
        let names = ["production", "eu-west", "dev", "", "staging", "prod-eu", "qa"];
        let apps: Vec<_> = names.iter().enumerate().map(|(n, name)| app(&format!("web/a{n}"), name, "11", 1)).collect();
        let expected = ["dev", "qa", "staging", "eu-west", "prod-eu", "production", ""];
        assert_eq!(matrix(&apps, "").environments, expected);
    }

    #[test]
    fn a_cell_shows_the_version_and_the_worst_condition() {
        let mut apps = vec![app("web/a", "prod", "1111", 9), app("web/b", "prod", "1111", 8)];
        apps[1].state = AppState::Degraded;
        let matrix = matrix(&apps, "");
        let cell = matrix.rows[0].cells[0].clone().unwrap();
        assert_eq!((cell.version.as_str(), cell.count, cell.mark.text.as_str()), ("1111", 2, "degraded"));
        assert_eq!(cell.path, "/apps?environment=prod&component=shop");
        assert!(!cell.behind);
    }

    #[test]
    fn an_environment_without_the_newest_version_is_behind() {
        let apps =
            [app("web/a", "dev", "2222", 5), app("web/b", "prod", "1111", 1), app("web/c", "staging", "1111", 60)];
        let cells = matrix(&apps, "").rows.remove(0).cells;
        let behind: Vec<bool> = cells.into_iter().flatten().map(|cell| cell.behind).collect();
        assert_eq!(behind, [false, true, true], "accepting an old version again does not make it newer");
    }

    #[test]
    fn a_page_of_the_matrix_continues_after_the_one_before() {
        let apps: Vec<AppSummary> = (0..ROWS + 5).map(|n| with(&format!("web/app-{n:03}"), |_| {})).collect();
        let first = matrix(&apps, "");
        assert_eq!((first.rows.len(), first.components, first.after.as_str()), (ROWS, ROWS + 5, "app-059"));
        let second = matrix(&apps, "after=app-059");
        assert_eq!((second.rows.len(), second.rows[0].component.as_str(), second.after.as_str()), (5, "app-060", ""));
    }
}
