//! The confirmation of an order: what it does, the plan, and the form with the reason.

use askama::Template;
use setpoint_api::answer::{AppDetail, AppPlan};
use setpoint_core::hold::HoldReason;

use super::super::chrome::Chrome;
use super::super::{Part, address, rendered, words};
use super::plan::PlanPanel;

/// The orders that pages offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Sync,
    Suspend,
    Resume,
    Hold,
    Release,
}

impl Order {
    pub const ALL: [Self; 5] = [Self::Sync, Self::Suspend, Self::Resume, Self::Hold, Self::Release];

    /// Returns the value of the parameter and field `order`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Hold => "hold",
            Self::Release => "release",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sync => "Sync",
            Self::Suspend => "Suspend",
            Self::Resume => "Resume",
            Self::Hold => "Hold",
            Self::Release => "Release",
        }
    }

    pub(super) fn icon(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Suspend => "pause",
            Self::Resume | Self::Release => "play",
            Self::Hold => "lock",
        }
    }

    /// Returns what the order does.
    fn effect(self) -> &'static str {
        match self {
            Self::Sync => {
                "Setpoint observes the app now and takes the steps of its accepted version, also in manual mode."
            }
            Self::Suspend => {
                "Setpoint writes nothing to the app until the suspension ends. It continues to observe and report."
            }
            Self::Resume => "Setpoint ends the suspension and continues with the steps of the plan.",
            Self::Hold => {
                "The app stays at its accepted version until a person releases it. Setpoint still corrects drift."
            }
            Self::Release => "The app follows its store again.",
        }
    }

    /// Reports whether the order makes sense in the present condition of an app.
    fn is_possible(self, detail: &AppDetail) -> bool {
        match self {
            Self::Sync => true,
            Self::Suspend => detail.suspension.is_none(),
            Self::Resume => detail.suspension.is_some(),
            Self::Hold => detail.hold.is_none(),
            Self::Release => detail.hold.is_some(),
        }
    }

    /// Returns the orders that make sense for an app, of those that the user may give.
    pub(super) fn possible(detail: &AppDetail, permitted: &[Self]) -> Vec<Self> {
        let possible = |order: &Self| permitted.contains(order) && order.is_possible(detail);
        Self::ALL.into_iter().filter(possible).collect()
    }
}

/// The lengths of a suspension that the form offers, in the syntax of the command line.
const LENGTHS: [(&str, &str); 6] = [
    ("30m", "30 minutes"),
    ("1h", "1 hour"),
    ("4h", "4 hours"),
    ("24h", "1 day"),
    ("72h", "3 days"),
    ("168h", "1 week"),
];

/// An order to confirm.
#[derive(Clone, Debug)]
pub struct OrderView {
    pub detail: AppDetail,
    pub order: Order,
    pub plan: Part<AppPlan>,
    /// The problem of the form that was sent before.
    pub problem: Option<String>,
    /// The reason that was sent before.
    pub reason: String,
}

#[derive(Template)]
#[template(path = "order.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a OrderView,
    order: Order,
    app: String,
    path: String,
    panel: Option<PlanPanel>,
    /// The version that a hold after a rewrite offers; empty otherwise.
    offered: String,
    accepted: String,
}

impl Page<'_> {
    fn lengths(&self) -> [(&'static str, &'static str); 6] {
        LENGTHS
    }

    fn is_default(&self, length: &str) -> bool {
        length == "1h"
    }

    fn is(&self, name: &str) -> bool {
        self.order.name() == name
    }
}

/// Renders the confirmation of an order.
pub fn page(chrome: &Chrome, view: &OrderView) -> String {
    let summary = &view.detail.summary;
    let rewritten = match view.detail.hold.as_ref().map(|hold| &hold.why) {
        Some(HoldReason::Rewritten { accepted, offered }) => Some((accepted, offered)),
        _ => None,
    };
    let commit = |revision: &setpoint_core::version::Revision, other: &setpoint_core::version::Revision| {
        revision.moved_from(other).or(revision.versions().next()).map_or("", words::short).to_owned()
    };
    rendered(&Page {
        chrome,
        view,
        order: view.order,
        app: summary.app.to_string(),
        path: address::app(&summary.app),
        panel: view.plan.ready().map(|plan| PlanPanel::of(plan, chrome.now)),
        offered: rewritten.map_or_else(String::new, |(accepted, offered)| commit(offered, accepted)),
        accepted: rewritten.map_or_else(String::new, |(accepted, offered)| commit(accepted, offered)),
    })
}
