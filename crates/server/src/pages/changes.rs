//! The page of changes: the history of all apps, one row per change.

use askama::Template;
use setpoint_api::answer::{HistoryChange, VersionNote};
use setpoint_core::time::{Span, Timestamp};

use super::chrome::Chrome;
use super::marks::{Mark, Tone};
use super::moment::{self, Moment};
use super::{address, outcome, rendered};

/// The author of everything that no person ordered.
const ENGINE: &str = "setpoint";

/// The time between two changes that are shown as one.
const TOGETHER: Span = Span::seconds(60);

/// The number of hexadecimal digits from which on a word is a digest.
const DIGEST: usize = 40;

/// The number of digits of a digest that are shown.
const SHOWN: usize = 12;

/// The history as one page shows it.
#[derive(Clone, Debug, Default)]
pub struct ChangesView {
    /// Newest first.
    pub changes: Vec<HistoryChange>,
    /// Descriptions of the versions that the changes name, as far as known.
    pub versions: Vec<VersionNote>,
    /// The app to which the page is limited, as `scope/name`; empty for all.
    pub app: String,
    /// The page is not the newest one.
    pub is_older: bool,
    /// There are changes before the last one.
    pub has_more: bool,
}

/// One change.
#[derive(Clone, Debug)]
pub(super) struct ChangeRow {
    pub(super) seq: u64,
    /// The heading before the row, if another day begins.
    pub(super) day: String,
    pub(super) at: Moment,
    pub(super) clock: String,
    pub(super) app: String,
    pub(super) path: String,
    pub(super) what: String,
    pub(super) kind: Mark,
    pub(super) object: String,
    /// The page of the version that the object is; empty for other objects.
    pub(super) version: String,
    pub(super) cause: String,
    pub(super) result: Mark,
    pub(super) actor: String,
    pub(super) by_person: bool,
    /// Message and author of an accepted version.
    pub(super) subject: String,
    pub(super) author: String,
    /// Further objects with the same change, made just before this one.
    pub(super) alike: Vec<String>,
}

impl ChangeRow {
    /// Reports whether the result is neither a success nor a failure.
    pub(super) fn is_plain(&self) -> bool {
        self.result.tone == Tone::Mute
    }

    /// Builds the rows of changes, newest first, with a heading for each day.
    pub(super) fn all(changes: &[HistoryChange], versions: &[VersionNote], now: Timestamp) -> Vec<Self> {
        let mut last = String::new();
        let mut row = |change: &HistoryChange| {
            let day = moment::day(change.at);
            let heading = if day == last { String::new() } else { moment::day_in_words(change.at) };
            last = day;
            Self::of(change, heading, versions, now)
        };
        let mut rows: Vec<Self> = Vec::new();
        let mut former: Option<&HistoryChange> = None;
        for change in changes {
            match rows.last_mut().filter(|_| former.is_some_and(|former| is_alike(former, change))) {
                Some(row) => row.alike.push(on_one_line(&change.object)),
                None => rows.push(row(change)),
            }
            former = Some(change);
        }
        rows
    }

    /// Returns the number of objects of the row, if there are several.
    pub(super) fn count(&self) -> Option<usize> {
        (!self.alike.is_empty()).then(|| self.alike.len() + 1)
    }

    fn of(change: &HistoryChange, day: String, versions: &[VersionNote], now: Timestamp) -> Self {
        let note = versions.iter().find(|note| names(&change.object, note));
        Self {
            seq: change.seq,
            day,
            at: Moment::new(change.at, now),
            clock: moment::clock(change.at),
            app: change.app.as_ref().map_or_else(String::new, ToString::to_string),
            path: change.app.as_ref().map_or_else(String::new, address::app),
            what: change.what.clone(),
            kind: kind(&change.what),
            object: on_one_line(&change.object),
            version: version_of(change),
            cause: on_one_line(change.cause.as_deref().unwrap_or_default()),
            result: outcome::of(&on_one_line(&change.result)),
            actor: change.actor.clone(),
            by_person: change.actor != ENGINE,
            subject: note.map_or_else(String::new, |note| note.subject.clone()),
            author: note.map_or_else(String::new, |note| note.author.clone()),
            alike: Vec::new(),
        }
    }
}

/// Reports whether two changes that follow each other are one step of an app with many objects, such
/// as those of a new version.
fn is_alike(former: &HistoryChange, change: &HistoryChange) -> bool {
    let is_step = matches!(change.what.as_str(), "create" | "update" | "delete");
    let kind = |change: &HistoryChange| {
        (change.app.clone(), change.what.clone(), change.result.clone(), change.cause.clone(), change.actor.clone())
    };
    is_step && former.at.since(change.at) < TOGETHER && kind(former) == kind(change)
}

/// Reports whether the name of an object is this version: `platform@3f2a91c03f2a`.
fn names(object: &str, note: &VersionNote) -> bool {
    let named = object.split(", ").filter_map(|part| part.split_once('@'));
    named.into_iter().any(|(store, version)| {
        store == note.store.as_str() && !version.is_empty() && note.version.as_str().starts_with(version)
    })
}

/// Returns the page of an accepted or refused version: that of its first store.
fn version_of(change: &HistoryChange) -> String {
    let version = match change.what.as_str() {
        "accept" | "refuse" => change.object.split(", ").next().and_then(|part| part.split_once('@')),
        _ => None,
    };
    version.map_or_else(String::new, |(_, version)| address::version(version))
}

/// Returns the mark of the kind of a change.
fn kind(what: &str) -> Mark {
    let (tone, icon) = match what {
        "accept" => (Tone::Busy, "changes"),
        "create" => (Tone::Good, "plus"),
        "update" => (Tone::Busy, "tilde"),
        "delete" => (Tone::Bad, "minus-sign"),
        "drift" => (Tone::Warn, "drift"),
        "hold" => (Tone::Hold, "lock"),
        "suspend" => (Tone::Hold, "pause"),
        "resume" | "release" | "sync" => (Tone::Hold, "play"),
        "refuse" => (Tone::Bad, "triangle"),
        "access" => (Tone::Hold, "access"),
        "converged" => (Tone::Good, "check"),
        _ => (Tone::Mute, "dash"),
    };
    Mark::new(tone, icon, what)
}

/// Returns a text without line breaks, and with short digests.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().map(short).collect::<Vec<_>>().join(" ")
}

/// Returns a word with the digest at its end shortened.
fn short(word: &str) -> &str {
    let digits = word.chars().rev().take_while(char::is_ascii_hexdigit).count();
    // Hexadecimal digits are ASCII, so the cut is at a boundary.
    if digits >= DIGEST { &word[..word.len() - digits + SHOWN] } else { word }
}

#[derive(Template)]
#[template(path = "changes.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a ChangesView,
    rows: Vec<ChangeRow>,
    older: Option<String>,
    newest: String,
}

/// Renders the page of changes.
pub fn page(chrome: &Chrome, view: &ChangesView) -> String {
    let last = view.changes.last().filter(|_| view.has_more);
    let older = last.map(|last| {
        let before = last.seq.to_string();
        format!("/changes{}", address::query([("app", view.app.as_str()), ("before", &before)]))
    });
    let newest = format!("/changes{}", address::query([("app", view.app.as_str())]));
    let rows = ChangeRow::all(&view.changes, &view.versions, chrome.now);
    rendered(&Page { chrome, view, rows, older, newest })
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};

    use super::*;

    #[test]
    fn a_heading_begins_each_day() {
        let rows = ChangeRow::all(&CannedAgent::example().changes, &[], NOON);
        let days: Vec<&str> = rows.iter().map(|row| row.day.as_str()).filter(|day| !day.is_empty()).collect();
        assert_eq!(days, ["Sunday, 15 November 2026", "Saturday, 14 November 2026"]);
    }

    #[test]
    fn an_accepted_version_has_its_message_and_author() {
        let agent = CannedAgent::example();
        let rows = ChangeRow::all(&agent.changes, &agent.detail.versions, NOON);
        let accept = rows.iter().find(|row| row.what == "accept").unwrap();
        assert_eq!((accept.subject.as_str(), accept.author.as_str()), ("Open the shop at nine", "Erika Mustermann"));
        assert!(rows.iter().filter(|row| row.what != "accept").all(|row| row.subject.is_empty()));
    }

    #[test]
    fn the_objects_of_one_step_are_one_row() {
        let step = CannedAgent::example().changes.into_iter().find(|change| change.what == "update").unwrap();
        let of = |object: &str, seconds| HistoryChange {
            object: object.to_owned(),
            at: NOON - Span::seconds(seconds),
            ..step.clone()
        };
        let failed = HistoryChange { result: "refused: a bad field".to_owned(), ..of("d", 4) };
        let changes = [of("a", 1), of("b", 2), of("c", 3), failed, of("e", 5), of("f", 120)];
        let rows = ChangeRow::all(&changes, &[], NOON);
        let counts: Vec<_> = rows.iter().map(|row| (row.object.as_str(), row.count())).collect();
        assert_eq!(counts, [("a", Some(3)), ("d", None), ("e", None), ("f", None)]);
        assert_eq!(rows[0].alike, ["b", "c"]);
    }

    #[test]
    fn digests_are_shortened_and_names_are_not() {
        let digest = "76e2133bd61c".repeat(6);
        assert_eq!(on_one_line(&format!("bundle {digest}\nof it")), "bundle 76e2133bd61c of it");
        assert_eq!(on_one_line("platform@3f2a91c03f2a"), "platform@3f2a91c03f2a");
    }
}
