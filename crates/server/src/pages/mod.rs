//! Pages: responses of the API come in, HTML goes out.
//!
//! Reading order: `chrome` (the frame around each page), `marks`, `words`, `moment` and
//! `difference` (the parts of pages), then one module per page. Nothing here performs I/O or
//! decides who may see a page: the caller passes only the data that the user may see.
//!
//! Templates escape all text. Parts that are HTML themselves are templates with the marker
//! `HtmlSafe`; no template uses the filter `safe`.

pub mod access;
pub mod address;
pub mod alerts;
pub mod app;
pub mod audit;
pub mod changes;
mod chrome;
mod difference;
pub mod drift;
pub mod fleet;
mod marks;
mod moment;
mod outcome;
pub mod problem;
pub mod record;
pub mod set_up;
pub mod sign_in;
pub mod stores;
pub mod targets;
#[cfg(test)]
mod tests;
pub mod version;
pub mod who_may;
pub(crate) mod words;

use askama::Template;

pub use alerts::Alert;
pub use chrome::{Chrome, Section};

/// A part of a page that the caller may have left out, or could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part<T> {
    /// Not requested for this page.
    #[default]
    Absent,
    Ready(T),
    /// The reason why it could not be read.
    Failed(String),
}

impl<T> Part<T> {
    fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(value) => Some(value),
            Self::Absent | Self::Failed(_) => None,
        }
    }

    fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(problem) => Some(problem),
            Self::Absent | Self::Ready(_) => None,
        }
    }
}

fn rendered(template: &impl Template) -> String {
    template.render().expect("writing to a string does not fail, and templates call nothing else that does")
}
