//! The fleet page: all apps as a list, as groups, as a matrix or as tiles.
//!
//! A view holds one page of rows and the counts of the whole fleet, so that its size does not
//! depend on the number of apps.

mod content;
mod matrix;
mod query;
mod row;
mod selection;

use askama::Template;
use setpoint_api::answer::AppSummary;
use setpoint_core::time::Timestamp;

use super::alerts::Alert;
use super::chrome::Chrome;
use super::{rendered, words};
pub use query::{Field, FleetQuery, View};

use content::{Content, FacetMenu};
use selection::{Selection, Share, shares};

/// The fleet as one page shows it.
#[derive(Clone, Debug)]
pub struct FleetView {
    query: FleetQuery,
    alerts: Vec<Alert>,
    total: usize,
    considered: usize,
    attention: usize,
    shares: Vec<Share>,
    facets: Vec<FacetMenu>,
    content: Content,
}

impl FleetView {
    /// Selects the apps of a query from those that the user may see.
    pub fn new<'a>(apps: impl IntoIterator<Item = &'a AppSummary>, query: FleetQuery, now: Timestamp) -> Self {
        let selection = Selection::of(apps, &query);
        let shares = shares(selection.apps.iter().copied());
        let facets = selection.facets.iter().map(|facet| FacetMenu::of(facet, &query)).collect();
        let content = Content::of(&selection.apps, &query, now);
        let Selection { total, considered, attention, .. } = selection;
        Self { query, alerts: Vec::new(), total, considered, attention, shares, facets, content }
    }

    /// Adds alerts about ledger, stores and targets.
    #[must_use]
    pub fn with_alerts(self, alerts: Vec<Alert>) -> Self {
        Self { alerts, ..self }
    }

    fn path(query: &FleetQuery) -> String {
        format!("/apps{}", query.to_query())
    }

    /// Returns the one sentence above the list.
    fn summary(&self) -> String {
        let apps = words::counted(self.considered, "app");
        let filtered = if self.query.filters.is_empty() && self.query.text.is_empty() { "" } else { " match" };
        match self.attention {
            0 if self.considered == 0 => "No app matches.".to_owned(),
            0 if self.considered == 1 => format!("1 app{filtered}, as declared and healthy."),
            0 => format!("{apps}{filtered}, all as declared and healthy."),
            1 => format!("{apps}{filtered}, 1 needs attention."),
            some => format!("{apps}{filtered}, {} need attention.", words::number(some)),
        }
    }

    fn views(&self) -> Vec<(&'static str, String, bool)> {
        let of = |view: View| (view.title(), Self::path(&self.query.with_view(view)), view == self.query.view);
        View::ALL.into_iter().map(of).collect()
    }

    fn groups(&self) -> Vec<(&'static str, String, bool)> {
        let none = ("None", Self::path(&self.query.with_group(None)), self.query.group.is_none());
        let of = |field: Field| {
            (field.title(), Self::path(&self.query.with_group(Some(field))), self.query.group == Some(field))
        };
        std::iter::once(none).chain(Field::GROUPS.into_iter().map(of)).collect()
    }

    /// Returns the values of the query that the search form keeps.
    fn hidden(&self) -> Vec<(&'static str, &str)> {
        let kept = |(name, value): &(&str, &str)| !matches!(*name, "q" | "after") && !value.is_empty();
        self.query.pairs().into_iter().filter(kept).collect()
    }

    /// Returns the filters in force, with the links that remove them.
    fn chips(&self) -> Vec<(String, String)> {
        let filters = self.query.filters.iter();
        let mut chips: Vec<(String, String)> = filters
            .map(|(field, value)| (format!("{}: {value}", field.title()), Self::path(&self.query.with(*field, ""))))
            .collect();
        if !self.query.text.is_empty() {
            let without = FleetQuery { text: String::new(), after: String::new(), ..self.query.clone() };
            chips.push((format!("“{}”", self.query.text), Self::path(&without)));
        }
        chips
    }

    /// Returns the list of the apps in one part of the bar; of all again if it is selected.
    fn share_path(&self, share: &Share) -> String {
        let is_problem = share.mark.icon == "alert";
        let word = words::state_word(share.state);
        let is_selected = self.query.filter(Field::State) == word;
        let query = self.query.with(Field::State, if is_selected { "" } else { word });
        Self::path(&query.with_problems((is_problem && !is_selected) || self.query.problems && !is_problem))
    }

    /// Returns the menus that the toolbar shows, or those behind "More". The legend filters by
    /// state.
    fn menus(&self, more: bool) -> Vec<&FacetMenu> {
        let is_rare = |field| matches!(field, Field::Health | Field::Label);
        let shown = |menu: &&FacetMenu| menu.field != Field::State && is_rare(menu.field) == more;
        self.facets.iter().filter(shown).collect()
    }

    fn is_more_selected(&self) -> bool {
        self.menus(true).iter().any(|menu| !menu.selected.is_empty())
    }

    fn all(&self) -> String {
        Self::path(&self.query.with_problems(false))
    }

    fn only_problems(&self) -> String {
        Self::path(&self.query.with_problems(true))
    }

    fn first_page(&self) -> Option<String> {
        (!self.query.after.is_empty()).then(|| Self::path(&self.query.after(String::new())))
    }

    fn next_page(&self) -> Option<String> {
        let after = self.content.after();
        (!after.is_empty()).then(|| Self::path(&self.query.after(after.to_owned())))
    }

    fn next_label(&self) -> &'static str {
        match self.content {
            Content::Matrix(_) => "Next components",
            Content::Groups { .. } => "Next groups",
            _ => "Next apps",
        }
    }
}

#[derive(Template)]
#[template(path = "fleet.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a FleetView,
}

/// Renders the fleet page.
pub fn page(chrome: &Chrome, view: &FleetView) -> String {
    rendered(&Page { chrome, view })
}
