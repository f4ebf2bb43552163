//! The apps in the machine's memory. Access that changes an app marks it: its status may have become
//! different.

use std::collections::BTreeMap;
use std::ops::Deref;

use setpoint_core::name::AppId;

use super::app::App;
use super::changes::Marks;

/// All apps, and the marks of those that may have become different.
#[derive(Debug, Default)]
pub(super) struct Apps {
    /// Boxed: an app is large, and the nodes of a tree are half empty.
    apps: BTreeMap<AppId, Box<App>>,
    pub(super) marks: Marks<AppId>,
}

impl Deref for Apps {
    type Target = BTreeMap<AppId, Box<App>>;

    fn deref(&self) -> &Self::Target {
        &self.apps
    }
}

impl Apps {
    /// Returns an app to change it.
    pub(super) fn get_mut(&mut self, app: &AppId) -> Option<&mut App> {
        let kept = self.apps.get_mut(app)?;
        self.marks.mark(app);
        Some(kept)
    }

    /// Returns an app for a change that is no part of its status.
    pub(super) fn get_mut_unmarked(&mut self, app: &AppId) -> Option<&mut App> {
        self.apps.get_mut(app).map(|kept| &mut **kept)
    }

    pub(super) fn insert(&mut self, app: AppId, kept: App) {
        self.marks.mark(&app);
        self.apps.insert(app, Box::new(kept));
    }

    pub(super) fn remove(&mut self, app: &AppId) {
        self.marks.mark(app);
        self.apps.remove(app);
    }

    /// Replaces all apps.
    pub(super) fn replace(&mut self, apps: impl Iterator<Item = (AppId, App)>) {
        self.marks.mark_all();
        self.apps = apps.map(|(app, kept)| (app, Box::new(kept))).collect();
    }
}
