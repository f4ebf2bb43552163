//! Settling: how an intent nobody answered for ended, found out by looking.
//!
//! Every apply writes the number of its intent on the object, in the same write as everything else. So whoever finds it there finds our write.
//! A delete is done when that very object is gone, or on its way out.

use std::sync::Arc;

use setpoint_core::intent::{Expect, Intent, Verb};
use setpoint_core::live::Live;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::managed::{applied_by, managed_fields};
use setpoint_kube::object;
use setpoint_kube::request::intent_of;
use setpoint_target::Settlement;

use crate::cluster::{Cluster, Named, Unplaced};
use crate::discovery::Unserved;
use crate::requests::{Form, Urgency};

impl Cluster {
    pub(crate) async fn settle(&self, intent: &Intent, declared: Option<&Resource>) -> Settlement {
        let found = self.find_end(intent, declared).await.unwrap_or_else(|detail| Settlement::Unknown { detail });
        match found {
            Settlement::NotDone if self.now() <= intent.land_by => {
                unknown(format!("the effect of intent {} may still land: ask again later", intent.id))
            }
            found => found,
        }
    }

    async fn find_end(&self, intent: &Intent, declared: Option<&Resource>) -> Result<Settlement, String> {
        let identity = self.visit().await.map_err(|reason| reason.to_string())?;
        if intent.target != identity {
            return Err(format!("this cluster is `{identity}`, not `{}`: correct the address", intent.target));
        }
        let place = match self.place(&intent.key, declared).await {
            Ok(place) => place,
            Err(error @ Unplaced::Unserved(Unserved::NoSuchKind { .. })) => {
                let gone = self.is_gone_with_its_kind(&intent.key).await.map_err(|reason| reason.to_string())?;
                return if gone { Ok(end_of_absent(intent)) } else { Err(error.to_string()) };
            }
            Err(error) => return Err(error.to_string()),
        };
        let told = self.records.suspicions(&intent.key);
        let object = match self.api.get(&place, Form::Whole, Urgency::Bundle).await {
            Ok(object) => object,
            Err(failure) if failure.is_absence_of(intent.key.name()) => return Ok(end_of_absent(intent)),
            Err(failure) => return Err(failure.to_string()),
        };
        let named = Named::of(&object).map_err(|reason| reason.to_string())?;
        let end = match (intent.verb, &intent.expect) {
            (Verb::Create, _) => self.end_of_create(intent, &object),
            (Verb::Update, Some(expect)) => end_of_update(intent, expect, &named, &object),
            (Verb::Delete, Some(expect)) => end_of_delete(expect, &named, &object),
            _ => Err(format!("intent {} does not say which object it was to {}", intent.id, intent.verb)),
        }?;
        if !matches!(end, End::Written) {
            return Ok(if matches!(end, End::Gone) { Settlement::Done { live: None } } else { Settlement::NotDone });
        }
        let resource = declared.map(|resource| Arc::new(resource.clone()));
        let live: Result<Live, _> = self.compared(&intent.key, resource.as_ref(), &place, &object, told).await;
        Ok(Settlement::Done { live: Some(live.map_err(|reason| reason.to_string())?) })
    }

    fn end_of_create(&self, intent: &Intent, object: &Value) -> Result<End, String> {
        if intent_of(object) == Some(intent.id) {
            return Ok(End::Written);
        }
        // What we made names us among its writers, even where somebody took our mark away.
        let entries = managed_fields(object).map_err(|error| error.to_string())?;
        let ours = applied_by(&entries, &self.api.manager).is_some() && intent_of(object).is_none();
        if ours {
            Err(format!("{} is there, and nothing on it says which write made it", intent.key))
        } else {
            Ok(End::NotDone)
        }
    }
}

/// How an effect ended that met an object.
enum End {
    Written,
    Gone,
    NotDone,
}

fn end_of_update(intent: &Intent, expect: &Expect, named: &Named, object: &Value) -> Result<End, String> {
    if named.uid != expect.uid || expect.version.as_ref() == Some(&named.version) {
        return Ok(End::NotDone);
    }
    match intent_of(object) {
        Some(id) if id == intent.id => Ok(End::Written),
        Some(_) => Ok(End::NotDone),
        None => Err(format!("{} was written, and nothing on it says by whom", intent.key)),
    }
}

fn end_of_delete(expect: &Expect, named: &Named, found: &Value) -> Result<End, String> {
    let leaving = object::deletion_timestamp(found).is_some();
    Ok(if named.uid != expect.uid || leaving { End::Gone } else { End::NotDone })
}

fn end_of_absent(intent: &Intent) -> Settlement {
    if intent.verb == Verb::Delete { Settlement::Done { live: None } } else { Settlement::NotDone }
}

fn unknown(detail: String) -> Settlement {
    Settlement::Unknown { detail }
}
