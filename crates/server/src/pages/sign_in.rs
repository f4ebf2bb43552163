//! The sign-in page.

use askama::Template;

use super::chrome::Chrome;
use super::{address, rendered};

/// The sign-in form.
#[derive(Clone, Debug, Default)]
pub struct SignInView {
    /// Accounts with a password may sign in.
    pub with_password: bool,
    /// Sign-in providers: the name in `/sign-in/{name}`, and the title.
    pub providers: Vec<(String, String)>,
    /// The account name that was sent before.
    pub account: String,
    /// The reason why the last attempt failed.
    pub problem: Option<String>,
    /// The page to return to, as a path without the base path.
    pub next: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a SignInView,
}

impl Page<'_> {
    fn provider_path(&self, name: &str) -> String {
        format!("/sign-in/{}{}", address::encode(name), address::query([("next", self.view.next.as_str())]))
    }
}

/// Renders the sign-in page.
pub fn page(chrome: &Chrome, view: &SignInView) -> String {
    rendered(&Page { chrome, view })
}
