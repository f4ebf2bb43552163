//! The page of an app: its condition, and tabs for everything about it.

mod graph;
mod logs;
mod objects;
mod obstacles;
mod order;
mod plan;
mod sentences;

use askama::Template;
use setpoint_api::answer::{
    AppDetail, AppPlan, AppTree, DriftRecord, Explained, HistoryChange, LogPart, ShadowStanding, Unhealthy, VersionNote,
};
use setpoint_core::decide::Drift;
use setpoint_core::facts::Accepted;

use super::changes::ChangeRow;
use super::chrome::Chrome;
use super::difference::Change;
use super::drift::DriftItem;
use super::marks::Mark;
use super::moment::Moment;
use super::{Part, address, rendered, words};
pub use order::{Order, OrderView, page as order_page};

use graph::Graph;
use logs::LogLine;
use objects::ObjectRow;
use obstacles::Obstacle;
use plan::PlanPanel;

/// The tabs of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Needs `tree` and `changes`.
    #[default]
    Overview,
    /// Needs `tree`.
    Tree,
    /// Needs nothing more than the detail; `explained` if a resource is selected.
    Diff,
    /// Needs `changes`.
    History,
    /// Needs `drift`.
    Drift,
    /// Needs `plan`.
    Plan,
    /// Needs `logs`. Only for apps with pods.
    Logs,
}

impl Tab {
    pub const ALL: [Self; 7] =
        [Self::Overview, Self::Tree, Self::Diff, Self::History, Self::Drift, Self::Plan, Self::Logs];

    /// Returns the value of the parameter `tab`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Tree => "tree",
            Self::Diff => "diff",
            Self::History => "history",
            Self::Drift => "drift",
            Self::Plan => "plan",
            Self::Logs => "logs",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.name() == name)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Tree => "Objects",
            Self::Diff => "Live and declared",
            Self::History => "History",
            Self::Drift => "Drift",
            Self::Plan => "Plan",
            Self::Logs => "Logs",
        }
    }
}

/// Everything that the page of an app shows. The tab determines which parts are needed.
#[derive(Clone, Debug)]
pub struct AppView {
    pub detail: AppDetail,
    pub tab: Tab,
    pub tree: Part<AppTree>,
    pub changes: Part<Vec<HistoryChange>>,
    pub drift: Part<Vec<DriftRecord>>,
    pub plan: Part<AppPlan>,
    pub explained: Part<Explained>,
    pub logs: Part<Vec<LogPart>>,
    /// The user may read logs.
    pub reads_logs: bool,
    /// The orders that the user may give.
    pub orders: Vec<Order>,
}

impl AppView {
    /// Builds the view of an app without further parts.
    pub fn new(detail: AppDetail, tab: Tab) -> Self {
        Self {
            detail,
            tab,
            tree: Part::Absent,
            changes: Part::Absent,
            drift: Part::Absent,
            plan: Part::Absent,
            explained: Part::Absent,
            logs: Part::Absent,
            reads_logs: false,
            orders: Vec::new(),
        }
    }
}

/// An accepted version.
struct VersionRow {
    label: &'static str,
    sequence: u64,
    revision: String,
    /// The page of its first version.
    page: String,
    bundle: String,
    at: Moment,
    subject: String,
    author: String,
}

/// The differences of one object.
struct DriftPanel {
    object: String,
    mark: Mark,
    who: String,
    changes: Vec<Change>,
    /// The link that explains the origin of its fields; empty for objects without one.
    explain: String,
}

#[derive(Template)]
#[template(path = "app.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a AppView,
    path: String,
    name: String,
    scope: String,
    mark: Mark,
    health: Mark,
    condition: String,
    next: String,
    obstacles: Vec<Obstacle>,
    withheld: Vec<Obstacle>,
    versions: Vec<VersionRow>,
    graph: Option<Graph>,
    objects: Vec<ObjectRow>,
    drifts: Vec<DriftPanel>,
    remarks: Vec<DriftPanel>,
    changes: Vec<ChangeRow>,
    drift: Vec<DriftItem>,
    plan: Option<PlanPanel>,
    log: Vec<LogLine>,
}

impl<'a> Page<'a> {
    fn of(chrome: &'a Chrome, view: &'a AppView) -> Self {
        let (detail, now) = (&view.detail, chrome.now);
        let summary = &detail.summary;
        let mark = words::condition(summary);
        let panels = |drifts: &[Drift]| drifts.iter().map(|drift| panel(drift, view)).collect();
        Self {
            chrome,
            view,
            path: address::app(&summary.app),
            name: summary.app.name.to_string(),
            scope: summary.app.scope.to_string(),
            health: words::health(summary.health),
            condition: sentences::condition(detail),
            next: sentences::next(detail, now),
            obstacles: obstacles::of(detail, now),
            withheld: obstacles::withheld(&detail.report, now),
            versions: versions(detail, chrome),
            graph: view.tree.ready().map(|tree| Graph::of(tree, mark.clone(), list(chrome, view))),
            objects: view.tree.ready().map(objects::rows).unwrap_or_default(),
            drifts: panels(&detail.drifts),
            remarks: panels(&detail.remarks),
            changes: ChangeRow::all(view.changes.ready().map_or(&[], Vec::as_slice), &detail.versions, now),
            drift: view.drift.ready().map_or(&[][..], Vec::as_slice).iter().map(|d| DriftItem::of(d, now)).collect(),
            plan: view.plan.ready().map(|plan| PlanPanel::of(plan, now)),
            log: view.logs.ready().map(|parts| logs::lines(parts)).unwrap_or_default(),
            mark,
        }
    }

    fn is(&self, name: &str) -> bool {
        self.view.tab.name() == name
    }

    fn tabs(&self) -> Vec<(&'static str, String, bool, usize)> {
        let count = |tab| match tab {
            Tab::Diff => self.view.detail.drifts.len(),
            Tab::Overview => self.attention(),
            _ => 0,
        };
        let of = |tab: Tab| {
            let query = if tab == Tab::Overview { String::new() } else { format!("?tab={}", tab.name()) };
            (tab.title(), format!("{}{query}", self.path), tab == self.view.tab, count(tab))
        };
        let is_offered = |tab: &Tab| *tab != Tab::Logs || self.view.reads_logs && logs::has_pods(self.view);
        Tab::ALL.into_iter().filter(is_offered).map(of).collect()
    }

    /// Returns the number of things on the overview that are not as they should be.
    fn attention(&self) -> usize {
        self.obstacles.len() + self.withheld.len() + self.view.detail.unhealthy.len()
    }

    fn follow(&self) -> String {
        logs::follow(self.view)
    }

    fn orders(&self) -> Vec<Order> {
        Order::possible(&self.view.detail, &self.view.orders)
    }

    fn unhealthy(&self) -> Vec<(String, Mark, &str)> {
        let row = |Unhealthy { key, health, reason }: &'a Unhealthy| {
            (key.to_string(), words::health(*health), reason.as_str())
        };
        self.view.detail.unhealthy.iter().map(row).collect()
    }

    /// Returns `web/shop prod (kube-0f6a1c52)` without the name of the app.
    fn target(&self) -> (&str, Option<&str>) {
        let summary = &self.view.detail.summary;
        let identity = summary.target.as_str();
        match &summary.target_name {
            Some(name) => (name.as_str(), Some(identity)),
            None => (identity, None),
        }
    }

    fn requests(&self) -> Vec<(&str, u64)> {
        words::by_frequency(&self.view.detail.summary.requests)
    }

    fn unobserved(&self) -> &[String] {
        self.view.tree.ready().map_or(&[], |tree| &tree.unseen)
    }

    fn objects_left_out(&self) -> usize {
        self.view.tree.ready().map_or(0, objects::left_out)
    }

    fn failure(&self) -> Option<&str> {
        let view = self.view;
        match view.tab {
            Tab::Overview => view.tree.failure().or(view.changes.failure()),
            Tab::Tree => view.tree.failure(),
            Tab::Diff => view.explained.failure(),
            Tab::History => view.changes.failure(),
            Tab::Drift => view.drift.failure(),
            Tab::Plan => view.plan.failure(),
            Tab::Logs => view.logs.failure(),
        }
    }

    fn shadow(&self) -> Option<(&ShadowStanding, String)> {
        let shadow = self.view.detail.shadow.as_ref()?;
        let verdict = match (shadow.different.len(), shadow.compared) {
            (0, 0) => "no version is compared yet".to_owned(),
            (0, compared) => format!("{} rendered alike", words::counted(compared, "version")),
            (some, compared) => format!("{some} of {compared} rendered differently; Setpoint uses its own output"),
        };
        Some((shadow, verdict))
    }
}

/// Renders the page of an app.
pub fn page(chrome: &Chrome, view: &AppView) -> String {
    rendered(&Page::of(chrome, view))
}

/// Returns the page with the list of objects; empty if it is this one.
fn list(chrome: &Chrome, view: &AppView) -> String {
    match view.tab {
        Tab::Tree => String::new(),
        _ => format!("{}{}?tab=tree", chrome.base, address::app(&view.detail.summary.app)),
    }
}

/// Returns the accepted version, and the last good one if it is another.
fn versions(detail: &AppDetail, chrome: &Chrome) -> Vec<VersionRow> {
    let row = |label, accepted: &Accepted| {
        let is_of = |note: &&VersionNote| accepted.revision.get(&note.store) == Some(&note.version);
        let note = detail.versions.iter().find(is_of);
        VersionRow {
            label,
            sequence: accepted.sequence,
            revision: accepted.revision.to_string(),
            page: accepted
                .revision
                .versions()
                .next()
                .map_or_else(String::new, |version| address::version(version.as_str())),
            bundle: accepted.bundle.short(),
            at: Moment::new(accepted.at, chrome.now),
            subject: note.map_or_else(String::new, |note| note.subject.clone()),
            author: note.map_or_else(String::new, |note| note.author.clone()),
        }
    };
    let accepted = detail.summary.accepted.as_ref();
    let good = detail.last_good.as_ref().filter(|good| Some(*good) != accepted);
    accepted.map(|it| row("Accepted", it)).into_iter().chain(good.map(|it| row("Last good", it))).collect()
}

fn panel(drift: &Drift, view: &AppView) -> DriftPanel {
    let kind = words::kind(&drift.key);
    let has_origin = !drift.differences.is_empty() && kind.starts_with(|letter: char| letter.is_ascii_uppercase());
    let object = [("tab", "diff"), ("kind", kind), ("name", drift.key.name()), ("namespace", drift.key.namespace())];
    let explain = if has_origin {
        format!("{}{}", address::app(&view.detail.summary.app), address::query(object))
    } else {
        String::new()
    };
    let fields = drift.differences.iter().map(Change::of);
    DriftPanel {
        object: drift.key.to_string(),
        mark: super::drift::mark(drift.cause),
        who: words::whose(drift.cause, &drift.writer),
        changes: fields.chain(drift.beside.iter().map(|path| Change::undeclared(path))).collect(),
        explain,
    }
}
