//! Determines whether an autoscaler targets an object: then the fields set by its scale subresource
//! belong to the autoscaler and are no drift.
//!
//! Autoscalers are listed only if another client has set the scale of an object of ours, and then
//! each time, since a heal or its absence depends on it. Callers that wait for the same namespace
//! share a list that was requested after they arrived.
//!
//! No event of a scaled object reports that its autoscaler is gone. So an observation that would
//! trust the record of such an object lists the autoscalers first, unless that was done within the
//! last minute.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};
use setpoint_core::key::Key;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_kube::key::{group_and_kind, group_of};
use setpoint_kube::object;
use setpoint_kube::shared::Autoscaler;
use setpoint_target::{Priority, Wanted};

use crate::cluster::Cluster;
use crate::discovery::Unserved;
use crate::requests::{Collection, Form};

/// No caller waits for longer than this.
const KEPT: Span = Span::minutes(1);

/// The number of objects of one observation that are checked at the same time.
const AT_ONCE: usize = 64;

/// The kinds of autoscalers. A ScaledObject of KEDA usually brings a HorizontalPodAutoscaler with
/// it, but not always.
const KINDS: [(&str, &str); 2] = [("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")];

/// The autoscalers of a cluster's namespaces, by the latest lists.
#[derive(Debug, Default)]
pub(crate) struct Autoscalers {
    heard: Mutex<BTreeMap<Arc<str>, Heard>>,
    asking: futures_util::lock::Mutex<()>,
    /// The objects whose scale belonged to an autoscaler at their last read, though no manager
    /// holds it: a write of ours would meet no conflict.
    unheld: Mutex<BTreeSet<Key>>,
}

#[derive(Clone, Debug)]
struct Heard {
    aims: BTreeSet<Aim>,
    /// Some of them may not be listed.
    denied: bool,
    /// The time of the request.
    at: Timestamp,
}

/// The target of an autoscaler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Aim {
    /// Any group if omitted.
    group: Option<Arc<str>>,
    kind: Arc<str>,
    name: Arc<str>,
}

impl Aim {
    fn of(autoscaler: &Value) -> Option<Self> {
        let target = object::at(autoscaler, &["spec", "scaleTargetRef"])?;
        let text = |field| target.get(field).and_then(Value::as_str);
        Some(Self {
            group: text("apiVersion").map(|api_version| group_of(api_version).into()),
            // The default of KEDA.
            kind: text("kind").unwrap_or("Deployment").into(),
            name: text("name")?.into(),
        })
    }

    fn is(&self, key: &Key) -> bool {
        let (group, kind) = group_and_kind(key.class());
        self.group.as_deref().is_none_or(|aimed| aimed == group) && &*self.kind == kind && &*self.name == key.name()
    }
}

impl Heard {
    fn of(&self, key: &Key) -> Autoscaler {
        match self.aims.iter().any(|aim| aim.is(key)) {
            true => Autoscaler::Aims,
            false if self.denied => Autoscaler::Unknown,
            false => Autoscaler::None,
        }
    }
}

impl Cluster {
    /// Reports whether an autoscaler targets an object. If the agent may not list autoscalers, the
    /// result is unknown; if the list fails now, the object cannot be judged either.
    pub(crate) async fn autoscaler_of(&self, key: &Key) -> Result<Autoscaler, UnknownReason> {
        self.autoscaler_since(key, self.now()).await
    }

    /// Doubts the records of objects whose autoscaler is gone. The caller of the observation wants
    /// the current state.
    pub(crate) async fn doubt_autoscaled(&self, wanted: &Wanted, priority: Priority) {
        let came = self.now();
        let since = if priority <= Priority::NewBundle { came } else { came - KEPT };
        let asked = self.records.autoscaled(wanted.keys()).into_iter().map(|key| async move {
            let found = self.autoscaler_since(&key, since).await;
            (found != Ok(Autoscaler::Aims)).then_some(key)
        });
        let gone: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
        gone.iter().flatten().for_each(|key| self.records.doubt(key));
    }

    /// Handles a removed autoscaler: the objects that it may have scaled need a read.
    pub(crate) fn autoscaler_gone(&self, key: &Key) {
        if KINDS.contains(&group_and_kind(key.class())) {
            self.autoscalers.locked().remove(key.namespace());
            self.records.autoscaled_in(key.namespace()).into_iter().for_each(|scaled| self.watches.tell(scaled));
        }
    }

    /// Accepts only a list that was requested after this instant.
    async fn autoscaler_since(&self, key: &Key, since: Timestamp) -> Result<Autoscaler, UnknownReason> {
        let came = self.now();
        let _turn = self.autoscalers.asking.lock().await;
        let is_known = |heard: &&Heard| heard.at > since;
        let known = self.autoscalers.locked().get(key.namespace()).filter(is_known).map(|heard| heard.of(key));
        if let Some(known) = known {
            return Ok(known);
        }
        let heard = self.autoscalers_in(key.namespace()).await?;
        let found = heard.of(key);
        let mut all = self.autoscalers.locked();
        all.retain(|_, heard| heard.at > came - KEPT);
        all.insert(key.namespace().into(), heard);
        Ok(found)
    }

    async fn autoscalers_in(&self, namespace: &str) -> Result<Heard, UnknownReason> {
        let mut heard = Heard { aims: BTreeSet::new(), denied: false, at: self.now() };
        for (group, kind) in KINDS {
            let served = match self.discovery.find(&self.api, group, kind, None).await {
                Ok(served) => served,
                Err(Unserved::NoSuchKind { .. } | Unserved::NoSuchVersion { .. }) => continue,
                Err(error @ Unserved::Silent { .. }) => {
                    return Err(UnknownReason::Partial { detail: error.to_string() });
                }
                Err(Unserved::Unknown(reason)) => return Err(reason),
            };
            let namespace = namespace.into();
            let collection =
                Collection { group: group.into(), version: served.version, resource: served.resource, namespace };
            let take = |autoscaler: Value| heard.aims.extend(Aim::of(&autoscaler));
            match self.pages(&collection, None, Form::Whole, take).await {
                Ok(_) => {}
                Err(failure) if failure.code() == Some(403) => heard.denied = true,
                Err(failure) => return Err(failure.blindness()),
            }
        }
        Ok(heard)
    }
}

impl Autoscalers {
    pub(crate) fn note_unheld(&self, key: &Key, is_unheld: bool) {
        let mut all = self.unheld.lock().unwrap_or_else(PoisonError::into_inner);
        match is_unheld {
            true => drop(all.insert(key.clone())),
            false => drop(all.remove(key)),
        }
    }

    pub(crate) fn is_unheld(&self, key: &Key) -> bool {
        self.unheld.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aims(autoscaler: &str, key: &str) -> bool {
        let autoscaler = object::read(autoscaler.as_bytes()).unwrap();
        Aim::of(&autoscaler).is_some_and(|aim| aim.is(&key.parse().unwrap()))
    }

    #[test]
    fn an_autoscaler_aims_by_group_kind_and_name_and_not_by_version() {
        let hpa = r#"{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1beta1","kind":"Deployment","name":"web"}}}"#;
        assert!(aims(hpa, "apps/Deployment:shop:web"));
        assert!(!aims(hpa, "apps/Deployment:shop:other"));
        assert!(!aims(hpa, "apps/StatefulSet:shop:web"));
        assert!(!aims(hpa, "example.com/Deployment:shop:web"));
        let keda = r#"{"spec":{"scaleTargetRef":{"name":"web"}}}"#;
        assert!(aims(keda, "apps/Deployment:shop:web") && !aims(keda, "apps/StatefulSet:shop:web"));
        assert!(!aims(r#"{"spec":{}}"#, "apps/Deployment:shop:web"));
    }
}
