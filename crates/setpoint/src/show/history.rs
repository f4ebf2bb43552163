//! The page of `setpoint history`: one row for each change, or the records of the ledger as they
//! are.

use setpoint_api::answer::{HistoryChange, HistoryRecord};
use setpoint_api::question::HistoryQuestion;

use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::{Screen, time};

/// The author of everything that no person ordered.
const ENGINE: &str = "setpoint";

/// The number of hexadecimal digits from which on a word is a digest.
const DIGEST: usize = 40;

/// The number of digits of a digest that are shown: enough for a person to distinguish two.
const SHOWN: usize = 12;

/// Writes the response to `question`. A page of as many changes as were requested names the command
/// that shows the ones before.
pub(crate) fn history(changes: &[HistoryChange], question: &HistoryQuestion, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    if changes.is_empty() {
        page.line(0, "there are no records");
        return page.into_text();
    }
    let headings = ["NUMBER", "AT", "AGO", "APP", "WHAT", "OBJECT", "CAUSE", "RESULT"];
    let known: &[&str] = if question.app.is_some() { &["APP"] } else { &[] };
    let mut table = Table::new(headings).whole(&["AT", "AGO", "WHAT", "OBJECT"]).spare(&["AT", "NUMBER"]).known(known);
    for change in changes {
        let app = change.app.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let object = if change.object.is_empty() { "-".to_owned() } else { on_one_line(&change.object) };
        let (cause, result) = cause_and_result(change);
        table.row([
            Painted::new(change.seq.to_string(), Paint::Faint),
            Painted::new(time::absolute(change.at), Paint::Faint),
            time::length(screen.now.since(change.at)).into(),
            Painted::new(app, Paint::Strong),
            change.what.as_str().into(),
            object.into(),
            on_one_line(&cause).into(),
            Painted::new(on_one_line(&result), paint_of(&result)),
        ]);
    }
    page.table(0, &table);
    if let Some(last) = changes.last().filter(|_| changes.len() == question.limit && screen.width.is_some()) {
        let app = question.app.as_ref().map_or_else(String::new, |app| format!(" {app}"));
        let text = format!("older changes: setpoint history{app} --before {}", last.seq);
        page.line(0, Painted::new(text, Paint::Faint));
    }
    page.into_text()
}

/// Returns who or what caused a change, and its result. A person is the cause of an order, and the
/// reason is part of its result.
fn cause_and_result(HistoryChange { actor, cause, result, .. }: &HistoryChange) -> (String, String) {
    let (cause, result) = (cause.as_deref().unwrap_or_default(), result.as_str());
    if actor == ENGINE {
        let cause = if cause.is_empty() { "-" } else { cause };
        return (cause.to_owned(), result.to_owned());
    }
    let parts = [cause, result].into_iter().filter(|part| !part.is_empty());
    (actor.clone(), parts.collect::<Vec<_>>().join("; "))
}

fn paint_of(result: &str) -> Paint {
    let begins = |words: &[&str]| words.iter().any(|word| result.starts_with(word));
    match result {
        _ if begins(&["done", "found done"]) => Paint::Good,
        _ if begins(&["refused", "unknown", "found not done", "found overwritten", "not done"]) => Paint::Bad,
        _ => Paint::Plain,
    }
}

/// Returns a text without line breaks, and with short digests.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().map(short).collect::<Vec<_>>().join(" ")
}

/// Returns a word with the digest at its end shortened.
fn short(word: &str) -> &str {
    let digits = word.chars().rev().take_while(char::is_ascii_hexdigit).count();
    // Hexadecimal digits are ASCII, so the cut is at a boundary.
    if digits >= DIGEST { &word[..word.len() - digits + SHOWN] } else { word }
}

/// Writes a few lines per record on a terminal. In a pipe it writes one line per record, for
/// searches.
pub(crate) fn records(records: &[HistoryRecord], screen: &Screen) -> String {
    let mut page = Page::new(screen);
    if records.is_empty() {
        page.line(0, "there are no records");
    } else if screen.width.is_some() {
        records.iter().for_each(|record| entry(record, &mut page));
    } else {
        page.table(0, &lines(records, screen));
    }
    page.into_text()
}

fn entry(record: &HistoryRecord, page: &mut Page<'_>) {
    let HistoryRecord { seq, at, kind, subject, actor, text } = record;
    page.heading(&format!("#{seq} {kind}  {subject}"));
    page.line(2, Painted::new(format!("{}, by {actor}", time::both(*at, page.screen.now)), Paint::Faint));
    if !text.is_empty() {
        page.line(2, text.as_str());
    }
}

fn lines(records: &[HistoryRecord], screen: &Screen) -> Table<7> {
    let mut table = Table::new(["NUMBER", "AT", "AGO", "KIND", "SUBJECT", "BY", "WHAT"]);
    for HistoryRecord { seq, at, kind, subject, actor, text } in records {
        let text = text.lines().collect::<Vec<_>>().join(" ");
        table.row([
            seq.to_string().into(),
            time::absolute(*at).into(),
            time::relative(*at, screen.now).into(),
            kind.as_str().into(),
            subject.as_str().into(),
            actor.as_str().into(),
            text.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_shortened_and_names_are_not() {
        let digest = "76e2133bd61c".repeat(6);
        assert_eq!(on_one_line(&format!("bundle {digest}")), "bundle 76e2133bd61c");
        assert_eq!(on_one_line(&format!("sha256:{}\nof it", &digest[..64])), "sha256:76e2133bd61c of it");
        assert_eq!(on_one_line("platform@3f2a91c03f2a"), "platform@3f2a91c03f2a");
    }
}
