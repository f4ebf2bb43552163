//! The set-up page: creates the first account, with the token of a link that the agent prints.

use askama::Template;

use super::chrome::Chrome;
use super::rendered;

/// The set-up form.
#[derive(Clone, Debug, Default)]
pub struct SetUpView {
    /// The token of the link; `None` if it is missing, used or expired.
    pub token: Option<String>,
    /// The account name that was sent before.
    pub account: String,
    /// The reason why the last attempt failed.
    pub problem: Option<String>,
}

#[derive(Template)]
#[template(path = "set_up.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a SetUpView,
}

/// Renders the set-up page.
pub fn page(chrome: &Chrome, view: &SetUpView) -> String {
    rendered(&Page { chrome, view })
}
