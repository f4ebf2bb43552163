//! The page of `setpoint drift`.

use setpoint_api::answer::DriftRecord;

use super::difference::{MOST_LINES, difference};
use super::page::Page;
use super::paint::{Paint, Painted};
use super::{Screen, time, words};

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
