//! The confirmation of an order or of a test message.

use setpoint_api::answer::{NotifyTested, Ordered};
use setpoint_api::question::OrderKind;

use super::page::Page;
use super::paint::{Paint, Painted};
use super::{Screen, time};

/// Returns the confirmations of one order for several apps.
pub(crate) fn all_ordered(all: &[Ordered], order: &OrderKind, screen: &Screen) -> String {
    all.iter().map(|one| ordered(one, order, screen)).collect()
}

pub(crate) fn ordered(ordered: &Ordered, order: &OrderKind, screen: &Screen) -> String {
    let app = &ordered.app;
    let said = match order {
        OrderKind::Sync { allow_prune: 0 } => format!("{app} is checked now; its accepted version is permitted"),
        OrderKind::Sync { allow_prune } => {
            format!(
                "{app} is checked now; its accepted version is permitted, with up to {allow_prune} deletes beyond the budget"
            )
        }
        OrderKind::Suspend { length } => {
            let end = time::both(screen.now + *length, screen.now);
            format!(
                "{app} is suspended: nothing is written to it until the suspension ends {end}, or earlier with `setpoint resume {app}`"
            )
        }
        OrderKind::Resume => format!("{app} is no longer suspended"),
        OrderKind::Hold => format!("{app} stays at its current bundle until `setpoint release {app}`"),
        OrderKind::Release { .. } => format!("{app} follows its store again"),
        OrderKind::Settle { intent, done: true } => format!("the change {intent} of {app} is recorded as done"),
        OrderKind::Settle { intent, done: false } => format!("the change {intent} of {app} is recorded as not done"),
    };
    let mut page = Page::new(screen);
    page.line(0, Painted::new(said, Paint::Good));
    for note in &ordered.notes {
        page.line(2, note.as_str());
    }
    page.into_text()
}

pub(crate) fn notifiers(tested: &[NotifyTested], screen: &Screen) -> String {
    let mut page = Page::new(screen);
    if tested.is_empty() {
        page.line(
            0,
            Painted::new("there is no notifier, so no messages are sent; add a Notifier document", Paint::Warn),
        );
    }
    for NotifyTested { notifier, problem } in tested {
        match problem {
            None => page.line(0, Painted::new(format!("{notifier}: accepted the message"), Paint::Good)),
            Some(problem) => page.line(0, Painted::new(format!("{notifier}: {problem}"), Paint::Bad)),
        }
    }
    page.into_text()
}
