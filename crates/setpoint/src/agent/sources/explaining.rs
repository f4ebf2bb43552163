//! Explains the origin of a resource's fields, from a version of its app: one request at a time,
//! and each with a time limit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use setpoint_api::question::{ExplainQuestion, ObjectName};
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Span;
use setpoint_core::version::Revision;
use setpoint_engine::accept::{Explanation, NotExplained, NotRendered, Wanted};
use setpoint_store::StoreError;
use tokio::time::timeout;

use super::Provider;
use crate::doors::duration;

/// The time limit for an explanation, with the time until its turn.
const EXPLAINED_WITHIN: Span = Span::seconds(30);

impl Provider {
    /// Returns the origin of the fields of a resource that an app declares in a revision.
    pub(in crate::agent) async fn explain(
        &self,
        revision: &Revision,
        question: ExplainQuestion,
    ) -> Result<Explanation, NotExplained> {
        let ExplainQuestion { app, object: ObjectName { kind, name }, namespace, field, .. } = question;
        let trees = self.open(revision).await.map_err(NotRendered::from)?;
        let unknown = |reason: UnknownReason| NotRendered::from(StoreError::unreachable(reason.to_string()));
        let (source, ..) = self.source(&app, self.taken_up()).map_err(unknown)?;
        let explained = async {
            let turn = Arc::clone(&self.explaining).lock_owned().await;
            let work = move |stop: &Arc<AtomicBool>| {
                // Held until the job is done, even if its result is no longer awaited.
                let _turn = turn;
                let wanted = Wanted { kind: &kind, name: &name, namespace: namespace.as_deref(), field: &field };
                source.explain(&trees, &wanted, Some(stop))
            };
            self.work.done(app, work).await.map_err(NotRendered::from)?
        };
        let in_time = timeout(duration(EXPLAINED_WITHIN), explained).await;
        in_time.unwrap_or_else(|_elapsed| {
            let what =
                format!("it was not explained within {EXPLAINED_WITHIN}: other requests come first, or it takes too long; try again");
            Err(NotRendered::Unavailable { what }.into())
        })
    }
}
