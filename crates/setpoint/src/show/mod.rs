//! The layout of all output: tables, colours and times, on a terminal and in a pipe.
//!
//! Reading order: `paint`, `time`, `wrap` and `table` (the parts), `page` (the output of a
//! command), then one file for each kind of response. Nothing here sends requests: responses come
//! in, text goes out, so every screen can be tested as text. Control characters from outside are
//! escaped on the way: a commit's subject must not be able to steer a terminal.

mod app;
mod comparison;
mod difference;
mod drift;
mod explained;
mod history;
mod orders;
mod overview;
mod page;
mod paint;
mod patch;
mod plan;
#[cfg(test)]
mod screens;
mod table;
pub(crate) mod time;
mod tree;
mod why;
mod words;
mod wrap;

use setpoint_core::time::Timestamp;

pub(crate) use app::app;
pub(crate) use comparison::{ComparedFolder, Comparison, Verdict, comparison};
pub(crate) use drift::drift;
pub(crate) use explained::explained;
pub(crate) use history::{history, records};
pub(crate) use orders::{all_ordered, notifiers, ordered};
pub(crate) use overview::overview;
pub(crate) use paint::Paint;
pub(crate) use patch::patch;
pub(crate) use plan::plan;
pub(crate) use tree::tree;
pub(crate) use why::why;
pub(crate) use wrap::wrap;

/// The properties of the output device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns of the terminal; `None` for anything else, where no line is wrapped.
    pub(crate) width: Option<usize>,
    pub(crate) colour: bool,
    /// The most rows of a list of apps; `None` for all.
    pub(crate) rows: Option<usize>,
    /// The instant from which "3 min ago" is counted.
    pub(crate) now: Timestamp,
}
