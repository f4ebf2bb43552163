//! The page of one version: who wrote it, and its way through the apps.

use askama::Template;
use setpoint_api::answer::{VersionDetail, VersionInApp, VersionNote, VersionOutcome};
use setpoint_core::key::Key;
use setpoint_core::time::Timestamp;

use super::changes::on_one_line;
use super::chrome::Chrome;
use super::marks::{Mark, Tone};
use super::moment::{self, Moment};
use super::{address, rendered, words};

/// The number of digits of a version that people read.
const SHORT: usize = 12;

/// One app on the way of the version.
struct AppRow {
    app: String,
    path: String,
    mark: Mark,
    at: Moment,
    /// The time from acceptance until all objects were in place and healthy; empty if they are not.
    took: String,
    changes: String,
    objects: Vec<(Mark, String)>,
    more: usize,
}

/// A refusal, with the apps that it concerns.
struct Refusal {
    apps: Vec<(String, String)>,
    problem: String,
}

impl Page<'_> {
    fn tone(&self) -> Tone {
        match (self.refusals.is_empty(), self.rows.iter().all(|row| row.mark.tone == Tone::Good)) {
            (false, _) => Tone::Bad,
            (true, true) => Tone::Good,
            (true, false) => Tone::Busy,
        }
    }
}

#[derive(Template)]
#[template(path = "version.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    short: &'a str,
    title: &'a str,
    detail: &'a VersionDetail,
    verdict: String,
    written: Option<Moment>,
    refusals: Vec<Refusal>,
    rows: Vec<AppRow>,
}

/// Renders the page of a version.
pub fn page(chrome: &Chrome, detail: &VersionDetail) -> String {
    let now = chrome.now;
    let short = &detail.version[..detail.version.len().min(SHORT)];
    let written = detail.note.as_ref().map(|note| Moment::new(note.at, now));
    let rows = detail.apps.iter().filter_map(|app| match &app.outcome {
        VersionOutcome::Accepted { converged, superseded } => Some(row(app, (*converged, *superseded), now)),
        VersionOutcome::Refused { .. } => None,
    });
    let (verdict, refusals) = (verdict(&detail.apps), refusals(&detail.apps));
    rendered(&Page { chrome, short, title: title(detail), detail, verdict, written, refusals, rows: rows.collect() })
}

/// Returns the title of the page: the first line of the message, or the version itself.
pub fn title(detail: &VersionDetail) -> &str {
    let subject = detail.note.as_ref().map(|note: &VersionNote| note.subject.as_str());
    subject.filter(|subject| !subject.is_empty()).unwrap_or(&detail.version[..detail.version.len().min(SHORT)])
}

/// Returns how far the version has come, in words.
fn verdict(apps: &[VersionInApp]) -> String {
    let (mut converged, mut accepted, mut refused) = (0, 0, 0);
    for app in apps {
        match &app.outcome {
            VersionOutcome::Accepted { converged: at, .. } => {
                accepted += 1;
                converged += usize::from(at.is_some());
            }
            VersionOutcome::Refused { .. } => refused += 1,
        }
    }
    let apps = |count| words::counted(count, "app");
    let reached = match (accepted, converged) {
        (0, _) => None,
        (all, reached) if all == reached => Some(format!("{} converged", apps(all))),
        (all, 0) => Some(format!("{} accepted it, none has converged yet", apps(all))),
        (all, reached) => Some(format!("{reached} of {} converged", apps(all))),
    };
    let refused = (refused > 0).then(|| format!("{} refused it", apps(refused)));
    reached.into_iter().chain(refused).collect::<Vec<_>>().join("; ")
}

/// Groups refusals with the same reason.
fn refusals(apps: &[VersionInApp]) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for app in apps {
        let VersionOutcome::Refused { problem } = &app.outcome else { continue };
        let name = (app.app.to_string(), address::app(&app.app));
        match refusals.iter_mut().find(|refusal| refusal.problem == *problem) {
            Some(refusal) => refusal.apps.push(name),
            None => refusals.push(Refusal { apps: vec![name], problem: problem.clone() }),
        }
    }
    refusals
}

fn row(app: &VersionInApp, ends: (Option<Timestamp>, Option<Timestamp>), now: Timestamp) -> AppRow {
    let (converged, superseded) = ends;
    let mark = match (converged, superseded) {
        (Some(_), _) => Mark::new(Tone::Good, "check", "converged"),
        (None, Some(_)) => Mark::new(Tone::Mute, "minus", "superseded"),
        (None, None) => Mark::new(Tone::Busy, "ring", "accepted"),
    };
    let counts = [("created", &app.created), ("changed", &app.changed), ("removed", &app.removed)];
    let counts =
        counts.iter().filter(|(_, keys)| !keys.is_empty()).map(|(what, keys)| format!("{} {what}", keys.len()));
    let changes = counts.collect::<Vec<_>>().join(", ");
    let marked = |tone, icon, what: &'static str, keys: &[Key]| {
        keys.iter().map(|key| (Mark::new(tone, icon, what), on_one_line(&key.to_string()))).collect::<Vec<_>>()
    };
    let mut objects = marked(Tone::Good, "plus", "created", &app.created);
    objects.extend(marked(Tone::Busy, "tilde", "changed", &app.changed));
    objects.extend(marked(Tone::Bad, "minus-sign", "removed", &app.removed));
    AppRow {
        app: app.app.to_string(),
        path: address::app(&app.app),
        mark,
        at: Moment::new(app.at, now),
        took: converged.map_or_else(String::new, |at| moment::length(at.since(app.at))),
        changes: if changes.is_empty() { "no object".to_owned() } else { changes },
        objects,
        more: app.more,
    }
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};

    use super::super::Section;
    use super::*;

    #[test]
    fn a_version_shows_its_author_its_refusals_and_its_way_through_the_apps() {
        let detail = CannedAgent::example().version;
        let html = page(&Chrome::new("Version", Section::Changes, NOON), &detail);
        for expected in [
            "Open the shop at nine",
            "Erika Mustermann",
            "1 of 2 apps converged; 1 app refused it",
            "apps/stage/shop.yaml:7:9: expected a number",
            "1 created, 1 changed",
            "converged</span>",
            "accepted</span>",
        ] {
            assert!(html.contains(expected), "{expected} is missing: {html}");
        }
        assert_eq!(title(&VersionDetail { note: None, ..detail }), "3f2a91c03f2a");
    }

    #[test]
    fn apps_that_refuse_for_one_reason_are_shown_together() {
        let refused = |app: &str, problem: &str| VersionInApp {
            app: app.parse().unwrap(),
            revision: String::new(),
            at: NOON,
            outcome: VersionOutcome::Refused { problem: problem.to_owned() },
            created: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
            more: 0,
        };
        let apps =
            [refused("web/a", "no such file"), refused("web/b", "a bad field"), refused("web/c", "no such file")];
        let refusals = refusals(&apps);
        let of: Vec<_> = refusals.iter().map(|refusal| (refusal.problem.as_str(), refusal.apps.len())).collect();
        assert_eq!(of, [("no such file", 2), ("a bad field", 1)]);
        assert_eq!(verdict(&apps), "3 apps refused it");
    }
}
