//! A row of the list of apps.

use setpoint_api::answer::AppSummary;
use setpoint_core::live::Health;
use setpoint_core::time::Timestamp;

use super::super::marks::Mark;
use super::super::moment::Moment;
use super::super::{address, words};

/// The most characters of a reason.
const LONGEST: usize = 160;

/// One app, for one line.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) scope: String,
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) health: Mark,
    pub(super) healthy: bool,
    pub(super) version: String,
    pub(super) full: String,
    pub(super) at: Option<Moment>,
    pub(super) environment: String,
    pub(super) target: String,
    pub(super) drifts: usize,
    /// The reason why it is not green.
    pub(super) why: String,
}

impl Row {
    pub(super) fn of(app: &AppSummary, now: Timestamp) -> Self {
        let accepted = app.accepted.as_ref();
        Self {
            path: address::app(&app.app),
            scope: app.app.scope.to_string(),
            name: app.app.name.to_string(),
            mark: words::condition(app),
            health: words::health(app.health),
            healthy: app.health == Health::Healthy,
            version: accepted.map_or_else(String::new, |accepted| words::tiny(&accepted.revision)),
            full: accepted.map_or_else(String::new, |accepted| format!("#{} {}", accepted.sequence, accepted.revision)),
            at: accepted.map(|accepted| Moment::new(accepted.at, now)),
            environment: app.environment.clone(),
            target: words::target(app.target_name.as_ref(), &app.target).to_owned(),
            drifts: app.drifts,
            why: why(app),
        }
    }
}

/// Returns the problems and the note of an app, or the number of its withheld changes.
fn why(app: &AppSummary) -> String {
    let problems = words::problems(&app.problems);
    let note = app.note.as_deref().filter(|note| !problems.contains(note)).unwrap_or_default();
    let parts: Vec<&str> = [problems.as_str(), note].into_iter().filter(|part| !part.is_empty()).collect();
    let why = match (parts.is_empty(), app.withheld) {
        (false, _) => parts.join(" · "),
        (true, 0) => String::new(),
        (true, 1) => "1 change is withheld".to_owned(),
        (true, many) => format!("{} are withheld", words::counted(many, "change")),
    };
    match why.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &why[..end]),
        None => why,
    }
}
