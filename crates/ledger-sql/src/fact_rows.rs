//! The rows of the facts. They are updated to the facts after a batch, in as few statements as
//! possible.
//!
//! Only the result is written: an intent that a batch opens and closes never reaches its table.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_ledger::record::{Entry, canonical_bytes};
use setpoint_ledger::{LedgerError, Origin};

use crate::columns::integer;
use crate::script::{Form, Script, Value};

/// Stores claims. A claim of another log is refused earlier. If the table holds a claim that the
/// facts do not, `log` becomes NULL, which fails the statement and so the transaction: no claim
/// changes hands unnoticed.
const PUT_CLAIMS: Form = Form {
    before: "INSERT INTO claims (target, key, log, claim) VALUES ",
    row: "(?, ?, ?, ?)",
    after: " ON CONFLICT (target, key) DO UPDATE SET claim = excluded.claim, log = iif(log = excluded.log, log, NULL)",
};
const PUT_INTENTS: Form =
    Form { before: "INSERT OR REPLACE INTO intents (log, id, intent) VALUES ", row: "(?, ?, ?)", after: "" };
const PUT_APPS: Form =
    Form { before: "INSERT OR REPLACE INTO apps (log, app, facts) VALUES ", row: "(?, ?, ?)", after: "" };

/// The facts that a batch changes.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    installed: bool,
    claims: BTreeSet<(TargetIdentity, Key)>,
    /// The intents whose rows may be in the table.
    intents: BTreeSet<IntentId>,
    /// The intents that the batch itself opened and did not close.
    opened: BTreeSet<IntentId>,
    apps: BTreeSet<AppId>,
}

impl Touched {
    pub(crate) fn by(entries: &[Entry]) -> Self {
        let mut touched = Self::default();
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            match change {
                Change::Installed { .. } => touched.installed = true,
                Change::PutClaim { claim, .. } => touched.claims.extend([(claim.target.clone(), claim.key.clone())]),
                Change::DropClaim { target, key, .. } => touched.claims.extend([(target.clone(), key.clone())]),
                Change::OpenIntent { intent } => touched.opens(intent.id),
                Change::CloseIntent { intent, .. } => touched.closes(*intent),
                Change::PutApp { app, .. } | Change::ForgetApp { app } => touched.apps.extend([app.clone()]),
            }
        }
        touched
    }

    fn opens(&mut self, intent: IntentId) {
        if !self.intents.contains(&intent) {
            self.opened.insert(intent);
        }
    }

    fn closes(&mut self, intent: IntentId) {
        if !self.opened.remove(&intent) {
            self.intents.insert(intent);
        }
    }

    /// Refuses claims that another log holds: a claim has one log at a time.
    pub(crate) fn refuse_claims_of_others(
        &self,
        facts: &Facts,
        others: &BTreeMap<Origin, Facts>,
    ) -> Result<(), LedgerError> {
        for (target, key) in self.claims.iter().filter(|(target, key)| facts.claims.contains(target, key)) {
            if let Some((holder, _)) = others.iter().find(|(_, other)| other.claims.contains(target, key)) {
                let (target, key) = (target.clone(), key.clone());
                return Err(LedgerError::Claimed { target, key, holder: holder.clone() });
            }
        }
        Ok(())
    }

    /// Writes the present state of all touched facts.
    pub(crate) fn store(self, script: &mut Script, log: i64, facts: &Facts) -> Result<(), LedgerError> {
        if let Some(at) = facts.installed_at.filter(|_| self.installed) {
            let set = "UPDATE logs SET installed = ? WHERE log = ?";
            script.push(set, [integer(at.as_millis()).into(), log.into()]);
        }
        store_claims(script, log, facts, self.claims)?;
        let mut put = Vec::new();
        for id in self.intents.into_iter().chain(self.opened) {
            let name = id.to_string().into();
            match facts.intents.get(&id) {
                Some(intent) => put.push([log.into(), name, stored_text(intent)?]),
                None => script.push("DELETE FROM intents WHERE log = ? AND id = ?", [log.into(), name]),
            }
        }
        script.push_rows(PUT_INTENTS, put);
        let mut put = Vec::new();
        for app in self.apps {
            let name = app.to_string().into();
            match facts.apps.get(&app) {
                Some(facts) => put.push([log.into(), name, stored_text(facts)?]),
                None => script.push("DELETE FROM apps WHERE log = ? AND app = ?", [log.into(), name]),
            }
        }
        script.push_rows(PUT_APPS, put);
        Ok(())
    }
}

fn store_claims(
    script: &mut Script,
    log: i64,
    facts: &Facts,
    places: BTreeSet<(TargetIdentity, Key)>,
) -> Result<(), LedgerError> {
    let mut put = Vec::new();
    for (target, key) in places {
        let claim = facts.claims.get(&target, &key);
        let (target, key) = (target.to_string().into(), key.to_text().into());
        match claim {
            Some(claim) => put.push([target, key, log.into(), stored_text(claim)?]),
            None => {
                let drop = "DELETE FROM claims WHERE target = ? AND key = ? AND log = ?";
                script.push(drop, [target, key, log.into()]);
            }
        }
    }
    script.push_rows(PUT_CLAIMS, put);
    Ok(())
}

/// Serialises a fact in the same canonical form as in its records: the verifier compares bytes.
fn stored_text<T: Serialize>(fact: &T) -> Result<Value, LedgerError> {
    let bytes = canonical_bytes(fact)?;
    Ok(String::from_utf8(bytes).expect("canonical JSON is UTF-8").into())
}
