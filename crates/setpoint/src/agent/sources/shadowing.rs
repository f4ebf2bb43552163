//! Starts the comparison of versions with another program for the apps that request it, without
//! waiting for it.

use std::sync::Arc;

use setpoint_api::answer::ShadowStanding;
use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;
use setpoint_core::version::Revision;

use super::Provider;
use crate::agent::shadows::{Job, Shadows};

impl Provider {
    /// Has another program render a version too, if the app requests it. Does not wait for it.
    pub(super) async fn shadow(
        &self,
        app: &AppId,
        revision: &Revision,
        documents: Option<Digest>,
        take: fn(&Shadows, Job) -> bool,
    ) {
        let declared = self.documents();
        let shadow = declared.apps().get(app).and_then(|app| app.spec.kustomize.shadow.clone());
        let (Some(shadow), Ok((source, ..))) = (shadow, self.source(app, documents)) else { return };
        if !self.shadows.wants(&source, &shadow, revision) {
            return;
        }
        let Ok(trees) = self.open(revision).await else { return };
        let job = Job { source, shadow, revision: revision.clone(), trees };
        if take(&self.shadows, job) {
            work_through(Arc::clone(&self.shadows));
        }
    }

    /// Returns the state of the shadow of an app, if it has one.
    pub(in crate::agent) fn shadow_of(&self, app: &AppId) -> Option<ShadowStanding> {
        let documents = self.documents();
        let shadow = documents.apps().get(app)?.spec.kustomize.shadow.as_ref()?;
        Some(self.shadows.standing(&documents.source(app)?, shadow))
    }
}

/// Runs the comparisons on a thread of their own, because the other program may be slow. It ends
/// when no versions wait.
#[expect(clippy::disallowed_methods, reason = "the door: one at a time, and stopping the renderers ends it")]
fn work_through(shadows: Arc<Shadows>) {
    drop(tokio::task::spawn_blocking(move || shadows.work()));
}
