//! Folds changes into facts, as text. The tables must hold the same facts.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::record::{About, Change};

/// A key on a target, with the target's identity.
pub(crate) type Place = (String, String);

/// The facts that result from the records of one log. Values are the canonical text of the record,
/// byte for byte.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) installed: Option<u64>,
    pub(crate) claims: BTreeMap<Place, String>,
    pub(crate) intents: BTreeMap<String, String>,
    pub(crate) apps: BTreeMap<String, String>,
    /// The holder of each claim.
    holders: BTreeMap<Place, String>,
    /// The keys with an open intent, and its id.
    busy: BTreeMap<Place, String>,
    places: BTreeMap<String, Place>,
}

impl Facts {
    /// Folds one change. The error is the reason why it cannot follow the earlier ones.
    pub(crate) fn fold(&mut self, change: &Change<'_>) -> Result<(), String> {
        match &*change.change {
            "installed" => self.install(want(change.at, "at")?),
            "put-claim" => self.put_claim(want(change.claim, "claim")?, change.from.as_deref()),
            "drop-claim" => self.drop_claim(change),
            "open-intent" => self.open_intent(want(change.intent, "intent")?),
            "close-intent" => self.close_intent(want(change.intent, "intent")?),
            "put-app" => {
                let app = want(change.app.as_deref(), "app")?.to_owned();
                self.apps.insert(app, want(change.facts, "facts")?.get().to_owned());
                Ok(())
            }
            "forget-app" => {
                let app = want(change.app.as_deref(), "app")?;
                self.apps.remove(app).map(drop).ok_or_else(|| format!("app {app} is forgotten but was never known"))
            }
            other => Err(format!("the change `{}` is unknown", other.escape_debug())),
        }
    }

    fn install(&mut self, at: u64) -> Result<(), String> {
        match self.installed.replace(at) {
            None => Ok(()),
            Some(_) => Err("the ledger is installed twice".to_owned()),
        }
    }

    fn put_claim(&mut self, claim: &RawValue, from: Option<&str>) -> Result<(), String> {
        let about = about(claim)?;
        let place = (about.target.into_owned(), about.key.into_owned());
        if let Some(holder) = self.holders.get(&place).filter(|holder| **holder != *about.app) {
            if from != Some(holder.as_str()) {
                return Err(format!(
                    "{} at {} is taken from {holder}, which the change does not name",
                    place.1, place.0
                ));
            }
            if let Some(intent) = self.busy.get(&place) {
                return Err(format!("{} at {} changes hands while intent {intent} is open", place.1, place.0));
            }
        }
        self.holders.insert(place.clone(), about.app.into_owned());
        self.claims.insert(place, claim.get().to_owned());
        Ok(())
    }

    fn drop_claim(&mut self, change: &Change<'_>) -> Result<(), String> {
        let target = want(change.target.as_deref(), "target")?;
        let key = want(change.key.as_deref(), "key")?;
        let app = want(change.app.as_deref(), "app")?;
        let place = (target.to_owned(), key.to_owned());
        match self.holders.remove(&place) {
            Some(holder) if holder == app => {
                self.claims.remove(&place);
                Ok(())
            }
            Some(holder) => Err(format!("{app} drops the claim of {holder} on {key} at {target}")),
            None => Err(format!("the claim on {key} at {target} is dropped but was never made")),
        }
    }

    fn open_intent(&mut self, intent: &RawValue) -> Result<(), String> {
        let about = about(intent)?;
        let id = want(about.id, "id")?.into_owned();
        let place = (about.target.into_owned(), about.key.into_owned());
        if let Some(other) = self.busy.insert(place.clone(), id.clone()) {
            return Err(format!("intent {id} is opened while {other} is open on the same key"));
        }
        self.places.insert(id.clone(), place);
        match self.intents.insert(id, intent.get().to_owned()) {
            None => Ok(()),
            Some(_) => Err("an intent is opened twice".to_owned()),
        }
    }

    fn close_intent(&mut self, name: &RawValue) -> Result<(), String> {
        let id: String = serde_json::from_str(name.get()).map_err(|error| error.to_string())?;
        if let Some(place) = self.places.remove(&id) {
            self.busy.remove(&place);
        }
        self.intents.remove(&id).map(drop).ok_or_else(|| format!("intent {id} is closed but was never open"))
    }
}

fn about(text: &RawValue) -> Result<About<'_>, String> {
    serde_json::from_str(text.get()).map_err(|error| format!("a claim or intent cannot be read: {error}"))
}

fn want<T>(field: Option<T>, name: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("a change lacks `{name}`"))
}
