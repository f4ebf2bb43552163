//! The [`Target`] trait for a cluster.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(feature = "http")]
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::diff::Difference;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Writer};
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;
use setpoint_kube::forecast::forecast;
use setpoint_kube::shared::Sharing;
use setpoint_target::{
    Answer, Asker, Capabilities, Fence, Granularity, Hint, LogQuestion, LogReader, Outcome, Refusal, RefusalClass,
    Settlement, Sightings, Target, Tree, Unidentifiable, Unwell, Wanted, Work,
};

use crate::act::refusal_of;
use crate::audit::Trail;
#[cfg(feature = "http")]
use crate::audit_log::Complaint;
#[cfg(feature = "http")]
use crate::audit_webhook::AuditWebhook;
use crate::cluster::Cluster;
use crate::kinds::key_of;
use crate::options::KubeOptions;
use crate::requests::words;
use crate::requests::{Behalf, Form, Tally, Urgency};
use crate::watch::Watching;

/// A Kubernetes cluster as a system under management. Clones share one target.
#[derive(Clone, Debug)]
pub struct KubeTarget(Arc<Cluster>);

impl KubeTarget {
    /// Creates a target. It sends no request before the first call.
    pub fn new(options: KubeOptions) -> Self {
        Self(Arc::new(Cluster::new(options)))
    }

    /// Keeps the streams of changes open, and stores the records of objects. Never ends. Without it
    /// every observation is a request and there are no hints. The owner of the target runs it,
    /// once.
    pub fn watch_task(&self) -> impl Future<Output = ()> + Send + 'static {
        let cluster = Arc::clone(&self.0);
        async move { cluster.watch().await }
    }

    /// Returns the state of the streams that hints come from.
    pub fn watching(&self) -> Watching {
        self.0.watches.watching()
    }

    /// Returns the namespace of resources that declare none.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// Returns the number of requests sent, by call.
    pub fn requests(&self) -> Tally {
        self.0.api.sender.counts.all()
    }

    /// Returns the number of requests sent for the effects of an app, by call.
    pub fn requests_of(&self, app: &AppId) -> Tally {
        self.0.api.sender.counts.of_app(app)
    }

    /// Returns how much of the cluster's audit trail is known.
    pub fn trail(&self) -> Trail {
        self.0.audit.as_ref().map(|audit| audit.trail()).unwrap_or_default()
    }

    /// Reads audit events from a file as an API server writes them. Never ends. The owner of the
    /// target runs it, once for each file, if [`KubeOptions::audit`] announces events.
    #[cfg(feature = "http")]
    pub fn audit_log_task(&self, file: PathBuf, complain: Complaint) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.0).follow_audit_log(file, complain)
    }

    /// Receives audit events that API servers post. Never ends; run it like the task of a log.
    #[cfg(feature = "http")]
    pub fn audit_webhook_task(
        &self,
        webhook: AuditWebhook,
        complain: Complaint,
    ) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.0).listen_for_audit(webhook, complain)
    }

    /// Returns the number of objects with a record. If a record is trusted, an observation needs no
    /// request.
    pub fn remembered(&self) -> usize {
        self.0.records.len()
    }
}

impl Cluster {
    /// Returns the live object (`None` if there is none) and the object that the server would make
    /// of a declaration by applying it.
    async fn tried(&self, resource: &Resource, form: Form, asker: &Asker) -> Result<(Option<Value>, Value), Refusal> {
        let on = Behalf::of(asker, Urgency::People);
        let unavailable = |detail: String| Refusal { class: RefusalClass::Unavailable, detail, retry_after: None };
        self.visit().await.map_err(|reason| unavailable(reason.to_string()))?;
        let place = self.place(&resource.key, Some(resource)).await.map_err(|error| error.refusal())?;
        // The fields that others may set below the items of a list depend on the live items.
        let form = if resource.shared.is_empty() { form } else { Form::Whole };
        let is = match self.api.get(&place, form, on).await {
            Ok(object) => Some(object),
            Err(failure) if failure.is_absence_of(resource.key.name()) => None,
            Err(failure) => return Err(refusal_of(&failure, &resource.key)),
        };
        let sharing = match &is {
            Some(object) => self.sharing(resource, object).await.map_err(|reason| unavailable(reason.to_string()))?,
            None => Sharing::default(),
        };
        let answer = self.dry_run(resource, &place, is.as_ref().map(|object| (object, &sharing)), on).await;
        let would_be = answer.map_err(|failure| refusal_of(&failure, &resource.key))?.object;
        Ok((is, would_be))
    }

    async fn forecast(&self, resource: &Resource, asker: &Asker) -> Result<Option<Vec<Difference>>, Refusal> {
        let (is, would_be) = self.tried(resource, Form::Whole, asker).await?;
        // For an object that does not exist yet, the whole declaration is the difference, and the
        // step already shows it.
        Ok(is.map(|is| forecast(&would_be, &is, &self.digest_key)))
    }
}

impl Target for KubeTarget {
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>> {
        Box::pin(async {
            let unavailable = |failure: crate::requests::Failure| {
                failure.refusal().unwrap_or_else(|| Refusal {
                    class: RefusalClass::Unavailable,
                    detail: failure.to_string(),
                    retry_after: None,
                })
            };
            self.0.identity.ask(&self.0.api).await.map_err(unavailable)
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            granularity: Granularity::Resource,
            checks_epochs: false,
            fresh_reads: true,
            previews: true,
            incarnations: true,
            attributes: self.0.audit.is_some(),
        }
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        key_of(api_version, kind, body, &self.0.namespace)
    }

    fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Answer<'_, Observation> {
        Box::pin(self.0.observe(wanted, asker, now))
    }

    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        Box::pin(async { self.0.tried(resource, Form::Metadata, asker).await.map(drop) })
    }

    fn preview_replacement<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        Box::pin(self.0.preview_replacement(resource, asker))
    }

    fn forecast<'a>(
        &'a self,
        resource: &'a Resource,
        asker: &'a Asker,
    ) -> Answer<'a, Result<Option<Vec<Difference>>, Refusal>> {
        Box::pin(self.0.forecast(resource, asker))
    }

    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>> {
        Box::pin(self.0.execute(work, fence))
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        Box::pin(self.0.settle(intent, declared))
    }

    fn hints(&self) -> Answer<'_, Hint> {
        Box::pin(self.0.watches.hint())
    }

    fn attribute(&self, seen: Sightings) -> Answer<'_, BTreeMap<Key, Writer>> {
        Box::pin(self.0.attribute(seen))
    }

    fn tree(&self, wanted: Wanted, _: Timestamp) -> Answer<'_, Tree> {
        Box::pin(self.0.tree(wanted))
    }

    fn unwell(&self, keys: BTreeSet<Key>) -> Answer<'_, Vec<Unwell>> {
        Box::pin(self.0.unwell(keys))
    }

    fn logs(&self, wanted: Wanted, question: LogQuestion) -> Answer<'_, Result<Box<dyn LogReader>, Refusal>> {
        Box::pin(async { Arc::clone(&self.0).logs(wanted, question).await })
    }

    fn degraded(&self) -> Option<String> {
        self.0.watches.degraded()
    }

    fn request_counts(&self) -> setpoint_target::Tally {
        words(&self.0.api.sender.counts.all())
    }

    fn requests_for(&self, app: &AppId) -> setpoint_target::Tally {
        words(&self.0.api.sender.counts.of_app(app))
    }

    /// The task of the streams does so too, every few seconds.
    fn remember(&self) -> Answer<'_, ()> {
        Box::pin(self.0.remember())
    }
}
