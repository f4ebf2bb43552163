//! The query of the fleet page: read from the query string, and written to links.

use std::collections::BTreeMap;

use setpoint_api::answer::AppSummary;

use super::super::{address, words};

/// The maximum number of characters of a value: nothing that apps contain is longer.
const LONGEST: usize = 300;

/// A property by which apps are filtered, and some also grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Scope,
    Environment,
    Target,
    Component,
    State,
    Health,
    Label,
}

impl Field {
    pub const ALL: [Self; 7] =
        [Self::Scope, Self::Environment, Self::Target, Self::Component, Self::State, Self::Health, Self::Label];

    /// The fields that apps can be grouped by.
    pub const GROUPS: [Self; 4] = [Self::Scope, Self::Environment, Self::Target, Self::Component];

    /// Returns the name in the query string.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Environment => "environment",
            Self::Target => "target",
            Self::Component => "component",
            Self::State => "state",
            Self::Health => "health",
            Self::Label => "label",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Scope => "Scope",
            Self::Environment => "Environment",
            Self::Target => "Target",
            Self::Component => "Component",
            Self::State => "State",
            Self::Health => "Health",
            Self::Label => "Label",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns the value of an app; empty for labels, of which an app has several.
    pub(super) fn value(self, app: &AppSummary) -> &str {
        match self {
            Self::Scope => app.app.scope.as_str(),
            Self::Environment => &app.environment,
            Self::Target => words::target(app.target_name.as_ref(), &app.target),
            Self::Component => component(app),
            Self::State => words::state_word(app.state),
            Self::Health => words::health_word(app.health),
            Self::Label => "",
        }
    }

    fn matches(self, app: &AppSummary, wanted: &str) -> bool {
        match self {
            Self::Label => match wanted.split_once('=') {
                Some((key, value)) => app.labels.get(key).is_some_and(|label| label == value),
                None => app.labels.contains_key(wanted),
            },
            // Identities select a target whatever its name is.
            Self::Target => self.value(app) == wanted || app.target.as_str() == wanted,
            _ => self.value(app) == wanted,
        }
    }
}

/// Returns the component of an app; its name if its document has none.
pub(super) fn component(app: &AppSummary) -> &str {
    if app.component.is_empty() { app.app.name.as_str() } else { &app.component }
}

/// The layouts of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    List,
    Matrix,
    Tiles,
}

impl View {
    pub const ALL: [Self; 3] = [Self::List, Self::Matrix, Self::Tiles];

    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Matrix => "matrix",
            Self::Tiles => "tiles",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::List => "List",
            Self::Matrix => "Matrix",
            Self::Tiles => "Tiles",
        }
    }
}

/// The apps to show, and how. Unknown parameters and values are ignored, so that an old link works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetQuery {
    pub filters: BTreeMap<Field, String>,
    /// Words that must all occur in an app.
    pub text: String,
    pub group: Option<Field>,
    pub view: View,
    /// Only apps that need attention.
    pub problems: bool,
    /// The place after which the page begins, as written by a link of the page before.
    pub after: String,
}

impl FleetQuery {
    /// Parses the query string of a request, without the `?`.
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (name, value) in address::pairs(query) {
            let value: String = value.trim().chars().take(LONGEST).collect();
            match name.as_str() {
                "q" => parsed.text = value,
                "group" => parsed.group = Field::GROUPS.into_iter().find(|field| field.name() == value),
                "view" => {
                    parsed.view = View::ALL.into_iter().find(|view| view.name() == value).unwrap_or_default();
                }
                "problems" => parsed.problems = value == "1",
                "after" => parsed.after = value,
                name => {
                    if let Some(field) = Field::of_name(name).filter(|_| !value.is_empty()) {
                        parsed.filters.insert(field, value);
                    }
                }
            }
        }
        parsed
    }

    /// Returns the query string with `?` before it; empty for all apps in a list.
    pub fn to_query(&self) -> String {
        address::query(self.pairs())
    }

    /// Returns the names and values of the query, also empty ones.
    pub(super) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let filters = Field::ALL.into_iter().map(|field| (field.name(), self.filter(field)));
        let view = if self.view == View::List { "" } else { self.view.name() };
        let rest = [
            ("q", self.text.as_str()),
            ("group", self.group.map_or("", Field::name)),
            ("view", view),
            ("problems", if self.problems { "1" } else { "" }),
            ("after", self.after.as_str()),
        ];
        filters.chain(rest).collect()
    }

    pub(super) fn filter(&self, field: Field) -> &str {
        self.filters.get(&field).map_or("", String::as_str)
    }

    /// Returns the query with another value of a filter, from its first page on. An empty value
    /// removes the filter.
    #[must_use]
    pub fn with(&self, field: Field, value: &str) -> Self {
        let mut query = Self { after: String::new(), ..self.clone() };
        if value.is_empty() {
            query.filters.remove(&field);
        } else {
            query.filters.insert(field, value.to_owned());
        }
        query
    }

    #[must_use]
    pub fn with_view(&self, view: View) -> Self {
        let group = if view == View::List { self.group } else { None };
        Self { view, group, after: String::new(), ..self.clone() }
    }

    #[must_use]
    pub fn with_group(&self, group: Option<Field>) -> Self {
        Self { group, view: View::List, after: String::new(), ..self.clone() }
    }

    #[must_use]
    pub fn with_problems(&self, problems: bool) -> Self {
        Self { problems, after: String::new(), ..self.clone() }
    }

    #[must_use]
    pub fn after(&self, after: String) -> Self {
        Self { after, ..self.clone() }
    }

    /// Reports whether the query selects all apps.
    pub fn is_unfiltered(&self) -> bool {
        self.filters.is_empty() && self.text.is_empty() && !self.problems
    }

    /// Returns the filters that an app does not pass.
    pub(super) fn missed<'a>(&'a self, app: &'a AppSummary) -> impl Iterator<Item = Field> + 'a {
        self.filters.iter().filter(|(field, wanted)| !field.matches(app, wanted)).map(|(field, _)| *field)
    }
}

/// The words of a search, in lower case.
#[derive(Debug)]
pub(super) struct Search(Vec<String>);

impl Search {
    pub(super) fn new(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_ascii_lowercase).collect())
    }

    /// Reports whether every word occurs in the name or another property of the app.
    pub(super) fn matches(&self, app: &AppSummary) -> bool {
        self.0.iter().all(|word| self.finds(word, app))
    }

    fn finds(&self, word: &str, app: &AppSummary) -> bool {
        // The full name is two texts: a word with a slash is compared with both of its parts.
        let in_name = match word.split_once('/') {
            Some((scope, name)) => ends_with(app.app.scope.as_str(), scope) && starts_with(app.app.name.as_str(), name),
            None => contains(app.app.scope.as_str(), word) || contains(app.app.name.as_str(), word),
        };
        let target = words::target(app.target_name.as_ref(), &app.target);
        let texts = [&app.component, &app.environment, target, words::state_word(app.state)];
        in_name
            || texts.into_iter().any(|text| contains(text, word))
            || app.note.as_deref().is_some_and(|note| contains(note, word))
    }
}

/// Reports whether a text contains a word in lower case. Only ASCII letters match in both cases.
fn contains(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    word.is_empty() || text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

fn starts_with(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|part| part.eq_ignore_ascii_case(start.as_bytes()))
}

fn ends_with(text: &str, end: &str) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text.as_bytes()[start..].eq_ignore_ascii_case(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{summary, with};
    use super::*;

    #[test]
    fn a_query_reads_back_as_it_was_written() {
        let text = "scope=web&environment=prod&state=held&label=team%3Dcheckout&q=a%20b&group=target&problems=1";
        let query = FleetQuery::parse(text);
        assert_eq!(query.filter(Field::Label), "team=checkout");
        assert_eq!((query.text.as_str(), query.group, query.problems), ("a b", Some(Field::Target), true));
        assert_eq!(FleetQuery::parse(&query.to_query()[1..]), query);
        let matrix = FleetQuery::parse("view=matrix&after=12");
        assert_eq!(FleetQuery::parse(&matrix.to_query()[1..]), matrix);
    }

    #[test]
    fn unknown_parameters_and_values_are_ignored() {
        let query = FleetQuery::parse("nonsense=1&view=cubes&group=state&scope=&%=%&&=");
        assert_eq!(query, FleetQuery::default());
        assert_eq!(query.to_query(), "");
        assert!(query.is_unfiltered());
    }

    #[test]
    fn another_filter_begins_at_the_first_page() {
        let query = FleetQuery::parse("scope=web&after=3.web/shop");
        assert_eq!(query.with(Field::State, "held").to_query(), "?scope=web&state=held");
        assert_eq!(query.with(Field::Scope, "").to_query(), "");
        assert_eq!(query.with_view(View::Tiles).to_query(), "?scope=web&view=tiles");
    }

    #[test]
    fn every_word_of_a_search_must_occur() {
        let app = with("web/shop", |app| {
            app.note = Some("quota exceeded: pods=10".to_owned());
            app.environment = "production".to_owned();
        });
        for found in ["", "shop", "SHOP prod", "web/sh", "quota pods", "converged", "/shop", "web/"] {
            assert!(Search::new(found).matches(&app), "{found}");
        }
        for missing in ["shop staging", "b/web", "web/hop", "shopping"] {
            assert!(!Search::new(missing).matches(&app), "{missing}");
        }
    }

    #[test]
    fn a_label_is_selected_by_its_key_or_its_value() {
        let app = with("web/shop", |app| {
            app.labels.insert("team".to_owned(), "checkout".to_owned());
        });
        let missed = |query: &str| FleetQuery::parse(query).missed(&app).count();
        assert_eq!([missed("label=team"), missed("label=team%3Dcheckout"), missed("label=team%3Dweb")], [0, 0, 1]);
        assert_eq!([missed("scope=web"), missed("scope=web&state=held"), missed("label=tier")], [0, 1, 1]);
    }

    #[test]
    fn an_app_without_a_component_is_its_own() {
        assert_eq!(component(&summary("web/shop")), "shop");
    }
}
