//! The frame around each page: navigation, search, user and notices.

use setpoint_core::time::Timestamp;

use super::marks::icon;

/// The properties of a request that every page shows.
#[derive(Clone, Debug)]
pub struct Chrome {
    /// The path before every URL, without a slash at its end; usually empty.
    pub base: String,
    /// The name of the user; `None` on pages before sign-in.
    pub user: Option<String>,
    /// The user has a local account, and so a password to change.
    pub has_account: bool,
    /// The user may administer accounts, tokens and sessions.
    pub administers: bool,
    /// The token that every form sends back.
    pub csrf: String,
    pub title: String,
    /// The agent's own time. Pages show times relative to it.
    pub now: Timestamp,
    pub active: Section,
    /// The page follows the event stream.
    pub live: bool,
    /// The position in the change feed before the page was read; 0 if it is not known.
    pub position: u64,
    /// A message about the previous request, such as the confirmation of an order.
    pub notice: Option<String>,
    /// Render only the content of `<main>`, for a page that is already open.
    pub fragment: bool,
}

impl Chrome {
    /// Builds the frame of a page without a user, notice or live updates.
    pub fn new(title: &str, active: Section, now: Timestamp) -> Self {
        Self {
            base: String::new(),
            user: None,
            has_account: false,
            administers: false,
            csrf: String::new(),
            title: title.to_owned(),
            now,
            active,
            live: false,
            position: 0,
            notice: None,
            fragment: false,
        }
    }

    /// Returns the sections of the navigation that the user may open.
    pub(super) fn sections(&self) -> Vec<NavigationItem> {
        let sections =
            Section::NAVIGATION.into_iter().filter(|section| self.administers || *section != Section::Access);
        sections.map(|section| self.item(section)).collect()
    }

    fn item(&self, section: Section) -> NavigationItem {
        let (path, label, icon, key) = section.entry();
        NavigationItem { href: format!("{}{path}", self.base), label, icon, key, active: section == self.active }
    }

    /// Returns the names of the events after which the page is out of date.
    pub(super) fn events(&self) -> &'static str {
        match self.active {
            Section::Apps | Section::Changes | Section::Drift | Section::Audit => "app",
            Section::Stores => "store",
            Section::Targets => "target",
            Section::Access | Section::Other => "",
        }
    }
}

/// A section of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Apps,
    Changes,
    Drift,
    Stores,
    Targets,
    Audit,
    /// Accounts, tokens and sessions, for administrators.
    Access,
    /// A page outside of the navigation.
    Other,
}

impl Section {
    const NAVIGATION: [Self; 7] =
        [Self::Apps, Self::Changes, Self::Drift, Self::Stores, Self::Targets, Self::Audit, Self::Access];

    /// Returns path, label, icon and the key after `g`.
    fn entry(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Apps | Self::Other => ("/apps", "Apps", icon::APPS, "a"),
            Self::Changes => ("/changes", "Changes", icon::CHANGES, "c"),
            Self::Drift => ("/drift", "Drift", icon::DRIFT, "d"),
            Self::Stores => ("/stores", "Stores", icon::STORES, "s"),
            Self::Targets => ("/targets", "Targets", icon::TARGETS, "t"),
            Self::Audit => ("/audit", "Audit", icon::AUDIT, "u"),
            Self::Access => ("/access", "Access", icon::ACCESS, "p"),
        }
    }
}

/// A link of the navigation.
#[derive(Clone, Debug)]
pub(super) struct NavigationItem {
    pub(super) href: String,
    pub(super) label: &'static str,
    pub(super) icon: &'static str,
    pub(super) key: &'static str,
    pub(super) active: bool,
}
