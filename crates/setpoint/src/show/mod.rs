//! How answers look: tables, colours and times, on a terminal and in a pipe.
//!
//! Reading order: `paint`, `time`, `wrap` and `table` (the parts), `page` (what a command writes),
//! then one file for each kind of answer. Nothing here asks anyone anything: answers come in, text
//! goes out, so that every screen can be tested as text. Text from outside is made visible on its
//! way: a commit's subject must not be able to steer a terminal.

mod app;
mod comparison;
mod explained;
mod orders;
mod overview;
mod page;
mod paint;
mod plan;
mod records;
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
pub(crate) use explained::explained;
pub(crate) use orders::{all_ordered, notifiers, ordered};
pub(crate) use overview::overview;
pub(crate) use paint::Paint;
pub(crate) use plan::plan;
pub(crate) use records::{drift, history};
pub(crate) use tree::tree;
pub(crate) use why::why;
pub(crate) use wrap::wrap;

/// Who reads the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns of the terminal; `None` if it is none: then no line is broken.
    pub(crate) width: Option<usize>,
    pub(crate) colour: bool,
    /// What "3 min ago" is counted from.
    pub(crate) now: Timestamp,
}
