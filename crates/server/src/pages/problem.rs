//! The page of a problem: not found, not permitted, or an agent that does not respond.

use askama::Template;

use super::chrome::Chrome;
use super::rendered;

/// A problem, with what to do about it.
#[derive(Clone, Debug, Default)]
pub struct ProblemView {
    pub status: u16,
    pub title: String,
    pub text: String,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a ProblemView,
}

/// Renders the page of a problem.
pub fn page(chrome: &Chrome, view: &ProblemView) -> String {
    rendered(&Page { chrome, view })
}
