//! The pages of `setpoint history` and `setpoint drift`.

use setpoint_api::answer::{DriftRecord, HistoryRecord};

use super::difference::{MOST_LINES, difference};
use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::{Screen, time, words};

/// Writes a few lines per record on a terminal. In a pipe it writes one line per record, for
/// searches.
pub(crate) fn history(records: &[HistoryRecord], screen: &Screen) -> String {
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

pub(crate) fn drift(records: &[DriftRecord], screen: &Screen) -> String {
    let mut page = Page::new(screen);
    if records.is_empty() {
        page.line(0, "there is no recorded drift");
    }
    for DriftRecord { seq, app, key, cause, seen, healed, writer, differences, beside } in records {
        page.heading(&format!("#{seq} {app}  {key}"));
        let after = healed.map(|healed| time::length(healed.since(*seen)));
        let (end, paint) = match after {
            Some(after) if beside.is_empty() => (format!("healed after {after}"), Paint::Good),
            Some(after) => (format!("left alone, gone after {after}"), Paint::Faint),
            None if beside.is_empty() => ("not healed".to_owned(), Paint::Warn),
            None => ("left alone".to_owned(), Paint::Plain),
        };
        let seen = time::both(*seen, screen.now);
        page.line(2, Painted::new(format!("{cause} {}, detected {seen}, {end}", words::whose(*cause, writer)), paint));
        for each in differences {
            difference(each, 4, Some(MOST_LINES), &mut page);
        }
        beside.iter().for_each(|path| page.line(4, &**path));
    }
    page.into_text()
}
