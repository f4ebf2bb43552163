//! Who set what of a resource, asked of the version that an app is made of: one question at a time,
//! and none for ever.

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

/// Who asks for an explanation waits this long for it, with its turn.
const EXPLAINED_WITHIN: Span = Span::seconds(30);

impl Provider {
    /// Who set what of a resource that an app declares in a revision.
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
                // Held until it is done, whether or not anybody waits for it still.
                let _turn = turn;
                let wanted = Wanted { kind: &kind, name: &name, namespace: namespace.as_deref(), field: &field };
                source.explain(&trees, &wanted, Some(stop))
            };
            self.work.done(app, work).await.map_err(NotRendered::from)?
        };
        let in_time = timeout(duration(EXPLAINED_WITHIN), explained).await;
        in_time.unwrap_or_else(|_elapsed| {
            let what =
                format!("it was not explained within {EXPLAINED_WITHIN}: others are, or it takes too long; ask again");
            Err(NotRendered::Unavailable { what }.into())
        })
    }
}
