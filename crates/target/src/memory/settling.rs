//! Settles intents in the world in memory, by reading only.
//!
//! If an effect has left no trace and can no longer land (its object is gone), the result is
//! `NotDone`: a person could not find out more, and the engine may decide again.

use setpoint_core::intent::{Intent, Verb};
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;

use super::{MemoryWorld, Object};
use crate::contract::Settlement;

impl MemoryWorld {
    /// Settles an intent by the present objects.
    pub fn settle(&self, intent: &Intent, declared: Option<&Resource>, now: Timestamp) -> Settlement {
        if intent.target != self.identity {
            let (found, expected) = (&self.identity, &intent.target);
            return unknown(format!("the system at this address is `{found}`, not `{expected}`: correct the address"));
        }
        let standing = self.standing(&intent.key);
        let found = match intent.verb {
            Verb::Create => self.settle_create(standing, intent),
            Verb::Update => self.settle_update(standing, intent, declared),
            Verb::Delete => settle_delete(standing, intent),
        };
        match found {
            Settlement::NotDone | Settlement::Superseded { .. } if now <= intent.land_by => {
                unknown(format!("the effect of intent {} may still land: ask again later", intent.id))
            }
            found => found,
        }
    }

    fn settle_create(&self, standing: &[Object], intent: &Intent) -> Settlement {
        if standing.is_empty() {
            return Settlement::NotDone;
        }
        if !self.options.marks {
            return unknown(format!("{} exists, and nothing on it shows who created it", intent.key));
        }
        let ours: Vec<_> = standing.iter().filter(|object| object.created_by == Some(intent.id)).collect();
        match ours.as_slice() {
            [] => Settlement::NotDone,
            [object] => done(object),
            several => unknown(format!("intent {} created {} objects: remove all but one", intent.id, several.len())),
        }
    }

    fn settle_update(&self, standing: &[Object], intent: &Intent, declared: Option<&Resource>) -> Settlement {
        let Some(expect) = &intent.expect else {
            return unknown(nameless(intent));
        };
        let Some(object) = standing.iter().find(|object| object.live.uid == expect.uid) else {
            return Settlement::NotDone;
        };
        if expect.version.as_ref() == Some(&object.live.version) {
            return Settlement::NotDone;
        }
        if self.options.marks {
            return match object.written_by {
                Some(id) if id == intent.id => done(object),
                Some(id) if id > intent.id => unknown(format!("{} was written later under intent {id}", intent.key)),
                _ => Settlement::NotDone,
            };
        }
        // The object is the expected one with the declared content, so nothing remains to be done,
        // even if another writer wrote it.
        match declared {
            Some(resource) if resource.body == object.live.value => done(object),
            _ => {
                Settlement::Superseded { detail: format!("{} was written since, and by an unknown writer", intent.key) }
            }
        }
    }
}

/// Settles a delete: the incarnation exists or not. If it is gone, nothing remains to be done, even
/// if another writer removed it.
fn settle_delete(standing: &[Object], intent: &Intent) -> Settlement {
    match &intent.expect {
        None => unknown(nameless(intent)),
        Some(expect) if standing.iter().any(|object| object.live.uid == expect.uid) => Settlement::NotDone,
        Some(_) => Settlement::Done { live: None },
    }
}

fn done(object: &Object) -> Settlement {
    Settlement::Done { live: Some(object.live.clone()) }
}

fn unknown(detail: String) -> Settlement {
    Settlement::Unknown { detail }
}

fn nameless(intent: &Intent) -> String {
    format!("intent {} does not name the object it was to {}", intent.id, intent.verb)
}
