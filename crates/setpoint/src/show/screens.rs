//! Tests of every page as a user reads it, on a terminal of 80 columns and in a pipe.

use setpoint_api::canned::{CannedAgent, NOON};
use setpoint_api::question::{HistoryQuestion, OrderKind};
use setpoint_core::time::Span;

use super::wrap::width;
use super::{Screen, app, drift, history, notifiers, ordered, overview, patch, plan, records, tree, why};

const TERMINAL: Screen = Screen { width: Some(80), colour: false, rows: None, now: NOON };
const WIDE: Screen = Screen { width: Some(120), ..TERMINAL };
const PIPE: Screen = Screen { width: None, colour: false, rows: None, now: NOON };

fn asked(limit: usize) -> HistoryQuestion {
    HistoryQuestion { app: None, limit, before: None }
}

/// Compares pages with the files of tests/golden/screens.
macro_rules! pages {
    ($($name:ident: $file:literal, $page:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let page: fn(&CannedAgent) -> String = $page;
                let expected = include_str!(concat!("../../tests/golden/screens/", $file, ".txt"));
                assert_eq!(page(&CannedAgent::example()), expected);
            }
        )*
    };
}

pages! {
    status_on_a_terminal: "status-80", |agent| overview(&agent.overview, &TERMINAL);
    status_in_a_pipe: "status-pipe", |agent| overview(&agent.overview, &PIPE);
    get_on_a_terminal: "get-80", |agent| app(&agent.detail, &TERMINAL);
    why_on_a_terminal: "why-80", |agent| why(&agent.detail, &TERMINAL);
    tree_on_a_terminal: "tree-80", |agent| tree(&agent.tree, &TERMINAL);
    tree_in_a_pipe: "tree-pipe", |agent| tree(&agent.tree, &PIPE);
    history_on_a_terminal: "history-80", |agent| history(&agent.changes, &asked(20), &TERMINAL);
    history_on_a_wide_terminal: "history-120", |agent| history(&agent.changes, &asked(7), &WIDE);
    history_in_a_pipe_is_a_line_for_each_change: "history-pipe", |agent| history(&agent.changes, &asked(7), &PIPE);
    records_on_a_terminal: "records-80", |agent| records(&agent.history, &TERMINAL);
    records_in_a_pipe_are_a_line_each: "records-pipe", |agent| records(&agent.history, &PIPE);
    drift_on_a_terminal: "drift-80", |agent| drift(&agent.drift, &TERMINAL);
    plan_on_a_terminal: "plan-80", |agent| plan(&agent.plan, &TERMINAL);
    diff_in_a_pipe: "diff-pipe", |agent| patch(&agent.plan, &PIPE);
    notify_test_on_a_terminal: "notify-80", |agent| notifiers(&agent.notifiers, &TERMINAL);
}

#[test]
fn no_page_is_wider_than_its_terminal() {
    let agent = CannedAgent::example();
    for columns in [60, 80, 132, 200] {
        let screen = Screen { width: Some(columns), ..TERMINAL };
        let pages = [
            app(&agent.detail, &screen),
            why(&agent.detail, &screen),
            tree(&agent.tree, &screen),
            overview(&agent.overview, &screen),
            history(&agent.changes, &asked(7), &screen),
            records(&agent.history, &screen),
            drift(&agent.drift, &screen),
            plan(&agent.plan, &screen),
        ];
        for page in pages {
            assert!(page.lines().all(|line| width(line) <= columns), "{columns} columns:\n{page}");
        }
    }
}

#[test]
fn the_end_of_a_suspension_is_told_when_it_begins() {
    let given = setpoint_api::answer::Ordered {
        app: "web/shop".parse().expect("a valid app"),
        notes: vec!["1 change was skipped".to_owned()],
    };
    let expected = "\
web/shop is suspended: nothing is written to it until the suspension ends in 2 h (2026-11-15 14:00:00Z), or earlier with `setpoint resume web/shop`
  1 change was skipped
";
    assert_eq!(ordered(&given, &OrderKind::Suspend { length: Span::hours(2) }, &PIPE), expected);
}
