//! The content of the fleet page in each of its views.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use setpoint_api::answer::AppSummary;
use setpoint_core::name::AppId;
use setpoint_core::time::Timestamp;

use super::super::{address, words};
use super::matrix::Matrix;
use super::query::{Field, FleetQuery, View};
use super::row::Row;
use super::selection::{Facet, Share, place, shares};

/// The number of apps of a page of the list.
const ROWS: usize = 100;

/// The number of groups of a page, and of the apps that are shown per group.
const GROUPS: usize = 20;
const ROWS_OF_GROUP: usize = 4;

/// The maximum number of tiles of a page, and the number of bytes that their HTML may take.
const TILES: usize = 1_000;
const TILE_BYTES: usize = 84_000;

/// The number of bytes of a tile's HTML without its path and text.
const TILE_FRAME: usize = 46;

/// The rows of one page.
#[derive(Clone, Debug)]
pub(super) enum Content {
    List { rows: Vec<Row>, after: String },
    Groups { groups: Vec<Group>, after: String },
    Matrix(Matrix),
    Tiles { blocks: Vec<Block>, after: String },
}

/// The apps with one value of a field.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) title: String,
    /// The list of all its apps.
    pub(super) path: String,
    pub(super) count: usize,
    pub(super) attention: usize,
    pub(super) shares: Vec<Share>,
    /// The worst apps.
    pub(super) rows: Vec<Row>,
}

/// The tiles of one scope.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) scope: String,
    pub(super) tiles: Vec<Tile>,
}

/// One app as a coloured shape.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) path: String,
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// A filter as a menu.
#[derive(Clone, Debug)]
pub(super) struct FacetMenu {
    pub(super) field: Field,
    pub(super) selected: String,
    pub(super) options: Vec<FacetOption>,
    pub(super) more: usize,
}

/// One value of a filter.
#[derive(Clone, Debug)]
pub(super) struct FacetOption {
    pub(super) value: String,
    pub(super) count: usize,
    /// The list with this value; without it if it is selected.
    pub(super) path: String,
    pub(super) selected: bool,
}

impl FacetMenu {
    pub(super) fn of(facet: &Facet, query: &FleetQuery) -> Self {
        let Facet { field, values, more } = facet;
        let current = query.filter(*field);
        let option = |(value, count): &(String, usize)| {
            let selected = value == current;
            let next = query.with(*field, if selected { "" } else { value });
            FacetOption { value: value.clone(), count: *count, path: super::FleetView::path(&next), selected }
        };
        let options = values.iter().map(option).collect();
        Self { field: *field, selected: current.to_owned(), options, more: *more }
    }
}

impl Content {
    /// Arranges selected apps, worst first, as the query demands.
    pub(super) fn of(apps: &[&AppSummary], query: &FleetQuery, now: Timestamp) -> Self {
        match (query.view, query.group) {
            (View::Matrix, _) => Self::Matrix(Matrix::of(apps, query)),
            (View::Tiles, _) => tiles(apps, query),
            (View::List, Some(field)) => groups(apps, field, query, now),
            (View::List, None) => list(apps, query, now),
        }
    }

    /// Returns the place at which the next page begins; empty on the last page.
    pub(super) fn after(&self) -> &str {
        match self {
            Self::List { after, .. } | Self::Groups { after, .. } | Self::Tiles { after, .. } => after,
            Self::Matrix(matrix) => &matrix.after,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::List { rows, .. } => rows.is_empty(),
            Self::Groups { groups, .. } => groups.is_empty(),
            Self::Matrix(matrix) => matrix.rows.is_empty(),
            Self::Tiles { blocks, .. } => blocks.is_empty(),
        }
    }
}

/// Returns the cursor of an app: its place in the list, which stays the same when apps before it
/// appear or disappear.
fn cursor(app: &AppSummary) -> String {
    format!("{}.{}", words::severity(app), app.app)
}

fn list(apps: &[&AppSummary], query: &FleetQuery, now: Timestamp) -> Content {
    let begin = match parsed(&query.after) {
        Some(after) => apps.partition_point(|app| place(app) <= after),
        None => 0,
    };
    let page = &apps[begin..apps.len().min(begin + ROWS)];
    let is_last = begin + page.len() == apps.len();
    let after = page.last().filter(|_| !is_last).map_or_else(String::new, |app| cursor(app));
    Content::List { rows: page.iter().map(|app| Row::of(app, now)).collect(), after }
}

fn parsed(after: &str) -> Option<(usize, &str, &str)> {
    let (severity, app) = after.split_once('.')?;
    let (scope, name) = app.split_once('/')?;
    Some((severity.parse().ok()?, scope, name))
}

fn groups(apps: &[&AppSummary], field: Field, query: &FleetQuery, now: Timestamp) -> Content {
    let mut members: BTreeMap<&str, Vec<&AppSummary>> = BTreeMap::new();
    for app in apps {
        members.entry(field.value(app)).or_default().push(app);
    }
    let attention = |apps: &[&AppSummary]| apps.iter().filter(|app| !words::is_quiet(app)).count();
    let mut sorted: Vec<(&str, Vec<&AppSummary>, usize)> =
        members.into_iter().map(|(value, apps)| (value, attention(&apps), apps)).map(|(v, n, a)| (v, a, n)).collect();
    // Stable: equal groups stay in the order of their names.
    sorted.sort_by_key(|(_, _, attention)| Reverse(*attention));
    let begin: usize = query.after.parse().unwrap_or_default();
    let begin = begin.min(sorted.len());
    let end = sorted.len().min(begin + GROUPS);
    let group = |(value, apps, attention): &(&str, Vec<&AppSummary>, usize)| Group {
        title: if value.is_empty() { format!("no {}", field.name()) } else { (*value).to_owned() },
        path: super::FleetView::path(&query.with(field, value).with_group(None)),
        count: apps.len(),
        attention: *attention,
        shares: shares(apps.iter().copied()),
        rows: apps.iter().take(ROWS_OF_GROUP).map(|app| Row::of(app, now)).collect(),
    };
    let after = if end < sorted.len() { end.to_string() } else { String::new() };
    Content::Groups { groups: sorted[begin..end].iter().map(group).collect(), after }
}

/// Returns tiles by scope and name: a tile keeps its place when its state changes.
fn tiles(apps: &[&AppSummary], query: &FleetQuery) -> Content {
    let after: Option<AppId> = query.after.parse().ok();
    let is_after = |app: &&AppSummary| after.as_ref().is_none_or(|after| app.app > *after);
    let mut rest: Vec<&AppSummary> = apps.iter().copied().filter(is_after).collect();
    let count = rest.len();
    // Only the apps of this page are sorted.
    if count > TILES {
        rest.select_nth_unstable_by(TILES, |a, b| a.app.cmp(&b.app));
        rest.truncate(TILES);
    }
    rest.sort_unstable_by(|a, b| a.app.cmp(&b.app));
    let mut blocks: Vec<Block> = Vec::new();
    let mut last = String::new();
    let mut bytes = 0;
    let fits = |app: &&AppSummary| {
        bytes += TILE_FRAME + address::app(&app.app).len() + app.app.name.as_str().len();
        bytes <= TILE_BYTES
    };
    let page: Vec<&AppSummary> = rest.into_iter().take_while(fits).collect();
    for app in &page {
        let scope = app.app.scope.as_str();
        if blocks.last().is_none_or(|block| block.scope != scope) {
            blocks.push(Block { scope: scope.to_owned(), tiles: Vec::new() });
        }
        last = app.app.to_string();
        blocks.last_mut().expect("a block was added above").tiles.push(tile(app));
    }
    let after = if page.len() == count { String::new() } else { last };
    Content::Tiles { blocks, after }
}

fn tile(app: &AppSummary) -> Tile {
    let mark = words::condition(app);
    let name = app.app.name.as_str();
    let text = if words::is_quiet(app) { name.to_owned() } else { format!("{name}: {}", mark.text) };
    Tile { path: address::app(&app.app), class: mark.tone.class(), text }
}

#[cfg(test)]
mod tests {
    use setpoint_api::answer::AppState;

    use super::super::super::tests::{summary, with};
    use super::*;

    fn fleet(count: usize) -> Vec<AppSummary> {
        (0..count).map(|n| summary(&format!("scope-{}/app-{n:04}", n % 7))).collect()
    }

    fn selected(apps: &[AppSummary]) -> Vec<&AppSummary> {
        let mut selected: Vec<&AppSummary> = apps.iter().collect();
        selected.sort_by(|a, b| place(a).cmp(&place(b)));
        selected
    }

    #[test]
    fn pages_of_the_list_contain_every_app_once() {
        let mut apps = fleet(230);
        apps[17].state = AppState::Degraded;
        let (mut query, mut names) = (FleetQuery::default(), Vec::new());
        loop {
            let Content::List { rows, after } = Content::of(&selected(&apps), &query, Timestamp::default()) else {
                panic!("expected a list");
            };
            assert!(rows.len() <= ROWS);
            names.extend(rows.into_iter().map(|row| format!("{}/{}", row.scope, row.name)));
            if after.is_empty() {
                break;
            }
            query = query.after(after);
        }
        assert_eq!(names[0], "scope-3/app-0017");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 230);
    }

    #[test]
    fn a_cursor_of_a_vanished_app_still_works() {
        let apps = [summary("web/a"), summary("web/c")];
        let query = FleetQuery::parse("after=11.web/b");
        let Content::List { rows, .. } = Content::of(&selected(&apps), &query, Timestamp::default()) else {
            panic!("expected a list");
        };
        assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn groups_with_most_problems_come_first_and_show_their_worst_apps() {
        let mut apps = fleet(70);
        apps.push(with("scope-6/zzz", |app| app.state = AppState::Held));
        let query = FleetQuery::parse("group=scope");
        let Content::Groups { groups, after } = Content::of(&selected(&apps), &query, Timestamp::default()) else {
            panic!("expected groups");
        };
        assert_eq!((groups.len(), after.as_str()), (7, ""));
        let first = &groups[0];
        assert_eq!((first.title.as_str(), first.count, first.attention), ("scope-6", 11, 1));
        assert_eq!((first.rows[0].name.as_str(), first.rows.len()), ("zzz", ROWS_OF_GROUP));
        assert_eq!(first.path, "/apps?scope=scope-6");
    }

    #[test]
    fn tiles_are_ordered_by_name_and_cut_into_pages() {
        let apps = fleet(1_003);
        let Content::Tiles { blocks, after } =
            Content::of(&selected(&apps), &FleetQuery::parse("view=tiles"), Timestamp::default())
        else {
            panic!("expected tiles");
        };
        assert_eq!(blocks.iter().map(|block| block.tiles.len()).sum::<usize>(), TILES);
        let query = FleetQuery::parse("view=tiles").after(after);
        let Content::Tiles { blocks, after } = Content::of(&selected(&apps), &query, Timestamp::default()) else {
            panic!("expected tiles");
        };
        assert_eq!((blocks[0].tiles.len(), after.as_str()), (3, ""));
    }
}
